"""The values in the arguments of a `tf.function`: tensors, and values that are part of a trace."""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from capstan.api.ragged import spec as ragged_spec
from capstan.api.ragged import tensor as ragged_tensor
from capstan.api.type_spec import SparseTensorSpec, TensorSpec, TypeSpec
from capstan.core import dtypes
from capstan.framework import array_flows, composite, nest, sparse_tensor
from capstan.framework import graph as graphs
from capstan.framework.tensor_array import TensorArray


def key(value: Any, *, only_ranks: bool = False) -> Any:
    """Return a hashable value that is equal for all arguments that can share one trace.

    With `only_ranks`, the sizes of tensors do not matter.

    Raises:
        TypeError: an argument is neither a tensor nor hashable.
    """
    again = functools.partial(key, only_ranks=only_ranks)
    if isinstance(value, Mapping):
        return (type(value), tuple((name, again(value[name])) for name in sorted(value)))
    if isinstance(value, list | tuple):
        return (type(value), tuple(map(again, value)))
    parts = composite.parts(value)
    if parts is not None:
        return (type(value), tuple(map(again, parts)))
    if isinstance(value, TensorArray):
        return (TensorArray, value.dtype, again(value.flow))
    if isinstance(value, graphs.Tensor | TensorSpec):
        shape = value.shape.internal
        sizes = (None,) * len(shape) if only_ranks and shape is not None else shape
        return (graphs.Tensor, value.dtype.base_dtype, sizes, getattr(value, "_name", None))
    try:
        hash(value)
    except TypeError as fault:
        raise TypeError(
            "Arguments supplied to `defun`-generated functions must be hashable.  Original error: "
            f"{fault}"
        ) from fault
    return (type(value), value)


def is_traced(value: Any) -> bool:
    """Return whether the body gets placeholders for an argument. Else it gets the value itself."""
    return isinstance(value, graphs.Tensor | TensorArray | TypeSpec) or composite.is_composite(
        value
    )


def spec_of(value: Any) -> Any:
    """Return the type of a traced argument or of a result. Return other values as they are."""
    if isinstance(value, TypeSpec):
        return value
    if isinstance(value, graphs.Tensor):
        return TensorSpec(value.shape, value.dtype.base_dtype)
    if isinstance(value, TensorArray):
        return TensorSpec(value.flow.shape, value.dtype)
    if isinstance(value, sparse_tensor.SparseTensor):
        return SparseTensorSpec(value.shape, value.dtype)
    if ragged_tensor.is_ragged(value):
        return ragged_spec.RaggedTensorSpec.from_value(value)
    if composite.is_composite(value):
        return TensorSpec(None, value.dtype)
    return value


def tensors(value: Any) -> Iterator[graphs.Tensor]:
    """Yield the tensors of all traced arguments in a structure.

    Raises:
        TypeError: an argument is a TensorSpec.
    """
    for leaf in nest.flatten(value):
        if isinstance(leaf, TypeSpec):
            raise TypeError(f"A TensorSpec cannot be an argument of a call: {leaf}")
        if is_traced(leaf):
            yield from _parts(leaf)


def _parts(leaf: Any) -> list[Any]:
    parts = composite.parts(leaf)
    return [array_flows.flow_of(leaf)] if parts is None else parts


def placeholders(
    value: Any,
    add: Callable[[str, Any, Any], graphs.Tensor],
    name: str,
    *,
    only_ranks: bool = False,
) -> Any:
    """Return the structure with placeholders for the tensors of its traced arguments.

    `add(name, dtype, shape)` makes a placeholder. With `only_ranks`, the sizes of the axes of
    tensors are unknown.
    """

    def shape_of(tensor: Any) -> Any:
        rank = tensor.shape.ndims
        return tensor.shape if rank is None or not only_ranks else [None] * rank

    def placed(leaf: Any) -> Any:
        if not is_traced(leaf):
            return leaf
        if isinstance(leaf, SparseTensorSpec | ragged_spec.RaggedTensorSpec):
            return _composite(leaf, functools.partial(add, name))
        if isinstance(leaf, TensorSpec):
            return add(leaf.name or name, leaf.dtype, leaf.shape)
        made = [add(name, part.dtype.base_dtype, shape_of(part)) for part in _parts(leaf)]
        if composite.is_composite(leaf):
            return composite.like(leaf, made)
        return array_flows.with_flows([leaf], made)[0]

    return nest.mapped(placed, value)


def _composite(spec: Any, add: Callable[[Any, Any], graphs.Tensor]) -> Any:
    """Return a value of `spec`, a type of several tensors, that is made of placeholders."""
    rank = spec.shape.ndims
    if isinstance(spec, SparseTensorSpec):
        return sparse_tensor.SparseTensor(
            add(dtypes.int64, [None, rank]), add(spec.dtype, [None]), add(dtypes.int64, [rank])
        )
    ragged_rank, splits_type = spec._rows
    inner = None if rank is None else [None, *spec.shape.as_list()[ragged_rank + 1 :]]
    value: Any = add(spec.dtype, inner)
    splits = [add(splits_type, [None]) for _ in range(ragged_rank)]
    return ragged_tensor.RaggedTensor.from_nested_row_splits(value, splits)
