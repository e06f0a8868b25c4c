"""`tf.vectorized_map`: one function for each slice of tensors (python/ops/parallel_for).

One operation computes all slices where it can (`vectorised_loop`). A function that acts on
variables or on the world outside, or has control flow, is called in a loop, which gives the same
values. TensorFlow refuses such functions.
"""

from collections.abc import Callable
from typing import Any

from capstan.api import stacked_loop, type_spec, vectorised_loop
from capstan.api.traced import body as bodies
from capstan.api.traced import concrete
from capstan.core import dtypes
from capstan.framework import array_flows, composite, convert, nest
from capstan.framework.raw import raw

__all__ = ["for_loop", "pfor", "vectorized_map"]


def vectorized_map(fn: Callable[[Any], Any], elems: Any) -> Any:
    """Return the results of `fn` for the slices of `elems` along axis 0, stacked along a new axis.

    `elems` and the result of `fn` are tensors in any structure. `fn` is called once. Iterations
    must not depend on each other.

    Raises:
        TypeError: `fn` returns a value that is not a tensor.
        ValueError: `elems` has a scalar, or tensors with different numbers of slices.
    """
    tensors = nest.mapped(convert.convert_to_tensor, elems)
    flat = nest.flatten(tensors)
    sizes = [_static_size(tensor) for tensor in flat]
    size = next((each for each in sizes if each is not None), None)
    if len({each for each in sizes if each is not None}) > 1:
        raise ValueError(f"The tensors of `elems` need the same number of slices, not {sizes}")
    count = raw.Shape(flat[0])[0] if size is None else convert.constant(size)
    specs = [type_spec.TensorSpec(each.shape[1:], each.dtype.base_dtype) for each in flat]
    if len(flat) > 1:
        flat = [
            _of_size(tensor, count) if own is None else tensor
            for tensor, own in zip(flat, sizes, strict=True)
        ]
    return _mapped(fn, nest.packed(tensors, specs), flat, count, size)


def _of_size(tensor: Any, count: Any) -> Any:
    """Return a tensor that fails in a step in which it does not have `count` slices."""
    shape = raw.ConcatV2([raw.ExpandDims(count, 0), raw.Shape(tensor)[1:]], 0)
    return raw.Reshape(tensor, shape)


def _static_size(tensor: Any) -> int | None:
    shape = tensor.shape.with_rank_at_least(1)
    return None if shape.ndims is None else shape.as_list()[0]


def pfor(loop_fn: Callable[[Any], Any], iters: Any, parallel_iterations: int | None = None) -> Any:
    """Return the results of `loop_fn` for the numbers below `iters`, stacked along a new axis.

    `parallel_iterations` is accepted and changes nothing.

    Raises:
        as `vectorized_map`.
    """
    count = convert.convert_to_tensor(iters, dtypes.int32)
    known = count.op.constant_value()
    number = type_spec.TensorSpec([], dtypes.int32)
    size = None if known is None else int(known)
    return _mapped(loop_fn, number, [raw.Range(0, count, 1)], count, size)


def for_loop(
    loop_fn: Callable[[Any], Any],
    loop_fn_dtypes: Any,
    iters: Any,
    parallel_iterations: int | None = None,
) -> Any:
    """Return what `pfor` returns. `loop_fn_dtypes` are the types of the results."""
    return pfor(loop_fn, iters, parallel_iterations)


def _mapped(
    function: Callable[[Any], Any], spec: Any, stacked: list[Any], count: Any, size: int | None
) -> Any:
    """Return the stacked results of a function, whose arguments in iteration i are the slices i."""
    creator = bodies.lifting_creator([])
    made = concrete.trace(function, "loop_body", ((spec,), {}), ["x"], creator)
    leaves = [leaf for leaf in nest.flatten(made.structured_outputs) if leaf is not None]
    try:
        results = _at_once(made, leaves, stacked, count)
    except vectorised_loop.CannotStackError:
        results = _in_a_loop(made, leaves, stacked, count)
    for result, leaf in zip(results, leaves, strict=True):
        shape = leaf.shape
        if shape.ndims is not None:
            result.set_shape([size, *shape.as_list()])
    rest = iter(results)
    return nest.mapped(lambda leaf: None if leaf is None else next(rest), made.structured_outputs)


def _at_once(
    made: concrete.ConcreteFunction, leaves: list[Any], stacked: list[Any], count: Any
) -> list[Any]:
    body = made.graph
    if any(composite.is_composite(leaf) for leaf in leaves):
        raise vectorised_loop.CannotStackError
    arguments = made.inputs[: len(stacked)]
    captured = body.captured_arguments
    vectorised_loop.require_pure(
        op for op in body.get_operations() if not set(op.outputs) & {*arguments, *captured}
    )
    sources = {
        inner: vectorised_loop.Operand(tensor, True)
        for inner, tensor in zip(arguments, stacked, strict=True)
    } | {
        inner: vectorised_loop.Operand(tensor, False)
        for inner, tensor in zip(captured, made.captured_inputs, strict=True)
    }
    return vectorised_loop.vectorised(made.outputs, sources, count)


def _in_a_loop(
    made: concrete.ConcreteFunction, leaves: list[Any], stacked: list[Any], count: Any
) -> list[Any]:
    rows = [stacked_loop.rows(tensor, count) for tensor in stacked]

    def iteration(i: Any) -> list[Any]:
        called = made.called([row.read(i) for row in rows])
        return [array_flows.flow_of(leaf) for leaf in nest.flatten(called) if leaf is not None]

    return stacked_loop.results(iteration, leaves, count)
