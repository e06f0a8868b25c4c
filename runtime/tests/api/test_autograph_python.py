"""`tf.autograph`: programs without tensors do what they did before their conversion."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

import capstan as tf
from capstan.api.autograph.operators import Operators

if TYPE_CHECKING:
    from nowhere import Absent  # type: ignore[import-not-found]

# Each program is as odd as those of users.
# mypy: disable-error-code="exhaustive-match, name-defined, possibly-undefined, truthy-bool"
# ruff: noqa: B007, B012, F842, PIE804


class Attributes(dict[str, Any]):
    """A dictionary whose keys are attributes, as many programs have for their settings."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


def deletes(x: Any) -> Any:
    y = x
    if x:
        del y
    return x


def annotates(x: Any) -> Any:
    if x:
        y: int = 3
    else:
        y = 4
    for _ in range(2):
        z: int = y
    w: int
    return y + z


def annotates_functions(x: Any) -> Any:
    def inner(a: Absent) -> Absent:
        return a + 1

    return inner(x)


def has_any_attribute(x: Any) -> Any:
    thing = mock.MagicMock()
    if thing and not thing.other:
        x += 1
    for _ in thing:
        x += 1
    return x, thing == x, len(list(enumerate(iterable=[x])))


def has_attributes_of_keys(x: Any) -> Any:
    settings = Attributes(a=1)
    if settings and settings != {}:
        x += settings.a
    for each in settings:
        x += settings[each]
    return x, list(zip(settings, [1], strict=True))


def catches_groups(x: Any) -> Any:
    found = []
    try:
        raise ExceptionGroup("all", [ValueError(x)])
    except* ValueError as fault:
        if x:
            found.append(len(fault.exceptions))
    return found


def matches_a_rest(x: Any) -> Any:
    if x:
        match {"a": x, "b": 2}:
            case {"a": first, **rest}:
                pass
    return first, rest


def returns_in_a_finally(x: Any) -> Any:
    try:
        raise ValueError(x)
    finally:
        return x


def breaks_in_a_finally(x: Any) -> Any:
    for i in range(3):
        try:
            raise ValueError(x)
        finally:
            break
    return i


def knows_its_variables(x: Any) -> Any:
    if x:
        return "{x}".format(**locals()), eval("x + 1")
    return None


def declares_in_a_block(x: Any) -> Any:
    if x:
        global declared
        declared = 1
    declared = 2
    return globals()["declared"]


def gives_a_name_twice(x: Any) -> Any:
    def called(a: Any) -> Any:
        return a

    try:
        return called(a=x, **{"a": 2})
    except TypeError:
        return "refused"


class OfCompared(type):
    """The type of classes that have no hash."""

    def __eq__(cls, other: object) -> bool:
        return cls is other


def makes_classes_without_hash(x: Any) -> Any:
    made = OfCompared("Made", (), {})
    return isinstance(made(), made) and x


class Private:
    """Has private names, in all kinds of functions."""

    def __init__(self) -> None:
        self.__step = 2
        self.last = 0

    def __add(self, x: Any) -> Any:
        return x + self.__step

    def function(self) -> Any:
        return lambda x: self.__add(x)

    def inner(self) -> Any:
        def found(x: Any) -> Any:
            if x:
                self.__step = 3
            return self.__add(x)

        return found

    def argument(self, __x: Any) -> Any:
        __y = __x
        if __y:
            __y += self.__step
        return __y

    @property
    def unset(self) -> Any:
        raise ValueError("the property is not set")

    @unset.setter
    def unset(self, value: Any) -> None:
        self.last = value

    def sets_a_property(self, x: Any) -> Any:
        i = 0
        while i < x:
            i += 1
            self.unset = i
        return self.last


class Static:
    """An object whose call takes no object."""

    @staticmethod
    def __call__(x: Any) -> Any:
        return x + 1


CASES = [
    deletes,
    annotates,
    annotates_functions,
    has_any_attribute,
    has_attributes_of_keys,
    catches_groups,
    matches_a_rest,
    returns_in_a_finally,
    breaks_in_a_finally,
    knows_its_variables,
    declares_in_a_block,
    gives_a_name_twice,
    makes_classes_without_hash,
    Private().function(),
    Private().inner(),
    Private().argument,
    Private().sets_a_property,
    Static(),
    functools.partial(lambda y, x: y - x, 5),
    (lambda x: lambda y: lambda z: (x, y, z))(1)(2),
]


@pytest.mark.parametrize("function", CASES)
def test_a_program_without_tensors_does_what_python_does(function: Callable[..., Any]) -> None:
    assert Operators().converted(function, warns=False)(2) == function(2)


def test_partial_functions_are_converted() -> None:
    def limited(most: Any, x: Any) -> Any:
        if x > most:
            return most
        return x

    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.Dataset.range(4).map(functools.partial(limited, tf.constant(2, tf.int64)))
        element = tf.data.make_one_shot_iterator(dataset).get_next()
        assert [session.run(element) for _ in range(4)] == [0, 1, 2, 2]


def test_a_function_too_deep_for_the_conversion_runs_as_it_is(tmp_path: Any) -> None:
    file = tmp_path / "deep.py"
    file.write_text(f"def deep(x):\n    return {' + '.join(['x'] * 900)}\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), file, "exec"), names)
    assert Operators().converted(names["deep"], warns=False)(1) == 900
