"""`tf.where` of ragged tensors (python/ops/ragged/ragged_where_op.py)."""

from typing import Any

from capstan.api import gather_ops
from capstan.api.ragged import gather, joining, mapping, tensor
from capstan.api.scoped import scoped
from capstan.framework.raw import raw


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Return the elements of `x` where the condition is true, and of `y` where it is false.

    The three have the same shape, or the condition is a vector and selects whole rows. Without `x`
    and `y`, return the coordinates of the true elements of the condition.

    Raises:
        ValueError: only one of `x` and `y` is given, or the shapes do not fit.
    """
    if (x is None) is not (y is None):
        raise ValueError("x and y must be either both None or both non-None")
    with scoped(name, "RaggedWhere", (condition, x, y)):
        condition = tensor.converted(condition, name="condition")
        if x is None:
            return _coordinates(condition)
        x, y = tensor.converted(x, name="x"), tensor.converted(y, name="y")
        dtype, (condition, x, y) = tensor.matched(condition, x, y)
        are_ragged = [tensor.is_ragged(each) for each in (condition, x, y)]
        if all(are_ragged):
            return mapping.map_flat_values(gather_ops.where, condition, x, y)
        if not any(are_ragged):
            return gather_ops.where(condition, x, y)
        if tensor.is_ragged(condition):
            raise ValueError("Input shapes do not match.")
        condition.shape.assert_has_rank(1)
        both = joining.concat([x, y], axis=0)
        count, other = gather.count_of(x, dtype), gather.count_of(y, dtype)
        rows = gather_ops.where(condition, raw.Range(0, count, 1), count + raw.Range(0, other, 1))
        return gather.gather(both, rows)


def _coordinates(condition: Any) -> Any:
    if not tensor.is_ragged(condition):
        return gather_ops.where(condition)
    inner = _coordinates(condition.values)
    rows = condition.with_row_splits_dtype(inner.dtype)
    at = inner[:, 0]
    row = gather_ops.gather(rows.value_rowids(), at)
    column = at - gather_ops.gather(rows.row_splits, row)
    return raw.ConcatV2([raw.ExpandDims(row, 1), raw.ExpandDims(column, 1), inner[:, 1:]], 1)
