"""The tensors that a task offers to the other members of its collective operations.

TensorFlow: common_runtime/buf_rendezvous.cc. The member that has a tensor offers it, and the
members that need it ask for it, in any order. All names belong to the number of a step. When a step
is aborted, the tensors that were offered before remain for members that are a run behind. Every
other request of that step ends with the error of the step, also if it comes later.
"""

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from capstan import errors
from capstan.core.arrays import Array

Answer = Callable[[Array | None, errors.OpError | None], None]
"""Gets the tensor, or the error of its step. It may send, so it is called without a lock."""

_REMEMBERED = 1024
"""The number of aborted steps that are remembered. A peer asks for such a step soon or never."""

_KEPT = 4
"""The number of aborted steps whose offered tensors are kept. Members are at most a run behind."""


@dataclass(eq=False, slots=True)
class _Step:
    offered: dict[str, tuple[Array, int]] = field(default_factory=dict)
    """Each tensor, and how many members still ask for it."""
    waiting: dict[str, list[Answer]] = field(default_factory=dict)


class Buffers:
    """The offered tensors of one task, and the requests for them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: dict[int, _Step] = {}
        self._aborted: OrderedDict[int, errors.OpError] = OrderedDict()
        self._kept: OrderedDict[int, _Step] = OrderedDict()

    def error(self, step: int) -> errors.OpError | None:
        """Return the error with which a step was aborted, or None."""
        with self._lock:
            return self._aborted.get(step)

    def offer(self, step: int, name: str, value: Array, readers: int) -> None:
        """Offer a tensor to `readers` members. It must not change until all of them have it.

        Blocks while the tensor is sent to the members that have asked for it.
        """
        with self._lock:
            if step in self._aborted:
                return
            held = self._steps.setdefault(step, _Step())
            answers = held.waiting.pop(name, [])
            if len(answers) < readers:
                held.offered[name] = value, readers - len(answers)
        for answer in answers:
            answer(value, None)

    def request(self, step: int, name: str, answer: Answer) -> Callable[[], None]:
        """Call `answer` with a tensor as soon as it is offered.

        Return a function that withdraws the request, unless it was answered.
        """
        value: Array | None = None
        with self._lock:
            error = self._aborted.get(step)
            if error is None:
                held = self._steps.setdefault(step, _Step())
            else:
                held = self._kept.get(step, _Step())
            if name in held.offered:
                error = None
                value, readers = held.offered.pop(name)
                if readers > 1:
                    held.offered[name] = value, readers - 1
            elif error is None:
                held.waiting.setdefault(name, []).append(answer)
                return functools.partial(self._withdraw, step, name, answer)
        answer(value, error)
        return _nothing

    def abort(self, step: int, error: errors.OpError) -> bool:
        """End the requests of a step with `error`, and later ones for what was not offered before.

        Return whether this is the first abort of the step.
        """
        with self._lock:
            if step in self._aborted:
                return False
            self._aborted[step] = error
            if len(self._aborted) > _REMEMBERED:
                self._aborted.popitem(last=False)
            held = self._kept[step] = self._steps.pop(step, _Step())
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            waiting, held.waiting = held.waiting, {}
        for answers in waiting.values():
            for answer in answers:
                answer(None, error)
        return True

    def waited(self) -> dict[int, str]:
        """Return the steps that have requests, each with the name of a tensor that is asked for."""
        with self._lock:
            return {
                step: next(iter(held.waiting)) for step, held in self._steps.items() if held.waiting
            }

    def abort_all(self, error: errors.OpError) -> None:
        """Abort every step that has tensors or requests."""
        with self._lock:
            steps = list(self._steps)
        for step in steps:
            self.abort(step, error)

    def _withdraw(self, step: int, name: str, answer: Answer) -> None:
        with self._lock:
            held = self._steps.get(step)
            answers = held.waiting.get(name, []) if held is not None else []
            if answer in answers:
                answers.remove(answer)
            if held is not None and not answers:
                held.waiting.pop(name, None)


def _nothing() -> None:
    pass
