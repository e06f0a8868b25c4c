"""Random programs with conditions, loops, TensorArrays, variables and queues.

The reference interpreter runs the graph that TensorFlow builds, and gives TensorFlow's values.
Capstan gives the same values: for the graph that its own API builds, and for the graph of a
TensorFlow client, on one task and on three.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import genuine
import numpy as np
import programs
import pytest
import reference
from hypothesis import HealthCheck, Phase, given, settings
from tensorboard.compat.proto import graph_pb2

import capstan
from capstan.core import graph_def
from capstan.framework import function_def

pytestmark = genuine.MARKS

TIMEOUT_MS = 60_000
SOAK = 1000
"""The number of programs of each kind in the soak variants."""


def counts(number: int) -> Any:
    """Return the numbers of programs: `number`, and `SOAK` in the soak variant."""
    soak = pytest.param(SOAK, marks=[pytest.mark.soak, pytest.mark.timeout(7200)])
    return pytest.mark.parametrize("count", [number, soak])


EXAMPLES = (
    # Only control inputs read the state inside of this loop.
    programs.Program(
        (programs.While(2, 10.0, (1,), (programs.Update(0, 2, 0),), 1, 0),), ((0.0, -1.0),)
    ),
    programs.Program(
        (
            programs.While(
                3, 1e30, (1,), (programs.Dequeue(1, 0), programs.Update(1, 2, 0)), 10, 0
            ),
            programs.Collect(2, 1, (programs.Update(0, 0, 0),), 0),
        ),
        ((0.0, 3.0), (1.0, 1.0)),
    ),
)


PLACED_EXAMPLES = (
    # The body of the inner loop has the constants of the outer one, which are on another task.
    programs.Program(
        (
            programs.While(
                3,
                0.0,
                (28, 19),
                (
                    programs.Constant(1.0, 4),
                    programs.Constant(1.0, 3),
                    programs.While(
                        0,
                        0.0,
                        (10,),
                        (
                            programs.Arithmetic("maximum", 0, 18, 4),
                            programs.Arithmetic("maximum", 2, 0, 0),
                        ),
                        1,
                        0,
                    ),
                ),
                10,
                1,
            ),
        ),
        ((1.0, 1.0),),
    ),
)


def check(
    count: int,
    strategy: Any,
    check_one: Callable[[programs.Program], None],
    examples: Sequence[programs.Program] = (),
) -> None:
    """Call `check_one` with the examples and with `count` programs of the strategy.

    Hypothesis shrinks no failure, because a graph takes too long.
    """
    for program in examples:
        check_one(program)

    @settings(
        max_examples=count,
        # The short variant always draws the same programs; the soak variant draws new ones.
        derandomize=count < SOAK,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
    )
    @given(program=strategy)
    def check_all(program: programs.Program) -> None:
        check_one(program)

    check_all()


@pytest.fixture(scope="session")
def plain(v1: Any) -> Any:
    """A configuration with which TensorFlow runs a graph as it is."""
    config = v1.ConfigProto(device_count={"CPU": 2})
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    return config


@pytest.fixture(scope="module")
def three_tasks() -> Iterator[genuine.Tasks]:
    started = genuine.Tasks(cpus=2, ps=1, worker=2)
    yield started
    started.close()


def interpreted(
    graph: Any, builder: programs.Builder, program: programs.Program, fetches: Any
) -> list[Any]:
    """Return what `programs.results` returns, of the reference interpreter."""
    message = graph_pb2.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    library = function_def.decode(message.library)
    interpreter = reference.Interpreter(graph_def.decode(message), library)
    interpreter.run([], targets=[builder.initializer.name])
    names = [fetch.name for fetch in fetches]
    return [interpreter.run(names, {builder.x.name: np.float32(fed)}) for fed in program.feeds]


def built(
    tf: Any, program: programs.Program, has_gradient: bool, **options: Any
) -> tuple[programs.Builder, list[Any]]:
    """Build a program, and return what to fetch."""
    builder = programs.Builder(tf, program, **options)
    if not has_gradient:
        return builder, builder.values
    (gradient,) = tf.gradients(builder.total(), [builder.x])
    return builder, builder.values if gradient is None else [*builder.values, gradient]


def reference_values(v1: Any, program: programs.Program, has_gradient: bool) -> list[Any]:
    with v1.Graph().as_default() as graph:
        builder, fetches = built(v1, program, has_gradient, use_resource=True)
        return interpreted(graph, builder, program, fetches)


PROGRAMS = {False: programs.programs, True: programs.pure_programs}
KINDS = pytest.mark.parametrize("has_gradient", [False, True], ids=["values", "gradients"])


@KINDS
@counts(50)
def test_the_interpreter_gives_the_values_of_tensorflow(
    v1: Any, plain: Any, has_gradient: bool, count: int
) -> None:
    def check_one(program: programs.Program) -> None:
        with v1.Graph().as_default() as graph:
            builder, fetches = built(v1, program, has_gradient, use_resource=True)
            with v1.Session(config=plain) as session:
                expected = programs.results(session, builder, program, fetches)
            programs.check_equal(interpreted(graph, builder, program, fetches), expected)

    check(count, PROGRAMS[has_gradient], check_one, () if has_gradient else EXAMPLES)


@KINDS
@counts(50)
def test_the_api_gives_the_values_of_the_interpreter(
    v1: Any, has_gradient: bool, count: int
) -> None:
    config = capstan.ConfigProto(operation_timeout_in_ms=TIMEOUT_MS)

    def check_one(program: programs.Program) -> None:
        expected = reference_values(v1, program, has_gradient)
        with capstan.Graph().as_default():
            builder, fetches = built(capstan, program, has_gradient)
            with capstan.Session(config=config) as session:
                found = programs.results(session, builder, program, fetches)
        programs.check_equal(found, expected)

    strategy = programs.pure_programs if has_gradient else programs.unmixed_programs
    check(count, strategy, check_one, () if has_gradient else EXAMPLES)


@KINDS
@counts(50)
def test_a_tensorflow_client_gets_the_values_of_the_interpreter(
    v1: Any, three_tasks: genuine.Tasks, has_gradient: bool, count: int
) -> None:
    config = v1.ConfigProto(operation_timeout_in_ms=TIMEOUT_MS)

    def check_one(program: programs.Program) -> None:
        expected = reference_values(v1, program, has_gradient)
        v1.Session.reset(three_tasks.target())
        with v1.Graph().as_default():
            builder, fetches = built(v1, program, has_gradient, use_resource=True)
            with v1.Session(three_tasks.target(), config=config) as session:
                found = programs.results(session, builder, program, fetches)
        programs.check_equal(found, expected)

    check(count, PROGRAMS[has_gradient], check_one, () if has_gradient else EXAMPLES)


@counts(50)
def test_placements_on_three_tasks_change_no_value(
    v1: Any, three_tasks: genuine.Tasks, count: int
) -> None:
    config = v1.ConfigProto(operation_timeout_in_ms=TIMEOUT_MS)

    def check_one(program: programs.Program) -> None:
        expected = reference_values(v1, program, has_gradient=False)
        v1.Session.reset(three_tasks.target())
        with v1.Graph().as_default():
            builder = programs.Builder(v1, program, programs.DEVICES, use_resource=True)
            with v1.Session(three_tasks.target(), config=config) as session:
                found = programs.results(session, builder, program, builder.values)
        programs.check_equal(found, expected)

    check(count, programs.placed_programs, check_one, PLACED_EXAMPLES)
