"""`tf.keras.layers.StackedRNNCells` (python/keras/layers/recurrent.py)."""

from typing import Any

from capstan.core import tensor_shape
from capstan.framework import nest
from capstan.keras import base_layer, built_in, objects
from capstan.keras.layers import cells as of_cells


class StackedRNNCells(base_layer.Layer):
    """Cells that follow each other: the output of a cell is the input of the next cell.

    The state is a tuple of the states of the cells, in reverse order if `reverse_state_order`.
    """

    def __init__(self, cells: Any, **kwargs: Any) -> None:
        """Raises ValueError if an object in `cells` has no `call` or no `state_size`."""
        self.reverse_state_order = kwargs.pop("reverse_state_order", False)
        super().__init__(**kwargs)
        self.cells = list(cells)
        for cell in self.cells:
            of_cells.check(cell)

    def _ordered(self) -> list[Any]:
        return self.cells[::-1] if self.reverse_state_order else self.cells

    @property
    def state_size(self) -> Any:
        """The sizes of the states of all cells, as a tuple."""
        return tuple(cell.state_size for cell in self._ordered())

    @property
    def output_size(self) -> Any:
        """The size of the outputs of the last cell."""
        return of_cells.output_size(self.cells[-1])

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """Return the initial states of all cells, as a tuple."""
        if inputs is not None:
            zeros = of_cells.zero_state
            return tuple(zeros(cell, inputs, batch_size, dtype) for cell in self._ordered())
        return tuple(of_cells.initial_state(cell, batch_size, dtype) for cell in self._ordered())

    def build(self, input_shape: Any) -> None:
        """Create the variables of the cells for inputs [batch, features]."""
        shape = tensor_shape.as_shape(input_shape)
        for cell in self.cells:
            of_cells.build(cell, shape, self._dtype)
            size = of_cells.output_size(cell)
            sizes = [size] if isinstance(size, int) else size
            shape = shape[:1].concatenate(tensor_shape.as_shape(sizes))
        self.built = True

    def call(self, inputs: Any, states: Any, constants: Any = None, training: Any = None) -> Any:
        """Return the output of the last cell, and the new states of all cells."""
        nested = nest.packed(self.state_size, nest.flatten(states))
        options = {"training": training}
        if constants is not None:
            options["constants"] = constants
        new: list[Any] = []
        for cell, state in zip(
            self.cells, nested[::-1] if self.reverse_state_order else nested, strict=True
        ):
            inputs, changed = of_cells.step(cell, inputs, of_cells.as_states(state), options)
            new.append(changed)
        ordered = new[::-1] if self.reverse_state_order else new
        return inputs, nest.packed(self.state_size, nest.flatten(ordered))

    def reset_dropout_mask(self) -> None:
        """Let the next step of each cell make new zeros for its inputs."""
        for cell in self.cells:
            if hasattr(cell, "reset_dropout_mask"):
                cell.reset_dropout_mask()

    def reset_recurrent_dropout_mask(self) -> None:
        """Let the next step of each cell make new zeros for its state."""
        for cell in self.cells:
            if hasattr(cell, "reset_recurrent_dropout_mask"):
                cell.reset_recurrent_dropout_mask()

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create equal cells. They are values that JSON can hold."""
        made = [objects.serialize_keras_object(cell) for cell in self.cells]
        config = {**super().get_config(), "cells": made}
        if self.reverse_state_order:
            config["reverse_state_order"] = True
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Return equal cells. `custom_objects` has the program's own classes by name."""
        rest = dict(config)
        made = [built_in.deserialize(each, custom_objects) for each in rest.pop("cells")]
        return cls(made, **rest)
