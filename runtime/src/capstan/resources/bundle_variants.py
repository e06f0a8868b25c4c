"""Variants in checkpoints (core/util/tensor_bundle/tensor_bundle.cc, WriteVariantTensor).

An element is the length of its message, the message, and a checksum of all bytes before it, in
which a length counts as an integer of eight bytes.
"""

import struct
from collections.abc import Sequence

import numpy as np

from capstan.core import crc32c, varint
from capstan.core.arrays import Array
from capstan.resources import variant, variant_message

_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")


def holds_variants(value: Array) -> bool:
    """Return whether a tensor holds variants. Any other object array holds strings."""
    return value.dtype == object and any(not isinstance(each, bytes) for each in value.flat)


def encoded(value: Array) -> tuple[bytes, int]:
    """Return the bytes of a tensor of variants, and their checksum.

    Raises:
        UnimplementedError: a variant, such as a dataset, cannot leave its task.
    """
    crc, parts = 0, []
    for element in value.flat:
        message = variant.to_bytes(element)
        crc = crc32c.extend(crc32c.extend(crc, _LENGTH.pack(len(message))), message)
        checksum = _CHECKSUM.pack(crc32c.mask(crc))
        crc = crc32c.extend(crc, checksum)
        parts += [varint.encode(len(message)), message, checksum]
    return b"".join(parts), crc


def decoded(data: bytes, shape: Sequence[int]) -> Array:
    """Return the tensor of variants in `data`.

    Raises:
        ValueError: the bytes are damaged.
        DataLossError: a message is not a variant that Capstan knows.
    """
    messages = np.empty(shape, object)
    crc = position = 0
    for number in range(messages.size):
        length, position = varint.decode(data, position)
        end = position + length
        message, checksum = data[position:end], data[end : end + _CHECKSUM.size]
        crc = crc32c.extend(crc32c.extend(crc, _LENGTH.pack(length)), message)
        if checksum != _CHECKSUM.pack(crc32c.mask(crc)):
            raise ValueError(f"the checksum of element {number} does not match")
        crc = crc32c.extend(crc, checksum)
        messages.flat[number] = message
        position = end + _CHECKSUM.size
    return variant_message.decoded(messages)
