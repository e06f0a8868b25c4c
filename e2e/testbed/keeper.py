"""Restart an operator whenever it ends, as the kubelet of its pod would."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from testbed.operator import Operator

_TICK = 0.1


@dataclass
class Lives:
    """The processes of one operator, one after another."""

    ended: list[int] = field(default_factory=list)
    """The exit status of each process that ended. It is -9 if a test killed the process."""


@contextlib.contextmanager
def kept(operator: Operator) -> Iterator[Lives]:
    """Restart the operator at once whenever it ends, while the block runs.

    A process ends with the thread that started it, and the thread here ends with the block. A
    restarted process therefore ends with the block, too.
    """
    lives = Lives()
    over = threading.Event()

    def keep() -> None:
        while not over.wait(_TICK):
            if (status := operator.ended()) is not None:
                lives.ended.append(status)
                operator.start()

    thread = threading.Thread(target=keep, name="keeper")
    thread.start()
    try:
        yield lives
    finally:
        over.set()
        thread.join()
