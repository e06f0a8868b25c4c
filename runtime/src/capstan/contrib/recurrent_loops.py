"""`tf.contrib.recurrent.Recurrent`: a loop over steps that keeps only its states.

Source: contrib/recurrent/python/ops/recurrent.py. The gradient computes each step again.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import array_ops, creation_ops, math_ops, nest, tensor_array_ops, while_ops
from capstan.api.custom_gradient import custom_gradient
from capstan.framework import convert, gradients
from capstan.framework.raw import raw


def Recurrent(
    theta: Any,
    state0: Any,
    inputs: Any,
    cell_fn: Callable[[Any, Any, Any], tuple[Any, Any]],
    cell_grad: Callable[..., Any] | None = None,
    extras: Any = None,
    max_input_length: Any = None,
    use_tpu: bool = False,
    aligned_end: bool = False,
) -> tuple[Any, Any]:
    """Return the states after all steps, and the last state.

    `cell_fn(theta, state, inputs of a step)` returns the next state and extras. It gets its weights
    as `theta`, and no variable in another way. All arguments are structures of tensors. The first
    dimension of the inputs is the time. `cell_grad(theta, state, inputs, extras, gradient of the
    next state)` returns the gradients of the first three, where None stands for zeros. By default,
    the gradients are those of `cell_fn`.

    With `max_input_length`, only that many steps run: the first ones, or the last ones if
    `aligned_end`. The states of the others are 0. `extras` and `use_tpu` have no effect.
    """
    loop = _Loop(
        (theta, state0, inputs), cell_fn, cell_grad, max_input_length, is_at_end=aligned_end
    )
    flat = [convert.convert_to_tensor(each) for each in nest.flatten((theta, state0, inputs))]
    found = custom_gradient(loop.run)(*flat)
    count = len(nest.flatten(state0))
    return nest.pack_sequence_as(state0, found[:count]), nest.pack_sequence_as(
        state0, found[count:]
    )


class _Loop:
    """The steps of a call. The arguments of the methods are flat lists of tensors."""

    def __init__(
        self, like: Any, cell_fn: Any, cell_grad: Any, limit: Any, *, is_at_end: bool
    ) -> None:
        self._like, self._cell_fn, self._cell_grad = like, cell_fn, cell_grad
        self._limit, self._is_at_end = limit, is_at_end

    def run(self, *flat: Any) -> Any:
        """Return the states of all steps and the last state, and the function of the gradient."""
        theta, state, inputs = nest.pack_sequence_as(self._like, list(flat))
        total = array_ops.shape(nest.flatten(inputs)[0])[0]
        count = total if self._limit is None else math_ops.cast(self._limit, total.dtype)
        first = total - count if self._is_at_end else convert.constant(0)
        kinds = [each.dtype for each in nest.flatten(state)]

        def body(number: Any, state: Any, kept: Any, more: Any) -> Any:
            after, extras = self._cell_fn(theta, state, _at(inputs, first + number))
            kept = _written(kept, number, nest.flatten(after))
            return (
                number + 1,
                _shaped(after, state),
                kept,
                _written(more, number, self._kept(extras)),
            )

        extras = self._kept(self._cell_fn(theta, state, _at(inputs, 0))[1])
        _, last, kept, more = while_ops.while_loop(
            lambda number, *_: number < count,
            body,
            [0, state, _arrays(kinds, count), _arrays([each.dtype for each in extras], count)],
        )
        states = [_padded(array.stack(), first, total) for array in kept]
        for each, like in zip(states, nest.flatten(state), strict=True):
            each.set_shape([None, *like.shape.as_list()])

        def gradient(*slopes: Any) -> Any:
            before = [
                array_ops.concat([array_ops.expand_dims(each, 0), array.stack()], 0)
                for each, array in zip(nest.flatten(state), kept, strict=True)
            ]
            parts = (theta, before, inputs, [array.stack() for array in more])
            return self._back(parts, slopes, first, count, total)

        return [*states, *nest.flatten(last)], gradient

    def _kept(self, extras: Any) -> list[Any]:
        """Return the extras that `cell_grad` takes."""
        return [] if self._cell_grad is None else nest.flatten(extras)

    def _back(self, parts: Any, slopes: Sequence[Any], first: Any, count: Any, total: Any) -> Any:
        theta, before, inputs, extras = parts
        size = len(before)
        of_states, of_last = slopes[:size], slopes[size:]
        flat_theta, flat_inputs = nest.flatten(theta), nest.flatten(inputs)

        def body(number: Any, sums: Any, carried: Any, kept: Any) -> Any:
            weights = nest.map_structure(array_ops.identity, theta)
            state = [array_ops.identity(each[number]) for each in before]
            step = nest.map_structure(array_ops.identity, _at(inputs, first + number))
            slope = [
                each if every is None else each + every[first + number]
                for each, every in zip(carried, of_states, strict=True)
            ]
            packed = nest.pack_sequence_as(self._like[1], state)
            found = self._of_step(weights, packed, step, _at(extras, number), slope)
            more = [each + slope for each, slope in zip(sums, found[0], strict=True)]
            return (
                number - 1,
                _shaped(more, sums),
                _shaped(found[1], carried),
                _written(kept, number, found[2]),
            )

        arrays = _arrays([each.dtype for each in flat_inputs], count)
        carried = [
            raw.ZerosLike(like[0]) if slope is None else slope
            for slope, like in zip(of_last, before, strict=True)
        ]
        _, sums, of_start, kept = while_ops.while_loop(
            lambda number, *_: number >= 0,
            body,
            [count - 1, [raw.ZerosLike(each) for each in flat_theta], carried, arrays],
        )
        return [*sums, *of_start, *(_padded(array.stack(), first, total) for array in kept)]

    def _of_step(self, theta: Any, state: Any, step: Any, extras: Any, slope: list[Any]) -> Any:
        """Return the gradients of the weights, of the state and of the inputs of a step."""
        wanted = [nest.flatten(each) for each in (theta, state, step)]
        every = [tensor for group in wanted for tensor in group]
        after, kinds = self._cell_fn(theta, state, step)
        if self._cell_grad is None:
            found = gradients.gradients(nest.flatten(after), every, slope)
        else:
            packed = nest.pack_sequence_as(self._like[1], slope)
            kept = nest.pack_sequence_as(kinds, extras)
            groups = self._cell_grad(theta, state, step, kept, packed)
            found = [each for group in groups for each in nest.flatten(group)]
        known = [
            raw.ZerosLike(tensor) if each is None else each
            for each, tensor in zip(found, every, strict=True)
        ]
        first, second = len(wanted[0]), len(wanted[0]) + len(wanted[1])
        return [known[:first], known[first:second], known[second:]]


def _at(structure: Any, number: Any) -> Any:
    return nest.map_structure(lambda each: each[number], structure)


def _arrays(kinds: Sequence[Any], count: Any) -> list[Any]:
    # A step of the gradient may read the arrays again.
    return [tensor_array_ops.TensorArray(kind, count, clear_after_read=False) for kind in kinds]


def _written(arrays: Sequence[Any], number: Any, values: Sequence[Any]) -> list[Any]:
    return [array.write(number, value) for array, value in zip(arrays, values, strict=True)]


def _shaped(structure: Any, like: Any) -> Any:
    """Return tensors with the static shapes of others, so that the loop keeps them."""
    flat = [array_ops.identity(each) for each in nest.flatten(structure)]
    for each, other in zip(flat, nest.flatten(like), strict=True):
        each.set_shape(other.shape)
    return nest.pack_sequence_as(like, flat)


def _padded(values: Any, first: Any, total: Any) -> Any:
    """Return values with zeros before and behind, `total` of them."""
    count = array_ops.shape(values)[0]
    rank = array_ops.rank(values)
    front = array_ops.stack([first, total - first - count])
    rest = creation_ops.zeros(array_ops.stack([rank - 1, 2]), front.dtype)
    return array_ops.pad(values, array_ops.concat([array_ops.expand_dims(front, 0), rest], 0))
