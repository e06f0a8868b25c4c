"""Conditionals and loops that TensorFlow builds as functions (control flow v2), with gradients.

Their graphs hold lists and optionals. Capstan gives TensorFlow's values, in a local session of its
own API and to a TensorFlow client whose graph, with the bodies of all functions, is on three tasks.
"""

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import functional_programs
import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

PROGRAMS = functional_programs.PROGRAMS
DEVICES = ("/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1")


@pytest.fixture(scope="module")
def three_tasks() -> Iterator[genuine.Tasks]:
    started = genuine.Tasks(ps=1, worker=2)
    yield started
    started.close()


@pytest.fixture(autouse=True)
def _functional(v1: Any) -> Iterator[None]:
    v1.enable_control_flow_v2()
    yield
    v1.disable_control_flow_v2()


def spread(op: Any) -> str:
    """Return the device of a node: the ps for a variable, and any task for other nodes."""
    if op.type in ("VarHandleOp", "VariableV2"):
        return DEVICES[0]
    return DEVICES[zlib.crc32(op.name.encode()) % len(DEVICES)]


def without_devices(graph: Any) -> Any:
    message = graph.as_graph_def()
    for nodes in (message.node, *(function.node_def for function in message.library.function)):
        for node in nodes:
            node.device = ""
    return message


def check_same(found: Sequence[Any], wanted: Sequence[Any]) -> None:
    for value, expected in zip(found, wanted, strict=True):
        assert np.asarray(value).dtype == np.asarray(expected).dtype
        if np.asarray(value).dtype == object:
            np.testing.assert_array_equal(value, expected)
        else:
            np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "name", [name for name in PROGRAMS if name not in functional_programs.REFUSED_BY_TENSORFLOW]
)
def test_a_program_has_the_values_of_tensorflow(
    v1: Any, three_tasks: genuine.Tasks, name: str
) -> None:
    with v1.Graph().as_default() as graph:
        with v1.device(spread):
            fetches = PROGRAMS[name](v1)
        names = [tensor.name for tensor in fetches]
        initialise = v1.global_variables_initializer()
        with v1.Session(
            three_tasks.target(), config=v1.ConfigProto(operation_timeout_in_ms=60_000)
        ) as session:
            session.run(initialise)
            found = session.run(fetches)
    bare = without_devices(graph)
    with v1.Graph().as_default():
        v1.import_graph_def(bare, name="")
        with v1.Session() as session:
            session.run(initialise.name)
            expected = session.run(names)
    check_same(found, expected)
    with capstan.Graph().as_default():
        ours = capstan.GraphDef.FromString(bare.SerializeToString())
        capstan.import_graph_def(ours, name="")
        with capstan.Session() as session:
            session.run(initialise.name)
            check_same(session.run(names), expected)


@pytest.fixture
def _functional_capstan() -> Iterator[None]:
    capstan.enable_control_flow_v2()
    yield
    capstan.disable_control_flow_v2()


@pytest.mark.usefixtures("_functional_capstan")
@pytest.mark.parametrize(
    "name",
    [
        name
        for name in PROGRAMS
        if name not in functional_programs.REFUSED_BY_TENSORFLOW | functional_programs.OF_TENSORFLOW
    ],
)
def test_tensorflow_runs_the_functions_that_capstan_builds(v1: Any, name: str) -> None:
    with capstan.Graph().as_default() as graph:
        fetches = PROGRAMS[name](capstan)
        initialise = capstan.global_variables_initializer()
        with capstan.Session() as session:
            session.run(initialise)
            found = session.run(fetches)
    assert not [op for op in graph.get_operations() if op.type in ("Switch", "Enter")]
    built = v1.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with v1.Graph().as_default():
        v1.import_graph_def(built, name="")
        with v1.Session() as session:
            session.run(initialise.name)
            check_same(found, session.run([tensor.name for tensor in fetches]))
