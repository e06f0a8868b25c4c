"""The inputs of a strategy with several replicas in one process.

Source: tensorflow/python/distribute/input_lib.py of 2019.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from capstan.api import array_ops, context, dataset, distributed_values, nest
from capstan.api import distribution_inputs as inputs

_HOST = "/device:CPU:0"


class DistributedDataset:
    """A dataset for several replicas. `make(source, devices)` makes its iterator."""

    def __init__(
        self,
        source: dataset.Dataset,
        devices: Sequence[str],
        make: Callable[[dataset.Dataset, Sequence[str]], Any],
    ) -> None:
        self._source, self._devices, self._make = source, devices, make

    def make_initializable_iterator(self, shared_name: str | None = None) -> Any:
        """Return an iterator, whose elements are PerReplica values. `shared_name` has no effect."""
        return self._make(self._source, self._devices)

    def make_one_shot_iterator(self) -> NoReturn:
        """Raise ValueError: the iterator must be initialized."""
        raise ValueError(
            "Cannot create a one shot iterator. Please use `make_initializable_iterator()` instead."
        )

    def __iter__(self) -> NoReturn:
        raise RuntimeError(
            "__iter__() is only supported inside of tf.function or when eager execution is enabled."
        )


class Parts(NamedTuple):
    """The parts of a batch that a worker uses: how many parts there are, and their numbers."""

    total: int
    numbers: tuple[int, ...]


class SplitIterator(inputs.DatasetIterator):
    """The batches of a dataset, divided among the replicas, as PerReplica values.

    Each replica gets the next part of a batch, which has the size of the batch divided by the
    number of replicas, rounded up. The parts of the last replicas may be smaller. `parts` are those
    of this worker, by default all.

    Raises:
        ValueError: an element has a component without a batch axis.
    """

    def __init__(
        self, source: dataset.Dataset, devices: Sequence[str], parts: Parts | None = None
    ) -> None:
        for shape in nest.flatten(source.output_shapes):
            if shape.ndims == 0:
                raise ValueError(
                    "Input shape should have at least one dimension. Perhaps your input dataset is "
                    "not batched?"
                )
        with context.device(_HOST):
            super().__init__(source)
        self._devices = devices
        self._parts = parts or Parts(len(devices), tuple(range(len(devices))))

    def get_next(self, name: str | None = None) -> Any:
        """Return the parts of the next batch. A step fails with OutOfRangeError after the last."""
        with context.device(_HOST):
            batch = self._iterator.get_next(name)
            whole = nest.flatten(batch)
            parts = [
                nest.pack_sequence_as(batch, [self._part(one, number) for one in whole])
                for number in self._parts.numbers
            ]
        return distributed_values.regroup(self._devices, parts)

    def _part(self, whole: Any, number: int) -> Any:
        count = self._parts.total
        if count == 1:
            return array_ops.identity(whole)
        total = whole.shape.as_list()[0] if whole.shape.ndims is not None else None
        if total is not None and total % count == 0:
            size = total // count
            return whole[number * size : (number + 1) * size]
        size = (array_ops.shape(whole)[0] + count - 1) // count
        return whole[number * size : (number + 1) * size]


def in_turn(iterator: Any, count: int, name: str | None = None) -> list[Any]:
    """Return the next `count` elements of an iterator, in their order.

    A step takes all of them. It fails with OutOfRangeError if an element is missing.
    """
    elements: list[Any] = []
    before: list[Any] = []
    for _ in range(count):
        with context.control_dependencies(before):
            elements.append(iterator.get_next(name))
        before = [one.op for one in nest.flatten(elements[-1], expand_composites=True)]
    # The last element arrives after all others.
    with context.control_dependencies(before):
        elements[:-1] = [
            nest.map_structure(array_ops.identity, element, expand_composites=True)
            for element in elements[:-1]
        ]
    return elements


class TurnsIterator(inputs.DatasetIterator):
    """The elements of a dataset, which the replicas get in turn, as PerReplica values."""

    def __init__(self, source: dataset.Dataset, devices: Sequence[str]) -> None:
        with context.device(_HOST):
            super().__init__(source)
        self._devices = devices

    def get_next(self, name: str | None = None) -> Any:
        """Return an element for each replica.

        A step fails with OutOfRangeError if an element is missing. No replica gets one then.
        """
        with context.device(_HOST):
            parts = in_turn(self._iterator, len(self._devices), name)
        return distributed_values.regroup(self._devices, parts)


class CallsIterator(inputs.FunctionIterator):
    """The results of a function without arguments, as PerReplica values."""

    def __init__(self, function: Callable[[], Any], devices: Sequence[str]) -> None:
        super().__init__(function)
        self._devices = devices

    def get_next(self, name: str | None = None) -> Any:
        """Call the function for each replica. The name has no effect."""
        with context.device(_HOST):
            parts = [self._function() for _ in self._devices]
        return distributed_values.regroup(self._devices, parts)


def inputs_of(source: Any, devices: Sequence[str]) -> TurnsIterator | CallsIterator:
    """Return an iterator over what an input function has returned.

    Raises:
        ValueError: `source` is neither a dataset nor a function.
    """
    if isinstance(source, dataset.Dataset):
        return TurnsIterator(source, devices)
    if callable(source):
        return CallsIterator(source, devices)
    raise ValueError("input_fn must return a tf.data.Dataset or a callable.")
