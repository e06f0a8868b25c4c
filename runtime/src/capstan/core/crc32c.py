"""Checksums of files: CRC-32C, masked as TensorFlow stores it (core/lib/hash/crc32c.h)."""

from typing import Any

DELTA = 0xA282EAD8
"""What masking adds to a CRC whose halves it has exchanged."""


def extend(crc: int, data: Any) -> int:
    """Return the CRC of the data with checksum `crc` followed by `data`.

    `data` is bytes or a contiguous array.
    """
    import google_crc32c

    return int(google_crc32c.extend(crc, data))


def mask(crc: int) -> int:
    """Return the masked form of `crc`, which files store.

    The mask is needed because a CRC over data that contains plain CRCs is a weak checksum.
    """
    return ((crc >> 15 | crc << 17) + DELTA) & 0xFFFFFFFF


def masked(data: Any) -> int:
    """Return the masked CRC of `data`: bytes or a contiguous array."""
    return mask(extend(0, data))
