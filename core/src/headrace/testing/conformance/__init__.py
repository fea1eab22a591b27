"""The conformance suite: runs against any installed backend."""
