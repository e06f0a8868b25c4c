"""Nodes that one call runs together give the values, errors and updates of nodes that run alone."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import examples
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.core import dtypes, tensor_shape
from capstan.core import node as ir
from capstan.executor import joint, siblings
from capstan.framework import opdef, ops  # noqa: F401 - fills the registry
from capstan.framework.raw import raw
from capstan.graph import order
from capstan.hardware import cpu_loops
from capstan.kernels import registry

COLUMNS = 4
CPU = "/device:CPU:0"
PREFIXES = ("", "Resource")


def refuse(*_: object) -> None:
    raise AssertionError("the nodes ran one after another")


Random = np.random.Generator
Values = tuple[Any, ...]


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    # Only kernels of CPUs join nodes.
    with tf.Graph().as_default() as graph, tf.device(CPU):
        yield graph


def lookup(random: Random) -> tuple[Any, Any, Any]:
    """Return a table, the rows to look up, and the example that each row is for."""
    table = random.normal(size=(random.integers(1, 9), 3)).astype(np.float32)
    count = random.integers(1, 40)
    ids = np.sort(random.integers(0, 12, count))
    return table, random.integers(0, len(table), count), ids


def gradient(random: Random) -> Values:
    table, indices, ids = lookup(random)
    grad = random.normal(size=(ids[-1] + random.integers(1, 3), 3)).astype(np.float32)
    return grad, indices, ids, np.int32(len(table))


def incomplete(random: Random) -> Values:
    """Return a sparse matrix in which some rows have no values."""
    sizes = np.array([random.integers(1, 12), 5])
    is_there = random.random(sizes) < 0.3
    is_there[random.integers(sizes[0]), 0] = True
    indices = np.argwhere(is_there)
    return indices, random.integers(0, 99, len(indices)), sizes, np.int64(random.integers(99))


def words(random: Random) -> Values:
    return (
        np.array([random.bytes(random.integers(80)) for _ in range(random.integers(1, 50))], "O"),
    )


def sums(random: Random) -> Values:
    count, rows = random.integers(1, 30), random.integers(1, 6)
    data = random.normal(size=(count, 2)).astype(np.float32)
    return data, random.integers(0, rows, count), np.int32(rows)


def gather(random: Random) -> Values:
    table, indices, _ = lookup(random)
    return table, np.concatenate([indices, indices])


def selection(random: Random) -> Values:
    shape = (random.integers(1, 6), 3)
    is_chosen = random.random(shape[0]) < random.choice([0, 0.5])
    return is_chosen, random.normal(size=shape), random.normal(size=shape)


def stored(indices: tf.Tensor, values: tf.Tensor, shape: tf.Tensor) -> Any:
    variants = raw.SerializeSparse(indices, values, shape, out_type=tf.variant)
    return raw.DeserializeSparse(variants, dtype=values.dtype)


BUCKETS = iter(range(10, 10_000))
OPS: dict[str, tuple[Callable[[Random], Values], Callable[..., Any]]] = {
    "StringToHashBucketFast": (
        words,
        lambda x: raw.StringToHashBucketFast(x, num_buckets=next(BUCKETS)),
    ),
    "SparseFillEmptyRows": (incomplete, raw.SparseFillEmptyRows),
    "Unique": (lambda random: (random.integers(0, 20, random.integers(1, 40)),), raw.Unique),
    "Select": (selection, raw.Select),
    "Shape": (lambda random: selection(random)[1:2], raw.Shape),
    "StridedSlice": (
        lambda random: (random.normal(size=(random.integers(2, 9), 3)), random.integers(0, 2, 1)),
        lambda x, at: raw.StridedSlice(x, at, at + 1, [1], shrink_axis_mask=1),
    ),
    "Cast": (lambda random: selection(random)[1:2], lambda x: raw.Cast(x, DstT=tf.int32)),
    "DeserializeSparse": (lambda random: incomplete(random)[:3], stored),
    "ZerosLike": (lambda random: selection(random)[1:2], raw.ZerosLike),
    "Gather": (lambda random: lookup(random)[:2], raw.Gather),
    "GatherV2": (gather, lambda table, at: raw.GatherV2(table, at, 0)),
    "UnsortedSegmentSum": (sums, raw.UnsortedSegmentSum),
    **{f"SparseSegment{kind}": (lookup, getattr(raw, f"SparseSegment{kind}")) for kind in
       ("Sum", "Mean", "SqrtN")},
    **{f"SparseSegment{kind}Grad": (gradient, getattr(raw, f"SparseSegment{kind}Grad")) for kind in
       ("Sum", "Mean", "SqrtN")},
}  # fmt: skip
UPDATES = ("Adagrad", "AdagradV2", "ProximalAdagrad", "AdagradDA", "Adadelta", "RMSProp",
           "CenteredRMSProp", "Ftrl", "FtrlV2", "Momentum", "ProximalGradientDescent")  # fmt: skip
UPDATE_OPS = [
    *(f"{prefix}SparseApply{name}" for name in UPDATES for prefix in PREFIXES),
    "ResourceSparseApplyKerasMomentum",
]


def column(op: str, random: Random) -> tuple[list[tf.Tensor], dict[tf.Tensor, Any]]:
    """Return the outputs of a node of `op`, and the values to feed. Their sizes are unknown."""
    draw, make = OPS[op]
    fed = {}
    for value in map(np.asarray, draw(random)):
        dtype = tf.string if value.dtype == object else value.dtype
        fed[tf.placeholder(dtype, [None] * value.ndim)] = value
    made = make(*fed)
    return list(made) if isinstance(made, tuple) else [made], fed


def columns(op: str, seed: int) -> tuple[list[tf.Tensor], dict[tf.Tensor, Any]]:
    random = np.random.default_rng(seed)
    outputs, fed = [], {}
    for _ in range(COLUMNS):
        tensors, values = column(op, random)
        outputs += tensors
        fed |= values
    return outputs, fed


def test_every_op_that_can_be_joined_is_tested_here() -> None:
    joined = {row.name for row in opdef.all_rows() if registry.has_joining(row.name, "CPU")}
    assert joined == {*OPS, *UPDATE_OPS, "ResourceGather"}
    assert not any(registry.has_joining(op, "GPU") for op in joined)


@pytest.fixture(params=[False, True], ids=["NumPy", "compiled"])
def is_compiled(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Run a test with the calls of NumPy that loops begin with, and with their compiled form."""
    compiled = mock.patch.object(cpu_loops.Spent, "pays", return_value=True)
    with compiled if request.param else contextlib.nullcontext():
        yield request.param


