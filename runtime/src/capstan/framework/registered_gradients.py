"""Gradients that programs register: `tf.RegisterGradient` (python/framework/ops.py).

An operation that is created in a block of `Graph.gradient_override_map` names its gradient in an
attribute.
"""

import functools
from collections.abc import Callable
from typing import Any

from capstan.framework import opdef, scopes
from capstan.framework.raw import raw

Gradient = Callable[..., Any]
"""Takes an operation and the gradient of each output. Returns the gradients of the inputs."""

_REGISTERED: dict[str, Gradient] = {}


class RegisterGradient:
    """A decorator that makes a function the gradient of an op, or of the operations that name it.

    @tf.RegisterGradient("Clipped")
    def clipped(op, gradient):
        return tf.clip_by_value(gradient, -1.0, 1.0)

    with graph.gradient_override_map({"Identity": "Clipped"}):
        y = tf.identity(x)
    """

    def __init__(self, op_type: str) -> None:
        """Create a decorator for the op `op_type`, or for a name that the program chooses.

        Raises:
            TypeError: `op_type` is not a string.
        """
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: Gradient) -> Gradient:
        """Register `f(op, *gradients)`, and return it.

        Raises:
            KeyError: the op has a gradient, or the name is taken.
        """
        known = opdef.is_defined(self._op_type) and opdef.lookup(self._op_type)
        if self._op_type in _REGISTERED or (known and (known.gradient or known.not_differentiable)):
            raise KeyError(f"Registering two gradient with name '{self._op_type}'!")
        _REGISTERED[self._op_type] = f
        return f


def NotDifferentiable(op_type: str) -> None:
    """Let gradients end at the op `op_type`, or at the operations that name it.

    Raises:
        TypeError: `op_type` is not a string.
        KeyError: the op has a gradient, or the name is taken.
    """
    RegisterGradient(op_type)(_none)


NoGradient = NotDifferentiable


def _none(op: Any, *gradients: Any) -> list[None]:
    return [None for _ in op.inputs]


def register_unnamed(gradient: Gradient) -> str:
    """Register `gradient` under a new name, and return the name. Thread-safe."""
    number = len(_REGISTERED)
    while _REGISTERED.setdefault(f"CustomGradient-{number}", gradient) is not gradient:
        number += 1
    return f"CustomGradient-{number}"


def get_gradient_function(op: Any) -> Gradient | None:
    """Return the function `gradient(op, *gradients)` of an operation, or None if it has none.

    The function returns the gradient of the input, or a tuple if there are several inputs.

    Raises:
        LookupError: no gradient is defined for the op, or the operation names one that is not
            registered.
    """
    if not op.inputs:
        return None
    registered = of(op)
    if registered is not None:
        return None if registered is _none else registered
    row = opdef.lookup(op.type) if opdef.is_defined(op.type) else None
    if row is None or not (row.gradient or row.not_differentiable):
        raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")
    return None if row.gradient is None else functools.partial(_by_rule, row.gradient)


def _by_rule(rule: opdef.GradientRule, op: Any, *gradients: Any) -> Any:
    """Return the gradient of the only input of `op`, or a tuple of the gradients of all inputs."""
    found = rule(op, gradients, raw)
    return found[0] if len(found) == 1 else found


def of(op: Any) -> Gradient | None:
    """Return the registered gradient of an operation, or None.

    If it is None, the OpDef or the function that the operation calls determines the gradient.

    Raises:
        LookupError: the operation names a gradient that is not registered.
    """
    override = op.node.attrs.get(scopes.GRADIENT)
    if override is None:
        return _REGISTERED.get(op.type)
    name = override.decode() if isinstance(override, bytes) else str(override)
    if name in _REGISTERED:
        return _REGISTERED[name]
    if opdef.is_defined(name) and (rule := opdef.lookup(name).gradient) is not None:
        return lambda op, *gradients: rule(op, gradients, raw)
    if name.startswith(f"{op.type}-"):
        return None  # TensorFlow 2 registers these names for calls, in the process that builds them
    raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {name})")
