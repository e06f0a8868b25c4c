"""AlexNet, version 2 (contrib/slim/python/slim/nets/alexnet.py)."""

from typing import Any

from capstan.api import init_ops
from capstan.contrib.slim.nets import building


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Any:
    """Return the default arguments of the layers, for `arg_scope`."""
    return building.scope_of_arguments(weight_decay, 0.1)


@building.for_images_of(224)
def alexnet_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: bool = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "alexnet_v2",
) -> tuple[Any, dict[str, Any]]:
    """Return the logits, and the outputs of layers by their names.

    The dense layers are convolutions. With `spatial_squeeze`, the logits of images of 224 by 224
    lose their axes of size 1. Set it to False for larger images.
    """
    features = [
        building.convolution("conv1", 64, 11, stride=4, padding="VALID"),
        building.pool("pool1", 3),
        building.convolution("conv2", 192, 5),
        building.pool("pool2", 3),
        building.convolution("conv3", 384, 3),
        building.convolution("conv4", 384, 3),
        building.convolution("conv5", 256, 3),
        building.pool("pool5", 3),
    ]
    options = {
        "num_classes": num_classes, "is_training": is_training, "keep_prob": dropout_keep_prob,
        "spatial_squeeze": spatial_squeeze, "scope": scope, "default_name": "alexnet_v2",
    }  # fmt: skip
    return building.classified(
        inputs,
        features,
        ((5, 4096), 4096),
        options,
        weights_initializer=init_ops.truncated_normal_initializer(0.0, 0.005),
        biases_initializer=init_ops.constant_initializer(0.1),
    )