@pytest.mark.e2e
@pytest.mark.usefixtures("is_compiled")
@pytest.mark.parametrize("op", OPS)
@given(seed=st.integers(0, 10_000))
@settings(
    max_examples=examples.share(25), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_nodes_that_run_together_give_the_values_of_nodes_that_run_alone(
    op: str, seed: int
) -> None:
    with tf.Graph().as_default(), tf.device(CPU), tf.Session() as session:
        outputs, fed = columns(op, seed)
        with mock.patch.object(joint.Joint, "_one_by_one", refuse):
            together = session.run(outputs, fed)
    assert_nodes_alone_give(together, outputs, fed)


def assert_nodes_alone_give(
    together: list[Any], outputs: list[tf.Tensor], fed: dict[tf.Tensor, Any]
) -> None:
    with (
        tf.Session(graph=outputs[0].graph) as session,
        mock.patch.object(joint, "join", return_value=None) as join,
    ):
        values = session.run(outputs, fed)
    assert join.called
    for found, alone in zip(together, values, strict=True):
        assert found.dtype == alone.dtype
        if found.dtype.kind == "f":
            # Sums of 40 float32, which are added in another order.
            np.testing.assert_allclose(found, alone, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(found, alone)


@pytest.mark.usefixtures("is_compiled")
@pytest.mark.parametrize("op", ["SparseFillEmptyRows", "SparseSegmentSum", "SparseSegmentMeanGrad"])
def test_nodes_with_transposed_tables_run_together(op: str) -> None:
    random, (draw, make) = np.random.default_rng(0), OPS[op]
    outputs: list[tf.Tensor] = []
    fed: dict[tf.Tensor, Any] = {}
    for _ in range(COLUMNS):
        table, *others = map(np.asarray, draw(random))
        transposed = tf.placeholder(table.dtype, [None, None])
        fed[transposed] = table.T
        made = make(tf.transpose(transposed), *others)
        outputs += made if isinstance(made, tuple) else [made]
    with tf.Session() as session, mock.patch.object(joint.Joint, "_one_by_one", refuse):
        together = session.run(outputs, fed)
    assert_nodes_alone_give(together, outputs, fed)


REFUSED: dict[str, tuple[int, Any, str]] = {
    "SparseSegmentMean": (2, 10**6, "segment ids are not increasing"),
    "SparseSegmentSum": (1, 99, "Bad: indices[0] == 99 out of range [0, "),
    "SparseSegmentMeanGrad": (2, -1, "Segment id -1 out of range [0, "),
    "UnsortedSegmentSum": (1, 99, "segment_ids[0] = 99 is out of range [0, "),
    "SparseFillEmptyRows": (0, 99, "indices[0] = 99 is not in [0, "),
    "GatherV2": (1, -1, "indices[0] = -1 is not in [0, "),
    "Select": (0, [], "Number of batches of 'then' must match size of 'cond', but saw: "),
}


@pytest.mark.usefixtures("is_compiled")
@pytest.mark.parametrize("op", REFUSED)
def test_the_error_of_one_node_is_the_same_and_names_the_node(op: str) -> None:
    outputs, fed = columns(op, seed=0)
    names = list(dict.fromkeys(tensor.op for tensor in outputs))
    place, wrong, message = REFUSED[op]
    if isinstance(wrong, list):
        fed[names[2].inputs[place]] = wrong
    else:
        fed[names[2].inputs[place]].flat[0] = wrong
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(outputs, fed)
    assert message in str(caught.value)
    assert caught.value.op is names[2]


@pytest.mark.usefixtures("is_compiled")
@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("SparseSegmentSum", "segment_ids should be the same size as dimension 0 of input."),
        ("SparseSegmentSumGrad", "segment_ids and indices should have same size."),
    ],
)
def test_ids_of_two_nodes_that_fit_together_do_not_fit_each_node(op: str, message: str) -> None:
    outputs, fed = columns(op, seed=0)
    one, other = outputs[0].op.inputs[2], outputs[1].op.inputs[2]
    fed[one], fed[other] = np.append(fed[one], fed[one][-1]), fed[other][:-1]
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(outputs, fed)
    assert message in str(caught.value)
    assert caught.value.op is outputs[0].op


