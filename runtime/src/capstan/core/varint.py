"""Variable-length integers of protocol buffers and LevelDB: seven bits a byte, lowest first."""


def encode(value: int) -> bytes:
    """Encode an integer from 0 to 2**64 - 1.

    >>> encode(300)
    b'\\xac\\x02'
    """
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode(data: bytes, position: int = 0) -> tuple[int, int]:
    """Return the integer at `position`, and the position after it.

    >>> decode(b"\\xac\\x02")
    (300, 2)

    Raises:
        ValueError: the data ends within the integer, or the integer has more than ten bytes.
    """
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise ValueError(f"the data ends within an integer, at byte {position}")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError(f"an integer of more than ten bytes, at byte {position - 10}")
