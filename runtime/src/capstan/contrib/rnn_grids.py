"""LSTM cells that run along the frequencies of a step as well as along the steps
(contrib/rnn/python/ops/rnn_cell.py).

The inputs of a step are the features of all frequencies, side by side. A cell looks at overlapping
parts of them, `feature_size` wide and `frequency_skip` apart, one after another.
"""

import collections
from collections.abc import Iterator, Sequence
from typing import Any

from capstan.api import array_ops, creation_ops, math_ops, scope_block, variable_scope
from capstan.api.rnn import cells
from capstan.contrib import rnn_frequencies, rnn_lstms


class _Block:
    """The weights of one block of frequencies, for the LSTM of time and that of frequency."""

    def __init__(self, cell: "GridLSTMCell", number: int, width: int, dtype: Any) -> None:
        self._cell = cell
        self._number = number
        self._kinds = ("freq",) if cell._is_shared else ("freq", "time")
        units, gates = cell._num_units, 3 if cell._is_coupled else 4
        self._layers = [
            rnn_frequencies.layer(
                (f"W_{kind[0]}_{number}", f"B_{kind[0]}_{number}"),
                width + 2 * units, gates * units, dtype, cell._num_unit_shards,
            )
            for kind in self._kinds
        ]  # fmt: skip
        self._peepholes = {
            (kind, gate): [
                variable_scope.get_variable(
                    f"W_{gate}_diag_{kind}{source}_{number}", [units], dtype
                )
                for source in "ft"
            ]
            for kind in (self._kinds if cell._use_peepholes else ())
            for gate in ("IO" if cell._is_coupled else "FIO")
        }

    def gates(self, inputs: Any) -> list[dict[str, Any]]:
        """Return the sums of the gates of both LSTMs, by the letters of the gates."""
        letters = "IJO" if self._cell._is_coupled else "IJFO"
        found = [
            dict(zip(letters, array_ops.split(layer(inputs), len(letters), 1), strict=True))
            for layer in self._layers
        ]
        return [found[0], found[-1]]

    def peeped(self, kind: int, gate: str, memories: Sequence[Any]) -> Any:
        """Return what a gate sees of the memories of frequency and of time."""
        weights = self._peepholes.get((self._kinds[min(kind, len(self._kinds) - 1)], gate))
        if weights is None:
            return 0.0
        return weights[0] * memories[0] + weights[1] * memories[1]


