"""The steward's page: a local server on the library's own calls, from a table to a signed release (extra `studio`)."""
