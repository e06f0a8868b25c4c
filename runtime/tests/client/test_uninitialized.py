"""The error of a variable without a value names the initializer that the program needs."""

from collections.abc import Callable
from typing import Any

import pytest

import capstan as tf

READS: dict[str, Callable[[Any], Any]] = {
    "fetched": lambda variable: variable,
    "used": lambda variable: variable + 1.0,
    "changed": lambda variable: variable.assign_add(1.0),
}

ADVICE = {
    "variables": r"Run tf\.global_variables_initializer\(\), built after all variables",
    "local_variables": r"Run tf\.local_variables_initializer\(\)",
    "mine": "Run the initializer of this variable",
}


@pytest.mark.parametrize("collection", ADVICE)
@pytest.mark.parametrize("read", READS.values(), ids=list(READS))
@pytest.mark.parametrize("is_resource", [False, True])
def test_the_error_names_the_initializer_and_the_line_of_the_program(
    collection: str, read: Callable[[Any], Any], is_resource: bool
) -> None:
    with tf.variable_scope("here"):
        made = tf.Variable(1.0, name="v", collections=[collection], use_resource=is_resource)
    fetched = read(made)
    with tf.Session() as session, pytest.raises(tf.errors.OpError, match="here/v") as raised:
        session.run(fetched)
    first, *_ = str(raised.value).splitlines()
    raised.match(ADVICE[collection])
    assert "Run t" in first, "the last line of a log that is not indented"
    assert raised.value.op is not None


def test_an_error_about_another_thing_keeps_its_message() -> None:
    missing = tf.placeholder(tf.float32, name="x")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as raised:
        session.run(missing + 1.0)
    assert "Run " not in raised.value.message
