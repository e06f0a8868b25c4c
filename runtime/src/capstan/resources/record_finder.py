"""Finds the records of TFRecord files without the lock of the interpreter.

Python needs a microsecond for each record. While an input pipeline holds the lock, the step that
runs beside the pipeline waits.
"""

from typing import Final

import numpy as np

from capstan.core import tfrecord
from capstan.core.arrays import Array
from capstan.hardware import cpu_loops
from capstan.resources import record_loops

_POLYNOMIAL: Final = np.uint32(0x82F63B78)
"""That of CRC-32C, with its bits in reverse order."""
_LEAST: Final = tfrecord.HEADER_SIZE + tfrecord.FOOTER_SIZE


class Finder:
    """A `tfrecord.Find`, which is compiled after some megabytes. Thread-safe."""

    def __init__(self) -> None:
        self._loop = cpu_loops.Loop(record_loops.find_records)
        self._tables = _tables()

    def __call__(self, data: bytes) -> tfrecord.Found:
        run = self._loop.after(len(data) // 8)
        most = len(data) // _LEAST
        if run is None or not most:
            return tfrecord.find(data)
        starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
        state = np.zeros(2, np.int64)
        count = run(np.frombuffer(data, np.uint8), self._tables, starts, ends, state)
        spans = zip(starts[:count].tolist(), ends[:count].tolist(), strict=True)
        return tfrecord.Found(
            [data[start:end] for start, end in spans], int(state[0]), not state[1]
        )


def _tables() -> Array:
    """Return the CRCs of all bytes with 0 to 7 bytes of zeros after them, as a vector of uint32."""
    found = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        found = (found >> np.uint32(1)) ^ (_POLYNOMIAL * (found & np.uint32(1)))
    each = [found]
    for _ in range(7):
        each.append((each[-1] >> np.uint32(8)) ^ found[each[-1] & np.uint32(255)])
    return np.concatenate(each)
