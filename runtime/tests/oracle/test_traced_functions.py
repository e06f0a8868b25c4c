"""`tf.function` in a graph: Capstan and TensorFlow trace alike, and compute the same values."""

from typing import Any

import autograph_programs
import comparison
import genuine
import pytest
import traced_programs

import capstan

pytestmark = genuine.MARKS


def outcome(tf: Any, program: traced_programs.Program) -> tuple[list[Any], Any]:
    with tf.Graph().as_default():
        fetches, facts = program(tf)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            values = session.run(fetches)
        return tf.nest.flatten(values), facts


@pytest.mark.parametrize("program", traced_programs.PROGRAMS, ids=lambda program: program.__name__)
def test_a_traced_function_gives_tensorflows_values(
    program: traced_programs.Program, v1: Any
) -> None:
    found, facts = outcome(capstan, program)
    wanted, wanted_facts = outcome(v1, program)
    assert facts == wanted_facts
    for value, expected in zip(found, wanted, strict=True):
        comparison.close(value, expected, 1e-5)


@pytest.mark.parametrize("program", autograph_programs.PORTABLE, ids=lambda each: each[0].__name__)
def test_a_converted_function_gives_tensorflows_values(
    program: autograph_programs.Program, v1: Any
) -> None:
    function, calls = program

    def called(tf: Any) -> tuple[Any, Any]:
        traced = tf.function(function)
        tensors = [
            [tf.placeholder_with_default(value, []) for value in arguments] for arguments in calls
        ]
        return [traced(*arguments) for arguments in tensors], None

    found, _ = outcome(capstan, called)
    wanted, _ = outcome(v1, called)
    for value, expected in zip(found, wanted, strict=True):
        comparison.close(value, expected, 1e-5)
