"""Several owners, one release: no row and no exact count leaves an owner."""

from importlib.util import find_spec

from understudy.errors import UsageError

if find_spec("cryptography") is None:
    raise UsageError("a federation needs the package `cryptography`: pip install 'understudy[federation]'")
