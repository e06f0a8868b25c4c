"""What datasets measure (data/experimental/ops/{stats_aggregator,stats_ops}.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api import data_base
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = ["StatsAggregator", "bytes_produced_stats", "latency_stats"]


class StatsAggregator:
    """Histograms of what datasets measure, by tag.

    A dataset reports to the aggregator that its options name as `experimental_stats.aggregator`.
    """

    def __init__(self) -> None:
        self._resource = raw.StatsAggregatorHandle()

    def get_summary(self) -> Any:
        """Return a scalar string: a serialised Summary of what was measured so far."""
        return raw.StatsAggregatorSummary(self._resource)


def bytes_produced_stats(tag: Any) -> Callable[[data_base.Base], Any]:
    """Return a transformation that measures the bytes of each element, and changes no element."""
    return _measuring("BytesProducedStatsDataset", tag)


def latency_stats(tag: Any) -> Callable[[data_base.Base], Any]:
    """Return a transformation that measures the microseconds that it waits for each element."""
    return _measuring("LatencyStatsDataset", tag)


def set_stats_aggregator(
    stats_aggregator: StatsAggregator, prefix: Any = "", counter_prefix: Any = ""
) -> Callable[[data_base.Base], Any]:
    """Return a transformation that lets a dataset report to an aggregator.

    The tags then begin with `prefix` and two colons. `counter_prefix` has no effect.
    """

    def apply(dataset: data_base.Base) -> Any:
        return dataset._unary(
            "SetStatsAggregatorDataset", stats_aggregator._resource, prefix, counter_prefix
        )

    return apply


def _measuring(op: str, tag: Any) -> Callable[[data_base.Base], Any]:
    name = convert.convert_to_tensor(tag, dtypes.string, name="tag")
    return lambda dataset: dataset._unary(op, name)
