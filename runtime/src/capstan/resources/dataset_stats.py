"""What a pass over a dataset measures.

Source: core/kernels/data/experimental/stats_{aggregator_ops,dataset_ops}.cc. Unlike there, only the
datasets measure that a program adds for this purpose.
"""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from capstan.core import histogram, resource_name
from capstan.resources import dataset_order, resource
from capstan.resources.dataset import Block, Element
from capstan.resources.dataset_run import Run

_STRING_BYTES = 24
"""The bytes of a string beside its characters, as TensorFlow counts them."""


class Aggregator(resource.Resource):
    """Histograms of what passes measure, by tag. Thread-safe."""

    def __init__(self, name: resource_name.ResourceName) -> None:
        super().__init__(name)
        self._lock = threading.Lock()
        self._histograms: dict[str, histogram.Histogram] = {}

    def add(self, tag: str, value: float) -> None:
        with self._lock:
            self._histograms.setdefault(tag, histogram.Histogram()).add(np.array([value]))

    def summary(self) -> bytes:
        """Return a serialised Summary of all histograms."""
        from tensorboard.compat.proto import summary_pb2

        found = summary_pb2.Summary()
        with self._lock:
            for tag, each in self._histograms.items():
                each.encode(found.value.add(tag=tag).histo)
        content: bytes = found.SerializeToString()
        return content


@dataclass(frozen=True, slots=True, eq=False)
class Measured(dataset_order.Same):
    """The elements of `source`. What its datasets measure goes to `aggregator`.

    The tags then begin with `prefix` and two colons, if it is not empty.
    """

    aggregator: Aggregator
    prefix: str

    def start(self, run: Run) -> Iterator[Element]:
        self._choose(run)
        return self.source.start(run)

    def blocks(self, run: Run, size: int) -> Iterator[Block] | None:
        self._choose(run)
        return self.source.blocks(run, size)

    def _choose(self, run: Run) -> None:
        # The last aggregator of a dataset begins first, and takes what all of its parts measure.
        if run.measure is None:
            start = f"{self.prefix}::" if self.prefix else ""
            run.measure = lambda tag, value: self.aggregator.add(f"{start}{tag}", value)


@dataclass(frozen=True, slots=True, eq=False)
class Measuring(dataset_order.Same):
    """The elements of `source`, of which it measures the time or the bytes under `tag`."""

    tag: str
    counts_bytes: bool

    def start(self, run: Run) -> Iterator[Element]:
        return _Measurement(self.source.start(run), run, self.tag, self.counts_bytes)

    def blocks(self, run: Run, size: int) -> Iterator[Block] | None:
        return self.source.blocks(run, size) if run.measure is None else None


class _Measurement(Iterator[Element]):
    def __init__(self, source: Iterator[Element], run: Run, tag: str, counts_bytes: bool) -> None:
        self._source, self._run, self._tag, self._counts_bytes = source, run, tag, counts_bytes

    def __next__(self) -> Element:
        begun = time.perf_counter()
        element = next(self._source)
        measure = self._run.measure
        if measure is not None:
            micros = (time.perf_counter() - begun) * 1e6
            measure(self._tag, _size(element) if self._counts_bytes else micros)
        return element


def _size(element: Element) -> float:
    """Return the bytes of an element. Parts that are no arrays have none."""
    total = 0
    for value in element:
        array = np.asarray(value)
        if array.dtype != object:
            total += array.nbytes
        elif all(isinstance(each, bytes) for each in array.flat):
            total += sum(_STRING_BYTES + len(each) for each in array.flat)
    return float(total)
