"""`tf.contrib.metrics.streaming_concat` (contrib/metrics/python/ops/metric_ops.py)."""

from typing import Any

from capstan.api import array_ops, creation_ops, scope_block, state_ops, variables
from capstan.api import metric_state as state
from capstan.framework import collections, convert
from capstan.framework.raw import raw

__all__ = ["streaming_concat"]

_KEYS = collections.GraphKeys


def streaming_concat(
    values: Any,
    axis: int = 0,
    max_size: int | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> state.Result:
    """Return the values of all batches, joined along an axis. The update returns their number.

    Only the first `max_size` slices along the axis are kept, by default all of them.

    Raises:
        ValueError: the rank of the values is not known, there is no such axis, or the size along
            another axis is not known.
    """
    with scope_block.variable_scope(name, "streaming_concat", (values,)):
        values = convert.convert_to_tensor(values)
        shape = values.shape.internal
        if shape is None:
            raise ValueError("`values` must have statically known rank")
        at = axis + len(shape) if axis < 0 else axis
        if not 0 <= at < len(shape):
            raise ValueError(f"axis = {axis!r} not in [0, {len(shape)!r})")
        sizes = (*shape[:at], None, *shape[at + 1 :])
        if sizes.count(None) > 1:
            raise ValueError(
                "all dimensions of `values` other than the dimension to concatenate along must "
                f"have statically known size, but the shape is {values.shape}"
            )
        array = variables.Variable(
            lambda: creation_ops.zeros([size or 0 for size in sizes], values.dtype.base_dtype),
            trainable=False,
            collections=[_KEYS.LOCAL_VARIABLES, _KEYS.METRIC_VARIABLES],
            validate_shape=False,
            use_resource=False,
            name="array",
        )
        if max_size is not None:
            room = raw.Sub(max_size, array_ops.shape(array)[at])
            values = raw.GatherV2(values, _first(values, room, at), at)
        update = state_ops.assign(array, array_ops.concat([array, values], at), False)

        def value() -> Any:
            found = raw.Identity(array, name="concat")
            found.set_shape(sizes)
            return found

        return state.finished(
            value, array_ops.shape(update)[at], metrics_collections, updates_collections
        )


def _first(values: Any, count: Any, axis: int) -> Any:
    """Return the indices of the first `count` slices, or of all if there are fewer."""
    return raw.Range(0, raw.Minimum(array_ops.shape(values)[axis], count), 1)
