"""Variables of a converted function that have no value."""

import contextlib
from collections.abc import Callable
from typing import Any, NoReturn


class Undefined:
    """The value of a variable that a converted function has not assigned yet.

    Any use raises the error that Python raises for such a variable.
    """

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def _fail(self, *args: Any, **kwargs: Any) -> NoReturn:
        name = object.__getattribute__(self, "_name")
        raise UnboundLocalError(f"'{name}' is used before it is assigned")

    def __repr__(self) -> str:
        return f"<undefined {object.__getattribute__(self, '_name')}>"

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_fail", "_name"):
            return object.__getattribute__(self, name)
        return object.__getattribute__(self, "_fail")()

    __setattr__ = __bool__ = __len__ = __iter__ = __call__ = _fail
    __getitem__ = __setitem__ = __contains__ = _fail
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _fail
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __pow__ = __neg__ = _fail
    __lt__ = __le__ = __gt__ = __ge__ = _fail


def load(name: str, read: Callable[[], Any]) -> Any:
    """Return the value of a symbol, or an `Undefined` if it has none."""
    try:
        return read()
    except Exception:  # noqa: BLE001 - a property of the program may raise any error
        return Undefined(name)


def set_attribute(owner: Any, name: str, value: Any) -> None:
    """Set an attribute of an object. If the value is undefined, delete the attribute."""
    if not is_undefined(value):
        setattr(owner, name, value)
        return
    with contextlib.suppress(AttributeError):  # a property, or an attribute of the class
        delattr(owner, name)


def is_undefined(value: Any) -> bool:
    return type(value) is Undefined
