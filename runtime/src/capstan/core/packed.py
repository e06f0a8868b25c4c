"""Strings in a row as TensorFlow packs them: the lengths of all as varints, then the bytes of all.

So they stand in `TensorProto.tensor_content`, in checkpoints and in frames (tensor_coding.cc).
"""

from collections.abc import Sequence

from capstan.core import varint


def join(items: Sequence[bytes]) -> bytes:
    """Pack strings.

    >>> join([b"ab", b"", b"c"])
    b'\\x02\\x00\\x01abc'
    """
    return b"".join([*(varint.encode(len(item)) for item in items), *items])


def split(content: bytes, count: int) -> list[bytes]:
    """Unpack `count` strings.

    Raises:
        ValueError: they do not fill `content` exactly.
    """
    if count > len(content):
        raise ValueError(f"{len(content)} bytes cannot hold {count} strings")
    position = 0
    lengths = []
    for _ in range(count):
        length, position = varint.decode(content, position)
        lengths.append(length)
    if position + sum(lengths) != len(content):
        raise ValueError(f"{count} strings do not fill their {len(content)} bytes")
    items = []
    for length in lengths:
        items.append(content[position : position + length])
        position += length
    return items
