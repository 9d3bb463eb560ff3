"""The version of this package, without importing anything heavy."""

VERSION = "0.1.0"
