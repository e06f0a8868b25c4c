"""`tf.raw_ops`: each operation as a function of its inputs and attributes, given by keyword.

    tf.raw_ops.MatMul(a=images, b=weights, transpose_b=True)

`Reference: Operations` in the documentation lists the operations with their arguments.
"""

import inspect
import typing  # Any is an operation.
from collections.abc import Callable

from capstan.framework import generated, opdef


def __getattr__(name: str) -> Callable[..., typing.Any]:
    if not opdef.is_defined(name):
        raise AttributeError(f"module 'capstan.raw_ops' has no operation {name!r}")
    build = generated.function(opdef.lookup(name))
    parameters = inspect.signature(build).parameters.values()

    def operation(*inputs: typing.Any, **keywords: typing.Any) -> typing.Any:
        if inputs:
            raise TypeError(
                f"{name} only takes keyword args (possible keys: "
                f"{[parameter.name for parameter in parameters]}). Please pass these args as "
                "kwargs instead."
            )
        return build(**keywords)

    operation.__name__ = operation.__qualname__ = name
    operation.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    )
    return operation


def __dir__() -> list[str]:
    return [row.name for row in opdef.all_rows() if row.name[0] != "_"]
