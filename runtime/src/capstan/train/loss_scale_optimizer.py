"""An optimizer that scales the loss of another one (training/experimental/)."""

from collections.abc import Iterable
from typing import Any

from capstan.api import control_flow_ops, distribution_strategy, smart_cond
from capstan.train import loss_scale as scales
from capstan.train import optimizer

__all__ = ["MixedPrecisionLossScaleOptimizer"]


class MixedPrecisionLossScaleOptimizer(optimizer.Optimizer):
    """Multiplies the loss by a factor, and divides the gradients by it.

    With a `DynamicLossScale`, a step whose gradients are not finite changes no variable.

    Raises:
        ValueError: `opt` is not an Optimizer, or `loss_scale` is not a LossScale, number or
            "dynamic".
    """

    def __init__(self, opt: optimizer.Optimizer, loss_scale: Any) -> None:
        if not isinstance(opt, optimizer.Optimizer):
            raise ValueError(  # noqa: TRY004, as in TensorFlow
                f'"opt" must be an instance of Optimizer, but got: {type(opt)}'
            )
        super().__init__(opt._use_locking, opt.get_name())
        self._optimizer = opt
        self._loss_scale = scales.get(loss_scale)

    @property
    def _checkpoint_dependencies(self) -> list[tuple[str, Any]]:
        return [("base_optimizer", self._optimizer), ("loss_scale", self._loss_scale)]

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Return the gradients of the loss, which are computed from the scaled loss.

        The other arguments are those of `Optimizer.compute_gradients`.
        """
        assert self._loss_scale is not None
        scale = self._loss_scale()
        scaled = (
            (lambda: scales.times(loss(), scale)) if callable(loss) else scales.times(loss, scale)
        )
        pairs = self._optimizer.compute_gradients(scaled, *args, **kwargs)
        factor = 1 / scale
        return [(scales.times(grad, factor), var) for grad, var in pairs]

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> Any:
        """Return an operation that applies the gradients if they are finite, and adapts the factor.

        Raises:
            ValueError: the graph is built for all replicas of a strategy.
        """
        if distribution_strategy.in_cross_replica_context():
            raise ValueError("apply_gradients() must be called in a replica context.")
        assert self._loss_scale is not None
        if not isinstance(self._loss_scale, scales.DynamicLossScale):
            return self._optimizer.apply_gradients(grads_and_vars, global_step, name)
        pairs = tuple(grads_and_vars)
        if not distribution_strategy.has_strategy():
            return self._guarded(self._optimizer.apply_gradients, pairs, global_step, name)
        replica = distribution_strategy.get_replica_context()
        assert replica is not None
        return replica.merge_call(self._apply_for_all, (pairs, global_step, name))

    def _apply_for_all(self, strategy: Any, pairs: Any, global_step: Any, name: Any) -> Any:
        def apply(*args: Any) -> Any:
            updates = strategy.extended.call_for_each_replica(
                self._optimizer.apply_gradients, args=args
            )
            return strategy.group(updates)

        return self._guarded(apply, pairs, global_step, name)

    def _guarded(self, apply: Any, pairs: Any, global_step: Any, name: str | None) -> Any:
        assert self._loss_scale is not None
        name = self.get_name() if name is None else name
        updated, is_finite = self._loss_scale.update([grad for grad, _ in pairs])
        applied = smart_cond.smart_cond(
            is_finite,
            lambda: apply(pairs, global_step, f"{name}-wrapped"),
            control_flow_ops.no_op,
        )
        return control_flow_ops.group(applied, updated, name=name)
