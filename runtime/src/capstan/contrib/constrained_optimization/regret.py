"""Optimizers that weigh the constraints, and learn the weights.

Sources: contrib/constrained_optimization/python/{external,swap}_regret_optimizer.py, after Cotter,
Jiang and Sridharan (2018). A step changes the weights towards the constraints that are violated.
"""

import abc
import math
from typing import Any

from capstan.api import (
    array_ops,
    context,
    control_flow_ops,
    creation_ops,
    math_ops,
    reduce_ops,
    state_ops,
    variables,
)
from capstan.contrib.constrained_optimization import projections
from capstan.contrib.constrained_optimization.optimizer import ConstrainedOptimizer
from capstan.contrib.constrained_optimization.problem import ConstrainedMinimizationProblem
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.train import optimizer as optimizers


class _RegretOptimizer(ConstrainedOptimizer):
    """An optimizer with a variable of weights, which `constraint_optimizer` changes.

    Without `constraint_optimizer`, it is changed by `optimizer`.
    """

    _state_name = ""

    def __init__(self, optimizer: Any, constraint_optimizer: Any = None) -> None:
        super().__init__(optimizer)
        self._constraint_optimizer = constraint_optimizer

    @property
    def constraint_optimizer(self) -> Any:
        """The `tf.train.Optimizer` of the weights, or None."""
        return self._constraint_optimizer

    @abc.abstractmethod
    def _initial_state(self, count: int) -> Any:
        """Return the first weights of `count` constraints."""

    @abc.abstractmethod
    def _weighted(self, state: Any, objective: Any, constraints: Any, proxies: Any) -> Any:
        """Return the loss, and the gradient along which the weights rise."""

    @abc.abstractmethod
    def _projected(self, state: Any) -> Any:
        """Return the nearest allowed weights."""

    def _minimize_constrained(
        self, minimization_problem: ConstrainedMinimizationProblem, global_step: Any = None,
        name: str | None = None, **keywords: Any,
    ) -> Any:  # fmt: skip
        objective, constraints, proxies = _tensors(minimization_problem)
        count = minimization_problem.num_constraints
        state = variables.Variable(
            lambda: self._initial_state(count), trainable=False, name=self._state_name
        )
        loss, gradient = self._weighted(state, objective, constraints, proxies)
        keywords = {"gate_gradients": optimizers.Optimizer.GATE_OP, **keywords}
        of_variables = self._optimizer.compute_gradients(loss, **keywords)
        of_state = [(-gradient, state)]
        if self._constraint_optimizer is None:
            updates = [self._optimizer.apply_gradients(of_variables + of_state, name="update")]
        else:
            known = [slope for slope, _ in of_variables + of_state if slope is not None]
            with context.control_dependencies(known):
                updates = [
                    self._optimizer.apply_gradients(of_variables, name="update"),
                    self._constraint_optimizer.apply_gradients(
                        of_state, name="optimizer_state_update"
                    ),
                ]
        with context.control_dependencies(updates):
            with context.colocate_with(state):
                projected = state_ops.assign(state, self._projected(state), name="project")
            if global_step is None:
                return control_flow_ops.group(projected, name=name)
            with context.colocate_with(global_step):
                counted = state_ops.assign_add(global_step, 1, name="global_step_increment")
            return control_flow_ops.group(projected, counted, name=name)


