"""The cells of `tf.contrib.grid_rnn` with one to three dimensions of one kind.

Source: contrib/grid_rnn/python/ops/grid_rnn_cell.py.
"""

import functools
from collections.abc import Callable
from typing import Any

from capstan.api.rnn import cells
from capstan.contrib.grid_rnn_cell import GridRNNCell

__all__ = [
    "Grid1BasicLSTMCell",
    "Grid1BasicRNNCell",
    "Grid1LSTMCell",
    "Grid2BasicLSTMCell",
    "Grid2BasicRNNCell",
    "Grid2GRUCell",
    "Grid2LSTMCell",
    "Grid3LSTMCell",
    "GridRNNCell",
]


class _FirstOfSeveral(GridRNNCell):
    """A grid whose first dimension has the inputs, the outputs and the priority."""

    def __init__(
        self, num_units: int, num_dims: int, cell_fn: Callable[[int], Any], state_is_tuple: bool,
        output_is_tuple: bool, tied: bool = False, non_recurrent_fn: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, num_dims, 0, 0, 0, None if non_recurrent_fn is None else 0, tied, cell_fn,
            non_recurrent_fn, state_is_tuple, output_is_tuple,
        )  # fmt: skip


class Grid1BasicRNNCell(_FirstOfSeveral):
    """One BasicRNNCell."""

    def __init__(
        self, num_units: int, state_is_tuple: bool = True, output_is_tuple: bool = True
    ) -> None:
        super().__init__(num_units, 1, cells.BasicRNNCell, state_is_tuple, output_is_tuple)


class Grid1BasicLSTMCell(_FirstOfSeveral):
    """One BasicLSTMCell."""

    def __init__(
        self, num_units: int, forget_bias: float = 1, state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        cell_fn = functools.partial(cells.BasicLSTMCell, forget_bias=forget_bias)
        super().__init__(num_units, 1, cell_fn, state_is_tuple, output_is_tuple)


class Grid1LSTMCell(_FirstOfSeveral):
    """One LSTMCell."""

    def __init__(
        self, num_units: int, use_peepholes: bool = False, forget_bias: float = 1.0,
        state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        cell_fn = _lstm(use_peepholes, forget_bias)
        super().__init__(num_units, 1, cell_fn, state_is_tuple, output_is_tuple)


class Grid2BasicRNNCell(_FirstOfSeveral):
    """Two BasicRNNCells. With `non_recurrent_fn`, the first is a dense layer."""

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: Any = None,
        state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 2, cells.BasicRNNCell, state_is_tuple, output_is_tuple, tied,
            non_recurrent_fn,
        )  # fmt: skip


class Grid2BasicLSTMCell(_FirstOfSeveral):
    """Two BasicLSTMCells. With `non_recurrent_fn`, the first is a dense layer."""

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: Any = None,
        forget_bias: float = 1, state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        cell_fn = functools.partial(cells.BasicLSTMCell, forget_bias=forget_bias)
        super().__init__(
            num_units, 2, cell_fn, state_is_tuple, output_is_tuple, tied, non_recurrent_fn
        )


class Grid2LSTMCell(_FirstOfSeveral):
    """Two LSTMCells. With `non_recurrent_fn`, the first is a dense layer."""

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: Any = None,
        use_peepholes: bool = False, forget_bias: float = 1.0, state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 2, _lstm(use_peepholes, forget_bias), state_is_tuple, output_is_tuple, tied,
            non_recurrent_fn,
        )  # fmt: skip


class Grid3LSTMCell(_FirstOfSeveral):
    """Three LSTMCells. With `non_recurrent_fn`, the first is a dense layer."""

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: Any = None,
        use_peepholes: bool = False, forget_bias: float = 1.0, state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 3, _lstm(use_peepholes, forget_bias), state_is_tuple, output_is_tuple, tied,
            non_recurrent_fn,
        )  # fmt: skip


class Grid2GRUCell(_FirstOfSeveral):
    """Two GRUCells. With `non_recurrent_fn`, the first is a dense layer."""

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: Any = None,
        state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 2, cells.GRUCell, state_is_tuple, output_is_tuple, tied, non_recurrent_fn
        )


def _lstm(use_peepholes: bool, forget_bias: float) -> Callable[[int], Any]:
    return functools.partial(cells.LSTMCell, use_peepholes=use_peepholes, forget_bias=forget_bias)
