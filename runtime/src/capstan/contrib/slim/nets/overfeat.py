"""OverFeat (contrib/slim/python/slim/nets/overfeat.py)."""

from typing import Any

from capstan.api import init_ops
from capstan.contrib.slim.nets import building


def overfeat_arg_scope(weight_decay: float = 0.0005) -> Any:
    """Return the default arguments of the layers, for `arg_scope`."""
    return building.scope_of_arguments(weight_decay, 0.0)


overfeat = building.classifier(
    "overfeat",
    231,
    [
        building.convolution("conv1", 64, 11, stride=4, padding="VALID"),
        building.pool("pool1", 2),
        building.convolution("conv2", 256, 5, padding="VALID"),
        building.pool("pool2", 2),
        building.convolution("conv3", 512, 3),
        building.convolution("conv4", 1024, 3),
        building.convolution("conv5", 1024, 3),
        building.pool("pool5", 2),
    ],
    (6, 3072),
    weights_initializer=init_ops.truncated_normal_initializer(0.0, 0.005),
    biases_initializer=init_ops.constant_initializer(0.1),
)
