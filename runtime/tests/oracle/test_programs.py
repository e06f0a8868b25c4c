"""Random programs with conditions, loops, TensorArrays, variables, queues and gradients.

The statements of a program are on random devices of three tasks. Each program must give the same
values in four ways: TensorFlow runs the graph, the reference interpreter runs it, three tasks of
Capstan run it for a TensorFlow client, and Capstan's API builds and runs it on one task.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import genuine
import program_builder
import programs
import pytest
import reference
from hypothesis import HealthCheck, Phase, given, reject, settings
from tensorboard.compat.proto import graph_pb2

import capstan
from capstan.core import graph_def

pytestmark = genuine.MARKS

TIMEOUT_MS = 60_000
REFUSAL = "Cannot colocate nodes"
VALUES, GRADIENTS = 100, 30
"""The numbers of programs without and with gradients. The soak variant has ten times as many."""


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
    # A loop in a branch waits for a queue and changes a variable.
    programs.Program(
        (
            programs.Cond(
                1,
                1e30,
                (
                    programs.While(
                        2, 1e30, (1,), (programs.Dequeue(1, 5), programs.Update(0, 1, 3)), 10, 1
                    ),
                ),
                (programs.Constant(1.0, 2),),
                0,
            ),
        ),
        ((0.0, 3.0), (1.0, 1.0)),
    ),
    # A loop in a branch fills a queue of another task.
    programs.Program(
        (
            programs.Enqueue(6, 3),
            programs.Cond(
                1,
                1.0,
                (programs.While(2, 1.0, (1,), (programs.Enqueue(0, 2),), 1, 6),),
                (programs.Enqueue(16, 2),),
                0,
            ),
        ),
        ((-1.0, 1.0), (0.0, 3.0)),
    ),
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
    count: int, strategy: Any, check_one: Callable[[programs.Program], None], *, is_long: bool
) -> None:
    """Call `check_one` with the examples and with `count` programs of the strategy.

    Hypothesis shrinks no failure, because a graph takes too long. The short variant always draws
    the same programs. The long variant draws new ones, and ten times as many.
    """
    for program in EXAMPLES:
        check_one(program)

    @settings(
        max_examples=10 * count if is_long else count,
        derandomize=not is_long,
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


def built(
    tf: Any, program: programs.Program, has_gradient: bool, **options: Any
) -> tuple[program_builder.Builder, list[Any]]:
    """Build a program, and return the tensors to fetch."""
    builder = program_builder.Builder(tf, program, **options)
    if not has_gradient:
        return builder, builder.values
    (gradient,) = tf.gradients(builder.total(), [builder.x])
    return builder, builder.values if gradient is None else [*builder.values, gradient]


class Interpreter(reference.Interpreter):
    """The reference interpreter as a session of a graph without functions."""

    def __init__(self, serialized: bytes) -> None:
        super().__init__(graph_def.decode(graph_pb2.GraphDef.FromString(serialized)))

    def run(self, fetches: Any, feeds: Any = None, targets: Sequence[str] = ()) -> list[Any]:
        if isinstance(fetches, str):
            return super().run([], feeds, [fetches])
        return super().run(fetches, feeds, targets)


def without_devices(v1: Any, graph: Any) -> Any:
    """Return a copy of a graph whose nodes ask for no device."""
    message = graph.as_graph_def()
    for node in message.node:
        node.ClearField("device")
    with v1.Graph().as_default() as imported:
        v1.import_graph_def(message, name="")
    return imported


class Cluster:
    """Three tasks with two devices each, of Capstan and of TensorFlow."""

    def __init__(self, v1: Any) -> None:
        self._v1 = v1
        self._config = v1.ConfigProto(device_count={"CPU": 2}, operation_timeout_in_ms=TIMEOUT_MS)
        self._tasks = genuine.Tasks(cpus=2, ps=1, worker=2)
        spec = genuine.clusters.spec(ps=1, worker=2)
        self._servers = [
            v1.train.Server(spec, job_name=job, task_index=index, config=self._config)
            for job, index in (("ps", 0), ("worker", 0), ("worker", 1))
        ]

    def close(self) -> None:
        self._tasks.close()

    def results(self, graph: Any, *run: Any) -> list[Any]:
        """Return the results of a program on the tasks of Capstan.

        If TensorFlow finds no devices for the nodes, the tasks must find none either. The program
        then runs without placements.
        """
        v1, target = self._v1, self._tasks.target()
        v1.Session.reset(target)
        try:
            with v1.Session(target, graph=graph, config=self._config) as session:
                return programs.results(session, *run)
        except v1.errors.InvalidArgumentError as refusal:
            if REFUSAL not in refusal.message:
                raise
        with (
            v1.Session(self._servers[0].target, graph=graph, config=self._config) as session,
            pytest.raises(v1.errors.InvalidArgumentError, match=REFUSAL),
        ):
            programs.results(session, *run)
        with v1.Session(target, graph=without_devices(v1, graph), config=self._config) as session:
            return programs.results(session, *run)


@pytest.fixture(scope="module")
def cluster(v1: Any) -> Iterator[Cluster]:
    started = Cluster(v1)
    yield started
    started.close()


LONG = [pytest.mark.soak, pytest.mark.timeout(7200)]


@pytest.mark.parametrize("is_long", [False, pytest.param(True, marks=LONG)], ids=["short", "long"])
@pytest.mark.parametrize("has_gradient", [False, True], ids=["values", "gradients"])
def test_all_ways_to_run_a_program_give_the_values_of_tensorflow(
    v1: Any, plain: Any, cluster: Cluster, has_gradient: bool, is_long: bool
) -> None:
    limited = capstan.ConfigProto(operation_timeout_in_ms=TIMEOUT_MS)

    def check_one(program: programs.Program) -> None:
        with v1.Graph().as_default() as graph:
            try:
                placed, fetches = built(
                    v1, program, has_gradient, devices=programs.DEVICES, use_resource=True
                )
            except AssertionError:
                # TensorFlow cannot build the gradient of each loop in a loop (gradients_util.py).
                reject()
        run = (program, placed.initializer.name, placed.x.name, [each.name for each in fetches])
        with v1.Session(graph=without_devices(v1, graph), config=plain) as session:
            expected = programs.results(session, *run)
        interpreter = Interpreter(graph.as_graph_def().SerializeToString())
        programs.check_equal(programs.results(interpreter, *run), expected)
        programs.check_equal(cluster.results(graph, *run), expected)
        with capstan.Graph().as_default(), capstan.Session(config=limited) as session:
            # A gradient may pass through a change of a reference, but not of a resource. In
            # TensorFlow too, only one of them then has a gradient of zeros.
            builder, fetches = built(capstan, program, has_gradient, use_resource=has_gradient)
            found = programs.results(session, program, builder.initializer, builder.x, fetches)
        programs.check_equal(found, expected)

    strategy = programs.differentiated if has_gradient else programs.programs
    check(GRADIENTS if has_gradient else VALUES, strategy, check_one, is_long=is_long)
