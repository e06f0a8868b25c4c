"""Jacobians: the gradients of all elements of a tensor (python/ops/parallel_for/gradients.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import stacked_loop, vectorised_loop
from capstan.framework import convert, nest
from capstan.framework import gradients as gradients_of
from capstan.framework.raw import raw

__all__ = ["batch_jacobian", "jacobian"]

Differentiate = Callable[[Any, Sequence[Any], Any], list[Any]]
"""Takes ys, xs and the weights of the ys, as the first arguments of `tf.gradients`."""


def jacobian(
    output: Any, inputs: Any, use_pfor: bool = True, parallel_iterations: int | None = None
) -> Any:
    """Return the gradients of each element of `output`: tensors of shape `[*output, *input]`.

    The result has the structure of `inputs`. It is None for an input on which `output` does not
    depend. With `use_pfor`, one operation computes all gradients where it can. Otherwise a loop
    computes one after the other. `parallel_iterations` is accepted and changes nothing.

    Raises:
        NotImplementedError: `output` comes out of a loop and has an unknown number of elements.
    """
    del parallel_iterations
    return jacobian_by(gradients_of.gradients, output, inputs, use_pfor)


def jacobian_by(differentiate: Differentiate, output: Any, inputs: Any, use_pfor: bool) -> Any:
    """Return `jacobian`, with `differentiate` in the place of `tf.gradients`."""
    whole = convert.convert_to_tensor(output)
    flat_inputs = [convert.convert_to_tensor(each) for each in nest.flatten(inputs)]
    flat = raw.Reshape(whole, [-1])
    count = raw.Shape(flat)[0]
    units = raw.MatrixDiag(raw.Fill([count], raw.Cast(1, DstT=flat.dtype)))
    found = _gradients(differentiate, flat, nest.flatten(inputs), units, count, use_pfor)
    results: list[Any] = []
    for each, tensor in zip(found, flat_inputs, strict=True):
        if each is None:
            results.append(None)
            continue
        shape = raw.ConcatV2([raw.Shape(whole), raw.Shape(tensor)], 0)
        results.append(raw.Reshape(each, shape))
        results[-1].set_shape(whole.shape.concatenate(tensor.shape))
    return nest.packed(inputs, results)


def batch_jacobian(
    output: Any, inp: Any, use_pfor: bool = True, parallel_iterations: int | None = None
) -> Any:
    """Return the gradients of each row of `output` by the same row of `inp`.

    For shapes `[b, *y]` and `[b, *x]`, the result has the shape `[b, *y, *x]`. It is None if
    `output` does not depend on `inp`. A row may depend on no other row of `inp`. The other
    arguments are as in `jacobian`.

    Raises:
        ValueError: the static sizes of the batches differ.
        NotImplementedError: as `jacobian`.
    """
    del parallel_iterations
    return batch_jacobian_by(gradients_of.gradients, output, inp, use_pfor)


def batch_jacobian_by(differentiate: Differentiate, output: Any, inp: Any, use_pfor: bool) -> Any:
    """Return `batch_jacobian`, with `differentiate` in the place of `tf.gradients`."""
    whole, tensor = convert.convert_to_tensor(output), convert.convert_to_tensor(inp)
    if not whole.shape[:1].is_compatible_with(tensor.shape[:1]):
        raise ValueError(
            f"Need first dimension of output shape ({whole.shape}) and inp shape ({tensor.shape}) "
            "to match."
        )
    batch = raw.Shape(whole)[:1]
    flat = raw.Reshape(whole, raw.ConcatV2([batch, [-1]], 0))
    count = raw.Shape(flat)[1]
    units = raw.MatrixDiag(raw.Fill([count], raw.Cast(1, DstT=flat.dtype)))
    shape = raw.ConcatV2([[count], batch, [count]], 0)
    rows = raw.BroadcastTo(raw.ExpandDims(units, 1), shape)
    (found,) = _gradients(differentiate, flat, [inp], rows, count, use_pfor)
    if found is None:
        return None
    found = raw.Reshape(found, raw.ConcatV2([[count], batch, [-1]], 0))
    shape = raw.ConcatV2([raw.Shape(whole), raw.Shape(tensor)[1:]], 0)
    result = raw.Reshape(raw.Transpose(found, [1, 0, 2]), shape)
    result.set_shape(whole.shape.concatenate(tensor.shape[1:]))
    return result


def _gradients(
    differentiate: Differentiate,
    output: Any,
    inputs: Sequence[Any],
    seeds: Any,
    count: Any,
    use_pfor: bool,
) -> list[Any]:
    """Return the stacked gradients for each of the stacked gradients `seeds` of the output."""

    def gradients(seed: Any) -> list[Any]:
        found = differentiate(output, inputs, seed)
        return [None if each is None else convert.convert_to_tensor(each) for each in found]

    seed = raw.Placeholder(dtype=output.dtype, shape=output.shape)
    once = gradients(seed)
    connected = _connected(once)
    if not connected:
        return once
    sources = {seed: vectorised_loop.Operand(seeds, True)}
    try:
        results = vectorised_loop.vectorised(connected, sources, count) if use_pfor else None
    except vectorised_loop.CannotStackError:
        size = seeds.shape.as_list()[0] if seeds.shape.ndims else None
        results = None if size is None else _one_by_one(gradients, seeds, size)
    if results is None:
        results = _in_a_loop(gradients, seeds, connected, count)
    rest = iter(results)
    return [None if each is None else next(rest) for each in once]


def _one_by_one(gradients: Callable[[Any], list[Any]], seeds: Any, size: int) -> list[Any]:
    rows = [gradients(raw.GatherV2(seeds, i, 0)) for i in range(size)]
    columns = zip(*map(_connected, rows), strict=True)
    return [raw.Pack(column) for column in columns]


def _in_a_loop(
    gradients: Callable[[Any], list[Any]], seeds: Any, examples: Sequence[Any], count: Any
) -> list[Any]:
    """Return the stacked gradients. A loop cannot compute the gradients of another loop.

    Raises:
        NotImplementedError: the output comes out of a loop.
    """
    try:
        return stacked_loop.results(
            lambda i: _connected(gradients(raw.GatherV2(seeds, i, 0))), examples, count
        )
    except ValueError as error:
        raise NotImplementedError(
            "The gradients cannot be computed at once or in a loop, and the number of elements of "
            f"the output is unknown: set its static shape ({error})"
        ) from error


def _connected(gradients: Sequence[Any]) -> list[Any]:
    return [each for each in gradients if each is not None]
