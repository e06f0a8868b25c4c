"""Functions in the configurations of layers (`func_dump` of python/keras/utils/generic_utils.py).

The bytecode of a function is that of one version of Python. Another version cannot load it. A
configuration runs its code when the layer is called, so load only models of trusted sources.
"""

import base64
import marshal
import sys
import types
from collections.abc import Mapping
from typing import Any, Final

from capstan.keras import objects

_NO_REFERENCES: Final = 2
"""This version of `marshal` writes no references to shared objects, so equal functions give equal
bytes."""

Description = tuple[Any, str, str | None]
"""A value, its kind, and the module in which a function finds its global names."""


def describe(value: Any) -> Description:
    """Return a description of a function, of another callable with a name, or of a plain value."""
    if isinstance(value, types.FunctionType):
        closure = value.__closure__ and tuple(cell.cell_contents for cell in value.__closure__)
        code = base64.encodebytes(marshal.dumps(value.__code__, _NO_REFERENCES)).decode("ascii")
        return (code, value.__defaults__, closure), "lambda", value.__module__
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__, "function", value.__module__
    return value, "raw", None


def restore(
    value: Any, kind: str, module: str | None, custom_objects: Mapping[str, Any] | None
) -> Any:
    """Return the value of a description.

    A function finds its global names in its module, if it is imported, and in `custom_objects`.

    Raises:
        TypeError: there is no such kind.
        ValueError: no object has the name, or another version of Python has made the code.
    """
    home = sys.modules.get(module or "")
    known = {**({} if home is None else vars(home)), **(custom_objects or {})}
    if kind == "raw":
        return value
    if kind == "function":
        return objects.deserialize_keras_object(value, known, custom_objects, "function of a layer")
    if kind != "lambda":
        raise TypeError(f"Unknown function type: {kind}")
    text, defaults, closure = value
    try:
        code = marshal.loads(base64.decodebytes(text.encode("ascii")))
    except (EOFError, TypeError, ValueError) as error:
        raise ValueError(
            f"The bytecode of a function cannot be read: {error}. Another version of Python has "
            "probably written it. Make the model again, and load its weights"
        ) from None
    cells = None if closure is None else tuple(map(types.CellType, closure))
    return types.FunctionType(code, known, code.co_name, defaults and tuple(defaults), cells)
