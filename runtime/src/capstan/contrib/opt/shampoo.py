"""`tf.contrib.opt.ShampooOptimizer` (contrib/opt/python/training/shampoo.py).

A variable of rank k has a matrix G_i for each of its axes: the sum of the products of the gradient
with itself over all other axes. A step multiplies the gradient along each axis i by
(G_i / d_i)**(-alpha / k), where d_i is the size of the axis (Gupta and others, 2018). An axis that
is too large for a matrix has the diagonal only.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import (
    array_ops,
    cond_ops,
    creation_ops,
    gather_ops,
    linear_algebra_ops,
    math_ops,
    matrix_ops,
    nd_ops,
    reduce_ops,
    state_ops,
    tensor_products,
)
from capstan.core import dtypes
from capstan.framework import indexed_slices
from capstan.framework.raw import raw
from capstan.train import optimizer

Parameter = float | Callable[[Any], Any]
"""A number, or a function of the global step, which counts from 1."""


class ShampooOptimizer(optimizer.Optimizer):
    """Adagrad with one matrix for each axis of a variable.

    gbar = gbar_decay * gbar + gbar_weight * gradient takes the place of the gradient, and
    G_i = mat_gbar_decay * G_i + mat_gbar_weight * product. These parameters, `learning_rate`, the
    intervals and `alpha` may be functions of the step. An axis above `max_matrix_size` has the
    diagonal of its matrix only. The powers of the matrices are computed every `svd_interval` steps,
    and the matrices every `precond_update_interval` steps. `epsilon` is added to their diagonals.

    Raises:
        ValueError: `use_iterative_root` is true. Capstan computes the powers by SVD only.
    """

    def __init__(
        self,
        global_step: Any = 0,
        max_matrix_size: int = 768,
        gbar_decay: Parameter = 0.0,
        gbar_weight: Parameter = 1.0,
        mat_gbar_decay: Parameter = 1.0,
        mat_gbar_weight: Parameter = 1.0,
        learning_rate: Parameter = 1.0,
        svd_interval: Parameter = 1,
        precond_update_interval: Parameter = 1,
        epsilon: float = 1e-4,
        alpha: Parameter = 0.5,
        use_iterative_root: bool = False,
        use_locking: bool = False,
        name: str = "Shampoo",
    ) -> None:
        if use_iterative_root:
            raise ValueError("use_iterative_root is for TPUs. Leave it out")
        super().__init__(use_locking, name)
        self._step = math_ops.cast(global_step, dtypes.float32) + 1.0
        self._max_matrix_size = max_matrix_size
        self._gbar_decay, self._gbar_weight = gbar_decay, gbar_weight
        self._mat_decay, self._mat_weight = mat_gbar_decay, mat_gbar_weight
        self._learning_rate = learning_rate
        self._svd_interval, self._update_interval = svd_interval, precond_update_interval
        self._epsilon, self._alpha = epsilon, alpha

    def _now(self, parameter: Parameter) -> Any:
        return parameter(self._step) if callable(parameter) else parameter

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "gbar", self._name)
            for axis, size in enumerate(var.shape.as_list()):
                has_matrix = size <= self._max_matrix_size
                if has_matrix and self._svd_interval != 1:
                    self._get_or_make_slot(var, matrix_ops.eye(size), f"H_{axis}", self._name)
                zeros = creation_ops.zeros([size, size] if has_matrix else [size])
                self._get_or_make_slot(var, zeros, f"Gbar_{axis}", self._name)

    def _apply_sparse(self, grad: indexed_slices.IndexedSlices, var: Any) -> Any:
        rows, values = grad.indices, grad.values
        if var.shape.as_list()[0] <= self._max_matrix_size or self._gbar_decay != 0.0:
            shape = math_ops.cast(array_ops.shape(var), rows.dtype)
            dense = nd_ops.scatter_nd(array_ops.expand_dims(rows, 1), values, shape)
            return self._apply_dense(dense, var)
        step = self._preconditioned(values, values, var, rows)
        change = -self._now(self._learning_rate) * step
        return state_ops.scatter_add(var, rows, change, use_locking=self._use_locking).op

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        weight = self._now(self._gbar_weight)
        mean = self._averaged(self.get_slot(var, "gbar"), self._gbar_decay, weight * grad)
        step = self._preconditioned(grad, mean, var, None)
        change = self._now(self._learning_rate) * step
        return state_ops.assign_sub(var, change, use_locking=self._use_locking).op

    def _averaged(self, slot: Any, decay: Parameter, added: Any) -> Any:
        """Return decay * slot + added, which becomes the value of the slot if it is read again."""
        if decay == 0.0:
            return added
        if decay == 1.0:
            return state_ops.assign_add(slot, added, use_locking=self._use_locking)
        return state_ops.assign_add(slot, (self._now(decay) - 1) * slot + added)

    def _preconditioned(self, grad: Any, step: Any, var: Any, rows: Any) -> Any:
        """Return `step` times the power of each matrix. `rows` are those of a sparse gradient."""
        sizes = var.shape.as_list()
        power = -self._now(self._alpha) / len(sizes)
        for axis, size in enumerate(sizes):
            others = [each for each in range(len(sizes)) if each != axis]
            if size <= self._max_matrix_size:
                matrix = self._power_of_matrix(grad, var, axis, others, power)
                # The axis moves to the end, so all axes are in their places after all products.
                step = tensor_products.tensordot(step, matrix, [[0], [0]])
            else:
                diagonal = self._power_of_diagonal(
                    grad, var, axis, others, power, rows if axis == 0 else None, rows is not None
                )
                step = array_ops.transpose(step, [*range(1, len(sizes)), 0]) * diagonal
        return step

    def _power_of_matrix(
        self, grad: Any, var: Any, axis: int, others: list[int], power: Any
    ) -> Any:
        size, slot = var.shape.as_list()[axis], self.get_slot(var, f"Gbar_{axis}")
        interval = self._now(self._update_interval)

        def update() -> Any:
            product = tensor_products.tensordot(grad, grad, [others, others])
            weight = self._now(self._mat_weight) * interval
            return array_ops.identity(self._averaged(slot, self._mat_decay, weight * product))

        def compute() -> Any:
            is_due = raw.Less(math_ops.floormod(self._step, _float(interval)), 1.0)
            updated = cond_ops.cond(is_due, update, lambda: array_ops.identity(slot))
            return self._root(updated / float(size), size, power)

        if self._svd_interval == 1:
            return compute()
        kept = self.get_slot(var, f"H_{axis}")
        svd = _float(self._now(self._svd_interval))
        # The matrix is updated in each step, also if its power is not computed.
        is_due = raw.Less(math_ops.floormod(self._step, _float(interval)), 1.0)
        updated = cond_ops.cond(is_due, update, lambda: array_ops.identity(slot))
        return cond_ops.cond(
            raw.Less(math_ops.floormod(self._step, svd), 1.0),
            lambda: array_ops.identity(
                state_ops.assign(kept, self._root(updated / float(size), size, power))
            ),
            lambda: array_ops.identity(kept),
        )

    def _root(self, matrix: Any, size: int, power: Any) -> Any:
        """Return a power of a symmetric matrix."""
        if size == 1:
            return math_ops.pow(matrix + self._epsilon, power)
        values, left, right = linear_algebra_ops.svd(
            matrix + self._epsilon * matrix_ops.eye(size), full_matrices=True
        )
        powers = math_ops.pow(math_ops.maximum(values, self._epsilon), power)
        return math_ops.matmul(right * powers, left, transpose_b=True)

    def _power_of_diagonal(
        self, grad: Any, var: Any, axis: int, others: list[int], power: Any, rows: Any,
        is_sparse: bool,
    ) -> Any:  # fmt: skip
        size, slot = var.shape.as_list()[axis], self.get_slot(var, f"Gbar_{axis}")
        squares = math_ops.square(grad)
        if others:
            squares = reduce_ops.reduce_sum(squares, others) / (1.0 if is_sparse else float(size))
        added = self._now(self._mat_weight) * squares
        if rows is not None:
            found = gather_ops.gather(state_ops.scatter_add(slot, rows, added), rows)
        else:
            found = self._averaged(slot, self._mat_decay, added)
        found = array_ops.identity(found)
        return raw.Select(
            raw.Greater(found, 0.0), math_ops.pow(found, power), creation_ops.zeros_like(found)
        )


def _float(value: Any) -> Any:
    return math_ops.cast(value, dtypes.float32)