@pytest.mark.usefixtures("is_compiled")
@pytest.mark.parametrize(
    ("op", "place", "size", "wrong"),
    [
        ("UnsortedSegmentSum", 2, -1, 1),
        ("SparseSegmentSumGrad", 3, -1, 1),
        ("SparseFillEmptyRows", 2, -1, 1),
        ("SparseFillEmptyRows", 2, 1 << 62, 4),  # The sum of four such sizes wraps around to 0.
    ],
)
def test_sizes_that_no_result_has_are_refused(op: str, place: int, size: int, wrong: int) -> None:
    outputs, fed = columns(op, seed=0)
    for node in list(dict.fromkeys(tensor.op for tensor in outputs))[:wrong]:
        fed[node.inputs[place]].flat[0] = size
    with tf.Session() as session, pytest.raises(tf.errors.OpError) as caught:
        session.run(outputs, fed)
    assert caught.value.op is outputs[0].op


@pytest.mark.parametrize(
    ("op", "is_joined"), [("Gather", True), ("GatherV2", True), ("SparseSegmentSum", False)]
)
def test_large_tables_are_not_copied(op: str, is_joined: bool) -> None:
    table = np.ones((1 << 17, 16), np.float32)
    outputs, fed = [], {}
    for _ in range(COLUMNS):
        tensors, values = column(op, np.random.default_rng(0))
        outputs += tensors
        fed |= dict(zip(values, [table, *list(values.values())[1:]], strict=True))
    alone = joint.Joint._one_by_one
    with (
        tf.Session() as session,
        mock.patch.object(joint.Joint, "_one_by_one", autospec=True, side_effect=alone) as ran,
    ):
        session.run(outputs, fed)
    assert ran.called is not is_joined


