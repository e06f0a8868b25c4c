"""The attributes of a model: its weights, in Keras's order (python/keras/engine/network.py)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from capstan.api import variables
from capstan.api.layers import common, context, tracking
from capstan.keras import base_layer


class ModelAttributes(base_layer.Layer):
    """A layer whose variables come behind those of the layers inside."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Raise RuntimeError for a layer or variable if the base class was not initialized."""
        is_part = any(True for _ in tracking.parts(value, (common.CommonLayer, variables.Variable)))
        if is_part and not hasattr(self, "_trainable_weights"):
            raise RuntimeError(
                "It looks like you are subclassing `Model` and forgot to call `super().__init__()`."
                f" Call it in {type(self).__name__}.__init__ before you assign {name!r}"
            )
        super().__setattr__(name, value)

    @property
    def weights(self) -> list[Any]:
        """All variables, those of each layer together."""
        return tracking.distinct(
            self._from_layers("weights")
            + self._own_variables(trainable=True)
            + self._own_variables(trainable=False)
        )

    @property
    def trainable_weights(self) -> list[Any]:
        if not self.trainable:
            return []
        return tracking.distinct(
            self._from_layers("trainable_weights") + self._own_variables(trainable=True)
        )

    @property
    def non_trainable_weights(self) -> list[Any]:
        of_layers, own = self._from_layers("non_trainable_weights"), self._own_variables
        if self.trainable:
            return tracking.distinct(of_layers + own(trainable=False))
        return tracking.distinct(
            self._from_layers("trainable_weights")
            + own(trainable=True)
            + of_layers
            + own(trainable=False)
        )

    @contextmanager
    def _called(self) -> Iterator[None]:
        """Return the block in which `call` runs. Variables that it makes get their loaded values.

        `load_weights` may have come before the variables. Blocks then.
        """
        loaded = context.of().restores.get(self)
        count = 0 if loaded is None else len(self.weights)
        with super()._called():
            yield
        if loaded is not None and len(self.weights) > count:
            session, status = loaded
            status.run_new_restore_ops(session)
