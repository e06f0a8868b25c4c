"""Words of 64 bits in bytes."""

from typing import Any


def word(data: Any, at: int) -> int:
    """Return the 8 bytes of an array of bytes that begin at byte `at`, as a little-endian integer.

    Compiled functions (`hardware.llvm_python`) read the word by one instruction.
    """
    return int.from_bytes(data[at : at + 8].tobytes(), "little")
