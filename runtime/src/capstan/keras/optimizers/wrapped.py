"""Optimizers of `tf.train` as optimizers of Keras (python/keras/optimizers.py)."""

from typing import Any

from capstan.api import trackable, variables
from capstan.core import dtypes
from capstan.framework import graph as graphs


class TFOptimizer:
    """An optimizer of `tf.train` with the methods of Keras's optimizers.

    `iterations` counts the steps. It is a new int64 variable by default.
    """

    def __init__(self, optimizer: Any, iterations: Any = None) -> None:
        self.optimizer = optimizer
        self.updates: list[Any] = []
        if iterations is None:
            with graphs.get_default_graph().name_scope(type(self).__name__):
                iterations = variables.Variable(
                    0, name="iterations", dtype=dtypes.int64, trainable=False, use_resource=True
                )
        self.iterations = iterations

    def apply_gradients(self, grads: Any) -> Any:
        """Return the operation that updates the variables and adds one to `iterations`."""
        return self.optimizer.apply_gradients(grads, global_step=self.iterations)

    def get_grads(self, loss: Any, params: Any) -> Any:
        """Return pairs of a gradient and its variable."""
        return self.optimizer.compute_gradients(loss, params)

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """Return a list of one operation, which makes a training step.

        Without variables, the step only adds one to `iterations`.
        """
        if params:
            self.updates = [self.apply_gradients(self.get_grads(loss, params))]
        else:
            self.updates = [self.iterations.assign_add(1, read_value=False)]
        return self.updates

    @property
    def _checkpoint_dependencies(self) -> trackable.Dependencies:
        return [("optimizer", self.optimizer), ("global_step", self.iterations)]

    @property
    def weights(self) -> Any:
        """Raises NotImplementedError."""
        raise NotImplementedError("an optimizer of tf.train has variables(), but no weights")

    def get_config(self) -> Any:
        """Raises NotImplementedError."""
        raise NotImplementedError("an optimizer of tf.train has no configuration")

    def from_config(self, config: Any) -> Any:
        """Raises NotImplementedError."""
        raise NotImplementedError("an optimizer of tf.train has no configuration")


def is_of_train(optimizer: Any) -> bool:
    """Return whether an object has the methods of the optimizers of `tf.train`."""
    return all(
        callable(getattr(optimizer, method, None))
        for method in ("compute_gradients", "apply_gradients")
    )
