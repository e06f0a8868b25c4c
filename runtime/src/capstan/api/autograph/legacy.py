"""Names of `tf.contrib.autograph`, from before `tf.function`."""

import functools
from collections.abc import Callable
from typing import Any

from capstan.api.autograph.operators import Operators

__all__ = ["convert"]


def convert(
    recursive: bool = False, optional_features: Any = None, user_requested: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that converts a function at each call. See `tf.autograph.to_graph`.

    With `recursive`, the functions that it calls are converted too.
    """
    operators = Operators(is_recursive=recursive, features=optional_features)

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def converted(*args: Any, **kwargs: Any) -> Any:
            return operators.converted(function)(*args, **kwargs)

        return operators.artifact(converted)  # type: ignore[no-any-return]

    return decorated
