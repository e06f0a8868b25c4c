"""Kernels of the buckets of numbers for boosted trees.

Source: tensorflow/core/kernels/boosted_trees/quantile_ops.cc.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.kernels import resources
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number
from capstan.resources import quantile_streams, quantile_summary


def _handle(node: NodeContext) -> Function:
    found = resources.named(
        node, "quantile streams", quantile_streams.QuantileStreamsResource, may_be_private=False
    )
    return lambda: found


def _is_initialized(handle: Any) -> Any:
    return np.bool_(resources.behind(handle).exists)


def _create(node: NodeContext) -> Function:
    limit = int(node.attrs["max_elements"])

    def create(handle: Any, epsilon: Array, num_streams: Array) -> None:
        eps, count = float(epsilon), number(num_streams, "num_streams")
        _check_eps(eps)
        resources.behind(handle).create(lambda: quantile_streams.QuantileStreams(eps, limit, count))

    return create


def _check_eps(eps: float) -> None:
    if not 0 < eps < 1:
        raise invalid("An epsilon value of zero is not allowed. It must be between 0 and 1")


def _make_summaries(node: NodeContext) -> Function:
    count = int(node.attrs["num_features"])

    def summarize(*inputs: Array) -> Any:
        features, weights, eps = inputs[:count], inputs[count], float(inputs[count + 1])
        _check_eps(eps)
        made = []
        for values in features:
            if len(weights) not in (1, len(values)):
                raise invalid("Weights should be a single value or same size as features.")
            stream = quantile_summary.Stream(eps, len(values) + 1)
            stream.push(values, np.broadcast_to(weights, values.shape))
            made.append(stream.summary().rows())
        return _outputs(made)

    return summarize


def _add_summaries(handle: Any, *summaries: Array) -> None:
    streams = resources.behind(handle).state
    _check_count(streams, len(summaries))
    for rows in summaries:
        if rows.ndim != 2 or rows.shape[1] != 4:
            raise invalid(
                f"A summary must have four columns, but has shape {shapes.show(rows.shape)}"
            )
    streams.add([quantile_summary.Summary.from_rows(rows) for rows in summaries])


def _check_count(streams: quantile_streams.QuantileStreams, count: int) -> None:
    if count != len(streams):
        raise invalid(f"There are {len(streams)} streams, but the op has {count} features")


def _deserialize(handle: Any, *boundaries: Array) -> None:
    streams = resources.behind(handle).state
    _check_count(streams, len(boundaries))
    streams.set_boundaries(boundaries)


def _flush(node: NodeContext) -> Function:
    exact_count = bool(node.attrs["generate_quantiles"])

    def flush(handle: Any, num_buckets: Array) -> None:
        count = number(num_buckets, "num_buckets")
        resources.behind(handle).state.flush(count, exact_count=exact_count)

    return flush


def _take(node: NodeContext) -> Function:
    count = int(node.attrs["num_features"])

    def take(handle: Any) -> Any:
        streams = resources.behind(handle).state
        _check_count(streams, count)
        return _outputs([summary.rows() for summary in streams.take()])

    return take


def _boundaries(node: NodeContext) -> Function:
    count = int(node.attrs["num_features"])

    def read(handle: Any) -> Any:
        streams = resources.behind(handle).state
        _check_count(streams, count)
        return _outputs(streams.boundaries)

    return read


def _bucketize(node: NodeContext) -> Function:
    count = int(node.attrs["num_features"])

    def bucketize(*inputs: Array) -> Any:
        pairs = zip(inputs[:count], inputs[count:], strict=True)
        return _outputs([_buckets(values, boundaries) for values, boundaries in pairs])

    return bucketize


def _outputs(values: Sequence[Array]) -> Any:
    """Return the outputs as a kernel returns them: a tuple only if there are several."""
    return values[0] if len(values) == 1 else tuple(values)


def _buckets(values: Array, boundaries: Array) -> Array:
    """Return the number of the first boundary that is not below each value, at most the last."""
    if boundaries.ndim != 1:
        raise invalid("Buckets should be flat vectors.")
    if not boundaries.size:
        return np.zeros(values.shape, np.int32)
    places = np.minimum(np.searchsorted(boundaries, values), len(boundaries) - 1)
    # No boundary is below NaN in C++.
    places[np.isnan(values)] = 0
    return places.astype(np.int32)


register(Kernel("BoostedTreesQuantileStreamResourceHandleOp", _handle))
register(Kernel("IsBoostedTreesQuantileStreamResourceInitialized", constantly(_is_initialized)))
register(Kernel("BoostedTreesCreateQuantileStreamResource", _create))
register(Kernel("BoostedTreesMakeQuantileSummaries", _make_summaries))
register(Kernel("BoostedTreesQuantileStreamResourceAddSummaries", constantly(_add_summaries)))
register(Kernel("BoostedTreesQuantileStreamResourceDeserialize", constantly(_deserialize)))
register(Kernel("BoostedTreesQuantileStreamResourceFlush", _flush))
register(Kernel("BoostedTreesQuantileStreamResourceGetBucketBoundaries", _boundaries))
register(Kernel("BoostedTreesFlushQuantileSummaries", _take))
register(Kernel("BoostedTreesBucketize", _bucketize))
