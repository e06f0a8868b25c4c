"""`map_fn` of ragged tensors (python/ops/ragged/ragged_map_ops.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import while_ops
from capstan.api.ragged import row_types, tensor
from capstan.api.ragged.row_types import RowType
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert, nest
from capstan.framework.raw import raw


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """Return the results of `fn` for the rows of `elems`, as `tf.map_fn` does for tensors.

    `elems` is a ragged tensor or a tensor, or a structure of them with the same number of rows.
    `dtype` gives the types of the results of `fn`, in their structure. Where it has a dtype, the
    results have the same shape and are stacked. Where it has a RaggedTensorType, or a
    RaggedTensorSpec of one result, they are joined to a ragged tensor. By default, the results have
    the dtypes and the structure of `elems`, and are stacked.

    Raises:
        TypeError: `fn` is not callable or returns another structure than `dtype`.
        ValueError: a result has another type than `dtype` says, or the row splits of `elems` have
            different dtypes.
    """
    return mapped(fn, elems, dtype, parallel_iterations, back_prop, swap_memory, infer_shape, name)


def like_rows(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """Return what `map_fn` returns. By default, the results have the types of the rows of `elems`.

    `tf.map_fn` calls this for ragged tensors. TensorFlow 1.15 refuses them.
    """
    kinds = None if dtype is not None else [*map(row_types.alike, nest.flatten(elems))]
    options = parallel_iterations, back_prop, swap_memory, infer_shape, name
    return mapped(fn, elems, dtype, *options, kinds=kinds)


def mapped(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any,
    parallel_iterations: int | None,
    back_prop: bool,
    swap_memory: bool,
    infer_shape: bool,
    name: str | None,
    *,
    kinds: Sequence[RowType] | None = None,
) -> Any:
    """Return what `map_fn` returns. `kinds` are the types of the results, if `dtype` is None."""
    if not callable(fn):
        raise TypeError("fn must be callable.")
    leaves = nest.flatten(elems)
    structure = elems if dtype is None else dtype
    with scoped(name, "map", leaves):
        _, given = tensor.matched(*(tensor.converted(leaf, name="elem") for leaf in leaves))
        if kinds is None:
            named = [x.dtype for x in given] if dtype is None else nest.flatten(dtype)
            kinds = [row_types.declared(each) for each in named]
        count = _count(given[0])
        arrays = [kind.arrays(count, infer_shape) for kind in kinds]

        def compute(i: Any, arrays: Any) -> Any:
            result = fn(nest.packed(elems, [rows[i] for rows in given]))
            nest.check_same(structure, result)
            parts = [kind.parts(x) for kind, x in zip(kinds, nest.flatten(result), strict=True)]
            return i + 1, [
                [array.write(i, part) for array, part in zip(own, values, strict=True)]
                for own, values in zip(arrays, parts, strict=True)
            ]

        _, arrays = while_ops.while_loop(
            lambda i, _: i < count,
            compute,
            (convert.constant(0), arrays),
            parallel_iterations=10 if parallel_iterations is None else parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )
        joined = [kind.joined(own) for kind, own in zip(kinds, arrays, strict=True)]
        return nest.packed(structure, joined)


def _count(rows: Any) -> Any:
    if tensor.is_ragged(rows):
        return rows.nrows(out_type=dtypes.int32)
    rows.shape.with_rank_at_least(1)
    return raw.Shape(rows)[0]
