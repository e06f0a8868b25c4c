"""Groups of elementwise nodes are one node, with the values of the separate nodes."""

from collections.abc import Iterator, Sequence

import examples
import numpy as np
import pytest
import strict
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.core import dtypes, recording
from capstan.core import node as ir
from capstan.executor import elementwise_groups
from capstan.graph import infer
from capstan.hardware import cpu, device
from capstan.partition import partition
from capstan.resources import containers

HERE = "/job:worker/replica:0/task:0"
GPU, OTHER = f"{HERE}/device:GPU:0", f"{HERE}/device:GPU:1"
CPU = f"{HERE}/device:CPU:0"
X = ir.Edge("x")


def node(op: str, name: str, *inputs: str, control: Sequence[str] = (), on: str = GPU) -> ir.Node:
    return ir.Node(name, op, tuple(map(ir.Edge, inputs)), tuple(control), on, {"T": dtypes.float32})


def fused(*nodes: ir.Node, fetches: Sequence[str]) -> dict[str, ir.Node]:
    """Return the nodes of a part that reads the vector `x`, after its groups were fused."""
    known = infer.Knowledge({X: infer.Fed(dtypes.float32, (16,))})
    for each in nodes:
        known.learn(each)
    graph = {each.name: each for each in nodes}
    edges = [ir.Edge(name) for name in fetches]
    tasks = dict.fromkeys(graph, HERE)
    (part,) = partition.partition(graph, tasks, [X], edges, known, HERE).values()
    devices = device.Devices([strict.Strict(GPU), strict.Strict(OTHER), *cpu.create(HERE, None)])
    resources = containers.ResourceManager(devices=devices).for_session()
    return {each.name: each for each in elementwise_groups.fuse(part, resources).nodes}


def test_a_group_is_one_node_with_the_name_of_its_result() -> None:
    found = fused(
        node("Tanh", "a", "x"), node("Mul", "b", "a", "x"), node("Neg", "c", "b"), fetches=["c"]
    )
    assert [each.op for each in found.values()] == ["_Elementwise"]
    assert found["c"].inputs == (X,)
    calls = found["c"].attrs["program"].calls
    assert [call.function for call in calls] == ["tanh", "multiply", "negative"]


@pytest.mark.parametrize(
    ("nodes", "fetches"),
    [
        pytest.param(
            [node("Softmax", "a", "x"), node("Neg", "b", "a")], ["b"], id="not elementwise"
        ),
        pytest.param(
            [node("Tanh", "a", "x"), node("Softmax", "b", "a"), node("Mul", "c", "a", "b")],
            ["c"],
            id="a node between",
        ),
    ],
)
def test_nodes_that_cannot_run_together_stay(
    nodes: Sequence[ir.Node], fetches: Sequence[str]
) -> None:
    assert fused(*nodes, fetches=fetches) == {each.name: each for each in nodes}


def test_a_tensor_that_others_need_is_a_result() -> None:
    found = fused(
        node("Tanh", "a", "x"),
        node("Neg", "b", "a"),
        node("Softmax", "c", "b"),
        fetches=["a", "b", "c"],
    )
    assert set(found) == {"a", "c"}
    assert found["a"].attrs["program"].results == (1, 2)
    assert found["c"].inputs == (ir.Edge("a", 1),)


def test_a_node_that_waits_for_a_member_waits_for_the_group() -> None:
    found = fused(
        node("Tanh", "a", "x"),
        node("Neg", "b", "a"),
        node("Softmax", "c", "x", control=["b"]),
        fetches=["a", "b", "c"],
    )
    assert found["c"].control == ("a",)


def test_a_group_waits_for_the_control_inputs_of_all_its_nodes() -> None:
    found = fused(
        node("Softmax", "first", "x"),
        node("Tanh", "a", "x", control=["first"]),
        node("Neg", "b", "a"),
        fetches=["b", "first"],
    )
    assert found["b"].control == ("first",)
    assert "a" not in found


def test_equal_groups_are_recorded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes: list[ir.Node] = []
    for layer in range(4):
        before = f"s{layer - 1}" if layer else "x"
        nodes += [node("Tanh", f"a{layer}", before), node("Mul", f"b{layer}", f"a{layer}", before)]
        nodes.append(node("Softmax", f"s{layer}", f"b{layer}"))
    made: list[object] = []
    record = recording.Recorder.program

    def counted(recorder: recording.Recorder, results: Sequence[recording.Traced]) -> object:
        made.append(results)
        return record(recorder, results)

    monkeypatch.setattr(recording.Recorder, "program", counted)
    found = fused(*nodes, fetches=["s3"])
    programs = [each.attrs["program"] for each in found.values() if each.op == "_Elementwise"]
    assert len(programs) == 4
    assert all(program is programs[0] for program in programs)
    assert len(made) == 3  # of a Tanh, of a Mul, and of both


def test_groups_that_read_their_inputs_in_another_order_have_other_programs() -> None:
    found = fused(
        node("Softmax", "y", "x"),
        node("Tanh", "a", "x"),
        node("Sub", "b", "a", "y"),
        node("Softmax", "between", "b"),
        node("Tanh", "c", "between"),
        node("Sub", "d", "y", "c"),
        fetches=["d"],
    )
    first, second = (each for each in found.values() if each.op == "_Elementwise")
    assert first.attrs["program"] != second.attrs["program"]


