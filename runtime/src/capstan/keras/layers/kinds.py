"""Which layers count as instances of others, as in TensorFlow, where they derive from them."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from capstan.keras.layers import convolutional, depthwise

_LIKE: Final = (
    (convolutional.Conv2D, (convolutional.Conv2DTranspose, depthwise.DepthwiseConv2D)),
    (convolutional.Conv3D, (convolutional.Conv3DTranspose,)),
)


def register(classes: Mapping[str, Any], plain: ModuleType) -> None:
    """Register virtual subclasses of the layers of Keras.

    A layer of `plain`, which is `tf.layers`, counts as the layer of the same name. `Layer` itself
    is registered already. A transposed or depthwise convolution counts as a convolution.
    """
    layers = {
        name: kind
        for name, kind in vars(plain).items()
        if isinstance(kind, type) and issubclass(kind, plain.Layer) and kind is not plain.Layer
    }
    for name, kind in layers.items():
        classes[name].register(kind)
    for kind, others in _LIKE:
        for other in others:
            kind.register(other)
