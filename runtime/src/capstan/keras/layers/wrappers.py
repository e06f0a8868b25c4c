"""`tf.keras.layers` around another layer (python/keras/layers/wrappers.py)."""

from typing import Any

import numpy as np

from capstan.api import array_ops, reduce_ops
from capstan.api.layers import calls, input_spec
from capstan.core import tensor_shape
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.keras import base_layer, built_in, objects


class Wrapper(built_in.BuiltIn):
    """The base class of layers that hold another layer, `layer`."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        """Raises ValueError if `layer` is not a layer of Keras."""
        if not isinstance(layer, base_layer.Layer):
            raise ValueError(  # noqa: TRY004 - TensorFlow's error
                f"Please initialize `{type(self).__name__}` layer with a `Layer` instance. You "
                f"passed: {layer}"
            )
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape: Any) -> None:
        """Create the variables of the layer inside, under the name scope of this layer."""
        if not self.layer.built:
            self.layer._dtype = self.layer._dtype or self._dtype
            self.layer.build(input_shape)
            self.layer.built = True
        self.built = True

    def _argument(self, name: str) -> Any:
        value = super()._argument(name)
        is_layer = isinstance(value, base_layer.Layer)
        return objects.serialize_keras_object(value) if is_layer else value

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Return an equal layer. `custom_objects` has the program's own classes by name."""
        made = {**config}
        for name in ("layer", "backward_layer"):
            if made.get(name) is not None:
                made[name] = built_in.deserialize(made[name], custom_objects)
        return cls(**made)


class TimeDistributed(Wrapper):
    """Applies a layer to each step of sequences: [batch, time, ...] becomes [batch, time, ...].

    The layer inside sees the steps of all examples as one batch.
    """

    supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Raises ValueError if the inputs have fewer than three axes."""
        sizes = tensor_shape.as_shape(input_shape).as_list()
        if len(sizes) < 3:
            raise ValueError(
                "`TimeDistributed` Layer should be passed an `input_shape` with at least 3 "
                f"dimensions, received: {sizes}"
            )
        self.input_spec = input_spec.InputSpec(shape=[None, None, *sizes[2:]])
        super().build(tensor_shape.TensorShape([sizes[0], *sizes[2:]]))

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        signature = calls.Signature(self.layer.call)
        options: dict[str, Any] = {}
        if signature.takes("training"):
            options["training"] = training
        if signature.takes("mask") and mask is not None:
            options["mask"] = _joined(mask)
        return _parted(self.layer(_joined(inputs), **options), inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs, from that of the layer inside."""
        batch, time, *sizes = tensor_shape.as_shape(input_shape).as_list()
        inner = tensor_shape.as_shape(self.layer.compute_output_shape((batch, *sizes)))
        return tensor_shape.TensorShape([batch, time, *inner.as_list()[1:]])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask [batch, time, ...] of the outputs.

        If the batch size is known, it is the mask of the inputs. Otherwise the layer inside
        computes it, and if that layer returns none, a step is kept if any part of it is.
        """
        if inputs.shape.as_list()[0] is not None:
            return mask
        inner = self.layer.compute_mask(_joined(inputs), None if mask is None else _joined(mask))
        if inner is not None:
            return _parted(inner, inputs)
        if mask is None or mask.shape.ndims == 2:
            return mask
        return reduce_ops.reduce_any(mask, axis=list(range(2, mask.shape.ndims)))


def _taken(layer: Any, training: Any, mask: Any) -> dict[str, Any]:
    """Return the arguments that the `call` of a layer takes."""
    signature = calls.Signature(layer.call)
    given = {"training": training, "mask": mask}
    return {name: value for name, value in given.items() if signature.takes(name)}


def _joined(tensor: Any) -> Any:
    """Return [batch, time, ...] as [batch * time, ...]."""
    sizes = tensor.shape.as_list()
    rest = array_ops.shape(tensor)[2:]
    result = raw.Reshape(tensor, array_ops.concat([[-1], rest], 0))
    count = None if None in sizes[:2] else sizes[0] * sizes[1]
    result.set_shape([count, *sizes[2:]])
    return result


def _parted(tensor: Any, like: Any) -> Any:
    """Return [batch * time, ...] as [batch, time, ...], with the sizes of another tensor."""
    front, rest = array_ops.shape(like)[:2], array_ops.shape(tensor)[1:]
    result = raw.Reshape(tensor, array_ops.concat([front, rest], 0))
    result.set_shape([*like.shape.as_list()[:2], *tensor.shape.as_list()[1:]])
    return result


class Bidirectional(Wrapper):
    """Runs a recurrent layer forwards, and a copy of the layer backwards.

    `merge_mode` joins their outputs: concat, sum, mul or ave. With None, the outputs are a list.
    The outputs of `return_sequences` have the order of the inputs. `backward_layer` takes the
    place of the copy. An `initial_state` holds the states of both layers, the forward ones first.
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
            NotImplementedError: `weights` are given. They need the session of Keras.
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
            return None
        if name == "backward_layer":
            return self._backward_config
        return super()._argument(name)

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

        Raises:
            NotImplementedError: there are constants.
            ValueError: the number of states is odd.
        """
        if constants is not None:
            raise NotImplementedError(
                f"Layer {self.name}: Bidirectional takes no constants. Call a layer for each "
                "direction"
            )
        if initial_state is not None:
            inputs = [inputs, *calls.as_tensors(list(initial_state))]
        if isinstance(inputs, list) and len(inputs) % 2 == 0:
            raise ValueError(
                "When passing `initial_state` to a Bidirectional RNN, the state should be a list "
                f"containing the states of the underlying RNNs. Found: {inputs[1:]}"
            )
        return super().__call__(inputs, **kwargs)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        given, states = (inputs[0], inputs[1:]) if isinstance(inputs, list) else (inputs, [])
        own = mask[0] if isinstance(mask, list) else mask
        half = len(states) // 2
        results = [
            layer(given, initial_state=part or None, **_taken(layer, training, own))
            for layer, part in (
                (self.forward_layer, states[:half]),
                (self.backward_layer, states[half:]),
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
