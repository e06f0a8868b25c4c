"""`tf.contrib.layers.recompute_grad` (contrib/layers/python/layers/rev_block_lib.py)."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import (
    array_ops,
    context,
    control_flow_ops,
    math_ops,
    scope_block,
    variable_scope,
    variables,
)
from capstan.api.custom_gradient import custom_gradient, variables_of
from capstan.contrib.framework import argument_scopes
from capstan.framework import gradients, nest
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def recompute_grad(
    fn: Callable[..., Any] | None = None, use_data_dep: Any = False, tupleize_grads: bool = False
) -> Any:
    """Return a function like `fn`, whose gradient computes `fn` again instead of keeping its steps.

    `fn` takes tensors, and may get variables, which have to be resource variables. Its second call
    reuses them, in the variable scope and the `arg_scope` of the first call. If `fn` has a
    parameter `is_recomputing`, the second call sets it. With `use_data_dep`, the second call takes
    inputs that depend on the gradients. With `tupleize_grads`, no gradient is there before all are.
    Without `fn`, return a decorator.

    Raises:
        ValueError: `fn` has a tensor or a variable from outside, for which there is no gradient. A
            call raises ValueError if an argument is no tensor, and `tf.gradients` if the second
            call gets other variables.
    """
    if fn is None:
        return functools.partial(
            recompute_grad, use_data_dep=use_data_dep, tupleize_grads=tupleize_grads
        )
    _check_closure(fn)
    takes_flag = "is_recomputing" in inspect.signature(fn).parameters

    def call(arguments: Sequence[Any], is_recomputing: bool) -> Any:
        more = {"is_recomputing": is_recomputing} if takes_flag else {}
        return fn(*arguments, **more)

    def computed(*arguments: Any) -> Any:
        scope = variable_scope.get_variable_scope()
        defaults = argument_scopes.current_arg_scope()

        def gradient(*slopes: Any, variables: Sequence[Any] = ()) -> Any:
            inputs = [array_ops.identity(each) for each in arguments]
            given = [slope for slope in slopes if slope is not None]
            with context.control_dependencies(given):
                if use_data_dep:
                    inputs = _after(given, inputs)
                with (
                    argument_scopes.arg_scope(defaults),
                    scope_block.variable_scope(scope, reuse=True),
                ):
                    results = nest.flatten(call(inputs, True))
            _check_variables(variables_of(results, inputs), variables)
            found = gradients.gradients(results, [*inputs, *variables], list(slopes))
            if tupleize_grads:
                found = control_flow_ops.tuple(found)
            return found[: len(inputs)], found[len(inputs) :]

        return call(arguments, False), gradient

    @functools.wraps(fn)
    def wrapped(*arguments: Any) -> Any:
        for argument in arguments:
            if not isinstance(argument, graphs.Tensor):
                raise ValueError(  # noqa: TRY004 - TensorFlow's
                    "All inputs to function must be Tensors"
                )
        return custom_gradient(computed)(*arguments)

    return wrapped


def _check_closure(fn: Callable[..., Any]) -> None:
    for name, value in inspect.getclosurevars(inspect.unwrap(fn)).nonlocals.items():
        if isinstance(value, graphs.Tensor | variables.Variable):
            raise ValueError(  # noqa: TRY004 - TensorFlow's
                f"fn decorated with @recompute_grad closes over Tensor {value.name} (local "
                f"variable name: {name}). The decorated fn must not close over Tensors or "
                "Variables because gradients will NOT be computed for them through fn. To ensure "
                "correct gradients, make the Tensor an input to fn."
            )


def _check_variables(found: Sequence[Any], expected: Sequence[Any]) -> None:
    if [each.name for each in found] != [each.name for each in expected]:
        raise ValueError(
            "The variables used on recompute were different than the variables originally used. "
            "The function wrapped with @recompute_grad likely creates its own variable scope with "
            "a default name and has been called twice in the same enclosing scope. To fix, ensure "
            "each call to the function happens in its own unique variable scope."
        )


def _after(first: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """Return inputs whose values depend on all tensors `first`, but are not changed by them."""
    elements = [
        array_ops.reshape(array_ops.slice(each, [0] * each.shape.ndims, [1] * each.shape.ndims), [])
        for each in first
    ]
    zero = raw.StopGradient(math_ops.add_n(elements) * 0.0)
    return [array_ops.identity(each) + zero for each in inputs]
