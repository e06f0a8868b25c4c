"""What a converted function knows as `ag__`: its control flow, its operators and its calls."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from capstan.api.autograph import (
    branches,
    builtin,
    calls,
    containers,
    for_loops,
    logic,
    loops,
    undefined,
)
from capstan.api.autograph.experimental import Feature


class Operators:
    """The operators of converted functions. With `is_recursive`, their calls convert functions."""

    Undefined = undefined.Undefined
    load = staticmethod(undefined.load)
    content = staticmethod(containers.content)
    set_content = staticmethod(containers.set_content)
    set_attribute = staticmethod(undefined.set_attribute)
    if_stmt = staticmethod(branches.if_stmt)
    if_exp = staticmethod(branches.if_exp)
    while_stmt = staticmethod(loops.while_stmt)
    for_stmt = staticmethod(for_loops.for_stmt)
    loop_options = staticmethod(loops.loop_options)
    and_ = staticmethod(logic.and_)
    or_ = staticmethod(logic.or_)
    not_ = staticmethod(logic.not_)
    eq = staticmethod(logic.eq)
    not_eq = staticmethod(logic.not_eq)
    chain = staticmethod(logic.chain)
    assert_stmt = staticmethod(builtin.assert_stmt)
    artifact = staticmethod(calls.artifact)

    def __init__(self, *, is_recursive: bool = True, features: Any = None) -> None:
        """`features` is None, a `Feature` or several: one that includes `print` converts it."""
        self._is_recursive = is_recursive
        given = (features,) if isinstance(features, Feature) else tuple(features or ())
        self._prints = bool({Feature.ALL, Feature.BUILTIN_FUNCTIONS} & {*given})

    def call(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return `function(*args, **kwargs)`. See `calls.call`."""
        if function is print and not self._prints:
            return print(*args, **kwargs)  # noqa: T201 - the call of the program
        return calls.call(function, args, kwargs, self, is_recursive=self._is_recursive)

    def converted(self, function: Any, *, warns: bool = True) -> Any:
        """Return the converted form of a function of the program. Return others as they are.

        `warns` says whether to warn about a function that cannot be converted.
        """
        if isinstance(function, functools.partial):
            inner = self.converted(function.func, warns=warns)
            return functools.partial(inner, *function.args, **function.keywords)
        if not calls.is_converted(function):
            return function
        return calls.bound(function, self, warns=warns)

    @staticmethod
    def keywords(**named: Any) -> dict[str, Any]:
        """Return the keyword arguments of a call. A name that is given twice is an error."""
        return named

    @staticmethod
    def result(value: Any) -> Any:
        """Return the result of a function, which is None if no statement has returned a value."""
        return None if undefined.is_undefined(value) else value
