"""A batch of segments of sequences
(contrib/training/python/training/sequence_queueing_state_saver.py).
"""

from typing import Any

from capstan.api import array_ops, gather_ops, logic_ops
from capstan.contrib import sequence_checks
from capstan.framework import convert
from capstan.framework import graph as graphs

__all__ = ["NextQueuedSequenceBatch"]


class NextQueuedSequenceBatch:
    """A batch of segments: tensors with a value for each segment, which a step takes together.

    The computation of a step must save all states (`save_state`). Otherwise the next segments of
    the sequences never become complete.
    """

    def __init__(self, state_saver: Any) -> None:
        self._state_saver = state_saver

    def _fixed(self, name: str) -> Any:
        return self._state_saver._received[name]

    @property
    def total_length(self) -> Any:
        """The lengths of the whole sequences, an int32 vector."""
        return self._fixed("total_length")

    @property
    def length(self) -> Any:
        """The lengths of the segments without padding, an int32 vector."""
        return self._fixed("length")

    @property
    def batch_size(self) -> Any:
        """The number of segments, an int32 scalar."""
        return array_ops.shape(self.length)[0]

    @property
    def insertion_index(self) -> Any:
        """The order in which the sequences came, an int64 vector."""
        return self._state_saver._indices

    @property
    def key(self) -> Any:
        """The keys of the segments, such as `00000_of_00003:key`, a vector of strings."""
        return self._state_saver._keys

    @property
    def next_key(self) -> Any:
        """The keys of the next segments, or `STOP:key` after the last one."""
        return self._fixed("next_key")

    @property
    def sequence(self) -> Any:
        """The numbers of the segments in their sequences, an int32 vector."""
        return self._fixed("sequence")

    @property
    def sequence_count(self) -> Any:
        """The numbers of segments of the sequences, an int32 vector."""
        return self._fixed("sequence_count")

    @property
    def context(self) -> dict[str, Any]:
        """The values of the context, of the shapes [batch, ...]."""
        found: dict[str, Any] = self._state_saver._context
        return found

    @property
    def sequences(self) -> dict[str, Any]:
        """The parts of the sequences, of the shapes [batch, num_unroll, ...]."""
        found: dict[str, Any] = self._state_saver._sequences
        return found

    def state(self, state_name: str) -> Any:
        """Return the values of a state, of the shape [batch, ...].

        Raises:
            KeyError: there is no such state.
        """
        return self._state_saver._states[state_name]

    def save_state(self, state_name: str, value: Any, name: str | None = None) -> Any:
        """Return the operation that gives a state to the next segments of the sequences.

        `value` has the type and the shape of `state(state_name)`.

        Raises:
            KeyError: there is no such state.
        """
        saver = self._state_saver
        if state_name not in saver._states:
            raise KeyError(f"state was not declared: {state_name}")
        graph = graphs.get_default_graph()
        with graph.name_scope(name or "InputQueueingStateSaver_SaveState"), saver._beside():
            given = convert.convert_to_tensor(value)
            given = sequence_checks.like_state(state_name, given, saver._states[state_name])
            going_on = array_ops.reshape(
                gather_ops.where(logic_ops.logical_not(saver._is_done)), [-1]
            )
            return saver.barrier.insert_many(
                saver._place("state", state_name),
                gather_ops.gather(self.next_key, going_on),
                gather_ops.gather(given, going_on),
                name=f"BarrierInsertState_{state_name}",
            )
