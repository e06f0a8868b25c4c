"""Datasets: plans that an iterator runs (core/framework/dataset.h).

A dataset is a variant. It is made of the dataset that it reads, its parameters, and the compiled
functions that it calls with the tensors that they capture. It has no position. `Dataset.start`
begins a pass over its elements, and any number of passes may run at the same time.
"""

import itertools
import operator
import random
import threading
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from capstan import errors
from capstan.core import cancellation, dtypes, shapes
from capstan.resources import variant

Element = tuple[Any, ...]
"""One value per component: an array or a NumPy scalar. Nothing changes the values."""

Block = tuple[Any, ...]
"""One array per component, with the values of consecutive elements along axis 0."""

MANY_ELEMENTS = 10_000
"""Making more elements takes long enough to need a thread. The number is a guess."""


class Callee(Protocol):
    """A compiled function that a node keeps. Thread-safe."""

    @property
    def may_block(self) -> bool:
        """Whether a call may wait for something outside of the function, or loop for long."""

    @property
    def ops(self) -> frozenset[str]:
        """The operations of the function, and of the functions that it calls or keeps."""

    @property
    def over_blocks(self) -> Callable[..., tuple[Any, ...]] | None:
        """The function for stacked elements, if the function computes each number separately."""

    def bound(
        self, cancelled: cancellation.Cancellation | None = None
    ) -> Callable[..., tuple[Any, ...]]:
        """Return a Python function that takes and returns the values of tensors.

        The function raises StopIteration in place of an OutOfRangeError. `cancelled` ends the loops
        of the function, and its operations that wait.
        """


@dataclass(frozen=True, slots=True)
class Captured:
    """A function with the values that it captures, which are its last arguments."""

    callee: Callee
    values: Element = ()

    @property
    def may_block(self) -> bool:
        return self.callee.may_block

    def bound(self, run: "Run") -> Callable[..., tuple[Any, ...]]:
        """Return the function without the captured arguments. The end of `run` ends its waits.

        As in TensorFlow, the function keeps its streams of random numbers and its objects for the
        whole of `run`. A dataset that is repeated therefore goes on with other random numbers.
        """
        function = run.keep(self.callee, "function", lambda: self.callee.bound(run.cancellation))
        return _without(function, self.values)

    def endless(self, run: "Run") -> Callable[..., tuple[Any, ...]]:
        """Return `bound(run)` for a dataset that its function cannot end.

        In place of an OutOfRangeError, the function raises InternalError. As in TensorFlow, an end
        in the middle must not pass for the end of the elements.
        """
        return _refusing_ends(self.bound(run), errors.InternalError)

    def over_blocks(self) -> Callable[..., tuple[Any, ...]] | None:
        """Return the function for stacked elements, or None if there is none."""
        return None if self.values else self.callee.over_blocks


class Lasting(Captured):
    """A function whose OutOfRangeError is an InvalidArgumentError, and does not end a dataset."""

    def bound(self, run: "Run") -> Callable[..., tuple[Any, ...]]:
        return _refusing_ends(Captured.bound(self, run), errors.InvalidArgumentError)


def _refusing_ends(
    function: Callable[..., tuple[Any, ...]], error: Callable[[None, None, str], Exception]
) -> Callable[..., tuple[Any, ...]]:
    """Return a function that raises `error` in place of StopIteration."""

    def call(*arguments: Any) -> tuple[Any, ...]:
        try:
            return function(*arguments)
        except StopIteration as end:
            raise error(
                None, None, f"Function invocation produced OutOfRangeError: {end.__cause__}"
            ) from end

    return call


def _without(
    function: Callable[..., tuple[Any, ...]], values: Element
) -> Callable[..., tuple[Any, ...]]:
    if not values:
        return function
    return lambda *arguments: function(*arguments, *values)