@pytest.mark.usefixtures("is_compiled")
def test_rows_of_resource_variables_are_read_together() -> None:
    random = np.random.default_rng(0)
    tables = [tf.get_variable(f"t{n}", initializer=random.normal(size=(5, 2)), use_resource=True)
              for n in range(COLUMNS)]  # fmt: skip
    indices = [random.integers(0, 5, size) for size in (1, 7, 3, 2)]
    pairs = list(zip(tables, indices, strict=True))
    rows = [tf.gather(table, places) for table, places in pairs]
    assert {each.op.inputs[0].op.type for each in rows} == {"ResourceGather"}
    with tf.Session() as session, mock.patch.object(joint.Joint, "_one_by_one", refuse):
        session.run(tf.global_variables_initializer())
        for found, (table, places) in zip(session.run(rows), pairs, strict=True):
            np.testing.assert_array_equal(found, session.run(table)[places])


class Tables:
    """Variables of several columns, each with the slots that an update needs, and the updates."""

    def __init__(self, op: str, indices: list[list[int]], *, shared: bool = False) -> None:
        row = opdef.lookup(op)
        self._random = np.random.default_rng(0)
        names = [argument.name for argument in row.input_arguments]
        slots = min(names.index(name) for name in ("grad", "lr", "alpha") if name in names)
        self._resource = op.startswith("Resource")
        groups = [[self._variable() for _ in range(slots)] for _ in indices]
        self.cells = [cell for group in groups for cell in group]
        self.start = [self._assign(cell) for cell in self.cells]
        self.updates = []
        for group, places in zip(
            [groups[0]] * len(groups) if shared else groups, indices, strict=True
        ):
            given = {"grad": self._values(len(places)), "indices": places, "lr_power": -0.5}
            given["global_step"] = np.int64(3)
            inputs = [given.get(name, 0.1) for name in names[slots:]]
            self.updates.append(getattr(raw, op)(*group, *inputs))

    def values(self) -> list[Any]:
        read = (
            (lambda v: raw.ReadVariableOp(v, dtype=tf.float64)) if self._resource else raw.Identity
        )
        return [read(cell) for cell in self.cells]

    def _values(self, count: int) -> Any:
        return self._random.random((count, 2)) + 0.1

    def _variable(self) -> Any:
        return (raw.VarHandleOp if self._resource else raw.VariableV2)(
            dtype=tf.float64, shape=[6, 2], shared_name=f"table{next(NUMBERS)}"
        )

    def _assign(self, cell: Any) -> Any:
        return (raw.AssignVariableOp if self._resource else raw.Assign)(cell, self._values(6))


NUMBERS = itertools.count()
DISTINCT = [[5, 0, 2], [1], [3, 4, 0, 2, 5]]


def updated(tables: Tables, *, together: bool) -> list[Any]:
    with tf.Session() as session:
        session.run(tables.start)
        for updates in [tables.updates] if together else [[each] for each in tables.updates]:
            session.run(updates)
        return session.run(tables.values())


