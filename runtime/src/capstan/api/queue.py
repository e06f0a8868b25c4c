"""`tf.queue`: the names of the queues, which `tf` also has."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.data_flow_ops import (
    FIFOQueue,
    PaddingFIFOQueue,
    PriorityQueue,
    QueueBase,
    RandomShuffleQueue,
)

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"]


def __getattr__(name: str) -> Any:
    raise absent("tf.queue", name)
