"""How many bytes of tensors the debugger may dump.

Source: `DebugFileIO` of core/debug/debug_io_utils.cc.
"""

import os
import threading
from typing import Final

from capstan import errors

_VARIABLE: Final = "TFDBG_DISK_BYTES_LIMIT"
_USUAL: Final = 100 * 2**30


class Allowance:
    """Counts the bytes that are dumped. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used = 0

    def take(self, size: int, tensor: str) -> None:
        """Count `size` bytes of a tensor that is about to be dumped.

        The sum stays below `TFDBG_DISK_BYTES_LIMIT` bytes, or 100 GiB.

        Raises:
            ResourceExhaustedError: the sum would reach the limit. The bytes are not counted.
            InvalidArgumentError: the environment variable is not a number.
        """
        limit = _limit()
        with self._lock:
            used = self._used
            if not size or used + size < limit:
                self._used += size
                return
        raise errors.ResourceExhaustedError(
            None,
            None,
            f"TensorFlow Debugger has exhausted file-system byte-size allowance ({limit}), "
            f"therefore it cannot dump an additional {size} byte(s) of tensor data for the debug "
            f"tensor {tensor}: it has dumped {used}. You may use the environment variable "
            f"{_VARIABLE} to set a higher limit, or watch fewer tensors.",
        )

    def reset(self) -> None:
        """Begin to count anew."""
        with self._lock:
            self._used = 0


OF_PROCESS: Final = Allowance()
"""The allowance of all dumps of this process, as in TensorFlow."""


def _limit() -> int:
    text = os.environ.get(_VARIABLE, "").strip()
    if not text:
        return _USUAL
    if text.isdecimal():
        return int(text)
    raise errors.InvalidArgumentError(
        None, None, f"The environment variable {_VARIABLE} is not a number of bytes: {text!r}"
    )
