"""Several owners, one release: no row and no exact count leaves an owner."""
