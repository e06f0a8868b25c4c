"""The layers of `tf.layers`, and the cells of `tf.nn.rnn_cell`, inside a layer of Keras."""

from collections.abc import Mapping
from typing import Any

from capstan.api.layers import base, common, tracking


def make_resources(attributes: Mapping[str, Any]) -> None:
    """Let the layers of `tf.layers` in the attributes, and the layers inside, make resources.

    Optimizers of Keras change only resource variables. TensorFlow does the same for layers in the
    attributes (`Layer.__setattr__` of python/keras/engine/base_layer.py).
    """
    for name, value in list(attributes.items()):
        if name not in common.NOT_PARTS:
            for layer in tracking.parts(value, base.Layer):
                if not layer.makes_resources:
                    layer.makes_resources = True
                    make_resources(vars(layer))
