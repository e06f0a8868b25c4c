"""The tensors of a session that outlive a step: `tf.get_session_handle`
(core/common_runtime/session_state.cc).
"""

import itertools
import threading

from capstan import errors
from capstan.core.arrays import Array


def device_of(handle: str) -> str:
    """Return the device that made a tensor."""
    return handle.rsplit(";", 1)[-1]


class SessionTensors:
    """The tensors of a session, by handle. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tensors: dict[str, Array] = {}
        self._serial = itertools.count()

    def add(self, node: str, device: str, value: Array) -> str:
        """Keep a tensor, which nothing may change later, and return its handle."""
        with self._lock:
            handle = f"{node};{next(self._serial)};{device}"
            self._tensors[handle] = value
        return handle

    def get(self, handle: str) -> Array:
        """Return a tensor.

        Raises:
            InvalidArgumentError: there is no tensor with this handle.
        """
        value = self._tensors.get(handle)
        if value is None:
            raise errors.InvalidArgumentError(
                None, None, f"The tensor with handle '{handle}' is not in the session store."
            )
        return value

    def delete(self, handle: str) -> None:
        """Forget a tensor.

        Raises:
            InvalidArgumentError: there is no tensor with this handle.
        """
        if self._tensors.pop(handle, None) is None:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Failed to delete a tensor with handle '{handle}' in the session store.",
            )
