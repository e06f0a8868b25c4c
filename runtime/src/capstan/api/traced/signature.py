"""The arguments of a `tf.function`: how a call binds them, and which calls share one trace
(`FunctionSpec` of python/eager/function.py)."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from capstan.api.type_spec import TypeSpec
from capstan.framework import composite, convert, nest
from capstan.framework import graph as graphs


class FunctionSpec:
    """The parameters of a Python function, and the `input_signature` that the program gives."""

    def __init__(self, function: Callable[..., Any], input_signature: Any = None) -> None:
        """Read the parameters of `function`.

        Raises:
            TypeError: `input_signature` is neither a list nor a tuple, or has a leaf that is not a
                TensorSpec.
            ValueError: there is an `input_signature`, and the function has keyword-only arguments.
        """
        self._signature = inspect.signature(function)
        kinds = [parameter.kind for parameter in self._signature.parameters.values()]
        self.input_signature: tuple[Any, ...] | None = None
        if input_signature is None:
            return
        if inspect.Parameter.KEYWORD_ONLY in kinds:
            raise ValueError(
                "Cannot define a TensorFlow function from a Python function with keyword arguments "
                "when input_signature is provided."
            )
        if not isinstance(input_signature, tuple | list):
            raise TypeError(
                "input_signature must be either a tuple or a list, received "
                f"{type(input_signature)}"
            )
        if any(not isinstance(spec, TypeSpec) for spec in nest.flatten(input_signature)):
            raise TypeError(
                f"Invalid input_signature {input_signature}; input_signature must be a possibly "
                "nested sequence of TensorSpec objects."
            )
        self.input_signature = tuple(input_signature)

    def names(self, count: int) -> list[str]:
        """Return names for the first `count` positional arguments."""
        found: list[str] = []
        for name, parameter in self._signature.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                found += [f"{name}_{place}" for place in range(count - len(found))]
            elif parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                found.append(name)
        return found[:count]

    def bound(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the positional arguments of a call, with defaults, and its true keyword arguments.

        Arrays of NumPy become tensors. With an `input_signature`, all of its values do.

        Raises:
            TypeError: the function does not take these arguments.
            ValueError: the arguments do not fit the `input_signature`.
        """
        if self.input_signature is not None:
            return self._signed(args, kwargs), {}
        call = self._signature.bind(*args, **kwargs)
        call.apply_defaults()
        named = {name: _converted(call.kwargs[name]) for name in sorted(call.kwargs)}
        return tuple(map(_converted, call.args)), named

    def _signed(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        wanted = self.input_signature or ()
        if len(args) > len(wanted):
            raise TypeError(
                "When input_signature is provided, only pass arguments covered by it. Received "
                f"{len(args)} argument(s)."
            )
        call = self._signature.bind_partial(*args, **kwargs)
        names = self.names(len(wanted))
        uncovered = [name for name in kwargs if name not in names]
        if uncovered:
            raise TypeError(
                "When input_signature is provided, only pass arguments covered by it. Received "
                f"argument {uncovered[0]}."
            )
        call.apply_defaults()
        values = call.args
        if len(values) < len(wanted):
            raise TypeError(
                f"The function takes {len(wanted)} arguments by its input_signature. Received "
                f"{len(values)}."
            )
        given, rest = values[: len(wanted)], values[len(wanted) :]
        specs = nest.flatten(wanted)
        try:
            leaves = _up_to(list(wanted), list(given))
        except ValueError as fault:
            raise ValueError(
                "Structure of Python function inputs does not match input_signature:\n"
                + _pair(given, wanted)
            ) from fault
        try:
            leaves = [_of_spec(leaf, spec) for leaf, spec in zip(leaves, specs, strict=True)]
        except (TypeError, ValueError) as fault:
            raise ValueError(
                "When input_signature is provided, all inputs to the Python function must be "
                "convertible to tensors:\n" + _pair(given, wanted)
            ) from fault
        for leaf, spec in zip(leaves, specs, strict=True):
            if not spec.is_compatible_with(leaf):
                raise ValueError(
                    "Python inputs incompatible with input_signature:\n" + _pair(given, wanted)
                )
        return (*nest.packed(list(wanted), leaves), *rest)


def _up_to(structure: Any, value: Any) -> list[Any]:
    """Return the part of `value` at each leaf of `structure`.

    Raises:
        ValueError: `value` has another structure.
    """
    if not nest.is_nested(structure):
        return [value]
    if not nest.is_nested(value) or isinstance(value, Mapping) != isinstance(structure, Mapping):
        raise ValueError(f"{value!r} has no parts like {structure!r}")
    if isinstance(structure, Mapping):
        keys = sorted(structure)
        if keys != sorted(value):
            raise ValueError(f"{value!r} does not have the keys {keys}")
        pairs = [(structure[name], value[name]) for name in keys]
    else:
        pairs = list(zip(structure, value, strict=True))
    return [leaf for part, given in pairs for leaf in _up_to(part, given)]


def _pair(inputs: Sequence[Any], signature: Sequence[Any]) -> str:
    def listed(values: Sequence[Any]) -> str:
        return ",\n    ".join(map(str, values))

    return f"  inputs: (\n    {listed(inputs)})\n  input_signature: (\n    {listed(signature)})"


def _of_spec(value: Any, spec: Any) -> Any:
    if isinstance(value, TypeSpec) or composite.is_composite(value):
        return value
    is_tensor = isinstance(value, graphs.Tensor)
    return value if is_tensor else convert.convert_to_tensor(value, preferred_dtype=spec.dtype)


def _converted(value: Any) -> Any:
    return nest.mapped(
        lambda leaf: convert.constant(leaf) if isinstance(leaf, np.ndarray) else leaf, value
    )


def without_self(function: Callable[..., Any]) -> inspect.Signature:
    """Return the parameters of a function without the first."""
    whole = inspect.signature(function)
    return whole.replace(parameters=list(whole.parameters.values())[1:])
