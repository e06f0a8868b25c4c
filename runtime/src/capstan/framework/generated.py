"""The functions that TensorFlow generates for operations, such as those of `gen_math_ops`.

Their arguments are the inputs of the operation, then its attributes without a default, then those
with one. Some have another name than in the operation (core/api_def/base_api).
"""

import inspect
from collections.abc import Callable
from typing import Any

from capstan.framework import opdef
from capstan.framework.ops import renamed
from capstan.framework.raw import raw


def signature(row: opdef.OpDef) -> inspect.Signature:
    """Return the arguments of a function: inputs, attributes, those with defaults last."""
    inputs = [argument.name for argument in row.input_arguments]
    # The inputs imply these types and counts.
    implied = {
        each for argument in row.input_arguments for each in (argument.type, argument.number)
    }
    attributes = [name for name in row.attrs if name not in implied]
    required = [name for name in attributes if name not in row.defaults]
    defaults = {name: row.defaults[name] for name in attributes if name in row.defaults}
    kind, names = inspect.Parameter.POSITIONAL_OR_KEYWORD, renamed.RENAMED.get(row.name, {})
    return inspect.Signature(
        [
            *(inspect.Parameter(names.get(name, name), kind) for name in (*inputs, *required)),
            *(
                inspect.Parameter(names.get(name, name), kind, default=value)
                for name, value in {**defaults, "name": None}.items()
            ),
        ]
    )


def function(row: opdef.OpDef) -> Callable[..., Any]:
    """Return the function of an operation, whose arguments may be given by position.

    Raises:
        TypeError: a call of the function has too many arguments, or gives one twice.
    """
    build, arguments = getattr(raw, row.name), signature(row)
    positions = list(arguments.parameters)
    originals = {name: original for original, name in renamed.RENAMED.get(row.name, {}).items()}

    def generated(*values: Any, **keywords: Any) -> Any:
        if len(values) > len(positions):
            raise TypeError(
                f"{row.name} takes at most {len(positions)} arguments ({', '.join(positions)}), "
                f"but got {len(values)}"
            )
        given = dict(zip(positions, values, strict=False))
        for name in given.keys() & keywords.keys():
            raise TypeError(f"{row.name} got multiple values for argument {name!r}")
        return build(
            **{originals.get(name, name): value for name, value in {**given, **keywords}.items()}
        )

    generated.__name__ = generated.__qualname__ = row.name
    generated.__signature__ = arguments  # type: ignore[attr-defined]
    return generated
