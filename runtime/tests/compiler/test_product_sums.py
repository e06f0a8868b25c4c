"""Sums of products are the product of stacked matrices, with the values of the separate nodes."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import strict
from exact import integers
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf
from capstan.core import dtypes
from capstan.core import node as ir
from capstan.executor import product_sums
from capstan.graph import infer
from capstan.hardware import cpu, device
from capstan.partition import partition
from capstan.resources import containers

HERE = "/job:worker/replica:0/task:0"
CPU, GPU = f"{HERE}/device:CPU:0", f"{HERE}/device:GPU:0"
SHAPES = {"a": (None, 300), "b": (None, 200), "few": (None, 50), "vague": (None, None)}
FED = {ir.Edge(name): infer.Fed(dtypes.float32, shape) for name, shape in SHAPES.items()}


def product(
    name: str,
    inputs: Sequence[str] = ("a", "b"),
    *,
    turns: tuple[bool, bool] = (True, False),
    control: Sequence[str] = (),
    on: str = CPU,
) -> ir.Node:
    types = {"T": dtypes.float32, "transpose_a": turns[0], "transpose_b": turns[1]}
    return ir.Node(name, "MatMul", tuple(map(ir.Edge, inputs)), tuple(control), on, types)


def other(op: str, name: str, *inputs: str, control: Sequence[str] = (), on: str = CPU) -> ir.Node:
    attrs = {"T": dtypes.float32} | ({"N": len(inputs)} if op == "AddN" else {})
    return ir.Node(name, op, tuple(map(ir.Edge, inputs)), tuple(control), on, attrs)


def fused(*nodes: ir.Node, fetches: Sequence[str] = ("sum",)) -> dict[str, ir.Node]:
    """Return the nodes of a part that reads `FED`, after its sums were replaced."""
    known = infer.Knowledge(FED)
    for each in nodes:
        known.learn(each)
    graph = {each.name: each for each in nodes}
    edges = [ir.Edge(name) for name in fetches]
    tasks = dict.fromkeys(graph, HERE)
    (part,) = partition.partition(graph, tasks, list(FED), edges, known, HERE).values()
    devices = device.Devices([strict.Strict(GPU), *cpu.create(HERE, None)])
    resources = containers.ResourceManager(devices=devices).for_session()
    return {each.name: each for each in product_sums.fuse(part, resources).nodes}


def test_a_sum_of_products_has_one_product() -> None:
    found = fused(product("p"), product("q"), product("r"), other("AddN", "sum", "p", "q", "r"))
    assert list(found) == ["r", "sum"]
    assert found["r"].op == "_ProductSum"
    assert found["r"].inputs == (ir.Edge("a"),) * 3 + (ir.Edge("b"),) * 3
    assert found["sum"].inputs == (ir.Edge("r"),)
    assert found["sum"].attrs["N"] == 1


def test_the_sum_still_adds_the_other_tensors() -> None:
    found = fused(
        product("p"),
        other("Tanh", "t", "p"),
        product("q"),
        product("r"),
        other("AddN", "sum", "q", "t", "r"),
    )
    assert found["r"].attrs["N"] == 2
    assert found["sum"].inputs == (ir.Edge("t"), ir.Edge("r"))
    assert found["p"].op == "MatMul"


def test_the_product_waits_for_what_the_products_waited_for() -> None:
    found = fused(
        other("Tanh", "first", "a"),
        other("Tanh", "second", "b"),
        product("p", control=["first"]),
        product("q", control=["first", "second"]),
        other("AddN", "sum", "p", "q"),
    )
    assert found["q"].control == ("first", "second")


@pytest.mark.parametrize(
    ("nodes", "fetches"),
    [
        pytest.param([product("p"), other("AddN", "sum", "p")], ["sum"], id="one product"),
        pytest.param([product("p"), other("AddN", "sum", "p", "p")], ["sum"], id="one twice"),
        pytest.param(
            [product("p"), product("q"), other("AddN", "sum", "p", "q")],
            ["sum", "p"],
            id="a product is fetched",
        ),
        pytest.param(
            [
                product("p"),
                product("q"),
                other("AddN", "sum", "p", "q"),
                other("Tanh", "t", "a", control=["p"]),
            ],
            ["sum", "t"],
            id="a node waits for a product",
        ),
        pytest.param(
            [
                product("p"),
                product("q"),
                other("AddN", "sum", "p", "q"),
                other("AddN", "more", "q", "q"),
            ],
            ["sum", "more"],
            id="two sums read a product",
        ),
        pytest.param(
            [
                product("p", ("a", "vague")),
                product("q", ("a", "vague")),
                other("AddN", "sum", "p", "q"),
            ],
            ["sum"],
            id="an unknown size",
        ),
        pytest.param(
            [
                product("p", ("few", "few")),
                product("q", ("few", "few")),
                other("AddN", "sum", "p", "q"),
            ],
            ["sum"],
            id="results that are smaller than their inputs",
        ),
        pytest.param(
            [
                product("p", on=GPU),
                product("q", on=GPU),
                other("AddN", "sum", "p", "q", on=GPU),
            ],
            ["sum"],
            id="on a GPU",
        ),
        pytest.param(
            [
                product("w", ("a", "a")),
                product("p", ("w", "w"), turns=(True, True)),
                product("q", ("w", "w"), turns=(True, True)),
                other("AddN", "sum", "p", "q"),
            ],
            ["sum"],
            id="both transposed",
        ),
    ],
)
def test_other_sums_stay(nodes: Sequence[ir.Node], fetches: Sequence[str]) -> None:
    assert fused(*nodes, fetches=fetches) == {each.name: each for each in nodes}


@given(
    depths=st.lists(st.integers(0, 20), min_size=2, max_size=6),
    sizes=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    dtype=st.sampled_from([tf.float32, tf.float64]),
    more=st.booleans(),
)
def test_the_sum_is_exact_for_small_integers(
    depths: Sequence[int], sizes: tuple[int, int], dtype: tf.DType, more: bool
) -> None:
    lefts = [integers(place, depth, sizes[0]) for place, depth in enumerate(depths)]
    rights = [integers(10 + place, depth, sizes[1]) for place, depth in enumerate(depths)]
    expected = sum((a.T @ b for a, b in zip(lefts, rights, strict=True)), np.zeros(sizes))
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder(dtype, [None, size]) for size in sizes for _ in depths]
        pairs = zip(fed[: len(depths)], fed[len(depths) :], strict=True)
        products = [tf.matmul(a, b, transpose_a=True) for a, b in pairs]
        total = tf.add_n([*products, *[tf.ones(sizes, dtype)] * more])
        found = session.run(total, dict(zip(fed, [*lefts, *rights], strict=True)))
    np.testing.assert_array_equal(found, expected + more)


def _of_a_cell(session: tf.Session, fetch_each: bool) -> list[np.ndarray]:
    """Return the gradients of a cell that five steps share, and perhaps those of each step."""
    inputs = tf.unstack(tf.constant(integers(1, 5 * 3, 4).reshape(5, 3, 4) / 8), 5)
    weights = tf.get_variable("w", initializer=(integers(2, 10, 6) / 16).astype(np.float32))
    state = tf.zeros([3, 6])
    for each in inputs:
        state = tf.tanh(tf.matmul(tf.concat([each, state], 1), weights))
    (gradient,) = tf.gradients(tf.reduce_sum(state), [weights])
    session.run(weights.initializer)
    parts = list(gradient.op.inputs) if fetch_each else []
    assert gradient.op.type == "AddN"
    found: list[np.ndarray] = session.run([gradient, *parts])
    return found


def test_the_gradient_of_a_cell_is_the_sum_over_its_steps() -> None:
    found = []
    for fetch_each in (False, True):
        with tf.Graph().as_default(), tf.Session() as session:
            found.append(_of_a_cell(session, fetch_each))
    (total,), (separate, *parts) = found
    assert len(parts) == 5
    np.testing.assert_allclose(total, separate, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(total, sum(parts), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("depths", [(2, 2, 2, 3), (2, 3, 3, 2)])
def test_matrices_that_do_not_fit_are_refused_as_a_product(depths: Sequence[int]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        wanted = tf.placeholder(tf.int32, [4])
        wide, narrow = tf.ones([5, 300]), tf.ones([5, 200])
        lefts = wide[: wanted[0]], wide[: wanted[1]]
        rights = narrow[: wanted[2]], narrow[: wanted[3]]
        pairs = zip(lefts, rights, strict=True)
        total = tf.add_n([tf.matmul(a, b, transpose_a=True) for a, b in pairs])
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(total, {wanted: depths})
    assert "Matrix size-incompatible: In[0]: [2,300], In[1]: [3,200]" in caught.value.message
    assert caught.value.op is not None
    assert caught.value.op.type == "MatMul"


@pytest.mark.parametrize("when", [lambda change: [], lambda change: [change]])
def test_products_that_wait_for_other_changes_are_computed_alone(
    when: Callable[[tf.Operation], list[tf.Operation]],
) -> None:
    """One product reads a variable before a change, and the other may run after it."""
    ones = np.ones((2, 8), np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 8])
        v = tf.get_variable("v", initializer=ones, use_resource=False)
        change = v.assign_add(ones).op
        with tf.control_dependencies(when(change)):
            late = tf.matmul(x, x, transpose_a=True)
        early = tf.matmul(x, v, transpose_a=True)
        total = tf.add_n([late, early])
        session.run(v.initializer)
        found, _ = session.run([total, change], {x: ones})
    np.testing.assert_array_equal(found, np.full((8, 8), 4.0, np.float32))
