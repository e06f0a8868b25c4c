"""Functions for tensors, made to take ragged tensors too."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from capstan import errors
from capstan.api.ragged import broadcast, partition, shape, tensor, value
from capstan.core import dtypes
from capstan.framework import graph as graphs

Function = Callable[..., Any]
_RAGGED: Final = (tensor.RaggedTensor, value.RaggedTensorValue)


def _is_ragged(given: Any) -> bool:
    """Return whether an argument is ragged, or is a list with a ragged element."""
    if isinstance(given, list | tuple):
        return any(isinstance(each, _RAGGED) for each in given)
    return isinstance(given, _RAGGED)


def with_ragged(function: Function, ragged: Function, *names: str) -> Function:
    """Return a function that calls `ragged` if one of the named arguments is ragged.

    Both functions have the same arguments.
    """
    places = {name: index for index, name in enumerate(inspect.signature(function).parameters)}
    indices = [(places[name], name) for name in names]

    @functools.wraps(function)
    def dispatched(*args: Any, **kwargs: Any) -> Any:
        for index, name in indices:
            given = args[index] if index < len(args) else kwargs.get(name)
            if _is_ragged(given):
                return ragged(*args, **kwargs)
        return function(*args, **kwargs)

    return dispatched


def _split(
    names: tuple[str, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[list[Any], tuple[Any, ...], dict[str, Any]]:
    """Return the values of the first arguments, and the other arguments."""
    rest = dict(kwargs)
    first = [
        args[index] if index < len(args) else rest.pop(name, None)
        for index, name in enumerate(names)
    ]
    return first, args[len(names) :], rest


def unary(function: Function) -> Function:
    """Return a function that maps the flat values of its first argument."""
    (name, *_) = inspect.signature(function).parameters

    def mapped(*args: Any, **kwargs: Any) -> Any:
        (x,), more, named = _split((name,), args, kwargs)
        x = tensor.converted(x)
        return x.with_flat_values(function(x.flat_values, *more, **named))

    return with_ragged(function, mapped, name)


def of_list(function: Function) -> Function:
    """Return a function that maps the flat values of the tensors in its first argument."""
    (name, *_) = inspect.signature(function).parameters

    def mapped(*args: Any, **kwargs: Any) -> Any:
        (given,), more, named = _split((name,), args, kwargs)
        parts = [tensor.converted(each) if _is_ragged(each) else each for each in given]
        ragged = [each for each in parts if isinstance(each, tensor.RaggedTensor)]
        tensor.matched(*ragged)
        nested = [each.nested_row_splits for each in ragged]
        flat = [getattr(each, "flat_values", each) for each in parts]
        with graphs.get_default_graph().control_dependencies(partition.assert_equal_splits(nested)):
            return tensor.rows_of(function(flat, *more, **named), *nested[0])

    return with_ragged(function, mapped, name)


def binary(function: Function) -> Function:
    """Return a function that maps the flat values of its first two arguments, which broadcast."""
    first, second, *_ = inspect.signature(function).parameters

    def mapped(*args: Any, **kwargs: Any) -> Any:
        (x, y), more, named = _split((first, second), args, kwargs)
        x, y = _pair(x, y, first, second)
        if all(isinstance(each, tensor.RaggedTensor) for each in (x, y)):
            _check_counts(x, y)
        flat = [getattr(each, "flat_values", each) for each in (x, y)]
        rows = x if isinstance(x, tensor.RaggedTensor) else y
        return rows.with_flat_values(function(*flat, *more, **named))

    return with_ragged(function, mapped, first, second)


def _check_counts(x: tensor.RaggedTensor, y: tensor.RaggedTensor) -> None:
    """Raise the error of the step, if it is known already that the rows differ."""
    counts = [each.flat_values.shape[:1] for each in (x, y)]
    if not counts[0].is_compatible_with(counts[1]):
        raise errors.InvalidArgumentError(
            None,
            None,
            "Unable to broadcast: the rows of the ragged tensors have different lengths, "
            f"{counts[0][0]} and {counts[1][0]} elements in all",
        )


def _pair(x: Any, y: Any, x_name: str, y_name: str) -> tuple[Any, Any]:
    """Return two arguments as tensors whose ragged axes have the same rows."""
    x_is_ragged, y_is_ragged = _is_ragged(x), _is_ragged(y)
    kind = dtypes.as_dtype((x if x_is_ragged else y).dtype)
    x = tensor.converted(x, preferred_dtype=kind, name=x_name)
    y = tensor.converted(y, preferred_dtype=kind, name=y_name)
    tensor.matched(x, y)
    if x_is_ragged and y_is_ragged:
        if _have_same_rows(x, y):
            return x, y
    elif _fits_values(*(x, y) if x_is_ragged else (y, x)):
        return x, y
    sizes = shape.RaggedTensorDynamicShape.from_tensor
    both = shape.broadcast_dynamic_shape(sizes(x), sizes(y))
    x = broadcast.broadcast_to(x, both, broadcast_inner_dimensions=False)
    return x, broadcast.broadcast_to(y, both, broadcast_inner_dimensions=False)


def _fits_values(ragged: tensor.RaggedTensor, other: Any) -> bool:
    """Return whether a tensor broadcasts to each flat value, and need not be divided into rows."""
    rank, flat_rank = other.shape.ndims, ragged.flat_values.shape.ndims
    return rank == 0 or (None not in (rank, flat_rank) and rank < flat_rank)


def _have_same_rows(x: tensor.RaggedTensor, y: tensor.RaggedTensor) -> bool:
    """Return whether two ragged tensors are known to have the same rows, as `rt * 2 + rt` has."""
    one, other = x.nested_row_splits, y.nested_row_splits
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
