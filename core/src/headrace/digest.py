"""Digests of what is kept on disk, of 32 bytes: BLAKE2b, and SHA-256 of what is large.

Processors have instructions for SHA-256, and with them it is twice or three times as fast, but only
OpenSSL uses them: to load that, as ``hashlib`` does, takes as long as the digest of two megabytes.
"""

from __future__ import annotations

from typing import Protocol

try:
    from _blake2 import blake2b
except ImportError:  # a Python that keeps it elsewhere
    from hashlib import blake2b

DIGEST_BYTES = 32
_LARGE_BYTES = 16 << 20


class Digest(Protocol):
    """One that is being made."""

    def update(self, data: bytes | memoryview, /) -> None:
        """Go on with these bytes."""

    def digest(self) -> bytes:
        """That of all bytes so far."""


def new_digest(total_bytes: int) -> Digest:
    """One of nothing yet, to be updated with so many bytes."""
    if total_bytes < _LARGE_BYTES:
        return blake2b(digest_size=DIGEST_BYTES)
    from hashlib import sha256

    return sha256(usedforsecurity=False)


def digest_of(data: bytes | memoryview) -> bytes:
    """That of some bytes; BLAKE2b."""
    return blake2b(data, digest_size=DIGEST_BYTES).digest()
