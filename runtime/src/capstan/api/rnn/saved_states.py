"""A recurrent network that continues from a state of an earlier step (python/ops/rnn.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api.rnn import loops
from capstan.framework import graph as graphs
from capstan.framework import nest
from capstan.framework.raw import raw

__all__ = ["static_state_saving_rnn"]


def static_state_saving_rnn(
    cell: Any,
    inputs: Sequence[Any],
    state_saver: Any,
    state_name: Any,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Call a cell for each element of a list. Return the outputs and the last state.

    `state_saver.state(name)` gives the first state, and `state_saver.save_state(name, value)`
    returns the operation that saves the last one. The last output depends on this operation.
    `state_name` has the structure of the cell's state.

    Raises:
        ValueError: `state_name` has another structure.
    """
    sizes = nest.flatten(cell.state_size)
    names = nest.flatten(state_name)
    if nest.is_nested(cell.state_size) != nest.is_nested(state_name) or len(sizes) != len(names):
        raise ValueError(
            f"state_name must have the structure of the cell's state. state_name: "
            f"{state_name}. state size: {cell.state_size}"
        )
    first = [state_saver.state(name) for name in names]
    outputs, state = loops.static_rnn(
        cell,
        inputs,
        nest.packed(cell.state_size, first),
        sequence_length=sequence_length,
        scope=scope,
    )
    leaves = nest.flatten(state)
    saves = [state_saver.save_state(*pair) for pair in zip(names, leaves, strict=True)]
    with graphs.get_default_graph().control_dependencies(saves):
        outputs[-1] = nest.mapped(raw.Identity, outputs[-1])
        return outputs, nest.packed(state, [raw.Identity(leaf) for leaf in leaves])
