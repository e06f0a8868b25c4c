"""`tf.metrics.mean` (python/ops/metrics_impl.py)."""

from typing import Any

from capstan.api import math_ops, reduce_ops, scope_block, state_ops
from capstan.api import metric_state as state
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs

Result = state.Result


def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the weighted mean of the values."""
    with scope_block.variable_scope(name, "mean", (values, weights)):
        values = math_ops.cast(convert.convert_to_tensor(values), dtypes.float32)
        total, count = state.metric_variable([], "total"), state.metric_variable([], "count")
        weighted, number = state.weighted(values, weights)
        new_total = state_ops.assign_add(total, reduce_ops.reduce_sum(weighted))
        with graphs.get_default_graph().control_dependencies([weighted]):
            new_count = state_ops.assign_add(count, number)
        update = state.ratio(new_total, new_count, "update_op")
        return state.finished(
            lambda: state.ratio(total, count, "value"),
            update,
            metrics_collections,
            updates_collections,
        )
