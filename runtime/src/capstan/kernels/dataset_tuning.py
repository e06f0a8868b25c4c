"""Kernels of the datasets that have the elements of another dataset."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from capstan.core import attr_value
from capstan.kernels import datasets, rejection, resources
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import dataset, dataset_order, dataset_stats, elements, resource
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


def _aggregator(node: NodeContext) -> Function:
    found = resources.named(node, "stats aggregator", dataset_stats.Aggregator)
    return lambda: found


def _measured(spec: Spec, source: Any, handle: Any, tag: Any, _: Any) -> Dataset:
    prefix = attr_value.text(rejection.string(tag, "tag"))
    found = resources.behind(handle)
    return dataset_stats.Measured(spec, datasets.dataset_in(source), found, prefix)


def _summary(handle: Any) -> Any:
    return elements.scalar(resources.behind(handle).summary())


def _measuring(*, counts_bytes: bool) -> Callable[..., Dataset]:
    def make(spec: Spec, source: Any, tag: Any) -> Dataset:
        name = attr_value.text(rejection.string(tag, "tag"))
        return dataset_stats.Measuring(spec, datasets.dataset_in(source), name, counts_bytes)

    return make


for _prefix in ("", "Experimental"):
    for _name, _bytes in (("LatencyStats", False), ("BytesProducedStats", True)):
        _make = datasets.plain(_measuring(counts_bytes=_bytes))
        register(Kernel(f"{_prefix}{_name}Dataset", _make))
    register(Kernel(f"{_prefix}StatsAggregatorHandle", _aggregator))
    register(Kernel(f"{_prefix}StatsAggregatorSummary", constantly(_summary)))
    register(Kernel(f"{_prefix}SetStatsAggregatorDataset", datasets.plain(_measured)))
    for _name in ("MaxIntraOpParallelism", "ThreadPool", "NonSerializable"):
        register(Kernel(f"{_prefix}{_name}Dataset", datasets.plain(_same)))
    register(Kernel(f"{_prefix}PrivateThreadPoolDataset", datasets.plain(_threads)))
    register(Kernel(f"{_prefix}ThreadPoolHandle", _pool))
    register(Kernel(f"{_prefix}SleepDataset", datasets.plain(_sleep)))
    register(Kernel(f"{_prefix}ChooseFastestDataset", datasets.plain(_fastest)))
register(Kernel("OptimizeDatasetV2", datasets.plain(_same)))
for _op in ("WrapDatasetVariant", "UnwrapDatasetVariant"):
    register(Kernel(_op, constantly(_wrapped), alias=True))
