"""The cell that attends to memories.

The behaviour follows contrib/seq2seq/python/ops/attention_wrapper.py.
"""

import collections
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from capstan import errors
from capstan.api import array_ops, check_ops, context, math_ops, nest
from capstan.api import tensor_array_ops as arrays
from capstan.api.layers import core
from capstan.api.rnn import cells
from capstan.contrib.seq2seq import attention
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_State = collections.namedtuple(
    "_State",
    ("cell_state", "attention", "time", "alignments", "alignment_history", "attention_state"),
)


class AttentionWrapperState(_State):
    """The state of an AttentionWrapper. `clone(cell_state=...)` replaces parts of it.

    With a list of mechanisms, `alignments`, `alignment_history` and `attention_state` are tuples.
    """

    def clone(self, **kwargs: Any) -> "AttentionWrapperState":
        """Return a state with other parts, which get the static shapes of those before.

        Raises:
            ValueError: a tensor has another shape than the one that it replaces.
        """
        replaced = self._replace(**kwargs)
        for old, new in zip(nest.flatten(self), nest.flatten(replaced), strict=False):
            if isinstance(old, graphs.Tensor) and isinstance(new, graphs.Tensor):
                new.set_shape(old.shape)
        return replaced


class AttentionWrapper(cells.RNNCell):
    """A cell whose inputs are joined with the attention of the step before.

    `attention_mechanism` is a mechanism, or a list of mechanisms, whose attentions are joined. The
    attention is the sum of the values of a memory, weighted with the alignments. It goes through a
    layer without bias of `attention_layer_size` outputs, or through `attention_layer`, which take
    the outputs of the cell and the sum. Both arguments are lists for a list of mechanisms.
    `attention_fn(mechanism, cell_output, attention_state, attention_layer)` takes the place of this
    computation: it returns the attention, the alignments and the next state.
    `cell_input_fn(inputs, attention)` makes the inputs of the cell. With `alignment_history`, the
    state has the alignments of all steps in a TensorArray. Without `output_attention`, the outputs
    are those of the cell.

    Raises:
        TypeError: a mechanism is not an AttentionMechanism, or `cell_input_fn` is not callable.
        ValueError: both a layer and a size are given, or there are as many of them as mechanisms.
        InvalidArgumentError: the batch of a memory has another size than the initial state, the
            state of a step or the cell's outputs. If a size is unknown, the step raises the error.
    """

    def __init__(
        self, cell: Any, attention_mechanism: Any, attention_layer_size: Any = None,
        alignment_history: bool = False, cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True, initial_cell_state: Any = None, name: str | None = None,
        attention_layer: Any = None, attention_fn: Callable[..., Any] | None = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(name=name, dtype=dtype)
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(
                f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}"
            )
        self._cell = cell
        self._is_multi = isinstance(attention_mechanism, list | tuple)
        self._mechanisms = _mechanisms(attention_mechanism)
        self._attention_layers = _layers(self._mechanisms, attention_layer_size, attention_layer)
        self._attention_size = sum(
            _size(mechanism, layer, cell.output_size)
            for mechanism, layer in zip(self._mechanisms, self._attention_layers, strict=True)
        )
        self._attention_fn = attention_fn or _attended
        self._cell_inputs = cell_input_fn or (lambda *values: array_ops.concat(list(values), -1))
        self._output_attention = output_attention
        self._has_history = alignment_history
        self._initial_cell_state = initial_cell_state
        if initial_cell_state is not None:
            last = nest.flatten(initial_cell_state)[-1]
            self._initial_cell_state = self._checked(
                initial_cell_state, _batch(last), "initial_cell_state.  You may need to tile the "
                "initial state",
            )  # fmt: skip

    def _checked(self, values: Any, batch_size: Any, other: str) -> Any:
        """Return tensors after a check that the memories have a batch of this size."""
        message = (
            f"In AttentionWrapper {self.name}: Non-matching batch sizes between the memory "
            f"(encoder output) and the {other} via the tf.contrib.seq2seq.tile_batch function with "
            "argument multiple=beam_width, if you use the BeamSearchDecoder."
        )
        checks = []
        for size in (mechanism.batch_size for mechanism in self._mechanisms):
            if not (isinstance(size, int) and isinstance(batch_size, int)):
                checks.append(check_ops.assert_equal(batch_size, size, message=message))
            elif size != batch_size:
                message = f"{message} The sizes are {size} and {batch_size}"
                raise errors.InvalidArgumentError(None, None, message)
        with context.control_dependencies(checks):
            return nest.map_structure(raw.Identity, values)

    def _as_given(self, values: Iterable[Any]) -> Any:
        """Return a tuple for a list of mechanisms, and the only value for one mechanism."""
        together = tuple(values)
        return together if self._is_multi else together[0]

    def _of_each(self, value: Any) -> Sequence[Any]:
        """Return a part of the state for each mechanism."""
        return list(value) if self._is_multi else [value]

    @property
    def output_size(self) -> Any:
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        sizes = [mechanism.alignments_size for mechanism in self._mechanisms]
        return AttentionWrapperState(
            self._cell.state_size, self._attention_size, tensor_shape.TensorShape([]),
            self._as_given(sizes),
            self._as_given(size if self._has_history else () for size in sizes),
            self._as_given(mechanism.state_size for mechanism in self._mechanisms),
        )  # fmt: skip

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        state = self._initial_cell_state
        if state is None:
            state = self._cell.zero_state(batch_size, dtype)
        state = self._checked(
            state, batch_size, "requested batch size, which is batch_size * beam_width in a beam "
            "search.  You may need to tile the memory",
        )  # fmt: skip
        starts = [each.initial_alignments(batch_size, dtype) for each in self._mechanisms]
        histories = [
            arrays.TensorArray(
                dtype, size=0, dynamic_size=True, element_shape=start.shape.as_list()
            )
            if self._has_history
            else ()
            for start in starts
        ]
        return AttentionWrapperState(
            state,
            cells.zeros(self._attention_size, batch_size, dtypes.as_dtype(dtype)),
            convert.constant(0, dtypes.int32), self._as_given(starts), self._as_given(histories),
            self._as_given(each.initial_state(batch_size, dtype) for each in self._mechanisms),
        )  # fmt: skip

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """Return the outputs and the new state of one time step.

        Raises:
            TypeError: the state is not an AttentionWrapperState.
        """
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                "Expected state to be instance of AttentionWrapperState. "
                f"Received type {type(state)} instead."
            )
        return super().__call__(inputs, state, scope)

    def call(self, inputs: Any, state: AttentionWrapperState) -> Any:
        output, cell_state = self._cell(
            self._cell_inputs(inputs, state.attention), state.cell_state
        )
        output = self._checked(
            output, _batch(output), "query (decoder output).  You may need to tile the memory"
        )
        results = [
            self._attention_fn(mechanism, output, own_state, layer)
            for mechanism, own_state, layer in zip(
                self._mechanisms, self._of_each(state.attention_state), self._attention_layers,
                strict=True,
            )
        ]  # fmt: skip
        attentions, alignments, states = zip(*results, strict=True)
        attention = attentions[0] if len(attentions) == 1 else array_ops.concat(attentions, 1)
        histories = self._of_each(state.alignment_history)
        if self._has_history:
            pairs = zip(histories, alignments, strict=True)
            histories = [history.write(state.time, value) for history, value in pairs]
        return attention if self._output_attention else output, AttentionWrapperState(
            cell_state, attention, state.time + 1, self._as_given(alignments),
            self._as_given(histories), self._as_given(states),
        )  # fmt: skip


