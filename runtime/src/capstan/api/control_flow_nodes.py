"""The operations of which conditionals and loops are made, for programs that build them by hand
(`switch`, `merge`, `exit` and others of python/ops/control_flow_ops.py).

Each function also takes an IndexedSlices or a SparseTensor, and then adds an operation for each of
its tensors. If the tensor is the reference of a variable, so is the result.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from capstan.framework import composite, convert, nest
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["enter", "exit", "identity", "merge", "next_iteration", "switch", "switch_ref_or_tensor"]


def enter(
    data: Any,
    frame_name: str,
    is_constant: bool = False,
    parallel_iterations: int = 10,
    use_ref: bool = True,
    use_input_shape: bool = True,
    name: str | None = None,
) -> Any:
    """Return `data` in the frame of a loop: a constant of the loop, or a loop variable.

    With `use_ref` false, the reference of a variable enters as a value. With `use_input_shape`, the
    result has the static shape of `data`.
    """

    def entered(tensor: graphs.Tensor) -> graphs.Tensor:
        make = raw.RefEnter if use_ref and tensor.dtype.is_ref_dtype else raw.Enter
        result: graphs.Tensor = make(
            tensor,
            frame_name=frame_name,
            is_constant=is_constant,
            parallel_iterations=parallel_iterations,
            name=name,
        )
        if use_input_shape:
            result.set_shape(tensor.shape)
        return result

    return _each(entered, data)


def exit(data: Any, name: str | None = None) -> Any:
    """Return `data`, a loop variable, after the loop."""
    return _passed(data, raw.Exit, raw.RefExit, name)


def next_iteration(data: Any, name: str | None = None) -> Any:
    """Return `data` in the next iteration of its loop."""
    return _passed(data, raw.NextIteration, raw.RefNextIteration, name)


def identity(data: Any, name: str | None = None) -> Any:
    """Return `data`."""
    return _passed(data, raw.Identity, raw.RefIdentity, name)


def _passed(
    data: Any, of_value: Callable[..., Any], of_reference: Callable[..., Any], name: str | None
) -> Any:
    """Return `data` behind an operation, which depends on whether a tensor is a reference."""
    return _each(
        lambda tensor: (of_reference if tensor.dtype.is_ref_dtype else of_value)(tensor, name=name),
        data,
    )


def switch(data: Any, pred: Any, dtype: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """Return `data` twice. Only the first exists in a step where `pred` is false, else the second.

    Raises:
        TypeError: `data` cannot be converted to a tensor of type `dtype`.
    """
    if not composite.is_composite(data):
        data = convert.convert_to_tensor(data, dtype)
    return _both(lambda tensor: raw.Switch(tensor, pred, name=name), data)


def switch_ref_or_tensor(data: Any, pred: Any, name: str = "Switch") -> tuple[Any, Any]:
    """Return `data` twice, as `switch`. The reference of a variable stays a reference."""

    def switched(tensor: graphs.Tensor) -> Sequence[graphs.Tensor]:
        make = raw.RefSwitch if tensor.dtype.is_ref_dtype else raw.Switch
        with tensor.graph.colocate_with(tensor.op, ignore_existing=True):
            sides: Sequence[graphs.Tensor] = make(tensor, pred, name=name)
            return sides

    return _both(switched, data)


class Merge(NamedTuple):
    """What `merge` returns."""

    output: Any
    value_index: graphs.Tensor


def merge(inputs: Sequence[Any], name: str | None = None) -> Merge:
    """Return the first of `inputs` that exists in a step, and its place in the list.

    The inputs are tensors, or all composite values of one kind.

    Raises:
        ValueError: an input is None, or the inputs are of different kinds.
    """
    if any(value is None for value in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    first, *others = values = [_converted(value) for value in inputs]
    for value in others:
        nest.check_same(first, value, composites=True)
    found, index = [], None
    for parts in zip(*(_parts(value) for value in values), strict=True):
        is_ref = all(part.dtype.is_ref_dtype for part in parts)
        output, index = (raw.RefMerge if is_ref else raw.Merge)(list(parts), name=name)
        found.append(output)
    assert index is not None
    return Merge(nest.packed(first, found, composites=True), index)


def _converted(value: Any) -> Any:
    """Return a composite value unchanged, and any other value as a tensor or a reference."""
    if composite.is_composite(value):
        return nest.mapped(_as_ref, value, composites=True)
    return _as_ref(value)


def _as_ref(value: Any) -> graphs.Tensor:
    return convert.convert_to_tensor(value, as_ref=True)


def _parts(value: Any) -> list[graphs.Tensor]:
    parts: list[graphs.Tensor] = nest.flatten(value, composites=True)
    return parts


def _each(make: Callable[[graphs.Tensor], graphs.Tensor], value: Any) -> Any:
    """Return `value` with each of its tensors replaced by `make` of the tensor."""
    return nest.mapped(make, _converted(value), composites=True)


def _both(make: Callable[[graphs.Tensor], Sequence[graphs.Tensor]], value: Any) -> tuple[Any, Any]:
    """Return the first and the second results of `make` for the tensors of `value`."""
    value = _converted(value)
    sides = [make(part) for part in _parts(value)]
    first, second = (
        nest.packed(value, [pair[side] for pair in sides], composites=True) for side in (0, 1)
    )
    return first, second
