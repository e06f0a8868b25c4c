"""Who starts an operator again when it has ended, as the kubelet of its pod would."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from testbed.operator import Operator

_TICK = 0.1


@dataclass
class Lives:
    """The exit statuses of the lives that ended by themselves; killed by a test, they are -9."""

    ended: list[int] = field(default_factory=list)


@contextlib.contextmanager
def kept(operator: Operator) -> Iterator[Lives]:
    """Start the operator again whenever it has ended, at once, while the block runs.

    The threads that start processes must outlive them, so this one lasts as long as the block,
    and what it started ends with the block.
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
