"""Names that several controllers derive alike: hashes, and the shortening of what is too long.

These are upstream's, bit for bit, because both sides must come to the same name for the same thing.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final
from uuid import UUID

LONGEST_NAME: Final = 63
_HASH_BYTES: Final = 5  # eight characters of base32
_TAIL: Final = 10  # what shortening puts in place of the rest: two hyphens and a hash


def name_hash(*parts: str) -> str:
    """Eight characters that stand for the parts, fit for any name: ``name_hash(namespace, name)``."""
    return _base32(hashlib.shake_128(_joined(parts)).digest(_HASH_BYTES))


def name_uuid(*parts: str) -> str:
    """A UUID (version 8) that stands for the parts."""
    if not any(parts):
        raise ValueError("a name needs at least one part that is not empty")
    digest = bytearray(hashlib.shake_128(_joined(parts)).digest(16))
    digest[6] = digest[6] & 0x0F | 0x80
    digest[8] = digest[8] & 0x3F | 0x80
    return str(UUID(bytes=bytes(digest)))


def long_name_hash(*parts: str) -> str:
    """The 52 characters that older objects of upstream are named by; nothing new is."""
    return _base32(hashlib.sha256(_joined(parts)).digest())


def shortened(text: str, longest: int = LONGEST_NAME) -> str:
    """The text if it is short enough, else its beginning and a hash of the whole."""
    if len(text) <= longest:
        return text
    if longest <= _TAIL:
        raise ValueError(f"{text!r} cannot be shortened to {longest} characters: its hash alone takes {_TAIL}")
    return f"{text[: longest - _TAIL].rstrip('-.')}--{name_hash(text)}"


def _joined(parts: tuple[str, ...]) -> bytes:
    return "/".join(parts).encode()


def _base32(digest: bytes) -> str:
    return base64.b32encode(digest).decode("ascii").lower().rstrip("=")
