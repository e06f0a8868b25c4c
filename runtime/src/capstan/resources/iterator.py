"""Iterators: the position in a dataset (core/kernels/data/iterator_ops.cc).

Steps ask for elements in order. An element that needs no other thread is made at once, in the
thread of the step. Any other element is made in a thread of the iterator, so a step that waits
holds a callback and no thread. If a step ends before it takes its element, the next step gets the
element; TensorFlow loses it.
"""

import contextvars
import functools
import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import cancellation as cancellations
from capstan.core import resource_name, shapes
from capstan.resources import dataset, resource, waiters
from capstan.resources.dataset import Element, Spec


class _Request:
    """One step that asks for an element. Thread-safe."""

    def __init__(self, done: waiters.Done, wrap: Callable[[Any], Sequence[Any]] | None) -> None:
        self._done = done
        self._is_answered = threading.Lock()
        self.wrap = wrap
        self.deregister: Callable[[], None] | None = None

    def answer(
        self,
        outputs: Sequence[Any],
        error: errors.OpError | None,
        give_back: waiters.GiveBack | None = None,
    ) -> bool:
        """Answer, unless the request has its answer. Return whether the step took the outputs."""
        if not self._is_answered.acquire(blocking=False):
            return False
        if self.deregister is not None:
            self.deregister()
        return self._done(outputs, error, give_back)


