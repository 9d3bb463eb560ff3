"""What the papers hold their methods against, none of it part of the package.

`private_rivals` are methods behind the private table, charged like any other (PROOF.md). The others are not private as
programs: `trainers` draw floating-point noise, `ablations` read exact counts, the rest repeats what a paper published.
"""
