"""The command line in forked processes: a process that has imported everything forks one for each command, so that a
thousand commands can be killed at random moments without a thousand start-ups.

Run as a script it reads lines of JSON (the arguments), answers with the process number, and later with its end.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


class Zygote:
    """Starts commands and kills them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, *arguments: object, kill_after: float | None = None) -> tuple[int, float]:
        """How a command ended (minus the signal's number if it was killed), and how many seconds it took."""
        pid = self._ask([str(a) for a in arguments])
        started = time.monotonic()
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(pid, signal.SIGKILL)  # the zygote has not waited for it: the number is still this process's
        return self._ask(None), time.monotonic() - started

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(60)

    def _ask(self, line: list[str] | None) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def _serve() -> None:
    import understudy.cli
    import understudy.cli.ledger
    import understudy.cli.publication
    import understudy.cli.sample
    import understudy.engines.coding
    import understudy.methods.privbayes.method
    import understudy.release.writing

    pid = 0
    for line in sys.stdin:
        arguments = json.loads(line)
        if arguments is None:
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            silent = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silent, stream)
            try:
                understudy.cli.main(arguments)
            except SystemExit as end:
                os._exit(end.code if isinstance(end.code, int) else 1)
            os._exit(0)
        print(pid, flush=True)


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent)]
    _serve()
