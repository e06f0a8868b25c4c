"""`tf.custom_gradient` (python/ops/custom_gradient.py): a function that brings its own gradient."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.framework import (
    collections,
    control_context,
    convert,
    facts,
    gradients,
    nest,
    opdef,
    registered_gradients,
)
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["custom_gradient", "grad_pass_through", "recompute_grad"]


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Return a function that computes `f(*x)[0]`, and whose gradient is `f(*x)[1]`.

    @tf.custom_gradient
    def softplus(x):
        e = tf.exp(x)
        return tf.log(1.0 + e), lambda dy: dy * e / (1.0 + e)

    `f` takes tensors or structures of tensors. It returns its results, a tensor or a structure of
    tensors, and a gradient function. The gradient function takes the gradient of each result, and
    returns the gradient of each argument. Without `f`, return a decorator.

    The results may depend on trainable variables that are not among the arguments. If they do, the
    gradient function also takes these variables, sorted by name, as the keyword `variables`. It
    then returns two lists: the gradients of the arguments and the gradients of the variables.

    Raises (when the result is called):
        TypeError: the results depend on variables, and the gradient function does not take
            `variables`.
        ValueError: an argument is given by keyword. `tf.gradients` raises ValueError if the
            gradient function does not return a gradient for each variable.
    """
    return custom_gradient if f is None else _WithGradient(f)


def recompute_grad(f: Callable[..., Any]) -> Any:
    """Return a function like `f`, whose gradient computes `f` again instead of keeping its steps.

    `f` takes tensors and returns a tensor or a structure of tensors. It must return the same values
    again. If it gets variables by `tf.get_variable`, its scope must reuse them.
    """

    def wrapped(*arguments: Any) -> Any:
        def gradient(*slopes: Any, variables: Sequence[Any] = ()) -> Any:
            given = [slope for slope in slopes if slope is not None]
            with graphs.get_default_graph().control_dependencies(given):
                # A copy is not read before the gradients of the results are there.
                again = nest.mapped(raw.Identity, arguments)
                results = nest.flatten(f(*again))
            inputs = nest.flatten(again)
            found = gradients.gradients(results, [*inputs, *variables], list(slopes))
            return found[: len(inputs)], found[len(inputs) :]

        return f(*arguments), gradient

    return functools.update_wrapper(_WithGradient(wrapped), f)


def grad_pass_through(f: Callable[..., Any]) -> Any:
    """Return a function with the values of `f`, and with the gradient of the identity.

    Variables that `f` reads get no gradient.
    """

    def wrapped(*arguments: Any) -> Any:
        def gradient(*slopes: Any, variables: Sequence[Any] | None = None) -> Any:
            passed = slopes[0] if len(slopes) == 1 else list(slopes)
            return passed if variables is None else (passed, [None] * len(variables))

        return f(*arguments), gradient

    return functools.update_wrapper(_WithGradient(wrapped), f)


class _WithGradient:
    """A function or method with its own gradient."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self._f = f
        functools.update_wrapper(self, f)

    def __get__(self, instance: Any, owner: Any = None) -> "_WithGradient":
        return self if instance is None else _WithGradient(functools.partial(self._f, instance))

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if keywords:
            raise ValueError(
                "The custom_gradient decorator currently supports keywords arguments only when "
                "eager execution is enabled."
            )
        arguments = nest.mapped(convert.convert_to_tensor, arguments)
        result, gradient = self._f(*arguments)
        inputs = nest.flatten(arguments)
        results = [convert.convert_to_tensor(each) for each in nest.flatten(result)]
        variables = variables_of(results, inputs)
        parameters = inspect.signature(gradient).parameters
        takes_variables = "variables" in parameters or any(
            each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()
        )
        if variables and not takes_variables:
            raise TypeError(
                "@tf.custom_gradient grad_fn must accept keyword argument 'variables', since "
                f"function uses variables: {variables}"
            )
        name = registered_gradients.register_unnamed(_rule(gradient, len(results), variables))
        with graphs.get_default_graph().gradient_override_map({"IdentityN": name}):
            passed_on = raw.IdentityN([*results, *inputs, *variables])
        return nest.packed(result, passed_on[: len(results)])


def _rule(
    gradient: Callable[..., Any], count: int, variables: Sequence[Any]
) -> registered_gradients.Gradient:
    """Return the gradient of the IdentityN that passes on the results, arguments and variables."""

    def rule(op: Any, *gradients: Any) -> list[Any]:
        if not variables:
            return [None] * count + _leaves(gradient(*gradients[:count]))
        of_inputs, of_variables = gradient(*gradients[:count], variables=list(variables))
        if len(of_variables) != len(variables):
            raise ValueError(
                "Must return gradient for each variable from @custom_gradient grad_fn."
            )
        return [None] * count + _leaves(of_inputs) + list(of_variables)

    return rule


def _leaves(gradients: Any) -> list[Any]:
    """Return the gradients in a structure, in order. An IndexedSlices is one gradient."""
    if isinstance(gradients, Mapping):
        gradients = [gradients[key] for key in sorted(gradients)]
    if not isinstance(gradients, list | tuple):
        return [gradients]
    return [leaf for part in gradients for leaf in _leaves(part)]


def variables_of(results: Sequence[graphs.Tensor], inputs: Sequence[graphs.Tensor]) -> list[Any]:
    """Return the trainable variables from which differentiable paths lead to `results`.

    Paths through `inputs` do not count. The variables are sorted by name.
    """
    given = set(inputs)
    found: dict[graphs.Operation, None] = {}
    todo = [tensor for tensor in results if tensor not in given]
    while todo:
        op = todo.pop().op
        if op not in found:
            found[op] = None
            if _is_differentiable(op):
                todo += [tensor for tensor in op.inputs if tensor not in given]
    read = {op for op in found if control_context.role(op) is facts.Role.VARIABLE}
    trainable = graphs.get_default_graph().get_collection(collections.GraphKeys.TRAINABLE_VARIABLES)
    return sorted((each for each in trainable if each.op in read), key=lambda each: each.name)


def _is_differentiable(op: graphs.Operation) -> bool:
    known = opdef.is_defined(op.type) and opdef.lookup(op.type).gradient is not None
    return known or registered_gradients.of(op) is not None
