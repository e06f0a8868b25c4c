"""Problems with constraints.

Source: contrib/constrained_optimization/python/constrained_minimization_problem.py.
"""

import abc
import math
from typing import Any


class ConstrainedMinimizationProblem(abc.ABC):
    """A scalar to minimise, and a tensor whose elements must be at most 0."""

    @property
    @abc.abstractmethod
    def objective(self) -> Any:
        """The scalar to minimise."""

    @property
    @abc.abstractmethod
    def constraints(self) -> Any:
        """The tensor whose elements must be at most 0."""

    @property
    def proxy_constraints(self) -> Any:
        """A tensor in the shape of the constraints that has gradients in their place, or None.

        It is for constraints whose gradients are 0 almost everywhere, such as rates of errors.
        """
        return None

    @property
    def pre_train_ops(self) -> Any:
        """The operations that run before each step, or None."""
        return None

    @property
    def num_constraints(self) -> int:
        """The number of constraints.

        Raises:
            ValueError: a shape is not known, or the shapes differ.
        """
        shapes = [self.constraints.shape]
        if self.proxy_constraints is not None:
            shapes.append(self.proxy_constraints.shape)
        if not all(shape.is_fully_defined() for shape in shapes):
            raise ValueError("constraints and proxy_constraints must have fully-known shapes")
        if shapes[0].as_list() != shapes[-1].as_list():
            raise ValueError("constraints and proxy_constraints must have the same shape")
        return math.prod(shapes[0].as_list())
