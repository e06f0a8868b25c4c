"""`tf.contrib.grid_rnn.GridRNNCell` (contrib/grid_rnn/python/ops/grid_rnn_cell.py).

A grid has a cell for each dimension. A cell takes the outputs of the other dimensions as its input
(Kalchbrenner et al., 2015). Cells of dimensions with priority run after the others, and take their
new outputs.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import (
    array_ops,
    creation_ops,
    math_ops,
    nest,
    nn,
    scope_block,
    variable_scope,
)
from capstan.api.rnn import cells
from capstan.contrib.layers import dense
from capstan.contrib.layers.initializers import XAVIER


class GridRNNCell(cells.RNNCell):
    """A grid of `num_dims` cells of `num_units` each, which `cell_fn(num_units)` makes.

    The inputs take the place of the old states of `input_dims`. The outputs are those of
    `output_dims`. `priority_dims` run last. A dimension of `non_recurrent_dims` has no cell and no
    state, but a dense layer with `non_recurrent_fn`, which is a rectifier by default. With `tied`,
    all cells share their variables, and so do all dense layers. A dimension is a number or a list.

    The default cells are LSTMs. Cells have states that are tuples or one tensor. The state and the
    output of the grid are tuples with an element for each dimension, or one tensor.

    Raises:
        ValueError: there is no dimension, or a dimension is not one of the grid.
        TypeError: `cell_fn` returns no RNNCell.
    """

    def __init__(
        self,
        num_units: int,
        num_dims: int = 1,
        input_dims: Any = None,
        output_dims: Any = None,
        priority_dims: Any = None,
        non_recurrent_dims: Any = None,
        tied: bool = False,
        cell_fn: Callable[[int], Any] | None = None,
        non_recurrent_fn: Callable[[Any], Any] | None = None,
        state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:
        super().__init__()
        if num_dims < 1:
            raise ValueError(f"dims must be >= 1: {num_dims}")
        self._num_units, self._num_dims, self._tied = num_units, num_dims, tied
        self._inputs, self._outputs, priority, dense_dims = (
            _checked(dims, num_dims)
            for dims in (input_dims, output_dims, priority_dims, non_recurrent_dims)
        )
        every = range(num_dims)
        self._recurrents = [dim for dim in every if dim not in dense_dims]
        self._order = [[dim for dim in every if dim not in priority], priority]
        self._activation = non_recurrent_fn or nn.relu
        make = cell_fn or cells.LSTMCell
        self._cells = [make(num_units)] * num_dims if tied else [make(num_units) for _ in every]
        if not isinstance(self._cells[0], cells.RNNCell):
            raise TypeError(f"cell_fn must return an RNNCell instance, saw: {type(self._cells[0])}")
        self._state_is_tuple, self._output_is_tuple = state_is_tuple, output_is_tuple

    @property
    def output_size(self) -> Any:
        size = self._cells[0].output_size
        count = len(self._outputs)
        return (size,) * count if self._output_is_tuple else size * count

    @property
    def state_size(self) -> Any:
        count = len(self._recurrents)
        if self._state_is_tuple:
            return (self._cells[0].state_size,) * count
        return sum(nest.flatten(self._cells[0].state_size)) * count

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **kwargs: Any) -> Any:
        """Return the outputs and the new state. `inputs` has the shape [batch, size].

        Raises:
            ValueError: the state has not an element for each recurrent dimension.
        """
        with scope_block.variable_scope(scope or type(self).__name__):
            step = _Step(self, self._states(state))
            step.project(inputs)
            for dims in self._order:
                step.propagate(dims)
            outputs = [step.outputs[dim] for dim in self._outputs]
            states = [step.states[dim] for dim in self._recurrents]
        joined = outputs if self._output_is_tuple else array_ops.concat(outputs, 1)
        if self._state_is_tuple:
            return tuple(joined) if self._output_is_tuple else joined, tuple(states)
        flat = array_ops.concat(nest.flatten(states), 1)
        return tuple(joined) if self._output_is_tuple else joined, flat

    def _states(self, state: Any) -> dict[int, Any]:
        """Return the state of each recurrent dimension."""
        like = self._cells[0].state_size
        if not self._state_is_tuple:
            sizes = nest.flatten(like)
            parts = array_ops.split(state, sizes * len(self._recurrents), 1)
            state = [
                nest.pack_sequence_as(like, parts[start : start + len(sizes)])
                for start in range(0, len(parts), len(sizes))
            ]
        if len(state) != len(self._recurrents):
            raise ValueError(f"Expected state as a tuple of {len(self._recurrents)} element")
        return dict(zip(self._recurrents, state, strict=True))


class _Step:
    """One step of a grid: the memories and old outputs, and the new outputs and states."""

    def __init__(self, grid: GridRNNCell, states: dict[int, Any]) -> None:
        self._grid = grid
        self._has_memory = nest.is_nested(grid._cells[0].state_size)
        self._memories: dict[int, Any] = {}
        self._old: dict[int, Any] = {}
        for dim, state in states.items():
            if self._has_memory:
                self._memories[dim], self._old[dim] = state
            else:
                self._old[dim] = state
        self.outputs: dict[int, Any] = {}
        self.states: dict[int, Any] = {}
        self._opened: set[str] = set()

    def project(self, inputs: Any) -> None:
        """Put projections of the inputs in the place of the states of the input dimensions."""
        dims, units = self._grid._inputs, self._grid._num_units
        if inputs is None or not inputs.shape.as_list()[1] or not dims:
            return
        for dim, part in zip(dims, array_ops.split(inputs, len(dims), 1), strict=True):
            shape = [part.shape.as_list()[1], units]
            weights = variable_scope.get_variable(f"project_m_{dim}", shape, inputs.dtype)
            self._old[dim] = math_ops.matmul(part, weights)
            if self._has_memory:
                weights = variable_scope.get_variable(f"project_c_{dim}", shape, inputs.dtype)
                self._memories[dim] = math_ops.matmul(part, weights)

    def propagate(self, dims: Sequence[int]) -> None:
        """Run the cells of some dimensions, with the outputs of dimensions that ran before."""
        last = self._grid._num_dims - 1
        known = {**self._old, **self.outputs}
        inputs = _side_by_side([known[dim] for dim in range(last)], known[last])
        for dim in dims:
            if dim in self._grid._recurrents:
                with self._scope("recurrent", dim):
                    state = (self._memories[dim], known[last]) if self._has_memory else known[last]
                    self.outputs[dim], self.states[dim] = self._grid._cells[dim](inputs, state)
            else:
                self.outputs[dim] = self._dense(dim, array_ops.concat([inputs, known[last]], 1))

    def _dense(self, dim: int, inputs: Any) -> Any:
        with self._scope("non_recurrent", dim) as scope:
            return dense.fully_connected(
                inputs, self._grid._num_units, self._grid._activation,
                weights_initializer=scope.initializer or XAVIER,
                weights_regularizer=scope.regularizer,
            )  # fmt: skip

    def _scope(self, kind: str, dim: int) -> Any:
        """Return the scope of a dimension. Tied ones share it, and the first makes variables."""
        if not self._grid._tied:
            return scope_block.variable_scope(f"{kind}/cell_{dim}")
        reuse = True if kind in self._opened else None
        self._opened.add(kind)
        return scope_block.variable_scope(kind, reuse=reuse)


def _side_by_side(tensors: Sequence[Any], like: Any) -> Any:
    """Return matrices side by side. Without matrices, return one with no columns."""
    if tensors:
        return array_ops.concat(list(tensors), 1)
    empty = creation_ops.zeros(array_ops.stack([array_ops.shape(like)[0], 0]), like.dtype)
    empty.set_shape([like.shape.as_list()[0], 0])
    return empty


def _checked(dims: Any, num_dims: int) -> list[int]:
    """Return the numbers of dimensions in order."""
    if dims is None:
        return []
    found = sorted(set(dims if isinstance(dims, list | tuple) else [dims]))
    if any(not 0 <= dim < num_dims for dim in found):
        raise ValueError(f"Invalid dims: {found}. Must be in [0, {num_dims})")
    return found
