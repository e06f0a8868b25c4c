"""Datasets: plans that an iterator runs (core/framework/dataset.h).

A dataset is a variant. It is made of the dataset that it reads, its parameters, and the compiled
functions that it calls with the tensors that they capture. It has no position. `Dataset.start`
begins a pass over its elements (`dataset_run`), and any number of passes may run at the same time.
"""

import itertools
import operator
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from capstan import errors
from capstan.core import cancellation, dtypes, shapes
from capstan.resources import variant
from capstan.resources.dataset_run import Run

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

    def bound(self, run: Run) -> Callable[..., tuple[Any, ...]]:
        """Return the function without the captured arguments. The end of `run` ends its waits.

        As in TensorFlow, the function keeps its streams of random numbers and its objects for the
        whole of `run`. A dataset that is repeated therefore goes on with other random numbers.
        """
        function = run.keep(self.callee, "function", lambda: self.callee.bound(run.cancellation))
        return _without(function, self.values)

    def endless(self, run: Run) -> Callable[..., tuple[Any, ...]]:
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

    def bound(self, run: Run) -> Callable[..., tuple[Any, ...]]:
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
