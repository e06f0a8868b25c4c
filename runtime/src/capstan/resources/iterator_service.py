"""The requests of steps for the elements of an iterator, in order."""

import contextvars
import functools
import heapq
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import cancellation as cancellations
from capstan.core import shapes
from capstan.resources import dataset, dataset_run, elements, iterator_state, waiters
from capstan.resources.dataset import Element, Spec


class Request:
    """One step that asks for an element. Thread-safe.

    After the answer, the request does not keep the step alive, because the step keeps the iterator
    alive.
    """

    def __init__(self, done: waiters.Done, wrap: Callable[[Any], Sequence[Any]] | None) -> None:
        self._done: waiters.Done | None = done
        self._is_answered = threading.Lock()
        self.wrap = wrap
        self.deregister: Callable[[], None] | None = None

    @property
    def is_answered(self) -> bool:
        return self._is_answered.locked()

    def answer(
        self,
        outputs: Sequence[Any],
        error: errors.OpError | None,
        give_back: waiters.GiveBack | None = None,
    ) -> bool:
        """Answer, unless the request has its answer. Return whether the step took the outputs."""
        if not self._is_answered.acquire(blocking=False):
            return False
        done, self._done = self._done, None
        deregister, self.deregister = self.deregister, None
        if deregister is not None:
            deregister()
        assert done is not None
        return done(outputs, error, give_back)


class _Pass:
    """One pass over a dataset. The lock of its iterator guards the fields.

    `made` counts the elements and errors that the pass has made. `returned` is a heap of the
    elements that came back from steps, with their numbers. A pass that does not begin at the first
    element makes the elements before `start` again.
    """

    def __init__(
        self, plan: dataset.Dataset, run: dataset_run.Run, start: iterator_state.Position
    ) -> None:
        self.plan, self.run, self.start = plan, run, start
        self.elements = plan.start(run)
        self.made = 0
        self.returned: list[tuple[int, Element]] = []

    @property
    def position(self) -> iterator_state.Position:
        if self.made < self.start.made:
            return self.start
        numbers = sorted(number for number, _ in self.returned)
        return iterator_state.Position(self.made, tuple(self.run.seeds), tuple(numbers))


