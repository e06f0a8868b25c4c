"""Random programs with conditions, loops, TensorArrays, variables and queues.

The reference interpreter runs the graph that TensorFlow builds, and gives TensorFlow's values.
"""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import programs
import pytest
import reference
from hypothesis import HealthCheck, Phase, given, settings
from tensorboard.compat.proto import graph_pb2

from capstan.core import graph_def
from capstan.framework import function_def

pytestmark = genuine.MARKS

COUNTS = pytest.mark.parametrize(
    "count", [100, pytest.param(1000, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)


def check(count: int, strategy: Any, check_one: Callable[[programs.Program], None]) -> None:
    """Call `check_one` with `count` programs. Their graphs take too long to shrink a failure."""

    @settings(
        max_examples=count,
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


@COUNTS
def test_the_interpreter_gives_tensorflows_values(v1: Any, plain: Any, count: int) -> None:
    def check_one(program: programs.Program) -> None:
        with v1.Graph().as_default() as graph:
            builder = programs.Builder(v1, program, use_resource=True)
            with v1.Session(config=plain) as session:
                expected = programs.results(session, builder, program, builder.values)
            programs.check_equal(interpreted(graph, builder, program, builder.values), expected)

    check(count, programs.programs, check_one)


@COUNTS
def test_the_interpreter_gives_tensorflows_gradients(v1: Any, plain: Any, count: int) -> None:
    def check_one(program: programs.Program) -> None:
        with v1.Graph().as_default() as graph:
            builder = programs.Builder(v1, program, use_resource=True)
            (gradient,) = v1.gradients(builder.total(), [builder.x])
            fetches = builder.values if gradient is None else [*builder.values, gradient]
            with v1.Session(config=plain) as session:
                expected = programs.results(session, builder, program, fetches)
            programs.check_equal(interpreted(graph, builder, program, fetches), expected)

    check(count, programs.pure_programs, check_one)
