"""`tf.keras.Model`: a layer made of layers (python/keras/engine/network.py).

A model is called in a graph as a layer is, and trains itself in Keras's session (`trainer`).
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import creation_ops, trackable
from capstan.api.layers import calls, context, settings
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework import nest
from capstan.keras import (
    added_layers,
    functional,
    layer_order,
    model_attributes,
    model_configs,
    model_files,
    model_summary,
    shape_nests,
)
from capstan.keras.training import trainer


class Model(trainer.Trainer, model_files.ModelFiles, model_attributes.ModelAttributes):
    """A layer made of layers.

    A subclass overrides `call`. `Model(inputs=..., outputs=...)` is the function that layers have
    computed from `inputs` (of `tf.keras.Input`) to `outputs`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Raises ValueError for disconnected outputs, and for two layers with the same name."""
        given = dict(zip(("inputs", "outputs", "name"), args, strict=False))
        inputs = given.pop("inputs", kwargs.pop("inputs", None))
        outputs = given.pop("outputs", kwargs.pop("outputs", None))
        super().__init__(**given, **kwargs)
        self.inputs: Any = None
        self.outputs: Any = None
        self._function: Any = None
        if outputs is not None:
            self._set_function(inputs, outputs)

    def _set_function(self, inputs: Any, outputs: Any) -> None:
        inputs, outputs = _alone(inputs), _alone(outputs)
        self._function = functional.Function(context.of(), inputs, outputs)
        self.inputs, self.outputs = nest.flatten(inputs), nest.flatten(outputs)
        self._functional_layers = self._function.layers
        self.built = True

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add losses, as a layer does. The mean of a loss with axes counts.

        A tensor that layers and operations compute from the inputs of the model gets a layer of its
        own. A call of the model on other inputs then computes the loss of these.
        """
        for loss in losses if isinstance(losses, list | tuple) else [losses]:
            if inputs is None and self._follows(loss):
                self._attach([added_layers.AddLoss()(loss)])
            else:
                super().add_loss(loss, inputs)

    def add_metric(
        self, value: Any, aggregation: str | None = None, name: str | None = None
    ) -> None:
        """Show a tensor among the metrics, as a layer does.

        With the aggregation "mean", the tensor gets a layer of its own, as a loss does.
        """
        if aggregation == "mean" and name and self._follows(value):
            self._attach([added_layers.AddMetric(aggregation, name)(value)])
        else:
            super().add_metric(value, aggregation, name)

    def _follows(self, value: Any) -> bool:
        """Return whether the model can compute a tensor again from other inputs."""
        if not self._is_graph_network or not isinstance(value, graphs.Tensor):
            return False
        try:
            layer_order.Search(context.of(), self.inputs, [value])
        except ValueError:
            return False
        return True

    def _attach(self, tensors: list[Any]) -> None:
        """Let the calls that lead to some tensors be part of the model."""
        for tensor in tensors:
            self._function.extend(context.of(), tensor)
            self._functional_layers = self._function.layers

    @property
    def layers(self) -> list[Any]:
        return self._inner_layers

    @property
    def _checkpoint_dependencies(self) -> trackable.Dependencies:
        """The layers by number, if the model is made of them, and the parts in the attributes.

        The optimizer of `compile` follows.
        """
        own = [
            (name, part)
            for name, part in super()._checkpoint_dependencies
            if name not in ("_functional_layers", "_sequence")
        ]
        if trackable.is_trackable(self.optimizer):
            own.append(("optimizer", self.optimizer))
        return [*layer_order.numbered(self._numbered_layers()), *own]

    def _numbered_layers(self) -> list[Any]:
        """Return the layers that a checkpoint names by number, from the inputs on."""
        return [] if self._function is None else self.layers

    @property
    def input(self) -> Any:
        """The input that the model was made of, or a list if there are several."""
        return super().input if self.inputs is None else context.one_or_all(self.inputs)

    @property
    def output(self) -> Any:
        """The output for `input`, or a list if there are several."""
        return super().output if self.outputs is None else context.one_or_all(self.outputs)

    def build(self, input_shape: Any) -> None:
        """Make the variables for inputs of this shape, or of these shapes in a list.

        Raises:
            NotImplementedError: the model is a subclass that does not override `call`.
            ValueError: `call` requires other arguments than the inputs and `training`.
        """
        if self.built:
            return
        is_list = isinstance(input_shape, list) and not isinstance(input_shape[0], int | None)
        kind = self._dtype or dtypes.as_dtype(settings.SETTINGS.floatx)
        inputs = [
            creation_ops.placeholder(kind, shape)
            for shape in (input_shape if is_list else [input_shape])
        ]
        self.call(inputs if is_list else inputs[0], **self._required_options())
        self._built_for = input_shape
        self.built = True

    def _required_options(self) -> dict[str, Any]:
        """Return `training` if `call` requires this argument behind the inputs."""
        required = calls.Signature(self.call).required()
        if set(required) - {"training"}:
            raise ValueError(
                "Currently, you cannot build your model if it has positional or keyword arguments "
                f"that are not inputs to the model, but are required for its `call` method: "
                f"{required}. Call the model on tensors with all of its arguments instead"
            )
        return dict.fromkeys(required, False)

    def _build_once(self, inputs: Any) -> None:
        # A call makes the variables by itself, under its own name scope.
        if type(self).build is Model.build:
            self.built = True
        super()._build_once(inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shapes of the outputs for a shape, or for a list of shapes.

        Each layer computes the shapes of its outputs.

        Raises:
            NotImplementedError: the model is a subclass, or a layer does not know its shapes.
            ValueError: the number of shapes is not that of the inputs.
        """
        if self._function is None:
            raise NotImplementedError(f"{type(self).__name__} has no compute_output_shape")
        return self._function.shapes(shape_nests.shapes(input_shape))

    def get_config(self) -> dict[str, Any]:
        """Return the layers and their calls, as values that JSON can hold.

        Raises:
            NotImplementedError: the model is a subclass, which only its code describes.
            ValueError: two layers have the same name.
        """
        if self._function is None:
            raise NotImplementedError(
                f"{type(self).__name__}.get_config: the code of a subclass describes its model. "
                "Override get_config, or make the model again"
            )
        return model_configs.of_function(self, self._function)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Return a new model with the layers and calls of a configuration."""
        if "input_layers" not in config:
            return cls(**config)
        make = model_configs.made_by(custom_objects)
        inputs, outputs, others = model_configs.function(config, make)
        model = cls(inputs=inputs, outputs=outputs, name=config.get("name"))
        model._attach(others)
        return model

    @property
    def _is_graph_network(self) -> bool:
        """Whether layers were called on the inputs of the model when it was made."""
        return self._function is not None

    @property
    def _is_described(self) -> bool:
        """Whether a configuration describes the model."""
        return self._is_graph_network

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """Return the layer with this name or index.

        Raises:
            ValueError: there is no such layer.
        """
        if index is not None and index < len(self.layers):
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        known = [layer.name for layer in self.layers]
        raise ValueError(f"No such layer: {name or index}. The model {self.name} has {known}")

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Raises NotImplementedError if the model is a subclass that does not override `call`."""
        if self._function is None:
            raise NotImplementedError(
                f"When subclassing the `Model` class, you should implement a `call` method: "
                f"{type(self).__name__} has none"
            )
        if mask is not None:
            pairs = zip(nest.flatten(inputs), nest.flatten(mask), strict=True)
            context.of().masks.update({key: value for key, value in pairs if value is not None})
        return self._function(inputs)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the masks of the outputs for masks of the inputs. Calls the layers again.

        The masks of a subclass that overrides `call` are unknown: return None.
        """
        if self._function is None:
            return None
        outputs = self.call(inputs, mask=mask)
        return nest.mapped(lambda tensor: calls.masks_of(context.of(), tensor), outputs)

    @property
    def _computes_masks(self) -> bool:
        """Whether a subclass has masks of its own. The layers inside set theirs themselves."""
        return type(self).compute_mask is not Model.compute_mask

    @property
    def state_updates(self) -> list[Any]:
        """The operations that keep the states of stateful layers for the next batch."""
        return [
            update
            for layer in self._stateful_layers()
            for inputs in (None, self.inputs)
            for update in layer.get_updates_for(inputs)
        ]

    def reset_states(self) -> None:
        """Set the states of stateful layers to zero, in Keras's session."""
        with self._session().as_default():
            for layer in self._stateful_layers():
                if hasattr(layer, "reset_states"):
                    layer.reset_states()

    def _stateful_layers(self) -> list[Any]:
        """Return the layers that keep states between batches, also those of models inside."""
        found: list[Any] = []
        for layer in self.layers:
            if isinstance(layer, Model):
                found += layer._stateful_layers()
            elif layer.stateful:
                found.append(layer)
        return found

    def summary(
        self,
        line_length: int | None = None,
        positions: Sequence[float] | None = None,
        print_fn: Callable[[str], Any] | None = None,
    ) -> None:
        """Print a table of the layers with the shapes of their outputs and their parameters.

        If layers share inputs or get several, a column names the inputs of each layer. `print_fn`
        gets each line. `positions` are the ends of the columns, as parts of the line.

        Raises:
            ValueError: the model has no variables yet.
        """
        for line in model_summary.lines(self, line_length, positions):
            (print_fn or print)(line)


def _alone(tensors: Any) -> Any:
    """Return the tensor of a list of one tensor, which a model takes and returns without a list."""
    return tensors[0] if isinstance(tensors, list) and len(tensors) == 1 else tensors