@pytest.mark.e2e
@pytest.mark.usefixtures("is_compiled")
@pytest.mark.parametrize("op", UPDATE_OPS)
def test_updates_that_run_together_change_the_variables_as_updates_that_run_alone(op: str) -> None:
    tables = Tables(op, DISTINCT)
    expected = updated(tables, together=False)
    with mock.patch.object(joint.Joint, "_one_by_one", refuse):
        found = updated(tables, together=True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.usefixtures("is_compiled")
@pytest.mark.parametrize("op", ["SparseApplyAdagrad", "ResourceSparseApplyAdagrad"])
@pytest.mark.parametrize(
    ("indices", "shared"), [([[5, 0, 5], [1], [3, 3]], False), ([[5, 0], [1], [3]], True)]
)
def test_updates_that_cannot_be_joined_run_one_after_another(
    op: str, indices: list[list[int]], shared: bool
) -> None:
    tables = Tables(op, indices, shared=shared)
    expected = updated(tables, together=False)
    for one, other in zip(updated(tables, together=True), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.usefixtures("is_compiled")
def test_a_wrong_row_of_one_table_is_the_error_of_its_update() -> None:
    tables = Tables("SparseApplyAdagrad", [[0], [1], [6]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"= 6 is not in \[0, 6\)") as caught:
        updated(tables, together=True)
    assert caught.value.op is tables.updates[2].op


FLOAT = {"T": dtypes.float32}
SHAPE = tensor_shape.TensorShape([])
V = ir.Node("v", "VariableV2", attrs={"dtype": dtypes.float32, "shape": SHAPE})


@st.composite
def segments(draw: st.DrawFn) -> list[ir.Node]:
    nodes = [V, ir.Node("read", "Identity", (ir.Edge("v"),), attrs=FLOAT)]
    choices = ["Neg", "Neg", "Abs", "Identity", *draw(st.sampled_from([[], ["AssignAdd"]]))]
    for index in range(draw(st.integers(0, 14))):
        op = draw(st.sampled_from(choices))
        values = [node.name for node in nodes if node.op not in ("VariableV2", "AssignAdd")]
        source = ir.Edge(draw(st.sampled_from(values)))
        control = draw(st.lists(st.sampled_from([node.name for node in nodes]), max_size=1))
        reads_variable = op in ("AssignAdd", "Identity")
        inputs = (ir.Edge("v"), source)[: 1 + (op == "AssignAdd")] if reads_variable else (source,)
        nodes.append(ir.Node(f"n{index}", op, inputs, tuple(control), attrs=FLOAT))
    return nodes


@pytest.mark.e2e
@given(segments())
def test_groups_depend_on_nothing_that_runs_later_and_delay_no_read_until_after_a_change(
    nodes: list[ir.Node],
) -> None:
    groups = siblings.group(
        nodes, lambda node: node.op if node.op in ("Neg", "AssignAdd") else None
    )
    place = {node.name: number for number, group in enumerate(groups) for node in group}
    assert sorted(place) == sorted(node.name for node in nodes)
    before: dict[str, set[str]] = {}
    for node in nodes:
        sources = set(order.producers(node))
        assert all(place[source] < place[node.name] for source in sources)
        before[node.name] = sources.union(*(before[source] for source in sources))
    changes = {node.name for node in nodes if node.op == "AssignAdd"}
    for node in nodes:
        if node.name not in changes and before[node.name].isdisjoint(changes):
            assert all(place[node.name] < place[change] for change in changes)


def test_only_equal_nodes_of_one_depth_run_together() -> None:
    def node(name: str, op: str, *inputs: str) -> ir.Node:
        return ir.Node(name, op, tuple(map(ir.Edge, inputs)), attrs=FLOAT)

    low = [node(name, "Neg", "v") for name in "abc"]
    high = [node(f"above_{name}", "Abs", name) for name in "abc"]
    nodes = [V, *low, node("d", "Neg", "a"), node("e", "Abs", "v"), *high]
    groups = siblings.group(nodes, lambda node: node.op if node.op != "VariableV2" else None)
    names = [[node.name for node in group] for group in groups]
    assert [group for group in names if len(group) > 1] == [
        ["a", "b", "c"],
        ["above_a", "above_b", "above_c"],
    ]


def test_nodes_that_are_too_few_for_a_group_keep_their_order() -> None:
    nodes = [V]
    for name in "ab":
        nodes.append(ir.Node(name, "Abs", (ir.Edge("v"),), attrs=FLOAT))
        nodes.append(ir.Node(f"above_{name}", "Neg", (ir.Edge(name),), attrs=FLOAT))
    groups = siblings.group(nodes, lambda node: node.op)
    assert [node for group in groups for node in group] == nodes


def test_a_node_that_reads_a_fed_tensor_does_not_wait_for_the_node_of_the_tensor() -> None:
    with tf.Graph().as_default(), tf.device(CPU), tf.Session() as session:
        numbers = [tf.placeholder(tf.int64, [None]) for _ in range(3)]
        found = [raw.Unique(each) for each in numbers]
        fed = found[0].y
        late = raw.Unique(fed, name="A").y
        feeds = {each: [4, 4, place] for place, each in enumerate(numbers)}
        fetched = session.run([late, found[0].idx, found[1].y, found[2].y], {**feeds, fed: [9, 8]})
    assert [value.tolist() for value in fetched] == [[9, 8], [0, 0, 1], [4, 1], [4, 2]]
