"""Optimizers of other libraries that train variables of a session
(contrib/opt/python/training/external_optimizer.py).

The library sees all variables as one vector, the packed variables. It asks for the loss and the
gradient at a vector, and each question is one step of the session. The variables get their new
values when the library has ended.
"""

import importlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from capstan.api import (
    array_ops,
    control_flow_ops,
    creation_ops,
    logging,
    resource_variables,
    variable_collections,
)
from capstan.framework import defaults, gradients

Evaluation = Callable[[Any], list[Any]]
"""A function of a packed vector, which runs a step and returns the values of its tensors."""


class ExternalOptimizerInterface:
    """The base of interfaces to libraries. A subclass defines `_minimize`."""

    def __init__(
        self,
        loss: Any,
        var_list: Any = None,
        equalities: Any = None,
        inequalities: Any = None,
        var_to_bounds: Mapping[Any, tuple[Any, Any]] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        """Build the gradients of `loss`, a scalar, and of the constraints.

        `var_list` is by default all trainable variables. The scalars `equalities` are held at 0,
        and the scalars `inequalities` at 0 or above. `var_to_bounds` has a pair (low, high) for
        each bounded variable. A bound is a number or an array that can be broadcast to the shape of
        the variable. None and infinity mean no bound. The other arguments are those of the library.

        Raises:
            ValueError: there is no variable, or a variable has no known shape.
        """
        self._loss = loss
        self._equalities = list(equalities or ())
        self._inequalities = list(inequalities or ())
        if var_list is None:
            var_list = variable_collections.trainable_variables()
        self._vars = list(var_list)
        self._shapes = [_shape(var) for var in self._vars]
        if not self._vars:
            raise ValueError(
                "There is no variable to optimize. Create trainable variables first, or give "
                "var_list"
            )
        self._packed_bounds = None if var_to_bounds is None else self._bounds(var_to_bounds)
        self._build_updates()
        self.optimizer_kwargs = optimizer_kwargs
        self._packed_var = self._pack(self._vars)
        self._packed_loss_grad = self._gradient(loss)
        self._packed_equality_grads = [self._gradient(each) for each in self._equalities]
        self._packed_inequality_grads = [self._gradient(each) for each in self._inequalities]
        ends = [0, *itertools.accumulate(math.prod(shape) for shape in self._shapes)]
        self._packing_slices = [slice(*pair) for pair in itertools.pairwise(ends)]

    def minimize(
        self,
        session: Any = None,
        feed_dict: Mapping[Any, Any] | None = None,
        fetches: Sequence[Any] | None = None,
        step_callback: Callable[..., Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Minimize the loss in `session`, or in the default session. Blocks until the end.

        Each step gets `feed_dict`. `step_callback` gets the packed variables after each iteration
        of the library. `loss_callback` gets the values of `fetches` whenever the loss has been
        computed. `run_kwargs` are for the run that sets the variables.

        While the library works, reference variables keep their values. The steps feed them. A
        resource variable cannot be fed, so it holds the values of the last step.

        Raises:
            ValueError: there is no session.
        """
        session = session or defaults.get_default_session()
        if session is None:
            raise ValueError(
                "There is no session to minimize the loss in. Give minimize a session, or call it "
                "inside `with session.as_default():`"
            )
        feeds = dict(feed_dict or {})

        def single(tensors: Sequence[Any]) -> list[Evaluation]:
            return [self._make_eval_func(tensor, session, feeds, []) for tensor in tensors]

        packed = self._minimize(
            initial_val=session.run(self._packed_var),
            loss_grad_func=self._make_eval_func(
                [self._loss, self._packed_loss_grad],
                session, feeds, list(fetches or ()), loss_callback,
            ),
            equality_funcs=single(self._equalities),
            equality_grad_funcs=single(self._packed_equality_grads),
            inequality_funcs=single(self._inequalities),
            inequality_grad_funcs=single(self._packed_inequality_grads),
            packed_bounds=self._packed_bounds,
            step_callback=step_callback or (lambda packed: None),
            optimizer_kwargs=self.optimizer_kwargs,
        )  # fmt: skip
        values = [packed[part] for part in self._packing_slices]
        new_values = dict(zip(self._update_placeholders, values, strict=True))
        session.run(self._var_updates, feed_dict=new_values, **run_kwargs)

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: Evaluation,
        equality_funcs: Sequence[Evaluation],
        equality_grad_funcs: Sequence[Evaluation],
        inequality_funcs: Sequence[Evaluation],
        inequality_grad_funcs: Sequence[Evaluation],
        packed_bounds: Sequence[tuple[Any, Any]] | None,
        step_callback: Callable[..., Any],
        optimizer_kwargs: Mapping[str, Any],
    ) -> Any:
        """Return the packed variables at the minimum. Called with keyword arguments.

        `loss_grad_func` returns the loss and its packed gradient. The other functions return lists
        of one value.
        """
        raise NotImplementedError(
            "ExternalOptimizerInterface itself has no algorithm: subclass it, and define "
            "_minimize(), or use ScipyOptimizerInterface"
        )

    @classmethod
    def _pack(cls, tensors: Sequence[Any]) -> Any:
        """Return the elements of all tensors as one vector."""
        flat = [array_ops.reshape(tensor, [-1]) for tensor in tensors]
        return flat[0] if len(flat) == 1 else array_ops.concat(flat, 0)

    def _bounds(self, var_to_bounds: Mapping[Any, tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        pairs: list[tuple[Any, Any]] = []
        for var, shape in zip(self._vars, self._shapes, strict=True):
            low, high = var_to_bounds.get(var, (-np.inf, np.inf))
            sides = (np.broadcast_to(side, shape).flat for side in (low, high))
            pairs.extend(zip(*sides, strict=True))
        return pairs

    def _build_updates(self) -> None:
        """Build the operations that set the variables to the values of placeholders."""
        self._update_placeholders = [
            creation_ops.placeholder(var.dtype.base_dtype) for var in self._vars
        ]
        self._var_updates = [
            var.assign(array_ops.reshape(value, shape))
            for var, value, shape in zip(
                self._vars, self._update_placeholders, self._shapes, strict=True
            )
        ]
        self._assigned = [
            index
            for index, var in enumerate(self._vars)
            if resource_variables.is_resource_variable(var)
        ]
        self._assignment = control_flow_ops.group(
            *(self._var_updates[index] for index in self._assigned)
        )

    def _gradient(self, tensor: Any) -> Any:
        grads = gradients.gradients(tensor, self._vars)
        return self._pack(
            [
                creation_ops.zeros_like(var) if grad is None else grad
                for var, grad in zip(self._vars, grads, strict=True)
            ]
        )

    def _make_eval_func(
        self,
        tensors: Any,
        session: Any,
        feed_dict: Mapping[Any, Any],
        fetches: Sequence[Any],
        callback: Callable[..., Any] | None = None,
    ) -> Evaluation:
        """Return a function of a packed vector that returns the values of `tensors`, as a list.

        It runs one step, and calls `callback` with the values of `fetches`.
        """
        wanted = list(tensors) if isinstance(tensors, list) else [tensors]

        def evaluate(packed: Any) -> list[Any]:
            values = [
                packed[part].reshape(shape)
                for part, shape in zip(self._packing_slices, self._shapes, strict=True)
            ]
            if self._assigned:
                places = {self._update_placeholders[i]: values[i] for i in self._assigned}
                session.run(self._assignment, feed_dict=places)
            fed = {
                var: value
                for index, (var, value) in enumerate(zip(self._vars, values, strict=True))
                if index not in self._assigned
            }
            found = session.run([*wanted, *fetches], feed_dict={**fed, **feed_dict})
            if callback is not None:
                callback(*found[len(wanted) :])
            return list(found[: len(wanted)])

        return evaluate


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Trains with `scipy.optimize.minimize`.

    The arguments of the constructor that the base does not have go to SciPy, for example `method`,
    which is L-BFGS-B by default, and `options`. L-BFGS-B takes bounds but no other constraints.
    SLSQP takes both.
    """

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: Evaluation,
        equality_funcs: Sequence[Evaluation],
        equality_grad_funcs: Sequence[Evaluation],
        inequality_funcs: Sequence[Evaluation],
        inequality_grad_funcs: Sequence[Evaluation],
        packed_bounds: Sequence[tuple[Any, Any]] | None,
        step_callback: Callable[..., Any],
        optimizer_kwargs: Mapping[str, Any],
    ) -> Any:
        """Return the packed variables that SciPy has found.

        Raises:
            ImportError: SciPy is not installed.
            ValueError: the arguments of the constructor have one that this class sets itself.
        """
        constraints = [
            {"type": kind, "fun": _in_doubles(function), "jac": _in_doubles(gradient)}
            for kind, functions, grads in (
                ("eq", equality_funcs, equality_grad_funcs),
                ("ineq", inequality_funcs, inequality_grad_funcs),
            )
            for function, gradient in zip(functions, grads, strict=True)
        ]
        arguments = {
            "jac": True,
            "callback": step_callback,
            "constraints": constraints,
            "bounds": packed_bounds,
        }
        for name in arguments:
            if name in optimizer_kwargs:
                instead = {
                    "bounds": "give var_to_bounds",
                    "constraints": "give equalities and inequalities",
                    "callback": "give minimize a step_callback",
                    "jac": "leave it out: the gradient is that of the loss",
                }[name]
                raise ValueError(
                    f"ScipyOptimizerInterface sets the argument {name} of scipy.optimize.minimize "
                    f"itself: {instead}"
                )
        chosen = {"method": self._DEFAULT_METHOD, **optimizer_kwargs}
        start = initial_val.astype(np.float64)
        minimize = _scipy_optimize().minimize
        result = minimize(_in_doubles(loss_grad_func), start, **arguments, **chosen)
        _log(result)
        return result["x"]


def _scipy_optimize() -> Any:
    try:
        return importlib.import_module("scipy.optimize")
    except ImportError as error:
        raise ImportError(
            "tf.contrib.opt.ScipyOptimizerInterface requires SciPy. Install it (pip install scipy)"
        ) from error


def _in_doubles(evaluate: Evaluation) -> Evaluation:
    """Return a function with values of type float64, the only type that SciPy's methods take."""
    return lambda packed: [np.asarray(value, np.float64) for value in evaluate(packed)]


def _log(result: Any) -> None:
    """Log how an optimization ended. Some methods do not count iterations or evaluations."""
    lines = ["Optimization terminated with:", "  Message: %s", "  Objective function value: %f"]
    values = [result.message, result.fun]
    for name, what in (("nit", "iterations"), ("nfev", "functions evaluations")):
        if hasattr(result, name):
            lines.append(f"  Number of {what}: %d")
            values.append(result[name])
    logging.info("\n".join(lines), *values)


def _shape(var: Any) -> tuple[int, ...]:
    shape = var.get_shape()
    if not shape.is_fully_defined():
        raise ValueError(f"Variable {var.name} has the shape {shape}: all its sizes must be known")
    return tuple(shape.as_list())
