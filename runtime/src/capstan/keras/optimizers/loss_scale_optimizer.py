"""A Keras optimizer that scales the loss of another one
(python/keras/mixed_precision/experimental/loss_scale_optimizer.py).
"""

import importlib
from collections.abc import Iterable
from typing import Any

from capstan.api import control_flow_ops, distribution_strategy, smart_cond, trackable
from capstan.framework import graph as graphs
from capstan.keras import objects
from capstan.keras.optimizers import gradient_pairs, optimizer
from capstan.train import loss_scale as scales

_SCALES = {each.__name__: each for each in (scales.DynamicLossScale, scales.FixedLossScale)}


class LossScaleOptimizer(optimizer.Optimizer):
    """Multiplies the loss by a factor, and divides the gradients by it.

    `loss_scale` is a `tf.train.experimental.LossScale`, a number, or "dynamic". With a
    `DynamicLossScale`, a step whose gradients are not finite changes no variable. The state and the
    learning rate are those of `opt`.

    Raises:
        ValueError: `opt` is not a Keras optimizer, or has a clipnorm or clipvalue.
    """

    def __init__(self, opt: Any, loss_scale: Any) -> None:
        if not isinstance(opt, optimizer.Optimizer):
            raise ValueError(  # noqa: TRY004, as in TensorFlow
                f'"opt" must be an instance of OptimizerV2, but got: {opt}'
            )
        for limit in ("clipnorm", "clipvalue"):
            if hasattr(opt, limit):
                raise ValueError(
                    f"LossScaleOptimizer does not support wrapping optimizers with a {limit}. "
                    f"Optimizer {opt} has {limit} {getattr(opt, limit)}"
                )
        super().__init__("loss_scale_optimizer")
        self._optimizer = opt
        self._loss_scale = scales.get(loss_scale)

    @property
    def loss_scale(self) -> Any:
        return self._loss_scale

    def get_scaled_loss(self, loss: Any) -> Any:
        """Return the loss times the factor. A function returns a function."""
        factor = self._loss_scale()  # type: ignore[misc]
        return (
            (lambda: scales.times(loss(), factor)) if callable(loss) else scales.times(loss, factor)
        )

    def get_unscaled_gradients(self, grads: Iterable[Any]) -> list[Any]:
        """Return the gradients divided by the factor. None stays None."""
        factor = 1.0 / self._loss_scale()  # type: ignore[misc]
        return [scales.times(grad, factor) for grad in grads]

    def _compute_gradients(
        self, loss: Any, var_list: Any, grad_loss: Any = None
    ) -> list[tuple[Any, Any]]:
        scaled = self.get_scaled_loss(loss)
        pairs = self._optimizer._compute_gradients(scaled, var_list, grad_loss)
        grads, targets = zip(*pairs, strict=True)
        return list(zip(self.get_unscaled_gradients(grads), targets, strict=True))

    def get_gradients(self, loss: Any, params: Any) -> list[Any]:
        """Return the gradients of a loss, which are computed from the scaled loss."""
        scaled = self._optimizer.get_gradients(self.get_scaled_loss(loss), params)
        return self.get_unscaled_gradients(scaled)

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], name: str | None = None
    ) -> graphs.Operation:
        """Return an operation that applies the gradients if they are finite, and adapts the factor.

        Raises:
            ValueError: the graph is built for all replicas of a strategy, or all gradients are
                None.
        """
        if distribution_strategy.in_cross_replica_context():
            raise ValueError("apply_gradients() must be called in a replica context.")
        pairs = tuple(gradient_pairs.with_gradient(grads_and_vars))
        if not isinstance(self._loss_scale, scales.DynamicLossScale):
            return self._optimizer.apply_gradients(pairs, name)
        if not distribution_strategy.has_strategy():
            return self._guarded(self._optimizer.apply_gradients, pairs, name)
        replica = distribution_strategy.get_replica_context()
        assert replica is not None
        applied: graphs.Operation = replica.merge_call(self._apply_for_all, (pairs, name))
        return applied

    def _apply_for_all(self, strategy: Any, pairs: Any, name: Any) -> Any:
        def apply(*args: Any) -> Any:
            updates = strategy.extended.call_for_each_replica(
                self._optimizer.apply_gradients, args=args
            )
            return strategy.group(updates)

        return self._guarded(apply, pairs, name)

    def _guarded(self, apply: Any, pairs: Any, name: str | None) -> graphs.Operation:
        assert self._loss_scale is not None
        updated, is_finite = self._loss_scale.update([grad for grad, _ in pairs])
        applied = smart_cond.smart_cond(
            is_finite, lambda: apply(pairs, name), control_flow_ops.no_op
        )
        step: graphs.Operation = control_flow_ops.group(applied, updated)
        return step

    # --- the state of the wrapped optimizer

    @property
    def iterations(self) -> Any:
        return self._optimizer.iterations

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        self._optimizer.iterations = variable

    @property
    def learning_rate(self) -> Any:
        return self._optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self._optimizer.learning_rate = value

    lr = learning_rate

    @property
    def weights(self) -> list[Any]:
        return self._optimizer.weights

    def variables(self) -> list[Any]:
        """Return the variables of the wrapped optimizer."""
        return self._optimizer.variables()

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots of the wrapped optimizer."""
        return self._optimizer.get_slot_names()

    def get_slot(self, var: Any, slot_name: str) -> Any:
        """Raise AttributeError: the slots belong to the wrapped optimizer."""
        raise AttributeError("You cannot call get_slot on a LossScaleOptimizer.")

    def add_slot(self, var: Any, slot_name: str, initializer: Any = "zeros") -> Any:
        """Raise AttributeError: the slots belong to the wrapped optimizer."""
        raise AttributeError("You cannot call add_slot on a LossScaleOptimizer.")

    @property
    def _checkpoint_dependencies(self) -> trackable.Dependencies:
        return [("base_optimizer", self._optimizer), ("loss_scale", self._loss_scale)]

    # --- configurations

    def get_config(self) -> dict[str, Any]:
        return {
            "optimizer": objects.serialize_keras_object(self._optimizer),
            "loss_scale": objects.serialize_keras_object(self._loss_scale),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Return the optimizer that `get_config` describes."""
        # The package imports this module.
        optimizers = importlib.import_module("capstan.keras.optimizers")
        return cls(
            optimizers.deserialize(config["optimizer"], custom_objects),
            objects.deserialize_keras_object(
                config["loss_scale"], _SCALES, custom_objects, "loss scale"
            ),
        )