class AdditiveExternalRegretOptimizer(_RegretOptimizer):
    """An optimizer with Lagrange multipliers: the loss is the objective plus their products.

    A multiplier is at least 0, and the sum is at most `maximum_multiplier_radius`. Without proxy
    constraints, it finds a solution for convex problems.

    Raises:
        ValueError: the radius is not positive.
    """

    _state_name = "external_regret_optimizer_state"

    def __init__(
        self, optimizer: Any, constraint_optimizer: Any = None,
        maximum_multiplier_radius: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(optimizer, constraint_optimizer)
        if maximum_multiplier_radius is not None and maximum_multiplier_radius <= 0.0:
            raise ValueError("maximum_multiplier_radius must be strictly positive")
        self._radius = maximum_multiplier_radius

    def _initial_state(self, count: int) -> Any:
        return creation_ops.zeros([count], dtypes.float32)

    def _lagrange_multipliers(self, state: Any) -> Any:
        """Return the multipliers of a state."""
        return state

    def _weighted(self, state: Any, objective: Any, constraints: Any, proxies: Any) -> Any:
        products = math_ops.cast(self._lagrange_multipliers(state), proxies.dtype) * proxies
        loss = objective + reduce_ops.reduce_sum(products)
        return loss, math_ops.cast(constraints, state.dtype.base_dtype)

    def _projected(self, state: Any) -> Any:
        value = array_ops.identity(state)
        if self._radius is None:
            return raw.Maximum(value, 0.0)
        return projections.in_ball(value, self._radius)


class _SwapRegretOptimizer(_RegretOptimizer):
    """An optimizer for proxy constraints, whose state is a matrix with columns of the sum 1.

    The weights of the objective and of the constraints are the distribution that the matrix does
    not change.
    """

    _state_name = "swap_regret_optimizer_state"

    @abc.abstractmethod
    def _stochastic_matrix(self, state: Any) -> Any:
        """Return the matrix of a state."""

    def _weighted(self, state: Any, objective: Any, constraints: Any, proxies: Any) -> Any:
        weights = projections.stationary(self._stochastic_matrix(state))
        losses = array_ops.concat([array_ops.expand_dims(objective, 0), proxies], 0)
        loss = reduce_ops.reduce_sum(math_ops.cast(weights, losses.dtype) * losses)
        zero = creation_ops.zeros([1], constraints.dtype)
        violations = math_ops.cast(array_ops.concat([zero, constraints], 0), weights.dtype)
        rows = array_ops.expand_dims(violations, 1)
        return loss, rows * array_ops.expand_dims(weights, 0)


class AdditiveSwapRegretOptimizer(_SwapRegretOptimizer):
    """An optimizer for proxy constraints that adds to its matrix."""

    def _initial_state(self, count: int) -> Any:
        ones = creation_ops.ones([1, count + 1])
        return array_ops.concat([ones, creation_ops.zeros([count, count + 1])], 0)

    def _stochastic_matrix(self, state: Any) -> Any:
        return array_ops.identity(state)

    def _projected(self, state: Any) -> Any:
        return projections.stochastic(array_ops.identity(state))


class MultiplicativeSwapRegretOptimizer(_SwapRegretOptimizer):
    """An optimizer for proxy constraints that multiplies the elements of its matrix.

    With m constraints, each element is at least `minimum_multiplier_radius / (m + 1)`. The elements
    of the constraints begin at `initial_multiplier_radius / (m + 1)`, by default at the least.

    Raises:
        ValueError: a radius is not between 0 and 1, or the initial one is less than the minimum.
    """

    def __init__(
        self, optimizer: Any, constraint_optimizer: Any = None,
        minimum_multiplier_radius: float = 1e-3, initial_multiplier_radius: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(optimizer, constraint_optimizer)
        initial = initial_multiplier_radius
        if not 0.0 < minimum_multiplier_radius < 1.0:
            raise ValueError("minimum_multiplier_radius must be in the range (0,1)")
        if initial is not None and not minimum_multiplier_radius <= initial <= 1.0:
            raise ValueError(
                "initial_multiplier_radius must be in the range [minimum_multiplier_radius,1]"
            )
        self._minimum = minimum_multiplier_radius
        self._initial = minimum_multiplier_radius if initial is None else initial

    def _initial_state(self, count: int) -> Any:
        size = count + 1
        first = math.log(1.0 - self._initial * count / size)
        other = math.log(self._initial / size)
        return convert.constant([[first] * size, *([[other] * size] * count)], dtypes.float32)

    def _stochastic_matrix(self, state: Any) -> Any:
        return raw.Exp(state)

    def _projected(self, state: Any) -> Any:
        least = math.log(self._minimum / state.shape.as_list()[0])
        return raw.Maximum(projections.log_stochastic(array_ops.identity(state)), least)


def _tensors(problem: ConstrainedMinimizationProblem) -> tuple[Any, Any, Any]:
    """Return the objective, and the constraints and proxy constraints as vectors."""
    objective, constraints = problem.objective, problem.constraints
    proxies = problem.proxy_constraints
    proxies = constraints if proxies is None else proxies
    if len({each.dtype.base_dtype for each in (objective, constraints, proxies)}) > 1:
        raise ValueError("objective, constraints and proxy_constraints must have the same dtype")
    return objective, array_ops.reshape(constraints, [-1]), array_ops.reshape(proxies, [-1])
