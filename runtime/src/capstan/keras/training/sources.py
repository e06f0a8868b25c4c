"""The batches of a pass over arrays, over a dataset, or over a generator
(python/keras/engine/training_arrays.py, training_generator.py).
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from capstan import errors
from capstan.api import data
from capstan.keras.training import batches


class Arrays:
    """Batches of arrays. Each pass shuffles the examples, if asked to."""

    def __init__(self, examples: batches.Batch, batch_size: int, shuffle: Any = False) -> None:
        self._examples, self._size, self._shuffle = examples, batch_size, shuffle
        self.steps: int | None = -(-examples.size // batch_size)
        self.samples: int | None = examples.size

    def __iter__(self) -> Iterator[batches.Batch]:
        order = np.arange(self._examples.size)
        starts = list(range(0, len(order), self._size))
        if self._shuffle == "batch":
            np.random.shuffle(starts)
        elif self._shuffle:
            np.random.shuffle(order)
        for start in starts:
            yield batches.part(self._examples, order[start : start + self._size])


class BesideGenerator:
    """Batches of arrays of the size that the last batch of a generator has."""

    steps: int | None = None

    def __init__(self, examples: batches.Batch, generator: "Generator") -> None:
        self.samples: int | None = examples.size
        self._examples, self._generator = examples, generator

    def __iter__(self) -> Iterator[batches.Batch]:
        return iter(Arrays(self._examples, self._generator.batch_size))


class Tensors:
    """Steps of a model whose inputs and targets are tensors of the graph."""

    samples: int | None = None

    def __init__(self, names: batches.Names, steps: int) -> None:
        self.steps: int | None = steps
        self._batch = batches.Batch([], [], [None] * len(names.outputs))

    def __iter__(self) -> Iterator[batches.Batch]:
        return itertools.repeat(self._batch, self.steps or 0)


class Dataset:
    """Batches of a dataset of `tf.data`, of `steps` batches a pass, or to its end if it is None.

    With `steps`, a pass goes on where the pass before it ended, unless `restarts` is true.

    Raises:
        ValueError: `steps` is None, and the dataset repeats for ever.
    """

    samples: int | None = None

    def __init__(
        self,
        source: Any,
        session: Any,
        names: batches.Names,
        steps: int | None,
        class_weight: Mapping[Any, Any] | None = None,
        restarts: bool = False,
    ) -> None:
        self.steps, self._session = steps, session
        # Elements of a dataset have the shapes that its program chose: a loss may broadcast them.
        self._names = dataclasses.replace(names, expected=(), shapes=())
        self._class_weight, self._restarts = class_weight, restarts or steps is None
        is_iterator = isinstance(source, data.Iterator)
        if steps is None and not is_iterator:
            size = session.run(data.experimental.cardinality(source))
            if size == data.experimental.INFINITE_CARDINALITY:
                raise ValueError(
                    "When passing an infinitely repeating dataset, you must specify the number of "
                    "steps: `steps_per_epoch` of `fit`, `validation_steps` for its validation, or "
                    "`steps` of `evaluate` and `predict`."
                )
        iterator = source if is_iterator else data.make_initializable_iterator(source)
        self._next = iterator.get_next()
        self._start = None if is_iterator else iterator.initializer
        self._is_started = is_iterator

    def __iter__(self) -> Iterator[batches.Batch]:
        if not self._is_started or (self._restarts and self._start is not None):
            self._session.run(self._start)
            self._is_started = True
        count = 0
        while self.steps is None or count < self.steps:
            try:
                value = self._session.run(self._next)
            except errors.OutOfRangeError:
                return
            count += 1
            yield batches.of_element(value, self._names, self._class_weight)


class Generator:
    """Batches of a Python iterator, or of a `tf.keras.utils.Sequence`: an object with items."""

    samples: int | None = None

    def __init__(
        self,
        source: Any,
        names: batches.Names,
        steps: int | None,
        class_weight: Mapping[Any, Any] | None = None,
        shuffle: bool = False,
    ) -> None:
        self._source, self._names, self._shuffle = source, names, shuffle
        self._class_weight = class_weight
        self.batch_size = 1
        """The number of examples in the last batch."""
        self._is_sequence = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        self.steps = len(source) if steps is None and self._is_sequence else steps
        if self.steps is None:
            raise ValueError(
                "`steps_per_epoch=None` is only valid for a generator based on the "
                "`keras.utils.Sequence` class. Please specify `steps_per_epoch`, or use the "
                "`keras.utils.Sequence` class."
            )
        self._items: Iterator[Any] = iter(()) if self._is_sequence else iter(source)

    def __iter__(self) -> Iterator[batches.Batch]:
        for _ in range(self.steps or 0):
            value = next(self._items, None)
            if value is None and self._is_sequence:
                self._items = self._pass()
                value = next(self._items, None)
            if value is None:
                return
            batch = batches.of_element(value, self._names, self._class_weight)
            self.batch_size = batch.size
            yield batch
        if hasattr(self._source, "on_epoch_end"):
            self._source.on_epoch_end()

    def _pass(self) -> Iterator[Any]:
        order = np.arange(len(self._source))
        if self._shuffle:
            np.random.shuffle(order)
        return (self._source[number] for number in order.tolist())
