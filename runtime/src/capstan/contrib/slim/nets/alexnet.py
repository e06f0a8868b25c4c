"""AlexNet, version 2 (contrib/slim/python/slim/nets/alexnet.py)."""

from typing import Any

from capstan.api import init_ops
from capstan.contrib.slim.nets import building


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Any:
    """Return the default arguments of the layers, for `arg_scope`."""
    return building.scope_of_arguments(weight_decay, 0.1)


alexnet_v2 = building.classifier(
    "alexnet_v2",
    224,
    [
        building.convolution("conv1", 64, 11, stride=4, padding="VALID"),
        building.pool("pool1", 3),
        building.convolution("conv2", 192, 5),
        building.pool("pool2", 3),
        building.convolution("conv3", 384, 3),
        building.convolution("conv4", 384, 3),
        building.convolution("conv5", 256, 3),
        building.pool("pool5", 3),
    ],
    (5, 4096),
    weights_initializer=init_ops.truncated_normal_initializer(0.0, 0.005),
    biases_initializer=init_ops.constant_initializer(0.1),
)
