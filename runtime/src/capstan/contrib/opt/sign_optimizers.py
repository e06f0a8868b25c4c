"""`AddSignOptimizer` and `PowerSignOptimizer` of `tf.contrib.opt`.

Source: contrib/opt/python/training/{addsign,powersign}.py. Both compare the sign of a gradient with
the sign of the moving average m of gradients (Bello and others, 2017).
"""

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import control_flow_ops, gather_ops, math_ops, state_ops
from capstan.framework import indexed_slices
from capstan.train import optimizer, updates

SignDecay = Callable[[Any], Any]
"""Returns the factor of the signs for a global step. `contrib.opt.sign_decay` makes some."""


class _SignOptimizer(optimizer.Optimizer):
    """The common part: the slot m, and the factor of the signs."""

    _algorithm: str
    _constant_name: str

    def __init__(
        self,
        learning_rate: Any,
        constant: Any,
        beta: Any,
        sign_decay_fn: SignDecay | None,
        use_locking: bool,
        name: str,
    ) -> None:
        super().__init__(use_locking, name)
        self._lr, self._constant, self._beta = learning_rate, constant, beta
        self._sign_decay_fn = sign_decay_fn
        self._global_step: Any = None

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Return an operation that updates the variables, and then adds one to `global_step`.

        Raises:
            ValueError: `sign_decay_fn` needs the global step, which is missing.
        """
        self._global_step = global_step
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)

    def _prepare(self) -> None:
        decay = 1.0 if self._sign_decay_fn is None else self._sign_decay_fn(self._global_step)
        self._numbers = tuple(
            updates.hyperparameter(value, name)
            for value, name in (
                (self._lr, "learning_rate"),
                (self._constant, self._constant_name),
                (decay, "sign_decay"),
                (self._beta, "beta"),
            )
        )

    def _cast(self, var: Any) -> tuple[Any, ...]:
        return tuple(updates.like(number, var) for number in self._numbers)

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        targets = [var, self.get_slot(var, "m")]
        return updates.update(
            "Apply", self._algorithm, targets, *self._cast(var), grad, use_locking=self._use_locking
        )

    def _apply_sparse(self, grad: indexed_slices.IndexedSlices, var: Any) -> Any:
        rows, values = grad.indices, grad.values
        rate, constant, decay, beta = self._cast(var)
        slot, share = self.get_slot(var, "m"), values * (1 - beta)
        mean = updates.averaged(slot, beta, share, rows, self._use_locking)
        signs = math_ops.sign(gather_ops.gather(mean, rows)) * math_ops.sign(values)
        step = rate * self._factor(constant, decay * signs) * values
        changed = state_ops.scatter_sub(var, rows, step, use_locking=self._use_locking)
        return control_flow_ops.group(changed, mean)

    @abc.abstractmethod
    def _factor(self, constant: Any, signs: Any) -> Any:
        """Return the factor of a step, for the product of both signs and of their factor."""


class AddSignOptimizer(_SignOptimizer):
    """Subtract lr * (alpha + decay * sign(g) * sign(m)) * g, where m is the average of g.

    `sign_decay_fn` takes the global step and returns `decay`, which is 1 without it.
    """

    _algorithm, _constant_name = "AddSign", "alpha"

    def __init__(
        self,
        learning_rate: Any = 0.1,
        alpha: Any = 1.0,
        beta: Any = 0.9,
        sign_decay_fn: SignDecay | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, alpha, beta, sign_decay_fn, use_locking, name)

    def _factor(self, constant: Any, signs: Any) -> Any:
        return constant + signs


class PowerSignOptimizer(_SignOptimizer):
    """Subtract lr * base ** (decay * sign(g) * sign(m)) * g, where m is the average of g.

    `sign_decay_fn` takes the global step and returns `decay`, which is 1 without it.
    """

    _algorithm, _constant_name = "PowerSign", "logbase"

    def __init__(
        self,
        learning_rate: Any = 0.1,
        base: float = math.e,
        beta: Any = 0.9,
        sign_decay_fn: SignDecay | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, math.log(base), beta, sign_decay_fn, use_locking, name)

    def _factor(self, constant: Any, signs: Any) -> Any:
        return math_ops.exp(constant * signs)
