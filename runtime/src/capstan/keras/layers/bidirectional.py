"""`tf.keras.layers.Bidirectional` (python/keras/layers/wrappers.py)."""

from typing import Any

import numpy as np

from capstan.api import array_ops
from capstan.api.layers import calls
from capstan.core import tensor_shape
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.keras import base_layer, objects
from capstan.keras.layers import cells, wrappers


class Bidirectional(wrappers.Wrapper):
    """Runs a recurrent layer forwards, and a copy of the layer backwards.

    `merge_mode` joins their outputs: concat, sum, mul or ave. With None, the outputs are a list.
    The outputs of `return_sequences` have the order of the inputs. `backward_layer` takes the
    place of the copy. An `initial_state` holds the states of both layers, the forward ones first.
    The steps of both get the `constants`.
    """

    supports_masking = True

    def __init__(
        self,
        layer: Any,
        merge_mode: str | None = "concat",
        weights: Any = None,
        backward_layer: Any = None,
        **kwargs: Any,
    ) -> None:
        """Check the layers.

        Raises:
            ValueError: an argument is not a layer, or the layers do not fit each other.
        """
        super().__init__(layer, weights=weights, **kwargs)
        if merge_mode not in ("sum", "mul", "ave", "concat", None):
            raise ValueError(
                'Invalid merge mode. Merge mode should be one of {"sum", "mul", "ave", "concat", '
                f"None}}. Received: {merge_mode}"
            )
        if backward_layer is not None and not isinstance(backward_layer, base_layer.Layer):
            raise ValueError(
                f"`backward_layer` need to be a `Layer` instance. You passed: {backward_layer}"
            )
        self.merge_mode = merge_mode
        self.return_sequences = layer.return_sequences
        self.return_state = layer.return_state
        self.stateful = layer.stateful
        self._constant_count = 0
        # Its name changes below.
        self._backward_config = (
            None if backward_layer is None else objects.serialize_keras_object(backward_layer)
        )
        self.forward_layer = _copy(layer, is_reversed=False)
        self.backward_layer: Any = backward_layer or _copy(layer, is_reversed=True)
        self._check_layers()
        sides: list[tuple[str, Any]] = [
            ("forward", self.forward_layer),
            ("backward", self.backward_layer),
        ]
        for side, each in sides:
            each._name = f"{side}_{each.name}"
            each.zero_output_for_mask = each.return_sequences

    def _check_layers(self) -> None:
        forward, backward = self.forward_layer, self.backward_layer
        if forward.go_backwards == backward.go_backwards:
            raise ValueError(
                "Forward layer and backward layer should have different `go_backwards` value."
            )
        for name in ("stateful", "return_sequences", "return_state"):
            if getattr(forward, name) != getattr(backward, name):
                raise ValueError(
                    "Forward layer and backward layer are expected to have the same value for "
                    f"attribute {name}, got {getattr(forward, name)} and {getattr(backward, name)}"
                )

    def _argument(self, name: str) -> Any:
        if name == "weights":
            return None  # The variables have them.
        if name == "backward_layer":
            return self._backward_config
        return super()._argument(name)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer. They are values that JSON can hold."""
        config = super().get_config()
        return {**config, "num_constants": self._constant_count} if self._constant_count else config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Return an equal layer. `custom_objects` has the program's own classes by name."""
        given = {**config}
        count = given.pop("num_constants", 0)
        made = super().from_config(given, custom_objects)
        made._constant_count = count
        return made

    def build(self, input_shape: Any) -> None:
        """Create the variables of both layers."""
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        for layer in (self.forward_layer, self.backward_layer):
            if not layer.built:
                layer._dtype = layer._dtype or self._dtype
                with graphs.get_default_graph().name_scope(layer.name):
                    layer.build(shape)
        self.built = True

    def __call__(
        self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any
    ) -> Any:
        """Return the outputs, and the states of both layers with `return_state`.

        The states and then the constants may also follow the inputs in a list.

        Raises:
            ValueError: the states are not a list, or their number is odd.
        """
        if initial_state is not None and not isinstance(initial_state, list | tuple):
            raise ValueError(
                f"Layer {self.name}: `initial_state` must be a list of the states of both layers. "
                f"Found: {initial_state}"
            )
        given, *states = inputs if isinstance(inputs, list) else [inputs]
        if constants is not None:
            constants = cells.as_states(constants)
            self._constant_count = len(constants)
            states += [*(initial_state or ()), *constants]
        elif initial_state is not None:
            states += initial_state
            self._constant_count = 0
        if (len(states) - self._constant_count) % 2:
            raise ValueError(
                "When passing `initial_state` to a Bidirectional RNN, the state should be a list "
                f"containing the states of the underlying RNNs. Found: {states}"
            )
        added = calls.as_tensors(states)
        return super().__call__([given, *added] if added else given, **kwargs)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        given, states = (inputs[0], inputs[1:]) if isinstance(inputs, list) else (inputs, [])
        own = mask[0] if isinstance(mask, list) else mask
        half = (len(states) - self._constant_count) // 2
        options = {"constants": states[2 * half :]} if self._constant_count else {}
        results = [
            layer(given, initial_state=part or None, **options, **_taken(layer, training, own))
            for layer, part in (
                (self.forward_layer, states[:half]),
                (self.backward_layer, states[half : 2 * half]),
            )
        ]
        ends: list[Any] = []
        if self.return_state:
            ends = [state for result in results for state in result[1:]]
            results = [result[0] for result in results]
        forward, backward = results
        if self.return_sequences:
            backward = raw.ReverseV2(backward, np.array([0 if self._time_major else 1], np.int32))
        outputs = self._merged(forward, backward)
        return [*outputs, *ends] if len(outputs) + len(ends) > 1 else outputs[0]

    @property
    def _time_major(self) -> bool:
        return bool(getattr(self.forward_layer, "time_major", False))

    def _merged(self, forward: Any, backward: Any) -> list[Any]:
        if self.merge_mode is None:
            return [forward, backward]
        if self.merge_mode == "concat":
            return [array_ops.concat([forward, backward], -1)]
        if self.merge_mode == "mul":
            return [forward * backward]
        total = forward + backward
        return [total / 2 if self.merge_mode == "ave" else total]

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs, or a list of several with those of the states."""
        found = self.forward_layer.compute_output_shape(input_shape)
        one, *states = found if self.return_state else [found]
        sizes: list[Any] = tensor_shape.as_shape(one).as_list()
        if self.merge_mode == "concat":
            sizes[-1] *= 2
        outputs = [tensor_shape.TensorShape(sizes)] * (1 if self.merge_mode else 2)
        shapes = [*outputs, *states, *states]
        return shapes if len(shapes) > 1 else shapes[0]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask of the outputs: that of the inputs for `return_sequences`."""
        own = mask[0] if isinstance(mask, list) else mask
        kept = own if self.return_sequences else None
        outputs = [kept, kept] if self.merge_mode is None else [kept]
        states = 2 * len(self.forward_layer.states) if self.return_state else 0
        masks = [*outputs, *(None for _ in range(states))]
        return masks if len(masks) > 1 else kept

    def reset_states(self) -> None:
        """Set the states of both layers to 0, in the default session."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()


def _copy(layer: Any, *, is_reversed: bool) -> Any:
    """Return a layer of the same configuration, or one that goes the other way."""
    config = layer.get_config()
    if is_reversed:
        config["go_backwards"] = not config["go_backwards"]
    with objects.custom_object_scope(_classes_in(layer)):
        return type(layer).from_config(config)


def _classes_in(layer: Any) -> dict[str, Any]:
    """Return the classes of the cells of a layer by name."""
    cell = getattr(layer, "cell", None)
    inner = [cell, *getattr(cell, "cells", [])]
    return {type(each).__name__: type(each) for each in inner if each is not None}


def _taken(layer: Any, training: Any, mask: Any) -> dict[str, Any]:
    """Return the arguments that the `call` of a layer takes."""
    signature = calls.Signature(layer.call)
    given = {"training": training, "mask": mask}
    return {name: value for name, value in given.items() if signature.takes(name)}
