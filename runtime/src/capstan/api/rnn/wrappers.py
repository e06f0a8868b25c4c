"""Cells around other cells: `MultiRNNCell`, `ResidualWrapper` and `DeviceWrapper`."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import array_ops, scope_block
from capstan.api.rnn import cells
from capstan.framework import convert, nest
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class MultiRNNCell(cells.RNNCell):
    """Cells in sequence: each takes the outputs of the previous cell.

    Raises:
        ValueError: there are no cells, or the states are not tuples and a cell has a tuple.
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not state_is_tuple and any(nest.is_nested(cell.state_size) for cell in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set. "
                f"State sizes are: {[cell.state_size for cell in cells]}"
            )
        self._cells = list(cells)
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    @property
    def trainable_weights(self) -> list[Any]:
        return [weight for cell in self._cells for weight in cell.trainable_weights]

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        with cells.zero_state_scope(self):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Any, state: Any) -> Any:
        start, states = 0, []
        for number, cell in enumerate(self._cells):
            with scope_block.variable_scope(f"cell_{number}"):
                if self._state_is_tuple:
                    own = state[number]
                else:
                    own = raw.Slice(state, [0, start], [-1, cell.state_size])
                    start += cell.state_size
                inputs, new_state = cell(inputs, own)
                states.append(new_state)
        joined = tuple(states) if self._state_is_tuple else array_ops.concat(states, 1)
        return inputs, joined


class Wrapper(cells.RNNCell):
    """A cell that changes the arguments or results of another cell. It has no variables."""

    def __init__(self, cell: Any) -> None:
        super().__init__()
        self._cell = cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    @property
    def trainable_weights(self) -> list[Any]:
        return list(self._cell.trainable_weights)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with cells.zero_state_scope(self):
            return self._cell.zero_state(batch_size, dtype)


class ResidualWrapper(Wrapper):
    """Returns `residual_fn(inputs, outputs)` as the outputs of a cell, by default their sum.

    Raises:
        ValueError: the inputs and the outputs of a call have different shapes or structures.
    """

    def __init__(self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None) -> None:
        super().__init__(cell)
        self._residual_fn = residual_fn or _sum

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        outputs, new_state = self._cell(inputs, state, scope=scope)
        return self._residual_fn(inputs, outputs), new_state


def _sum(inputs: Any, outputs: Any) -> Any:
    nest.check_same(inputs, outputs)
    pairs = zip(nest.flatten(inputs), nest.flatten(outputs), strict=True)
    return nest.packed(outputs, [_added(given, made) for given, made in pairs])


def _added(given: Any, made: Any) -> Any:
    given = convert.convert_to_tensor(given)
    given.shape.assert_is_compatible_with(made.shape)
    return given + made


class DeviceWrapper(Wrapper):
    """Puts the operations of a cell on a device."""

    def __init__(self, cell: Any, device: Any) -> None:
        super().__init__(cell)
        self._device = device

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        with graphs.get_default_graph().device(self._device):
            return self._cell(inputs, state, scope=scope)
