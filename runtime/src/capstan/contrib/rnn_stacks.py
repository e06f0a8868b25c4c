"""Networks of several bidirectional layers (contrib/rnn/python/ops/rnn.py)."""

from typing import Any

from capstan.api import array_ops, scope_block
from capstan.api.rnn import bidirectional


def stack_bidirectional_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: Any,
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], tuple[Any, ...], tuple[Any, ...]]:
    """Call pairs of cells over a list of inputs. Each pair takes the joined outputs of the last.

    Return the outputs, a list of tensors [batch, size], and the last states of the cells that go
    forwards and of those that go backwards. The other arguments are those of
    `static_bidirectional_rnn`.

    Raises:
        ValueError: there are no cells, or the lists of cells and states have different lengths.
    """
    _check(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw, outputs = [], [], inputs
    with scope_block.variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (forwards, backwards) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with scope_block.variable_scope(f"cell_{number}") as own:
                outputs, state_fw, state_bw = bidirectional.static_bidirectional_rnn(
                    forwards, backwards, outputs, _state(initial_states_fw, number),
                    _state(initial_states_bw, number), dtype, sequence_length, own,
                )  # fmt: skip
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return outputs, tuple(states_fw), tuple(states_bw)


def stack_bidirectional_dynamic_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: Any,
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Call pairs of cells over a tensor of inputs. Each pair takes the joined outputs of the last.

    Return the outputs, [batch, time, size] or [time, batch, size] if `time_major`, and the last
    states of the cells that go forwards and of those that go backwards. The other arguments are
    those of `bidirectional_dynamic_rnn`.

    Raises:
        ValueError: there are no cells, or the lists of cells and states have different lengths.
    """
    _check(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw, outputs = [], [], inputs
    with scope_block.variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (forwards, backwards) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with scope_block.variable_scope(f"cell_{number}"):
                pair, (state_fw, state_bw) = bidirectional.bidirectional_dynamic_rnn(
                    forwards, backwards, outputs, sequence_length,
                    _state(initial_states_fw, number), _state(initial_states_bw, number), dtype,
                    parallel_iterations, swap_memory, time_major,
                )  # fmt: skip
                outputs = array_ops.concat(list(pair), 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return outputs, tuple(states_fw), tuple(states_bw)


def _state(states: list[Any] | None, number: int) -> Any:
    return None if states is None else states[number]


def _check(cells_fw: Any, cells_bw: Any, states_fw: Any, states_bw: Any) -> None:
    for direction, cells in (("fw", cells_fw), ("bw", cells_bw)):
        if not cells:
            raise ValueError(f"Must specify at least one {direction} cell for BidirectionalRNN.")
        if not isinstance(cells, list):
            raise ValueError(f"cells_{direction} must be a list of RNNCells (one per layer).")  # noqa: TRY004 - TensorFlow's
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for direction, states in (("fw", states_fw), ("bw", states_bw)):
        if states is not None and not (isinstance(states, list) and len(states) == len(cells_fw)):
            raise ValueError(
                f"initial_states_{direction} must be a list of state tensors (one per layer)."
            )
