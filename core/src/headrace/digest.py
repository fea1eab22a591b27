"""Digests of what is kept on disk: BLAKE2b, of 32 bytes.

Not SHA-256, and not by way of ``hashlib``: importing that loads OpenSSL, which takes as long as the
digest of two megabytes.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # a Python that keeps it elsewhere
    from hashlib import blake2b

DIGEST_BYTES = 32


def new_digest() -> blake2b:
    """One of nothing yet, to be updated."""
    return blake2b(digest_size=DIGEST_BYTES)


def digest_of(data: bytes | memoryview) -> bytes:
    """That of some bytes."""
    return blake2b(data, digest_size=DIGEST_BYTES).digest()