class Service:
    """Answers the requests for elements. Its thread does not keep the iterator alive."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._lock = threading.Lock()
        self._requests: deque[Request] = deque()
        self._served: Request | None = None
        self._is_busy = False
        self._abandoned: errors.OpError | None = None
        self._pass: _Pass | None = None
        self._restored: iterator_state.Position | None = None
        self._work: queue.SimpleQueue[Callable[[], None] | None] | None = None

    def initialize(self, plan: dataset.Dataset) -> None:
        with self._lock:
            start, self._restored = self._restored, None
        self._begin(plan, start or iterator_state.Position())

    def _begin(self, plan: dataset.Dataset, start: iterator_state.Position) -> None:
        following = _Pass(plan, dataset_run.Run(start.seeds), start)
        with self._lock:
            before, self._pass = self._pass, following
            is_over = self._abandoned is not None
        if before is not None:
            before.run.stop()
        if is_over:
            following.run.stop()

    def get_next(self, request: Request, cancellation: cancellations.Cancellation) -> None:
        with self._lock:
            error = self._abandoned or cancellation.error
            is_first = error is None and not self._is_busy
            if error is None:
                self._requests.append(request)
                self._is_busy = True
                if self._pass is not None:
                    self._pass.run.resume()
        if error is not None:
            request.answer((), error)
        elif is_first and self._is_prompt():
            self._serve(is_prompt=True)
        else:
            request.deregister = cancellation.register(functools.partial(self._cancel, request))
            if is_first:
                self._submit(self._serve)

    def position(self) -> iterator_state.Position:
        with self._lock:
            if self._pass is None:
                raise uninitialized()
            return self._pass.position

    def restore(self, position: iterator_state.Position) -> None:
        with self._lock:
            current = self._pass
            if current is None:
                self._restored = position
        if current is not None:
            self._begin(current.plan, position)

    def abandon(self, error: errors.OpError) -> None:
        with self._lock:
            self._abandoned = error
            waiting = [*self._requests, *([self._served] if self._served else ())]
            self._requests.clear()
            current = self._pass
        if current is not None:
            current.run.stop()
        for request in waiting:
            request.answer((), error)

    def _cancel(self, request: Request, error: errors.OpError) -> None:
        with self._lock:
            if request in self._requests:
                self._requests.remove(request)
            is_wanted = bool(self._requests) or self._served not in (None, request)
            if self._pass is not None and not is_wanted:
                self._pass.run.pause()
        request.answer((), error)

    def _is_prompt(self) -> bool:
        """Return whether the next element can be made at once."""
        current = self._pass
        if current is None or current.returned:
            return True
        if current.made < current.start.made:
            return False
        is_ready = getattr(current.elements, "is_ready", None)
        return is_ready() if is_ready is not None else not current.plan.may_block

    def _serve(self, *, is_prompt: bool = False) -> None:
        """Answer the requests in order, until there are none. The caller has set `_is_busy`.

        If `is_prompt`, answer the first request, and leave every element that is not ready to the
        thread of the iterator.
        """
        is_first = True
        while True:
            if is_prompt and not is_first and self._requests and not self._is_prompt():
                self._submit(self._serve)
                return
            is_first = False
            with self._lock:
                request = self._served = self._requests.popleft() if self._requests else None
                if request is None:
                    self._is_busy = False
                    return
            while not self._answer(request):
                pass

    def _answer(self, request: Request) -> bool:
        """Answer a request with the next element.

        Return False if the request still waits because another pass has begun meanwhile.
        """
        outputs: Sequence[Any] = ()
        error: errors.OpError | None = None
        give_back: waiters.GiveBack | None = None
        current = self._pass
        try:
            number, element = self._next(current)
            give_back = functools.partial(self._give_back, current, number, element)
            own = elements.writeable(element)
            outputs = own if request.wrap is None else request.wrap(own)
        except StopIteration:
            if self._is_superseded(current):
                return request.is_answered
            if request.wrap is None:
                error = errors.OutOfRangeError(None, None, "End of sequence")
            else:
                outputs = request.wrap(None)
        except Exception as fault:  # noqa: BLE001 - the step's error
            if self._is_superseded(current):
                return request.is_answered
            error = errors.from_exception(fault)
        if not request.answer(outputs, error, give_back) and give_back is not None:
            give_back()
        return True

    def _is_superseded(self, current: _Pass | None) -> bool:
        """Return whether another pass has begun, so that an error of `current` may be its end."""
        with self._lock:
            return current is not self._pass and self._abandoned is None

    def _next(self, current: _Pass | None) -> tuple[int, Element]:
        if current is None:
            raise uninitialized()
        self._replay(current)
        with self._lock:
            if current.returned:
                return heapq.heappop(current.returned)
        try:
            element: Element = next(current.elements)
            self._check(element)
        except StopIteration:
            raise
        except Exception:
            current.made += 1
            raise
        current.made += 1
        return current.made - 1, element

    def _replay(self, current: _Pass) -> None:
        """Make the elements before the start of the pass. Keep the elements that no step took."""
        while current.made < current.start.made:
            current.run.check()
            try:
                element = next(current.elements)
            except errors.OpError:
                pass  # a step has got this error
            else:
                if current.made in current.start.returned:
                    self._give_back(current, current.made, element)
            current.made += 1

    def _check(self, element: Element) -> None:
        for index, (value, shape) in enumerate(zip(element, self._spec.shapes, strict=True)):
            if shape is not None and not shapes.is_compatible(shape, value.shape):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Component {index} of the next element has shape {shapes.show(value.shape)}, "
                    f"but the iterator expects {shapes.show(shape)}",
                )

    def _give_back(self, current: _Pass | None, number: int, element: Element) -> None:
        """Keep an element that its step did not take for the next step."""
        assert current is not None
        with self._lock:
            heapq.heappush(current.returned, (number, element))

    def _submit(self, work: Callable[[], None]) -> None:
        """Run `work` in the thread of the iterator, which lives as long as the iterator."""
        if self._work is None:
            self._work = queue.SimpleQueue()
            threading.Thread(
                target=contextvars.Context().run,
                args=(_work, self._work),
                name="capstan-iterator",
                daemon=True,
            ).start()
        self._work.put(work)

    def end(self) -> None:
        """End the pass and the thread."""
        self.abandon(errors.CancelledError(None, None, "The iterator was closed"))
        if self._work is not None:
            self._work.put(None)


def _work(tasks: "queue.SimpleQueue[Callable[[], None] | None]") -> None:
    np.seterr(all="ignore")
    while True:
        task = tasks.get()
        if task is None:
            return
        task()
        del task


def uninitialized() -> errors.OpError:
    return errors.FailedPreconditionError(
        None,
        None,
        "GetNext() failed because the iterator has not been initialized. Ensure that you have run "
        "the initializer operation for this iterator before getting the next element.",
    )
