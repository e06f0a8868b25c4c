"""TensorFlow's encoding of a list of strings: all lengths as varints, then all bytes.

`TensorProto.tensor_content`, checkpoints and the frames of `transport.frames` use this encoding
(tensor_coding.cc).
"""

from collections.abc import Sequence

from capstan.core import varint


def join(strings: Sequence[bytes]) -> bytes:
    """Return the encoding of `strings`.

    >>> join([b"ab", b"", b"c"])
    b'\\x02\\x00\\x01abc'
    """
    return b"".join([*(varint.encode(len(string)) for string in strings), *strings])


def split(content: bytes, count: int) -> list[bytes]:
    """Return the `count` strings that `content` encodes.

    Raises:
        ValueError: the strings do not fill `content` exactly.
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
    strings = []
    for length in lengths:
        strings.append(content[position : position + length])
        position += length
    return strings
