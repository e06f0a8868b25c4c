"""`tf.contrib.opt.GGTOptimizer` (contrib/opt/python/training/ggt.py).

The optimizer divides the moving average of the gradients by the root of its own covariance over the
last steps (Agarwal and others, 2018). The gradients of all variables form one vector.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import (
    array_ops,
    cond_ops,
    context,
    creation_ops,
    linear_algebra_ops,
    math_ops,
    matrix_ops,
    reduce_ops,
    state_ops,
)
from capstan.core import dtypes
from capstan.framework import grouping
from capstan.framework.raw import raw
from capstan.train import optimizer, updates


class GGTOptimizer(optimizer.Optimizer):
    """Full-matrix preconditioning from the last `window` moving averages of the gradients.

    The average is m = `beta1` * m + (1 - `beta1`) * gradient. M has the last averages as columns,
    divided by the root of their number. U and s are the singular vectors and values of
    M'M + `svd_eps`. The step is M U (sqrt(s) + `sigma_eps`)**-3 U' M' m. If the least sqrt(s) is
    above `eps`, the part of m outside of M, divided by it, is added. The gradients must be dense.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        use_locking: bool = False,
        name: str = "GGT",
        window: int = 10,
        eps: float = 1e-4,
        svd_eps: float = 1e-6,
        sigma_eps: float = 1e-2,
    ) -> None:
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._window = learning_rate, beta1, window
        self._eps, self._svd_eps, self._sigma_eps = eps, svd_eps, sigma_eps

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        self._parts: list[tuple[Any, Any]] = []
        size = sum(var.shape.num_elements() for var in var_list)
        dtype, home = var_list[0].dtype.base_dtype, var_list[0]
        for name, value in (
            ("global_step", creation_ops.zeros([], dtype)),
            ("grad_buffer", creation_ops.zeros([self._window, size], dtype)),
            ("moment1", creation_ops.zeros([size], dtype)),
        ):
            self._create_non_slot_variable(value, name, home)
        self._order = sorted(var_list, key=lambda var: str(var.name))

    def _prepare(self) -> None:
        self._rate = updates.hyperparameter(self._lr, "learning_rate")

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        self._parts.append((var, grad))
        return grouping.no_op()

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        raise NotImplementedError("Sparse gradient updates are not supported.")

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        """Return the operation that changes all variables."""
        grads = {id(var): grad for var, grad in self._parts}
        first = self._order[0]
        flat = array_ops.concat(
            [array_ops.reshape(grads.get(id(var), creation_ops.zeros_like(var)), (-1,))
             for var in self._order], 0,
        )  # fmt: skip
        with context.control_dependencies(update_ops):
            step = self._step(flat, first)
            rate, changes, start = updates.like(self._rate, first), [], 0
            for var in self._order:
                end = start + var.shape.num_elements()
                if id(var) in grads:
                    change = array_ops.reshape(step[start:end], var.shape)
                    changes.append(
                        state_ops.assign_sub(var, rate * change, use_locking=self._use_locking)
                    )
                start = end
        return grouping.group(*changes, name=name_scope)

    def _step(self, grad: Any, home: Any) -> Any:
        """Keep the average of the gradients, and return the step, a vector."""
        graph = grad.graph
        count, buffer, mean = (
            self._get_non_slot_variable(name, graph=graph)
            for name in ("global_step", "grad_buffer", "moment1")
        )
        number = state_ops.assign_add(count, 1.0)
        moved = self._beta1 * mean + (1.0 - self._beta1) * grad
        moment = array_ops.expand_dims(state_ops.assign(mean, moved), 1)
        row = math_ops.floormod(math_ops.cast(number - 1.0, dtypes.int32), self._window)
        kept = state_ops.scatter_update(buffer, [row], array_ops.transpose(moment))
        columns = array_ops.transpose(
            kept / math_ops.sqrt(math_ops.minimum(number, float(self._window)))
        )
        damping = self._svd_eps * matrix_ops.eye(self._window, dtype=grad.dtype)
        square = math_ops.matmul(columns, columns, transpose_a=True)
        values, vectors, _ = linear_algebra_ops.svd(square + damping)
        roots = math_ops.sqrt(values)
        least = reduce_ops.reduce_min(roots)
        inner = math_ops.matmul(
            vectors, math_ops.matmul(columns, moment, transpose_a=True), transpose_a=True
        )

        def projected(factors: Any) -> Any:
            scaled = array_ops.expand_dims(factors, 1) * inner
            return math_ops.matmul(columns, math_ops.matmul(vectors, scaled))

        head = projected(1.0 / math_ops.pow(roots + self._sigma_eps, 3.0))
        step = cond_ops.cond(
            raw.Greater(least, self._eps),
            lambda: head + (moment - projected(1.0 / values)) / least,
            lambda: array_ops.identity(head),
        )
        return array_ops.reshape(step, (-1,))
