"""`tf.keras.layers.RNN`: a cell for each step of a sequence (python/keras/layers/recurrent.py)."""

from typing import Any

import numpy as np

from capstan.api import array_ops, creation_ops, state_ops, variables
from capstan.api.layers import calls, context, settings, values
from capstan.core import dtypes, tensor_shape
from capstan.framework import nest
from capstan.keras import built_in, objects, recurrence, shape_nests
from capstan.keras.layers import cells, stacked_cells


def sizes_of(size: Any) -> list[int | None]:
    """Return the size of a state or output as the list of its axes."""
    return tensor_shape.as_shape([size] if isinstance(size, int) else size).as_list()


class RNN(built_in.BuiltIn):
    """Calls a cell, or a list of cells, for each step of sequences [batch, time, ...].

    The outputs are those of the last step, or of all steps, [batch, time, ...], with
    `return_sequences`. With `return_state`, the layer returns a list of the outputs and the last
    states. `go_backwards` begins with the last step, and the outputs keep that order. With
    `time_major`, the time is the first axis of inputs and outputs.

    A step whose mask is false repeats the previous output and keeps the states. `unroll` makes a
    part of the graph for each step instead of a loop. With `stateful`, each batch begins with the
    last states of the batch before: run `updates` with each step, and `reset_states` for zeros.
    """

    supports_masking = True

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError if a cell has no `call` or no `state_size`."""
        self.zero_output_for_mask = kwargs.pop("zero_output_for_mask", False)
        if "input_shape" not in kwargs and ({"input_dim", "input_length"} & kwargs.keys()):
            size, length = kwargs.pop("input_dim", None), kwargs.pop("input_length", None)
            kwargs["input_shape"] = (length, size)
        super().__init__(**kwargs)
        if isinstance(cell, list | tuple):
            cell = stacked_cells.StackedRNNCells(cell)
        cells.check(cell)
        self.cell = cell
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards
        self.stateful = stateful
        self.unroll = unroll
        self.time_major = time_major
        self._states: Any = None
        self._constant_count = 0

    @property
    def states(self) -> Any:
        """The variables of a stateful layer, or None for each state."""
        if self._states is not None:
            return self._states
        return [None for _ in cells.as_states(self.cell.state_size)]

    def __call__(
        self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any
    ) -> Any:
        """Return the outputs, and the states with `return_state`.

        `initial_state` is a list of tensors; it may also follow the inputs in a list. Each step of
        the cell gets the `constants`.

        Raises:
            ValueError: the number of states is wrong, or some of the states and constants are
                outputs of Keras layers and others are not.
        """
        inputs, initial_state, constants = self.parted(inputs, initial_state, constants)
        self._constant_count = len(constants or ())
        added = [*(initial_state or ()), *(constants or ())]
        if not added:
            return super().__call__(inputs, **kwargs)
        nodes = context.of().nodes
        made = {tensor in nodes for tensor in nest.flatten(added)}
        if len(made) > 1:
            raise ValueError(
                f"Layer {self.name}: The initial state or constants of an RNN layer cannot be "
                "specified with a mix of Keras tensors and non-Keras tensors. Take all of them "
                "from Keras layers, or none"
            )
        if made == {False}:
            given = {"initial_state": initial_state, "constants": constants}
            return super().__call__(inputs, **kwargs, **given)
        before = self.input_spec
        if before is not None:
            self.input_spec = [*before, *(None for _ in nest.flatten(added))]
        try:
            return super().__call__([inputs, *added], **kwargs)
        finally:
            self.input_spec = None if self.input_spec is None else self.input_spec[:1]

    def parted(self, inputs: Any, initial_state: Any, constants: Any) -> tuple[Any, Any, Any]:
        """Return the inputs, the list of states and the list of constants of a call."""
        if isinstance(inputs, list):
            end = len(inputs) - (0 if constants is not None else self._constant_count)
            constants = constants if constants is not None else inputs[end:] or None
            initial_state = inputs[1:end] or initial_state
            inputs = inputs[0]
        if initial_state is not None:
            initial_state = list(calls.as_tensors(cells.as_states(initial_state)))
        if constants is not None:
            constants = list(calls.as_tensors(cells.as_states(constants)))
        return inputs, initial_state, constants

    def build(self, input_shape: Any) -> None:
        """Create the variables of the cell, and those of the states if the layer is stateful.

        Raises:
            ValueError: the layer is stateful, and the size of a batch is unknown.
        """
        if self._dtype is None:  # A program calls `build` before the layer.
            self._dtype = dtypes.as_dtype(settings.SETTINGS.floatx)
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        shapes = shape_nests.shapes(shape)
        batch = nest.flatten(shapes)[0].as_list()[1 if self.time_major else 0]
        one = tensor_shape.TensorShape([batch])
        step = nest.mapped(lambda each: one.concatenate(each[2:]), shapes)
        cells.build(self.cell, step, self._dtype)
        if self.stateful and self._states is None:
            self._states = self._new_states(batch)
        self.built = True

    def _new_states(self, batch: int | None) -> list[Any]:
        if batch is None:
            raise ValueError(
                f"Layer {self.name}: If a RNN is stateful, it needs to know its batch size. Use "
                "tf.keras.Input(batch_shape=...), or batch_input_shape for the first layer of a "
                "Sequential model"
            )

        def variable(size: Any) -> Any:
            zeros = creation_ops.zeros([batch, *sizes_of(size)], self._dtype)
            return variables.Variable(zeros, trainable=False, use_resource=True)

        return [nest.mapped(variable, size) for size in self._state_sizes()]

    def _state_sizes(self) -> Any:
        """Return the sizes of the states of an example."""
        return cells.as_states(self.cell.state_size)

    def reset_states(self, states: Any = None) -> None:
        """Set the states of a stateful layer to arrays, or to 0, in Keras's session.

        Raises:
            AttributeError: the layer is not stateful, or was not called yet.
            ValueError: the number or the shapes of the arrays are wrong.
        """
        if not self.stateful or self._states is None:
            raise AttributeError(
                f"Layer {self.name} has no states: make it with stateful=True, and call it"
            )
        own = nest.flatten(self._states)
        given = [np.zeros(each.shape.as_list()) for each in own]
        given = given if states is None else [np.asarray(each) for each in nest.flatten(states)]
        if [each.shape for each in given] != [tuple(each.shape.as_list()) for each in own]:
            raise ValueError(
                f"Layer {self.name} expects states of the shapes {[each.shape for each in own]}, "
                f"and received {[each.shape for each in given]}"
            )
        values.batch_set_value(zip(own, given, strict=True))

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """Return the states with which a batch of these inputs begins: zeros by default."""
        first = nest.flatten(inputs)[0]
        sizes = array_ops.shape(first)
        batch = sizes[1] if self.time_major else sizes[0]
        known = first.shape.as_list()[1 if self.time_major else 0]
        return list(
            cells.as_states(
                cells.initial_state(self.cell, batch if known is None else known, first.dtype)
            )
        )

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: Any = None,
        initial_state: Any = None,
        constants: Any = None,
    ) -> Any:
        """Raises ValueError if the number of states is wrong, or `unroll` needs the steps."""
        inputs, initial_state, constants = self.parted(inputs, initial_state, constants)
        if initial_state is None:
            initial_state = self._states if self.stateful else self.get_initial_state(inputs)
        if len(initial_state) != len(self.states):
            raise ValueError(
                f"Layer {self.name} has {len(self.states)} states but was passed "
                f"{len(initial_state)} initial states."
            )
        self._reset_dropout()
        count = len(initial_state)

        def step(element: Any, states: Any) -> tuple[Any, Any]:
            options = {"training": training}
            if constants:
                options["constants"] = list(states[count:])
            return cells.step(self.cell, element, list(states[:count]), options)

        last, outputs, states = recurrence.rnn(
            step,
            inputs,
            tuple(nest.mapped(array_ops.identity, list(initial_state))),
            constants=constants,
            go_backwards=self.go_backwards,
            mask=None if mask is None else nest.flatten(mask)[0],
            unroll=self.unroll,
            time_major=self.time_major,
            zero_output_for_mask=self.zero_output_for_mask,
        )
        if self.stateful:
            pairs = zip(nest.flatten(self._states), nest.flatten(states), strict=True)
            self.add_update([state_ops.assign(old, new) for old, new in pairs])
        result = outputs if self.return_sequences else last
        if not self.return_state:
            return result
        return [*(result if isinstance(result, list) else [result]), *states]

    def _reset_dropout(self) -> None:
        for name in ("reset_dropout_mask", "reset_recurrent_dropout_mask"):
            if hasattr(self.cell, name):
                getattr(self.cell, name)()

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask of the outputs: that of the inputs for `return_sequences`."""
        own = nest.flatten(mask)[0] if self.return_sequences else None
        return [own, *(None for _ in self.states)] if self.return_state else own

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs, or a list with the shapes of the states behind it."""
        is_list = isinstance(input_shape, list) and not isinstance(input_shape[0], int | None)
        sizes = tensor_shape.as_shape(input_shape[0] if is_list else input_shape).as_list()
        batch, front = sizes[1 if self.time_major else 0], sizes[:2]
        ends = sizes_of(cells.output_size(self.cell))
        output = tensor_shape.TensorShape([*(front if self.return_sequences else [batch]), *ends])
        if not self.return_state:
            return output
        states = nest.flatten(cells.as_states(self.cell.state_size))
        return [output, *(tensor_shape.TensorShape([batch, *sizes_of(each)]) for each in states)]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer. They are values that JSON can hold."""
        config = {**super().get_config(), "time_major": self.time_major}
        if self.zero_output_for_mask:
            config["zero_output_for_mask"] = True
        if self._constant_count:
            config["num_constants"] = self._constant_count
        return config

    def _argument(self, name: str) -> Any:
        value = super()._argument(name)
        return objects.serialize_keras_object(value) if name == "cell" else value

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Return an equal layer. `custom_objects` has the program's own classes by name."""
        given = {**config}
        count = given.pop("num_constants", 0)
        if "cell" in given:
            given["cell"] = built_in.deserialize(given["cell"], custom_objects)
        layer = cls(**given)
        layer._constant_count = count
        return layer
