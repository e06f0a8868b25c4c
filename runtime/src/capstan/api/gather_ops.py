"""TensorFlow 1's functions that select elements by index, mask, condition or segment.

Sources: python/ops/array_ops.py, embedding_ops.py, math_ops.py.
"""

from typing import Any

from capstan.api import clip_ops, partitioned_variables, plain
from capstan.api.scoped import scoped
from capstan.core import dtypes, shapes
from capstan.framework import convert, masking
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "boolean_mask", "dynamic_stitch", "embedding_lookup", "gather", "unsorted_segment_sum", "where",
    "where_v2",
]  # fmt: skip


boolean_mask = masking.boolean_mask


def gather(
    params: Any,
    indices: Any,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Any:
    """Select slices of `params` by their indices along `axis` (default: `batch_dims`).

    The first `batch_dims` axes of `params` and of `indices` are equal, and each batch selects from
    its own slices. A negative `batch_dims` counts from the rank of `indices`, and the default
    `axis` then counts from the rank of `params`. An index out of range
    makes the step raise InvalidArgumentError. `validate_indices` is ignored.

    Raises:
        ValueError: `batch_dims` is above the axis or the rank of `indices`, or the batches differ.
    """
    if batch_dims != 0:
        at = batch_dims if axis is None else axis
        return raw.GatherV2(params, indices, at, batch_dims=batch_dims, name=name)
    if axis is None or (isinstance(axis, int) and axis == 0):
        if hasattr(params, "sparse_read"):
            return params.sparse_read(indices, name=name)
        return raw.GatherV2(params, indices, 0, name=name)
    return raw.GatherV2(params, indices, axis, name=name)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Return the elements of `x` where the condition is true, and of `y` where it is false.

    Without `x` and `y`, return the coordinates of the true elements of the condition. `x` and `y`
    have the same shape. A condition that is a vector selects whole rows.

    Raises:
        ValueError: only one of `x` and `y` is given.
    """
    if (x is None) is not (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    if x is None:
        condition = convert.convert_to_tensor(condition, preferred_dtype=dtypes.bool_)
        return raw.Where(condition, name=name)
    return raw.Select(condition, x, y, name=name)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Return the elements of `x` where the condition is true, and of `y` where it is false.

    The three broadcast. Without `x` and `y`, return the coordinates of the true elements of the
    condition.

    Raises:
        ValueError: only one of `x` and `y` is given.
    """
    if x is None or y is None:
        return where(condition, x, y, name)
    return raw.SelectV2(condition, x, y, name=name)


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Any:
    """Select rows of a table by their indices in `ids`.

    The table may be a PartitionedVariable, or a list of its n parts. With the strategy "mod", row i
    of the table is row i // n of part i % n. With "div", each part holds consecutive rows. A row
    whose L2 norm is above `max_norm` is scaled down to that norm.

    Raises:
        ValueError: there is no table, or the strategy is unknown.
    """
    is_cut = isinstance(params, list | tuple | partitioned_variables.PartitionedVariable)
    tables = list(params) if is_cut else [params]
    if not tables:
        raise ValueError("Need at least one param")
    if partition_strategy not in ("mod", "div"):
        raise ValueError("Unrecognized partition strategy: " + partition_strategy)
    with scoped(name, "embedding_lookup", (*tables, ids)) as scope:
        ids = convert.convert_to_tensor(ids, name="ids")
        if len(tables) == 1:
            with ids.graph.colocate_with(_held(tables[0]).op):
                rows = _clipped(gather(tables[0], ids, name=scope), ids, max_norm)
            return raw.Identity(rows, name="Identity")
        return _clipped(_from_parts(tables, ids, partition_strategy, scope), ids, max_norm)


def _held(table: Any) -> graphs.Tensor:
    """Return the tensor whose device has the table: the handle of a resource variable."""
    handle: graphs.Tensor | None = getattr(table, "handle", None)
    return convert.convert_to_tensor(table) if handle is None else handle


def _clipped(rows: Any, ids: Any, max_norm: Any) -> Any:
    """Return `rows`, which were looked up for `ids`, with norms of at most `max_norm`."""
    if max_norm is None:
        return rows
    first, end = ids.shape.ndims, rows.shape.ndims
    if first is None or end is None:
        axes = raw.Range(raw.Rank(ids), raw.Rank(rows), 1)
    else:
        axes = list(range(first, end))
    return clip_ops.clip_by_norm(rows, max_norm, axes)


def _from_parts(tables: list[Any], ids: Any, strategy: str, scope: str) -> Any:
    flat = raw.Reshape(ids, [-1])
    parts = [convert.convert_to_tensor(table) for table in tables]
    rows, owners = _divided(parts, flat, strategy)
    places, part_rows = [], []
    for index, part in enumerate(parts):
        positions = raw.Reshape(raw.Where(raw.Equal(owners, index)), [-1])
        places.append(raw.Cast(positions, DstT=dtypes.int32))
        with part.graph.colocate_with(part.op):
            part_rows.append(raw.Gather(part, raw.Gather(rows, positions)))
    merged = raw.DynamicStitch(places, part_rows)
    sizes = raw.ConcatV2([raw.Shape(ids), raw.Slice(raw.Shape(parts[0]), [1], [-1])], 0)
    result = raw.Reshape(merged, sizes)
    row = parts[0].shape.internal
    result.set_shape(shapes.concatenate(ids.shape.internal, None if row is None else row[1:]))
    return raw.Identity(result, name=scope)


def _divided(parts: list[Any], flat: Any, strategy: str) -> tuple[Any, Any]:
    """Return, for each id, the row within its part and the number of its part."""
    count, kind = len(parts), flat.dtype.base_dtype
    if strategy == "mod":
        return raw.FloorDiv(flat, count), raw.FloorMod(flat, count)
    lengths = [raw.Slice(raw.Shape(part, out_type=kind), [0], [1]) for part in parts]
    total = raw.Reshape(raw.AddN(lengths), [])
    part_size, extras = raw.FloorDiv(total, count), raw.FloorMod(total, count)
    # If the rows do not divide evenly, each of the first `extras` parts holds one row more.
    owners = raw.Maximum(
        raw.FloorDiv(flat, raw.Add(part_size, 1)), raw.FloorDiv(raw.Sub(flat, extras), part_size)
    )
    is_early = raw.Less(owners, extras)
    late = raw.FloorMod(raw.Sub(flat, extras), part_size)
    return raw.SelectV2(is_early, raw.FloorMod(flat, raw.Add(part_size, 1)), late), owners


unsorted_segment_sum = plain.function(
    "unsorted_segment_sum",
    "UnsortedSegmentSum",
    "Sum the rows of `data` that have the same id. Rows with a negative id are left out.",
)


dynamic_stitch = plain.function(
    "dynamic_stitch",
    "DynamicStitch",
    "Put rows into one tensor at the places in `indices`. The last row for a place is kept.",
)