class Run:
    """One pass of an iterator over its dataset, from its initializer to the next. Thread-safe.

    The parts of the pass share the objects that it keeps. `stop` ends the pass: the threads of the
    pass, the operations that wait, and each loop that makes no element.
    """

    def __init__(self, seeds: Sequence[int] = ()) -> None:
        """`seeds` are the first random seeds that the pass draws, if it repeats another pass."""
        self.cancellation = cancellation.Cancellation()
        self._lock = threading.RLock()
        self._resumed = threading.Condition(self._lock)
        self._seeds = list(seeds)
        self._drawn = 0
        self._kept: dict[tuple[int, str], tuple[object, Any]] = {}
        self._is_paused = False
        self._is_stopped = False
        self._is_held = False

    @property
    def seeds(self) -> list[int]:
        """The random seeds that the pass has drawn."""
        with self._lock:
            return self._seeds[: self._drawn]

    def seed(self) -> int:
        """Return a random seed of 31 bits."""
        with self._lock:
            if self._drawn == len(self._seeds):
                self._seeds.append(random.SystemRandom().getrandbits(31) or 1)
            self._drawn += 1
            return self._seeds[self._drawn - 1]

    def keep(self, owner: object, name: str, make: Callable[[], Any]) -> Any:
        """Return the object that `owner` keeps for the pass. The first call makes it."""
        key = id(owner), name
        with self._lock:
            if key not in self._kept:
                self._kept[key] = (owner, make())
            return self._kept[key][1]

    def draw(self, numbers: Iterator[int], count: int) -> tuple[int, ...]:
        """Return the next `count` numbers of an iterator that several threads share."""
        with self._lock:
            return tuple(itertools.islice(numbers, count))

    def check(self) -> None:
        """Check that the pass goes on. Every loop that may make no element calls this.

        Blocks while the pass is paused.

        Raises:
            CancelledError: the pass is stopped.
        """
        if self._is_held:
            self._wait()

    def _wait(self) -> None:
        with self._resumed:
            while self._is_paused and not self._is_stopped:
                self._resumed.wait()
            if self._is_stopped:
                raise stopped()

    def pause(self) -> None:
        """Let loops that look for an element wait, because no step wants an element any more."""
        with self._lock:
            self._is_paused = self._is_held = True

    def resume(self) -> None:
        """Let the loops of a paused pass go on."""
        if self._is_paused:
            with self._resumed:
                self._is_paused = False
                self._is_held = self._is_stopped
                self._resumed.notify_all()

    def close_with(self, owner: object, close: Callable[[], None]) -> Callable[[], None]:
        """Call `close` once: when the pass is stopped, or when nothing refers to `owner`.

        `close` must not refer to `owner`, block or raise. Return the function that calls it now.
        """
        is_closed: list[bool] = []

        def close_once(_: object = None) -> None:
            with self._lock:
                if is_closed:
                    return
                is_closed.append(True)
            close()

        deregister = self.cancellation.register(close_once)

        def end() -> None:
            deregister()
            close_once()

        weakref.finalize(owner, end).atexit = False
        return end

    def stop(self) -> None:
        """End the pass. Does not block."""
        with self._resumed:
            self._is_stopped = self._is_held = True
            self._resumed.notify_all()
        self.cancellation.cancel(stopped())


def stopped() -> errors.OpError:
    """Return the error of a call whose pass has been stopped."""
    return errors.CancelledError(None, None, "The iterator was closed or initialized again")


class Dataset(variant.Variant):
    """A plan. Immutable and thread-safe, except for the parts of a `Run`."""

    __slots__ = ()
    type_name: ClassVar[str] = "tensorflow::DatasetVariantWrapper"

    spec: "Spec"
    """The types and the shapes of the components."""

    @property
    def may_block(self) -> bool:
        """Whether the next element may depend on another step or thread, or may take long."""
        return any(each.may_block for each in self.inputs)

    @property
    def inputs(self) -> Sequence["Dataset"]:
        """The datasets that this one reads."""
        return ()

    @abstractmethod
    def start(self, run: Run) -> Iterator[Element]:
        """Begin a pass over the elements.

        The iterator may be used by one thread at a time. If it raises an OpError, the next call
        goes on with the next element.
        """

    def blocks(self, run: Run, size: int) -> Iterator[Block] | None:
        """Begin a pass over the elements in blocks of at most `size` elements.

        Return None if the dataset makes its elements one by one.
        """
        return None

    def zeros_like(self) -> "Dataset":
        raise _not_a_number()

    def plus(self, other: variant.Variant) -> "Dataset":
        raise _not_a_number()

    def parts(self) -> tuple[bytes, Sequence[tuple[Any, dtypes.DType]]]:
        raise errors.UnimplementedError(
            None,
            None,
            "A dataset cannot leave its task. Place the operations of the dataset and its iterator "
            "on one task, for example with tf.device",
        )


@dataclass(frozen=True, slots=True)
class Spec:
    """The types and the shapes of the components of a dataset."""

    types: tuple[dtypes.DType, ...]
    shapes: tuple[shapes.Shape, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Dataset):
    """A dataset that reads one other dataset (TensorFlow: `UnaryDataset`)."""

    spec: Spec
    source: Dataset

    @property
    def inputs(self) -> Sequence[Dataset]:
        return (self.source,)


class Flat(Iterator[Element]):
    """The elements of one iterator after the other.

    Unlike `itertools.chain`, it goes on after an error of an iterator or of `iterators` itself.
    """

    def __init__(self, iterators: Iterator[Iterator[Element]], run: Run) -> None:
        self._iterators, self._run = iterators, run
        self._current: Iterator[Element] = iter(())

    def is_ready(self) -> bool:
        """Return whether `next` will not block, because the current iterator is one of a tuple."""
        return operator.length_hint(self._current) > 0

    def __next__(self) -> Element:
        while True:
            self._run.check()
            for element in self._current:
                return element
            try:
                self._current = next(self._iterators)
            except StopIteration:
                self._iterators = iter(())
                raise


def first(values: Iterable[Element], count: int) -> list[Element]:
    """Return the first `count` elements, or fewer at the end."""
    return list(itertools.islice(values, count))


def _not_a_number() -> errors.OpError:
    return errors.InvalidArgumentError(None, None, "A dataset has no sum and no zeros")
