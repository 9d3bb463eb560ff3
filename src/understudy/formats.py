"""Format numbers of everything that outlives a process. Newer programs open older files; older ones refuse newer."""

from __future__ import annotations

LEDGER_FORMAT = 2  # 1: no number in the file, nothing that binds a reservation to its table
GAUSSIAN_LEDGER_FORMAT = 3  # of a file that has an account kept in Gaussian DP: programs that add sums refuse it
