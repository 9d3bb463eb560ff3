"""The parameter tree of NOCD as published (Su et al. 2016, Algorithm 2 and Eq. 6): its objective leaves out |V|.

Line 12 sets l to ⌈√d⌉ where line 8 has ⌈d/n⌉; a tree needs the latter. `printed` takes the third term of Eq. 6 as it
stands, 2^l (n·d − n·l + 2n²); otherwise it is the number of cells that it seems to mean, 2^(l−1) (n·d − n²·l + 2n²).
"""

from __future__ import annotations

import math

from understudy.methods.dp_subn.nocd import ViewGrid


def published_grid(attributes: int, printed: bool = True) -> ViewGrid:
    trees, error = [ViewGrid(0, 0)], [0]
    for d in range(1, attributes + 1):
        best, tree = 2**d, ViewGrid(d, d)
        for n in range(max(2, math.isqrt(d)), d):
            rows = -(-d // n)
            if any(n % p == 0 for p in range(2, math.isqrt(n) + 1)) or rows > n:
                continue
            last = d - n * (rows - 1)
            lines = 2**rows * (n * d - n * rows + 2 * n * n)
            if not printed:
                lines = 2 ** (rows - 1) * (n * d - n * n * rows + 2 * n * n)
            found = error[last] + (rows - 1) * error[n] + lines
            if found < best:
                best, tree = found, ViewGrid(d, n, (*[trees[n]] * (rows - 1), trees[last]))
        error.append(best)
        trees.append(tree)
    return trees[attributes]