class GridLSTMCell(cells.RNNCell):
    """A cell with an LSTM along time and one along frequency (Kalchbrenner et al., 2016).

    With `start_freqindex_list` and `end_freqindex_list`, the frequencies have blocks with weights
    of their own. `num_frequency_blocks` has the number of parts of each block. The state is a named
    tuple of memories `state_f00_b00_c` and outputs `state_f00_b00_m`, or one tensor if not
    `state_is_tuple`. As in TensorFlow, all blocks then read the state of the first one. The two
    LSTMs share their weights if `share_time_frequency_weights`. `couple_input_forget_gates` makes a
    cell forget as much as it takes in. `initializer` has no effect.

    A call raises ValueError if the size of the inputs is unknown, or does not make as many parts.

    Raises:
        ValueError: `num_frequency_blocks` is None.
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False,
        share_time_frequency_weights: bool = False, cell_clip: float | None = None,
        initializer: Any = None, num_unit_shards: int = 1, forget_bias: float = 1.0,
        feature_size: int | None = None, frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None, couple_input_forget_gates: bool = False,
        state_is_tuple: bool = True, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._is_shared = share_time_frequency_weights
        self._cell_clip = cell_clip
        self._num_unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size = feature_size or 0
        self._frequency_skip = frequency_skip or 1
        self._num_frequency_blocks = [int(count) for count in num_frequency_blocks]
        self._borders = start_freqindex_list, end_freqindex_list
        self._is_coupled = couple_input_forget_gates
        self._prefixes: tuple[str, ...] = ("state",)
        self._state_tuple_type: Any = (
            self._tuple_type("GridLSTMStateTuple") if state_is_tuple else None
        )

    def _tuple_type(self, name: str) -> Any:
        return collections.namedtuple(
            name,
            [
                f"{prefix}_f{part:02d}_b{block:02d}_{what}"
                for prefix in self._prefixes
                for block, count in enumerate(self._num_frequency_blocks)
                for part in range(count)
                for what in "cm"
            ],
        )

    @property
    def output_size(self) -> Any:
        total = sum(self._num_frequency_blocks) * len(self._prefixes)
        return 2 * self._num_units * total

    @property
    def state_size(self) -> Any:
        if self._state_tuple_type is None:
            return self.output_size
        return self._state_tuple_type(*[self._num_units] * len(self._state_tuple_type._fields))

    @property
    def state_tuple_type(self) -> Any:
        """The type of the state, or None if it is one tensor."""
        return self._state_tuple_type

    def call(self, inputs: Any, state: Any) -> Any:
        outputs, states = self._run(self._features(inputs), state, "state")
        if self._state_tuple_type is None:
            return array_ops.concat(outputs, 1), array_ops.concat(states, 1)
        return array_ops.concat(outputs, 1), self._state_tuple_type(*states)

    def _features(self, inputs: Any, offset: int = 0) -> list[list[Any]]:
        """Return the parts of each block, moved by `offset` features. Zeros fill up the rest."""
        size = rnn_frequencies.input_size(inputs)
        if offset:
            pads = [[0, 0], [max(-offset, 0), max(offset, 0)]]
            inputs = array_ops.pad(inputs, pads)
        starts, ends = (list(border or ()) for border in self._borders)
        counts = self._num_frequency_blocks
        if not starts:
            starts, ends = [0], [size]
        if not len(starts) == len(ends) == len(counts):
            raise ValueError(
                f"Length of num_frequency_blocks is {len(counts)}, but there are {len(starts)} "
                f"starts and {len(ends)} ends of blocks"
            )
        found = []
        for start, end, count in zip(starts, ends, counts, strict=True):
            fitting = (end - start - self._feature_size) // self._frequency_skip + 1
            if fitting != count:
                raise ValueError(
                    f"Invalid num_frequency_blocks, requires {count} but gets {fitting}, please "
                    "check the input size and filter config are correct."
                )
            start += max(offset, 0)
            found.append(
                rnn_frequencies.parts(
                    inputs, start, count, self._feature_size, self._frequency_skip
                )
            )
        return found

    def _run(self, features: list[list[Any]], state: Any, prefix: str) -> tuple[Any, Any]:
        """Return the outputs and the states of all parts, in the order of the state."""
        outputs, states = [], []
        for number, parts in enumerate(features):
            for memories, made in self._block(number, parts, state, prefix):
                states += [memories[1], made[1]]
                outputs += [made[1], made[0]]
        return outputs, states

    def _block(
        self, number: int, parts: list[Any], state: Any, prefix: str
    ) -> Iterator[tuple[list[Any], list[Any]]]:
        """Return the memories and the outputs of frequency and of time, for each part."""
        units, dtype = self._num_units, parts[0].dtype.base_dtype
        block = _Block(self, number, rnn_frequencies.input_size(parts[0]), dtype)
        below, low_memory = (
            creation_ops.zeros([rnn_frequencies.batch_size(parts[0]), units], dtype),
        ) * 2
        for index, part in enumerate(parts):
            if self._state_tuple_type is None:
                memory, last = rnn_frequencies.parts(state, 2 * index * units, 2, units, units)
            else:
                place = f"{prefix}_f{index:02d}_b{number:02d}"
                memory, last = (getattr(state, f"{place}_{what}") for what in "cm")
            gates = block.gates(array_ops.concat([part, last, below], 1))
            old = [low_memory, memory]
            memories = [self._memory(block, kind, gates[kind], old) for kind in (0, 1)]
            made = [
                math_ops.sigmoid(gates[kind]["O"] + block.peeped(kind, "O", memories))
                * math_ops.tanh(memories[kind])
                for kind in (0, 1)
            ]
            low_memory, below = memories[0], made[0]
            yield memories, made

    def _memory(self, block: _Block, kind: int, gates: dict[str, Any], old: list[Any]) -> Any:
        """Return the new memory of frequency, or of time."""
        taken = math_ops.sigmoid(gates["I"] + block.peeped(kind, "I", old))
        if self._is_coupled:
            kept = 1.0 - taken
        else:
            seen = block.peeped(kind, "F", old)
            kept = math_ops.sigmoid(gates["F"] + self._forget_bias + seen)
        new = kept * old[kind] + taken * math_ops.tanh(gates["J"])
        return rnn_lstms.clipped(new, self._cell_clip)


class BidirectionalGridLSTMCell(GridLSTMCell):
    """A GridLSTMCell that also runs from the last frequency to the first, with other weights.

    `backward_slice_offset` moves the parts of that direction. The fields of the state have the
    prefixes `fwd_` and `bwd_`.
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False,
        share_time_frequency_weights: bool = False, cell_clip: float | None = None,
        initializer: Any = None, num_unit_shards: int = 1, forget_bias: float = 1.0,
        feature_size: int | None = None, frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None, couple_input_forget_gates: bool = False,
        backward_slice_offset: int = 0, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer,
            num_unit_shards, forget_bias, feature_size, frequency_skip, num_frequency_blocks,
            start_freqindex_list, end_freqindex_list, couple_input_forget_gates, True, reuse,
        )  # fmt: skip
        self._offset = int(backward_slice_offset)
        self._prefixes = "fwd_state", "bwd_state"
        self._state_tuple_type = self._tuple_type("BidirectionalGridLSTMStateTuple")

    def call(self, inputs: Any, state: Any) -> Any:
        outputs, states = [], []
        for prefix, features in (
            ("fwd", self._features(inputs)),
            ("bwd", [parts[::-1] for parts in self._features(inputs, self._offset)]),
        ):
            with scope_block.variable_scope(prefix):
                made, new = self._run(features, state, f"{prefix}_state")
            outputs += made
            states += new
        return array_ops.concat(outputs, 1), self._state_tuple_type(*states)
