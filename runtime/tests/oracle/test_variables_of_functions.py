"""Variables that a `Defun` asks for: the scopes in the function alone decide about `reuse`.

TensorFlow gives the same results, or refuses the same programs.
"""

import importlib
from typing import Any

import genuine
import pytest

import capstan

pytestmark = genuine.MARKS


def scaled(tf: Any, inner: Any = None) -> Any:
    """Return a function that multiplies by the variable `v`, which a scope `inner` may hold."""
    module = importlib.import_module(f"{tf.__name__.split('.')[0]}.python.framework.function")

    def scale(x: Any) -> Any:
        with tf.variable_scope(tf.get_variable_scope(), reuse=inner):
            return x * tf.get_variable("v", initializer=3.0)

    return module.Defun(tf.float32)(scale)


def made_in_a_template(tf: Any) -> list[Any]:
    template = tf.make_template("part", lambda x: scaled(tf)(x))
    return [template(2.0), template(2.0)]


def reused_in_a_template(tf: Any) -> list[Any]:
    template = tf.make_template("part", lambda x: scaled(tf, tf.AUTO_REUSE)(x))
    return [template(2.0), template(2.0)]


def called_twice(tf: Any) -> list[Any]:
    function = scaled(tf)
    return [function(2.0), function(3.0)]


def new_in_a_scope_that_reuses(tf: Any) -> list[Any]:
    with tf.variable_scope("scope", reuse=True):
        return [scaled(tf)(2.0)]


def old_in_a_scope_that_reuses(tf: Any) -> list[Any]:
    with tf.variable_scope("scope"):
        tf.get_variable("v", initializer=3.0)
    with tf.variable_scope("scope", reuse=tf.AUTO_REUSE):
        return [scaled(tf)(2.0)]


def reused_in_the_function(tf: Any) -> list[Any]:
    tf.get_variable("v", initializer=4.0)
    return [scaled(tf, True)(2.0)]


PROGRAMS = {
    each.__name__: each
    for each in (
        made_in_a_template,
        reused_in_a_template,
        called_twice,
        new_in_a_scope_that_reuses,
        old_in_a_scope_that_reuses,
        reused_in_the_function,
    )
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_only_the_scopes_in_a_function_let_it_use_a_variable_again(v1: Any, program: str) -> None:
    assert outcome(capstan, program) == outcome(v1, program)


def outcome(tf: Any, program: str) -> Any:
    with tf.Graph().as_default():
        try:
            results = PROGRAMS[program](tf)
        except ValueError as error:
            return str(error).splitlines()[0][:80]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return session.run(results), [each.name for each in tf.global_variables()]