def _batch(value: Any) -> Any:
    return value.shape.as_list()[0] or array_ops.shape(value)[0]


def _mechanisms(given: Any) -> tuple[Any, ...]:
    several = tuple(given) if isinstance(given, list | tuple) else (given,)
    for each in several:
        if not isinstance(each, attention.AttentionMechanism):
            raise TypeError(
                "attention_mechanism must be an AttentionMechanism or list of multiple "
                f"AttentionMechanism instances, saw type: {type(each).__name__}"
            )
    return several


def _layers(mechanisms: Sequence[Any], sizes: Any, layers: Any) -> tuple[Any, ...]:
    """Return the layer of each mechanism, or None for a mechanism without a layer."""
    if sizes is not None and layers is not None:
        raise ValueError("Only one of attention_layer_size and attention_layer should be set")
    if sizes is None and layers is None:
        return (None,) * len(mechanisms)
    given = layers if sizes is None else sizes
    several = tuple(given) if isinstance(given, list | tuple) else (given,)
    if len(several) != len(mechanisms):
        kind = "attention_layer" if sizes is None else "attention_layer_size"
        raise ValueError(
            f"If provided, {kind} must contain exactly one element per attention_mechanism, saw: "
            f"{len(several)} vs {len(mechanisms)}"
        )
    if sizes is None:
        return several
    return tuple(core.Dense(size, use_bias=False, name="attention_layer") for size in several)


def _size(mechanism: Any, layer: Any, cell_size: int) -> int:
    """Return the size of the attention of a mechanism."""
    size = mechanism.values.shape.as_list()[-1]
    if layer is not None:
        size = layer.compute_output_shape([None, cell_size + size]).as_list()[-1]
    return int(size)


def _attended(mechanism: Any, output: Any, state: Any, layer: Any) -> tuple[Any, Any, Any]:
    """Return the attention to a memory, the alignments, and the next state of the mechanism."""
    alignments, next_state = mechanism(output, state=state)
    context = math_ops.matmul(raw.ExpandDims(alignments, 1), mechanism.values)
    attention = raw.Squeeze(context, squeeze_dims=[1])
    if layer is not None:
        attention = layer(array_ops.concat([output, attention], 1))
    return attention, alignments, next_state
