"""The networks of the Visual Geometry Group (contrib/slim/python/slim/nets/vgg.py)."""

from typing import Any

from capstan.contrib.slim.nets import building

_FILTERS = (64, 128, 256, 512, 512)


def vgg_arg_scope(weight_decay: float = 0.0005) -> Any:
    """Return the default arguments of the layers, for `arg_scope`."""
    return building.scope_of_arguments(weight_decay, 0.0)


def _network(name: str, *counts: int) -> Any:
    """Return the function that builds a network with these numbers of convolutions."""
    features = []
    for number, (count, filters) in enumerate(zip(counts, _FILTERS, strict=True), 1):
        features.append(building.convolutions(f"conv{number}", count, filters))
        features.append(building.pool(f"pool{number}", 2))
    return building.classifier(name, 224, features, (7, 4096))


vgg_a = _network("vgg_a", 1, 1, 2, 2, 2)
vgg_16 = _network("vgg_16", 2, 2, 3, 3, 3)
vgg_19 = _network("vgg_19", 2, 2, 4, 4, 4)
vgg_d = vgg_16
vgg_e = vgg_19
