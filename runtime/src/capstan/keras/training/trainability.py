"""Which layers of a model were trainable when it was compiled (`_get_trainable_state` of
python/keras/engine/base_layer.py).

The step of training is made later, and another model may have the same layers: a discriminator is
fixed in the model of its generator, for example.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from capstan.api.layers import tracking


@dataclass(frozen=True, slots=True, eq=False)
class Trainability:
    """The layers inside of a model, itself included, and whether each was trainable."""

    layers: list[Any]
    values: list[bool]

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Return a block in which each layer is as trainable as it was."""
        before = of(self.layers)
        self._set()
        try:
            yield
        finally:
            before._set()

    def _set(self) -> None:
        for layer, value in zip(self.layers, self.values, strict=True):
            # The property would set the layers inside, too.
            layer._trainable = value


def of_model(model: Any) -> Trainability:
    """Return which layers of a model are trainable now."""
    found: dict[int, Any] = {}
    pending = [model]
    while pending:
        layer = pending.pop()
        if id(layer) not in found and isinstance(layer, tracking.Tracker):
            found[id(layer)] = layer
            pending += layer._inner_layers
    return of(list(found.values()))


def of(layers: list[Any]) -> Trainability:
    """Return which of some layers are trainable now."""
    return Trainability(layers, [layer._trainable for layer in layers])
