"""Optimizers whose weights decay apart from the gradient (https://arxiv.org/abs/1711.05101).

Source: contrib/opt/python/training/weight_decay_optimizers.py.
"""

from collections.abc import Iterable
from typing import Any

from capstan.api import gather_ops, state_ops
from capstan.framework import graph as graphs
from capstan.framework import indexed_slices
from capstan.framework.raw import raw
from capstan.train import adam, momentum, optimizer, updates


class DecoupledWeightDecayExtension(optimizer.Optimizer):
    """A base beside an optimizer: `class AdamW(DecoupledWeightDecayExtension, AdamOptimizer)`.

    Before each update, `var -= weight_decay * var`, after the gradient was computed. Of a variable
    with a sparse gradient, only its rows decay. The decay does not depend on the learning rate.
    `weight_decay` is a number, a tensor, or a function that returns either.
    """

    def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
        self._weight_decay = weight_decay
        self._decay_var_list: frozenset[Any] | None = None
        super().__init__(*args, **kwargs)

    def minimize(
        self, *args: Any, decay_var_list: Iterable[Any] | None = None, **kwargs: Any
    ) -> graphs.Operation:
        """Do what `Optimizer.minimize` does. Only `decay_var_list` decays, by default all."""
        self._decay_var_list = _chosen(decay_var_list)
        return super().minimize(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
        decay_var_list: Iterable[Any] | None = None,
    ) -> graphs.Operation:
        """Do what the optimizer does. Only `decay_var_list` decays, by default all variables."""
        if decay_var_list is not None:
            self._decay_var_list = _chosen(decay_var_list)
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _prepare(self) -> None:
        self._weight_decay_tensor = updates.hyperparameter(self._weight_decay, "weight_decay")
        super()._prepare()

    def _update(self, grad: Any, var: Any) -> Any:
        if self._decay_var_list is not None and var not in self._decay_var_list:
            return super()._update(grad, var)
        graph = graphs.get_default_graph()
        is_sparse = isinstance(grad, indexed_slices.IndexedSlices)
        computed = grad.values if is_sparse else grad
        decay = updates.like(self._weight_decay_tensor, var)
        with graph.control_dependencies([computed]), graph.colocate_with(var):
            if is_sparse:
                rows, _ = raw.Unique(grad.indices)
                lost = decay * gather_ops.gather(var, rows)
                decayed = state_ops.scatter_sub(var, rows, lost, use_locking=self._use_locking)
            else:
                decayed = state_ops.assign_sub(
                    var, decay * var.read_value(), use_locking=self._use_locking
                )
        with graph.control_dependencies([decayed]):
            return super()._update(grad, var)


def _chosen(variables: Iterable[Any] | None) -> frozenset[Any] | None:
    # TensorFlow takes an empty list for no list.
    return frozenset(variables or ()) or None


def extend_with_decoupled_weight_decay(base_optimizer: type[Any]) -> type[Any]:
    """Return a class like `base_optimizer`, whose first argument is `weight_decay`."""
    return type(
        "OptimizerWithDecoupledWeightDecay", (DecoupledWeightDecayExtension, base_optimizer), {}
    )


class AdamWOptimizer(DecoupledWeightDecayExtension, adam.AdamOptimizer):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(weight_decay, learning_rate, beta1, beta2, epsilon, use_locking, name)


class MomentumWOptimizer(DecoupledWeightDecayExtension, momentum.MomentumOptimizer):
    """Momentum with decoupled weight decay."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(weight_decay, learning_rate, momentum, use_locking, name, use_nesterov)