class Iterator(resource.Resource):
    """A position in a dataset, which `initialize` sets. Thread-safe. No method blocks."""

    def __init__(self, name: resource_name.ResourceName, spec: Spec) -> None:
        super().__init__(name)
        self.spec = spec
        self._lock = threading.Lock()
        self._requests: deque[_Request] = deque()
        self._is_busy = False
        self._abandoned: errors.OpError | None = None
        self._plan: dataset.Dataset | None = None
        self._run = dataset.Run()
        self._elements: Any = None
        self._given_back: deque[Element] = deque()
        self._taken = 0
        self._skip = 0
        self._work: queue.SimpleQueue[Callable[[], None] | None] | None = None

    def initialize(
        self, plan: dataset.Dataset, run: dataset.Run | None = None, skip: int = 0
    ) -> None:
        """Begin a pass over `plan`. Steps that wait get their elements from the pass before.

        The pass begins after the first `skip` elements.

        Raises:
            InvalidArgumentError: the types or the shapes of the dataset do not fit the iterator.
        """
        check_spec(self.spec, plan.spec)
        run = run or dataset.Run()
        elements = plan.start(run)
        with self._lock:
            before, self._run = self._run, run
            self._plan, self._elements, self._taken = plan, elements, skip
            self._skip = skip
            self._given_back.clear()
        before.stop()

    def get_next(
        self,
        done: waiters.Done,
        cancellation: cancellations.Cancellation,
        wrap: Callable[[Any], Sequence[Any]] | None = None,
    ) -> None:
        """Answer `done` with the next element.

        At the end the answer is OutOfRangeError. With `wrap`, the outputs are `wrap(element)`, or
        `wrap(None)` at the end.
        """
        request = _Request(done, wrap)
        with self._lock:
            error = self._abandoned or cancellation.error
            is_first = error is None and not self._is_busy
            if error is None:
                self._requests.append(request)
                self._is_busy = True
        if error is not None:
            request.answer((), error)
        elif is_first and self._is_prompt():
            self._serve()
        else:
            request.deregister = cancellation.register(functools.partial(self._cancel, request))
            if is_first:
                self._submit(self._serve)

    def state(self) -> tuple[int, list[int]]:
        """Return the number of elements that steps took, and the random seeds of the pass."""
        with self._lock:
            return self._taken, self._run.seeds

    def restore(self, taken: int, seeds: Sequence[int]) -> None:
        """Go to the place that `state` described, in the dataset of the last `initialize`.

        The next step makes all elements before the place again.

        Raises:
            FailedPreconditionError: the iterator has no dataset.
        """
        plan = self._plan
        if plan is None:
            raise uninitialized()
        self.initialize(plan, dataset.Run(seeds), taken)

    def abandon(self, error: errors.OpError) -> None:
        with self._lock:
            self._abandoned = error
            waiting = list(self._requests)
            self._requests.clear()
        self._run.stop()
        for request in waiting:
            request.answer((), error)

    def _cancel(self, request: _Request, error: errors.OpError) -> None:
        with self._lock:
            if request in self._requests:
                self._requests.remove(request)
        request.answer((), error)

    def _is_prompt(self) -> bool:
        """Return whether the next element can be made at once."""
        plan, elements = self._plan, self._elements
        if plan is None or self._given_back:
            return True
        if self._skip:
            return False
        is_ready = getattr(elements, "is_ready", None)
        return is_ready() if is_ready is not None else not plan.may_block

    def _serve(self) -> None:
        """Answer the requests in order, until there are none. The caller has set `_is_busy`."""
        while True:
            with self._lock:
                if not self._requests:
                    self._is_busy = False
                    return
                request = self._requests.popleft()
                elements = self._elements
            try:
                element = self._next(elements)
            except StopIteration:
                if request.wrap is None:
                    request.answer((), errors.OutOfRangeError(None, None, "End of sequence"))
                else:
                    request.answer(request.wrap(None), None)
                continue
            except Exception as fault:  # noqa: BLE001 - the step's error
                request.answer((), errors.from_exception(fault))
                continue
            give_back = functools.partial(self._give_back, elements, element)
            outputs = element if request.wrap is None else request.wrap(element)
            if not request.answer(outputs, None, give_back):
                give_back()

    def _next(self, elements: Any) -> Element:
        if elements is None:
            raise uninitialized()
        with self._lock:
            if self._given_back:
                self._taken += 1
                return self._given_back.popleft()
            skip, self._skip = self._skip, 0
        for _ in range(skip):
            next(elements)
        element: Element = next(elements)
        self._check(element)
        with self._lock:
            if elements is self._elements:
                self._taken += 1
        return element

    def _check(self, element: Element) -> None:
        for index, (value, shape) in enumerate(zip(element, self.spec.shapes, strict=True)):
            if shape is not None and not shapes.is_compatible(shape, value.shape):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Component {index} of the next element has shape {shapes.show(value.shape)}, "
                    f"but the iterator expects {shapes.show(shape)}",
                )

    def _give_back(self, elements: Any, element: Element) -> None:
        with self._lock:
            if elements is self._elements:
                self._given_back.append(element)
                self._taken -= 1

    def _submit(self, work: Callable[[], None]) -> None:
        """Run `work` in the thread of the iterator, which lives as long as the iterator."""
        if self._work is None:
            self._work = queue.SimpleQueue()
            weakref.finalize(self, self._work.put, None)
            threading.Thread(
                target=contextvars.Context().run,
                args=(_work, self._work),
                name="capstan-iterator",
                daemon=True,
            ).start()
        self._work.put(work)


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


def check_spec(expected: Spec, found: Spec) -> None:
    """Check that a dataset fits an iterator.

    Raises:
        InvalidArgumentError: it does not. The message is TensorFlow's (data/dataset_utils.cc).
    """
    if not expected.types:
        return
    if len(expected.types) != len(found.types):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Number of components does not match: expected {len(expected.types)} types but got "
            f"{len(found.types)}.",
        )
    for index, (mine, theirs) in enumerate(zip(expected.types, found.types, strict=True)):
        if mine is not theirs:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Data type mismatch at component {index}: expected {mine.name} but got "
                f"{theirs.name}.",
            )
    for index, (size, given) in enumerate(zip(expected.shapes, found.shapes, strict=True)):
        if not shapes.is_compatible(size, given):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Incompatible shapes at component {index}: expected {shapes.show(size)} but got "
                f"{shapes.show(given)}.",
            )
