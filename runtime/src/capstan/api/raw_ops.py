"""`tf.raw_ops`: each operation as a function of its inputs and attributes, given by keyword.

    tf.raw_ops.MatMul(a=images, b=weights, transpose_b=True)

`Reference: Operations` in the documentation lists the operations with their arguments.
"""

import inspect
from collections.abc import Callable
from typing import Any

from capstan.framework import opdef
from capstan.framework.raw import raw


def __getattr__(name: str) -> Callable[..., Any]:
    if not opdef.is_defined(name):
        raise AttributeError(f"module 'capstan.raw_ops' has no operation {name!r}")
    build, signature = getattr(raw, name), _signature(opdef.lookup(name))

    def operation(*inputs: Any, **keywords: Any) -> Any:
        if inputs:
            raise TypeError(
                f"{name} only takes keyword args (possible keys: {list(signature.parameters)}). "
                "Please pass these args as kwargs instead."
            )
        return build(**keywords)

    operation.__name__ = operation.__qualname__ = name
    operation.__signature__ = signature  # type: ignore[attr-defined]
    return operation


def __dir__() -> list[str]:
    return [row.name for row in opdef.all_rows() if row.name[0] != "_"]


def _signature(row: opdef.OpDef) -> inspect.Signature:
    """Return the arguments of an operation: inputs, attributes, those with defaults last."""
    inputs = [argument.name for argument in row.input_arguments]
    # The inputs imply these types and counts.
    implied = {
        each for argument in row.input_arguments for each in (argument.type, argument.number)
    }
    attributes = [name for name in row.attrs if name not in implied]
    required = [name for name in attributes if name not in row.defaults]
    defaults = {name: row.defaults[name] for name in attributes if name in row.defaults}
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [
            *(inspect.Parameter(name, kind) for name in (*inputs, *required)),
            *(
                inspect.Parameter(name, kind, default=value)
                for name, value in {**defaults, "name": None}.items()
            ),
        ]
    )
