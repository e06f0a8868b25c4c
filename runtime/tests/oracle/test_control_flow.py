"""Conditionals, loops and TensorArrays give TensorFlow's graphs and TensorFlow's values."""

import collections
from collections.abc import Sequence
from typing import Any

import control_flow_programs
import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

PROGRAMS = control_flow_programs.PROGRAMS
every_program = pytest.mark.parametrize("name", PROGRAMS)

CONTROL_FLOW = frozenset({
    "ControlTrigger", "Enter", "Exit", "LoopCond", "Merge", "NextIteration", "RefEnter",
    "RefSwitch", "StackPopV2", "StackPushV2", "StackV2", "Switch", "TensorArrayConcatV3",
    "TensorArrayGatherV3", "TensorArrayGradV3", "TensorArrayReadV3", "TensorArrayScatterV3",
    "TensorArraySizeV3", "TensorArraySplitV3", "TensorArrayV3", "TensorArrayWriteV3",
})  # fmt: skip
ATTRIBUTES = (
    "T", "clear_after_read", "dtype", "dynamic_size", "elem_type", "element_shape",
    "element_shape_except0", "frame_name", "identical_element_shapes", "is_constant",
    "parallel_iterations", "source", "swap_memory",
)  # fmt: skip
OWN_GRADIENTS = frozenset({
    # The rules of these ops and the zeros of a side that is not taken differ from TensorFlow's.
    "arrays", "growing", "loop in cond", "second order of cond", "slices of unknown rank",
    "sparse gradient",
})  # fmt: skip


@pytest.fixture(scope="module")
def expected(v1: Any) -> dict[str, tuple[list[Any], Any]]:
    """The values and the GraphDef of each program in TensorFlow."""
    v1.disable_control_flow_v2()
    results = {}
    for name, program in PROGRAMS.items():
        with v1.Graph().as_default() as graph:
            fetches = program(v1)
            with v1.Session() as session:
                results[name] = session.run(fetches), graph.as_graph_def()
    return results


def check_same(found: Sequence[Any], wanted: Sequence[Any]) -> None:
    for value, expected_value in zip(found, wanted, strict=True):
        assert np.asarray(value).dtype == np.asarray(expected_value).dtype
        np.testing.assert_allclose(value, expected_value, rtol=1e-4, atol=1e-6)


def control_flow(graph_def: Any) -> dict[str, Any]:
    """Return op and attributes of each operation of control flow outside gradients, by name."""
    return {
        node.name.replace("GatherV2", "Gather"): (
            node.op,
            {key: node.attr[key] for key in ATTRIBUTES if key in node.attr},
        )
        for node in graph_def.node
        if node.op in CONTROL_FLOW and not node.name.startswith("gradients")
    }


def counts(graph_def: Any) -> collections.Counter[str]:
    """Return how many operations of control flow there are of each kind."""
    return collections.Counter(node.op for node in graph_def.node if node.op in CONTROL_FLOW)


@every_program
def test_tensorflow_runs_the_graph_that_capstan_builds(
    v1: Any, expected: dict[str, tuple[list[Any], Any]], name: str
) -> None:
    with capstan.Graph().as_default() as graph:
        fetches = [tensor.name for tensor in PROGRAMS[name](capstan)]
    built = v1.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with v1.Graph().as_default():
        v1.import_graph_def(built, name="")
        with v1.Session() as session:
            check_same(session.run(fetches), expected[name][0])
    if name == "switch cases":
        # TensorFlow adds an op that calls functions.
        return
    theirs = expected[name][1]
    assert control_flow(built) == control_flow(theirs)
    if name not in OWN_GRADIENTS:
        assert counts(built) == counts(theirs)


@every_program
def test_a_local_session_gives_the_values_of_tensorflow(
    expected: dict[str, tuple[list[Any], Any]], name: str
) -> None:
    with capstan.Graph().as_default():
        fetches = list(PROGRAMS[name](capstan))
        with capstan.Session() as session:
            check_same(session.run(fetches), expected[name][0])
            check_same(session.run(fetches), expected[name][0])


@every_program
def test_another_task_gives_the_values_of_tensorflow(
    tasks: genuine.Tasks, expected: dict[str, tuple[list[Any], Any]], name: str
) -> None:
    with capstan.Graph().as_default(), capstan.device("/job:ps/task:0"):
        fetches = list(PROGRAMS[name](capstan))
        with capstan.Session(tasks.target()) as session:
            check_same(session.run(fetches), expected[name][0])


@every_program
def test_the_graph_of_a_tensorflow_client_gives_the_values_of_tensorflow(
    v1: Any, tasks: genuine.Tasks, expected: dict[str, tuple[list[Any], Any]], name: str
) -> None:
    with v1.Graph().as_default(), v1.device("/job:ps/task:0"):
        fetches = PROGRAMS[name](v1)
        with v1.Session(tasks.target()) as session:
            check_same(session.run(fetches), expected[name][0])
