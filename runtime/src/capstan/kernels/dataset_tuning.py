"""Kernels of the datasets that have the elements of another dataset."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from capstan.kernels import datasets, rejection, resources
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import dataset, dataset_order, resource
from capstan.resources.dataset import Dataset, Element, Spec
from capstan.resources.dataset_run import Run


def _same(spec: Spec, source: Any, *_: Any) -> Dataset:
    return dataset_order.Same(spec, datasets.dataset_in(source))


def _pool(node: NodeContext) -> Function:
    # Capstan chooses its threads itself. The handle only lets the graph of the client run.
    found = resources.named(node, "thread pool", resource.Resource)
    return lambda: found


@dataclass(frozen=True, slots=True, eq=False)
class _Slow(dataset.Unary):
    """The elements of `source`, with a pause before each."""

    pause_s: float

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        return _Paused(self.source.start(run), self.pause_s, run)


class _Paused(Iterator[Element]):
    def __init__(self, source: Iterator[Element], pause_s: float, run: Run) -> None:
        self._source, self._pause_s, self._run = source, pause_s, run
        self._stopped = threading.Event()
        run.close_with(self, self._stopped.set)

    def __next__(self) -> Element:
        element = next(self._source)
        self._stopped.wait(self._pause_s)
        self._run.check()
        return element


def _sleep(spec: Spec, source: Any, pause: Any) -> Dataset:
    microseconds = rejection.number(pause, "sleep_microseconds")
    return _Slow(spec, datasets.dataset_in(source), max(microseconds, 0) / 1e6)


def _fastest(spec: Spec, *sources: Any) -> Dataset:
    # All of them have the same elements.
    return _same(spec, sources[0])


def _wrapped(handle: Any) -> Any:
    datasets.dataset_in(handle)
    return handle


def _threads(spec: Spec, source: Any, count: Any) -> Dataset:
    if rejection.number(count, "num_threads") < 0:
        raise invalid("`num_threads` must be >= 0")
    return _same(spec, source)


for _prefix in ("", "Experimental"):
    for _name in (
        *("MaxIntraOpParallelism", "ThreadPool", "NonSerializable"),
        *("LatencyStats", "BytesProducedStats"),
    ):
        register(Kernel(f"{_prefix}{_name}Dataset", datasets.plain(_same)))
    register(Kernel(f"{_prefix}PrivateThreadPoolDataset", datasets.plain(_threads)))
    register(Kernel(f"{_prefix}ThreadPoolHandle", _pool))
    register(Kernel(f"{_prefix}SleepDataset", datasets.plain(_sleep)))
    register(Kernel(f"{_prefix}ChooseFastestDataset", datasets.plain(_fastest)))
register(Kernel("OptimizeDatasetV2", datasets.plain(_same)))
for _op in ("WrapDatasetVariant", "UnwrapDatasetVariant"):
    register(Kernel(_op, constantly(_wrapped), alias=True))
