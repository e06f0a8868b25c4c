"""What the optimizers of problems with constraints share.

Source: contrib/constrained_optimization/python/constrained_optimizer.py.
"""

import abc
from typing import Any

from capstan.api import cond_ops, context, math_ops
from capstan.contrib.constrained_optimization.problem import ConstrainedMinimizationProblem
from capstan.framework import convert


class ConstrainedOptimizer(abc.ABC):
    """An optimizer of problems with constraints, which changes variables with `optimizer`.

    The further keywords of the methods are those of `minimize` of a `tf.train.Optimizer`.
    """

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer

    @property
    def optimizer(self) -> Any:
        """The `tf.train.Optimizer` of the variables."""
        return self._optimizer

    @abc.abstractmethod
    def _minimize_constrained(
        self, minimization_problem: ConstrainedMinimizationProblem, global_step: Any = None,
        name: str | None = None, **keywords: Any,
    ) -> Any:  # fmt: skip
        """Return the operation of a step, without the `pre_train_ops` of the problem."""

    def minimize_constrained(
        self, minimization_problem: ConstrainedMinimizationProblem, global_step: Any = None,
        var_list: Any = None, **keywords: Any,
    ) -> Any:  # fmt: skip
        """Return the operation of a step that minimises the objective under the constraints.

        Raises:
            ValueError: the tensors of the problem have different dtypes, or as `num_constraints`.
        """
        with context.control_dependencies(minimization_problem.pre_train_ops or []):
            return self._minimize_constrained(
                minimization_problem, global_step, var_list=var_list, **keywords
            )

    def minimize_unconstrained(
        self, minimization_problem: ConstrainedMinimizationProblem, global_step: Any = None,
        var_list: Any = None, **keywords: Any,
    ) -> Any:  # fmt: skip
        """Return the operation of a step that minimises the objective alone."""
        with context.control_dependencies(minimization_problem.pre_train_ops or []):
            return self._optimizer.minimize(
                minimization_problem.objective, global_step, var_list=var_list, **keywords
            )

    def minimize(
        self, minimization_problem: ConstrainedMinimizationProblem,
        unconstrained_steps: Any = None, global_step: Any = None, var_list: Any = None,
        **keywords: Any,
    ) -> Any:  # fmt: skip
        """Return the operation of a step. The first `unconstrained_steps` ignore the constraints.

        Raises:
            ValueError: there are such steps and no global step, or as `minimize_constrained`.
        """
        if unconstrained_steps is None:
            return self.minimize_constrained(
                minimization_problem, global_step, var_list, **keywords
            )
        if global_step is None:
            raise ValueError("global_step cannot be None if unconstrained_steps is provided")
        limit = convert.convert_to_tensor(unconstrained_steps)
        return cond_ops.cond(
            math_ops.cast(global_step, limit.dtype) < limit,
            lambda: self.minimize_unconstrained(
                minimization_problem, global_step, var_list, **keywords
            ),
            lambda: self.minimize_constrained(
                minimization_problem, global_step, var_list, **keywords
            ),
        )
