"""Messages that other tasks pushed before the master started their step."""

from collections import OrderedDict
from typing import Final

from capstan import errors
from capstan.transport import api

# The approximate size of a frame without its values.
_FRAME_BYTES: Final = 512


class EarlyMessages:
    """Keeps early messages by step, within bounds. Steps that never start must not fill the memory.

    Beyond the bounds, the oldest steps lose their messages. `take` refuses such a step if it starts
    later. Not thread-safe.
    """

    def __init__(self, max_bytes: int, max_steps: int) -> None:
        self._max_bytes = max_bytes
        self._max_steps = max_steps
        self._bytes = 0
        self._frames: OrderedDict[int, list[api.Frame]] = OrderedDict()
        self._dropped: OrderedDict[int, None] = OrderedDict()

    def keep(self, frame: api.Frame) -> None:
        """Keep a message until `take`, `drop` or `forget` removes its step.

        The values of the frame must stay valid until then.
        """
        if frame.step in self._dropped:
            return
        self._frames.setdefault(frame.step, []).append(frame)
        self._bytes += size(frame)
        while self._bytes > self._max_bytes or len(self._frames) > self._max_steps:
            self.drop(next(iter(self._frames)))

    def take(self, step: int) -> list[api.Frame]:
        """Return the messages of a step that starts now, in the order of their arrival.

        Raises:
            ResourceExhaustedError: messages of the step were dropped.
        """
        if step in self._dropped:
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"Messages of the step arrived before its start and were dropped: more than "
                f"{self._max_bytes} bytes or {self._max_steps} steps waited. Run the step again",
            )
        return self._remove(step)

    def drop(self, step: int) -> None:
        """Drop the messages of a step. `take` then refuses the step."""
        self._remove(step)
        self._dropped[step] = None
        if len(self._dropped) > self._max_steps:
            self._dropped.popitem(last=False)

    def forget(self, step: int) -> None:
        """Forget a step that has ended, and its messages."""
        self._remove(step)
        self._dropped.pop(step, None)

    def _remove(self, step: int) -> list[api.Frame]:
        frames = self._frames.pop(step, None)
        if frames is None:
            return []
        self._bytes -= sum(map(size, frames))
        return frames


def size(frame: api.Frame) -> int:
    """Return the approximate number of bytes that a frame takes."""
    texts = (value for value in frame.values if value.dtype.hasobject)
    characters = sum(len(text) for value in texts for text in value.ravel().tolist())
    return _FRAME_BYTES + sum(value.nbytes for value in frame.values) + characters
