"""The methods that a class of distributions implements, and those that it leaves out."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn


def absent(method: str) -> Callable[..., Any]:
    """Return the method of a class that does not implement the public method `method`."""

    def missing(self: Any, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"{method} is not implemented: {type(self).__name__}")

    return missing


def first(ways: Sequence[Callable[..., Any]], *arguments: Any) -> Any:
    """Return the result of the first way that is implemented, or raise the error of the first."""
    missing: NotImplementedError | None = None
    for way in ways:
        try:
            return way(*arguments)
        except NotImplementedError as error:
            missing = missing or error
    raise missing or NotImplementedError("no way is given")
