"""`tf.keras.layers` around another layer (python/keras/layers/wrappers.py)."""

from typing import Any

from capstan.api import array_ops, reduce_ops
from capstan.api.layers import calls, input_spec
from capstan.core import tensor_shape
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
            if self._dtype is not None and self._dtype.is_floating:
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