def test_nodes_of_two_devices_are_no_group() -> None:
    nodes = [node("Tanh", "a", "x", on=OTHER), node("Neg", "b", "a")]
    assert fused(*nodes, fetches=["b"]) == {each.name: each for each in nodes}


def test_a_tensor_that_is_smaller_than_the_result_is_computed_once() -> None:
    value = {"value": np.zeros((3, 16), np.float32), "dtype": dtypes.float32}
    sizes = ir.Node("sizes", "Const", (), (), GPU, value)
    nodes = [node("Tanh", "a", "x"), sizes, node("Add", "b", "a", "sizes")]
    assert fused(*nodes, fetches=["b"])["a"].op == "Tanh"


def of_truths(on: str) -> list[ir.Node]:
    """Return nodes that compare, choose and convert."""
    types = {"SrcT": dtypes.bool_, "DstT": dtypes.float32}
    return [
        node("Tanh", "t", "x", on=on),
        node("Less", "is_small", "t", "x", on=on),
        node("Select", "chosen", "is_small", "t", "x", on=on),
        ir.Node("weight", "Cast", (ir.Edge("is_small"),), (), on, types),
        node("Mul", "y", "chosen", "weight", on=on),
    ]


def test_a_cpu_compares_and_chooses_within_a_group() -> None:
    found = fused(*of_truths(CPU), fetches=["y", "is_small"])
    (group,) = found.values()
    assert group.op == "_Elementwise"
    assert group.attrs["Tin"] == [dtypes.float32]
    assert group.attrs["Tout"] == [dtypes.bool_, dtypes.float32]


def test_a_gpu_compares_and_chooses_node_by_node() -> None:
    assert len(fused(*of_truths(GPU), fetches=["y", "is_small"])) == 5


@pytest.mark.parametrize(
    "condition_shape", [pytest.param((1,), id="refused"), pytest.param((2, 16), id="too large")]
)
def test_a_choice_that_a_step_refuses_is_in_no_group(condition_shape: tuple[int, ...]) -> None:
    value = {"value": np.zeros(condition_shape, bool), "dtype": dtypes.bool_}
    nodes = [
        node("Tanh", "t", "x", on=CPU),
        ir.Node("condition", "Const", (), (), CPU, value),
        node("Select", "chosen", "condition", "t", "x", on=CPU),
        node("Neg", "y", "chosen", on=CPU),
    ]
    found = fused(*nodes, fetches=["y"])
    assert found["chosen"].op == "Select"


@pytest.fixture(scope="module")
def _device() -> Iterator[None]:
    with strict.installed():
        yield


UNARY = [tf.tanh, tf.sigmoid, tf.nn.relu, tf.square, tf.negative, tf.nn.elu, tf.exp, tf.sqrt]
BINARY = [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.squared_difference, tf.nn.bias_add]
STEP = st.tuples(st.integers(0, 15), st.integers(0, 99), st.integers(0, 99))


@pytest.mark.e2e
@pytest.mark.usefixtures("_device")
@settings(max_examples=examples.share(30), deadline=None)
@given(steps=st.lists(STEP, min_size=1, max_size=12), fetched=st.sets(st.integers(0, 99)))
def test_a_graph_has_the_same_values_with_and_without_groups(
    steps: list[tuple[int, int, int]], fetched: set[int]
) -> None:
    def build() -> list[tf.Tensor]:
        values = [x, bias, tf.constant(0.5)]
        for function, one, other in steps:
            first, second = values[one % len(values)], values[other % len(values)]
            if function < len(UNARY):
                values.append(UNARY[function](first))
            elif function < len(UNARY) + 5:
                values.append(BINARY[function - len(UNARY)](first, second))
            else:
                values.append(tf.nn.bias_add(x * first, bias))
        wanted = [values[-1], *(values[index % len(values)] for index in sorted(fetched))]
        return [*wanted, *tf.gradients(values[-1], [x, bias])]

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2])
        bias = tf.placeholder(tf.float32, [2])
        results = []
        for name in ("/gpu:0", "/cpu:0"):
            with tf.device(name):
                results.append([tensor for tensor in build() if tensor is not None])
        feeds = {x: [[-1, 0.5], [2, 0], [0.25, -3]], bias: [0.75, -1]}
        for found, expected in zip(*session.run(results, feeds), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, strict=True)


def test_a_group_does_not_delay_a_read_until_after_a_change() -> None:
    ones = np.ones((16, 16), np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [16, 16])
        v = tf.get_variable("v", initializer=0 * ones, use_resource=False)
        change = v.assign_add(ones)
        with tf.control_dependencies([change]):
            late = tf.tanh(x)
        early = tf.square(x) + 1.0
        both = late * early
        read = tf.add(early, tf.abs(v), "read")
        session.run(v.initializer)
        _, found = session.run([both, read], {x: ones})
    np.testing.assert_array_equal(found, 2 * ones)


@pytest.mark.e2e
def test_a_sum_of_many_large_tensors_stays_the_same_in_later_steps() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [100_000])
        parts = [tf.identity(x[:1]) * float(number) for number in range(70)]
        total = tf.add_n([x + part for part in parts]) * 2.0
        value = np.ones(100_000, np.float32)
        found = [session.run(total, {x: value})[0] for _ in range(40)]
    assert found == [2.0 * (70 + sum(range(70)))] * 40
