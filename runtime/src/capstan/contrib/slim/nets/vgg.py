"""The networks of the Visual Geometry Group (contrib/slim/python/slim/nets/vgg.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.contrib.slim.nets import building

_FILTERS = (64, 128, 256, 512, 512)


def vgg_arg_scope(weight_decay: float = 0.0005) -> Any:
    """Return the default arguments of the layers, for `arg_scope`."""
    return building.scope_of_arguments(weight_decay, 0.0)


@building.for_images_of(224)
def vgg_a(
    inputs: Any,
    num_classes: int = 1000,
    is_training: bool = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "vgg_a",
) -> tuple[Any, dict[str, Any]]:
    """Return the logits of the network with 11 layers, and the outputs of layers by their names.

    The dense layers are convolutions. With `spatial_squeeze`, the logits of images of 224 by 224
    lose their axes of size 1. Set it to False for larger images.
    """
    options = (num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope)
    return _network(inputs, "vgg_a", (1, 1, 2, 2, 2), options)


@building.for_images_of(224)
def vgg_16(
    inputs: Any,
    num_classes: int = 1000,
    is_training: bool = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "vgg_16",
) -> tuple[Any, dict[str, Any]]:
    """Return the logits of the network with 16 layers. See `vgg_a`."""
    options = (num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope)
    return _network(inputs, "vgg_16", (2, 2, 3, 3, 3), options)


@building.for_images_of(224)
def vgg_19(
    inputs: Any,
    num_classes: int = 1000,
    is_training: bool = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "vgg_19",
) -> tuple[Any, dict[str, Any]]:
    """Return the logits of the network with 19 layers. See `vgg_a`."""
    options = (num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope)
    return _network(inputs, "vgg_19", (2, 2, 4, 4, 4), options)


vgg_d = vgg_16
vgg_e = vgg_19


def _network(
    inputs: Any, default_name: str, counts: Sequence[int], given: tuple[Any, ...]
) -> tuple[Any, dict[str, Any]]:
    names = ("num_classes", "is_training", "keep_prob", "spatial_squeeze", "scope")
    options = dict(zip(names, given, strict=True), default_name=default_name)
    features = []
    for number, (count, filters) in enumerate(zip(counts, _FILTERS, strict=True), 1):
        features.append(building.convolutions(f"conv{number}", count, filters))
        features.append(building.pool(f"pool{number}", 2))
    return building.classified(inputs, features, ((7, 4096), 4096), options)
