"""Graphs: names, elements, default graphs, collections, threads. Messages are TensorFlow's."""

import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.core import node
from capstan.framework import graph as graphs


@pytest.fixture
def graph() -> Iterator[graphs.Graph]:
    with graphs.Graph().as_default() as graph:
        yield graph


# --- names


def test_a_new_graph_has_no_operations(graph: graphs.Graph) -> None:
    assert graph.get_operations() == []
    assert graph.version == 0


def test_a_variable_is_four_operations(graph: graphs.Graph) -> None:
    tf.Variable(1.0, name="var")
    assert str(graph.get_operations()) == (
        "[<tf.Operation 'var/initial_value' type=Const>, <tf.Operation 'var' type=VariableV2>, "
        "<tf.Operation 'var/Assign' type=Assign>, <tf.Operation 'var/read' type=Identity>]"
    )


def test_names_that_are_in_use_get_numbers(graph: graphs.Graph) -> None:
    names = [tf.constant(0, name=name).op.name for name in ("a", "a", "a_1", "a", "b/a", "b/a")]
    assert names == ["a", "a_1", "a_1_1", "a_2", "b/a", "b/a_1"]


def test_operations_are_named_after_their_type(graph: graphs.Graph) -> None:
    x = tf.constant(1.0)
    assert [t.op.name for t in (x, tf.exp(x), tf.exp(x), x + 1.0)] == [
        "Const",
        "Exp",
        "Exp_1",
        "add",
    ]
    assert [op.name for op in graph.get_operations()][-2:] == ["add/y", "add"]


def test_a_string_tensor_prints_as_in_tensorflow(graph: graphs.Graph) -> None:
    for _ in range(4):
        tf.constant(0)
    assert str(tf.constant("a")) == 'Tensor("Const_4:0", shape=(), dtype=string)'


def test_a_tensor_prints_its_name_shape_dtype_and_device(graph: graphs.Graph) -> None:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.placeholder(tf.int32, name="y")
    with tf.device("/cpu:0"):
        z = tf.identity(x, name="z")
    assert repr(x) == "<tf.Tensor 'x:0' shape=(?, 2) dtype=float32>"
    assert str(x) == 'Tensor("x:0", shape=(?, 2), dtype=float32)'
    assert repr(y) == "<tf.Tensor 'y:0' shape=<unknown> dtype=int32>"
    assert str(y) == 'Tensor("y:0", dtype=int32)'
    assert str(z) == 'Tensor("z:0", shape=(?, 2), dtype=float32, device=/device:CPU:0)'


@pytest.mark.parametrize("name", ["_a", "a b", "a:0", "ä", "-a", "/a", "^a"])
def test_an_invalid_name_is_refused(graph: graphs.Graph, name: str) -> None:
    with pytest.raises(ValueError, match=r"is not a valid (node|scope) name"):
        tf.constant(0, name=name)
    with pytest.raises(ValueError, match="is not a valid scope name"), tf.name_scope(name):
        pass


def test_a_name_with_a_trailing_slash_is_used_without_a_number(graph: graphs.Graph) -> None:
    assert graph.create_op("NoOp", [], name="a/b/").name == "a/b"
    with pytest.raises(ValueError, match="Duplicate node name in graph: 'a/b'"):
        graph.create_op("NoOp", [], name="a/b/")
    assert graph.create_op("NoOp", [], name="a/b").name == "a/b_1"


# --- elements


MISSING = (
    "The name 'nope:0' refers to a Tensor which does not exist. The operation, 'nope', does not "
    "exist in the graph."
)
FEW = (
    "The name 'x:3' refers to a Tensor which does not exist. The operation, 'x', exists but only "
    "has 1 outputs."
)
FORM = 'Tensor names must be of the form "<op_name>:<output_index>".'


@pytest.mark.parametrize(
    "look_up, kind, message",
    [
        (lambda g: g.get_tensor_by_name("nope:0"), KeyError, MISSING),
        (lambda g: g.get_tensor_by_name("x:3"), KeyError, FEW),
        (
            lambda g: g.get_tensor_by_name("x:-1"),
            ValueError,
            f"The name 'x:-1' looks a like a Tensor name, but is not a valid one. {FORM}",
        ),
        (
            lambda g: g.get_tensor_by_name("x:a"),
            ValueError,
            f"The name 'x:a' looks a like a Tensor name, but is not a valid one. {FORM}",
        ),
        (
            lambda g: g.get_tensor_by_name("x"),
            ValueError,
            f"The name 'x' refers to an Operation, not a Tensor. {FORM}",
        ),
        (
            lambda g: g.get_tensor_by_name("y"),
            ValueError,
            f"The name 'y' looks like an (invalid) Operation name, not a Tensor. {FORM}",
        ),
        (
            lambda g: g.get_tensor_by_name(3),
            TypeError,
            "Tensor names are strings (or similar), not int.",
        ),
        (
            lambda g: g.get_operation_by_name("y"),
            KeyError,
            "The name 'y' refers to an Operation not in the graph.",
        ),
        (
            lambda g: g.get_operation_by_name("x:0"),
            ValueError,
            "Name 'x:0' appears to refer to a Tensor, not a Operation.",
        ),
        (
            lambda g: g.get_operation_by_name(None),
            TypeError,
            "Operation names are strings (or similar), not NoneType.",
        ),
        (
            lambda g: g.as_graph_element(None),
            TypeError,
            "Can not convert a NoneType into a Tensor or Operation.",
        ),
        (
            lambda g: g.as_graph_element(3),
            TypeError,
            "Can not convert a int into a Tensor or Operation.",
        ),
        (
            lambda g: g.as_graph_element(g.get_tensor_by_name("x:0"), allow_tensor=False),
            TypeError,
            "Can not convert a Tensor into a Operation.",
        ),
        (
            lambda g: g.as_graph_element("x", False, False),
            ValueError,
            "allow_tensor and allow_operation can't both be False.",
        ),
    ],
)
def test_a_failed_lookup_raises_tensorflows_error(
    graph: graphs.Graph, look_up: Any, kind: type[Exception], message: str
) -> None:
    tf.constant(0, name="x")
    with pytest.raises(kind) as caught:
        look_up(graph)
    assert caught.value.args[0] == message


def test_elements_are_found_by_name_by_identity_and_through_variables(
    graph: graphs.Graph,
) -> None:
    v = tf.Variable(1.0, name="v")
    ref = graph.get_tensor_by_name("v:0")
    assert graph.as_graph_element("v:0") is graph.as_graph_element(b"v:0") is ref
    assert graph.as_graph_element(v) is ref
    assert graph.as_graph_element(ref) is ref
    assert graph.get_operation_by_name("v") is ref.op is graph.as_graph_element("v")
    assert graph.as_graph_element(ref.op) is ref.op


def test_an_element_of_another_graph_is_refused(graph: graphs.Graph) -> None:
    x = tf.constant(0, name="x")
    other = graphs.Graph()
    with pytest.raises(ValueError, match=r"Tensor Tensor.* is not an element of this graph."):
        other.as_graph_element(x)
    with pytest.raises(ValueError, match=r"Operation name|is not an element of this graph."):
        other.as_graph_element(x.op)
    with other.as_default():
        y = tf.constant(1, name="y")
    with pytest.raises(
        ValueError, match=r'Tensor\("y:0".* must be from the same graph as Tensor\("x:0"'
    ):
        tf.add(x, y)
    with pytest.raises(ValueError, match="is not an element of the graph that NoOp is added to"):
        other.create_op("NoOp", [x])


def test_an_operation_is_added_to_the_graph_of_its_inputs(graph: graphs.Graph) -> None:
    x = tf.constant(1.0)
    with graphs.Graph().as_default() as other:
        assert tf.exp(x).graph is graph
        assert (x + 2.0).graph is graph
    assert other.get_operations() == []


def test_the_consumers_of_a_tensor_are_the_operations_that_read_it(graph: graphs.Graph) -> None:
    x = tf.constant(1.0)
    assert x.consumers() == []
    y, z = tf.exp(x), tf.add(x, x)
    assert set(x.consumers()) == {y.op, z.op}


def test_tensors_are_hashable_and_equal_only_to_themselves(graph: graphs.Graph) -> None:
    x, y = tf.constant(1.0), tf.constant(1.0)
    assert {x: 1, y: 2}[y] == 2
    assert x != y
    assert (x == x) is True
    assert [x, y].index(y) == 1


@pytest.mark.parametrize(
    "use, message",
    [
        (
            bool,
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not "
            "None:` instead of",
        ),
        (
            list,
            "'Tensor' object is not iterable. Use tf.unstack if the size of axis 0 is known, "
            "and otherwise tf.map_fn",
        ),
    ],
)
def test_a_tensor_is_not_a_bool_and_not_iterable(
    graph: graphs.Graph, use: Any, message: str
) -> None:
    with pytest.raises(TypeError) as caught:
        use(tf.constant([1, 2]))
    assert str(caught.value).startswith(message)


def test_set_shape_adds_known_sizes_and_refuses_contradictions(graph: graphs.Graph) -> None:
    x = tf.placeholder(tf.float32)
    x.set_shape([None, 2])
    x.set_shape([3, None])
    assert x.get_shape() == [3, 2]
    with pytest.raises(ValueError, match=r"Shapes \(3, 2\) and \(4, 2\) are not compatible"):
        x.set_shape([4, 2])
    assert x.shape == [3, 2]


# --- default graph and session


def test_default_graph_blocks_nest(graph: graphs.Graph) -> None:
    assert tf.get_default_graph() is graph
    with graphs.Graph().as_default() as inner:
        assert tf.get_default_graph() is inner
    assert tf.get_default_graph() is graph


def test_resetting_the_default_graph_is_refused_in_a_block() -> None:
    before = tf.get_default_graph()
    tf.reset_default_graph()
    assert tf.get_default_graph() is not before
    with (
        graphs.Graph().as_default(),
        pytest.raises(AssertionError, match=r"Do not use tf.reset_def"),
    ):
        tf.reset_default_graph()


def test_default_graph_blocks_must_end_in_reverse_order() -> None:
    first, second = graphs.Graph().as_default(), graphs.Graph().as_default()
    first.__enter__()
    second.__enter__()
    with pytest.raises(AssertionError, match="Nesting violated for default stack of Graph objects"):
        first.__exit__(None, None, None)
    second.__exit__(None, None, None)


def test_a_new_thread_starts_with_a_graph_of_its_own(graph: graphs.Graph) -> None:
    seen: list[graphs.Graph] = []
    thread = threading.Thread(target=lambda: seen.append(tf.get_default_graph()))
    graph.switch_to_thread_local()
    thread.start()
    thread.join()
    assert seen[0] is not graph


NO_SESSION = (
    "Cannot evaluate tensor using `eval()`: No default session is registered. Use "
    "`with sess.as_default()` or pass an explicit session to `eval(session=sess)`"
)


def test_evaluating_needs_a_session_of_the_same_graph(graph: graphs.Graph) -> None:
    class Elsewhere:
        graph = graphs.Graph()

    x = tf.constant(1.0)
    with pytest.raises(ValueError) as caught:
        x.eval()
    assert str(caught.value) == NO_SESSION
    with pytest.raises(ValueError, match="Cannot execute operation using `run"):
        x.op.run()
    with pytest.raises(
        ValueError, match="the tensor's graph is different from the session's graph"
    ):
        x.eval(session=Elsewhere())
    with pytest.raises(ValueError, match="the operation's graph is different"):
        x.op.run(session=Elsewhere())


# --- finalized graphs


def test_a_finalized_graph_refuses_changes(graph: graphs.Graph) -> None:
    tf.constant(0)
    graph.finalize()
    assert graph.finalized
    for change in (
        lambda: tf.constant(1),
        lambda: tf.add_to_collection("a", 1),
        lambda: graph.clear_collection("a"),
    ):
        with pytest.raises(RuntimeError, match=r"^Graph is finalized and cannot be modified.$"):
            change()
    assert graph.version == 1


# --- the IR


def test_nodes_since_a_version_are_those_added_after_it(graph: graphs.Graph) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    seen = graph.version
    with tf.control_dependencies([x]), tf.device("/job:ps"):
        tf.exp(tf.constant(1.0, name="c"), name="y")
    c, y = graph.nodes(since=seen)
    assert (c.name, c.control, c.device) == ("c", ("x",), "/job:ps")
    # `y` needs no control input, because it reads `c`, which waits for `x`.
    assert y == node.Node("y", "Exp", (node.Edge("c"),), (), "/job:ps", {"T": tf.float32})
    assert [each.name for each in graph.nodes()] == ["x", "c", "y"]
    assert graph.nodes(graph.version) == []


def test_the_graph_def_holds_nodes_inputs_and_shapes(graph: graphs.Graph) -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    tf.matmul(x, np.ones((3, 1)), name="y")
    message = graph.as_graph_def(add_shapes=True)
    assert [each.name for each in message.node] == ["x", "y/b", "y"]
    assert list(message.node[2].input) == ["x", "y/b"]
    assert message.node[2].attr["_output_shapes"].list.shape[0].dim[1].size == 1
    assert [each.name for each in graph.as_graph_def(from_version=2).node] == ["y"]
    assert graph.get_operation_by_name("y").node_def == graph.as_graph_def().node[2]


def test_attributes_are_python_values(graph: graphs.Graph) -> None:
    op = tf.constant([1, 2], name="c").op
    assert op.get_attr("dtype") is tf.int32
    assert op.get_attr("value").tolist() == [1, 2]
    with pytest.raises(ValueError, match="No attr named 'foo' in c"):
        op.get_attr("foo")


def test_an_unknown_op_can_be_built_if_its_output_types_are_given(graph: graphs.Graph) -> None:
    op = graph.create_op("NoSuchOp", [tf.constant(1)], [tf.float32, tf.int32], name="x")
    assert [t.dtype for t in op.outputs] == [tf.float32, tf.int32]
    assert op.outputs[0].shape.ndims is None
    assert op.op_def is None
    with pytest.raises(tf.errors.NotFoundError, match="Op type not registered 'NoSuchOp'"):
        graph.create_op("NoSuchOp", [])


# --- collections


def test_a_collection_is_read_as_a_copy_and_changed_through_its_live_list(
    graph: graphs.Graph,
) -> None:
    v, w = tf.Variable(1.0, name="a/v"), tf.Variable(1.0, name="b/w")
    assert graph.get_collection("variables") == [v, w]
    assert tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="a/") == [v]
    tf.add_to_collections(["mine", "mine", "yours"], 3)
    tf.add_to_collections("mine", 4)
    assert tf.get_collection("mine") == [3, 4]
    assert tf.get_collection("mine", scope="a") == []
    tf.get_collection_ref("mine").append(5)
    assert tf.get_collection("mine") == [3, 4, 5]
    live = graph.get_collection_ref("mine")
    assert type(live) is list
    assert (live[0], live[-2:]) == (3, [4, 5])
    del live[0]
    live[0:1] = [3, 4]
    assert tf.get_collection("mine") == [3, 4, 5]
    tf.get_collection("mine").append(6)
    assert tf.get_collection("mine") == [3, 4, 5]
    graph.clear_collection("mine")
    assert tf.get_collection("mine") == []
    assert "yours" in graph.collections
    assert graph._collections["yours"] is graph.get_collection_ref("yours")
    with pytest.raises(KeyError, match="mine"):
        graph._collections["mine"]
    assert all(isinstance(key, str) for key in graph.get_all_collection_keys())


def test_feeding_and_fetching_can_be_prevented(graph: graphs.Graph) -> None:
    x = tf.constant(1.0)
    assert graph.is_feedable(x)
    assert graph.is_fetchable(x)
    graph.prevent_feeding(x)
    graph.prevent_fetching(x.op)
    assert not graph.is_feedable(x)
    assert not graph.is_fetchable(x)
    assert not graph.is_fetchable(x.op)


# --- threads


@pytest.mark.e2e
def test_several_threads_build_one_graph_at_once(graph: graphs.Graph) -> None:
    threads, rounds = 8, 50
    start = threading.Barrier(threads)
    errors: list[BaseException] = []

    def build(index: int) -> None:
        try:
            start.wait()
            with graph.as_default(), graph.device(f"/task:{index}"), graph.name_scope("same"):
                x = tf.constant(float(index))
                for _ in range(rounds):
                    x = x + 1.0
                    assert x.device == f"/task:{index}"
        except BaseException as error:  # noqa: BLE001 - the main thread reports it
            errors.append(error)

    workers = [threading.Thread(target=build, args=(index,)) for index in range(threads)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    names = [op.name for op in graph.get_operations()]
    assert len(names) == len(set(names)) == threads * (1 + 2 * rounds) == graph.version
    position = {name: index for index, name in enumerate(names)}
    for op in graph.get_operations():
        assert op.creation_index == position[op.name] + 1
        assert all(position[tensor.op.name] < position[op.name] for tensor in op.inputs)
    assert len({name.split("/")[0] for name in names}) == threads


def test_the_versions_of_a_graph_are_those_of_its_graph_def() -> None:
    graph = tf.Graph()
    assert graph.graph_def_versions == graph.as_graph_def().versions
    assert graph.graph_def_versions.producer > 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.constant(1),
        lambda: tf.no_op(),
        lambda: tf.SparseTensor([[0]], [1], [2]),
        lambda: tf.IndexedSlices(tf.constant([1]), tf.constant([0])),
        lambda: tf.Variable(1),
        lambda: tf.Variable(1, use_resource=True),
    ],
)
def test_programs_may_add_attributes_to_objects_of_a_graph(make: Callable[[], Any]) -> None:
    with tf.Graph().as_default():
        made = make()
        made._uses_learning_phase = True
        assert made._uses_learning_phase
        weakref.ref(made)


def test_attributes_may_be_messages() -> None:
    from tensorboard.compat.proto import attr_value_pb2

    graph = tf.Graph()
    dtype = attr_value_pb2.AttrValue(type=tf.int32.as_datatype_enum)
    value = attr_value_pb2.AttrValue(tensor=tf.make_tensor_proto([5, 7]))
    op = graph.create_op("Const", [], [tf.int32], attrs={"dtype": dtype, "value": value})
    op._set_attr("_hint", attr_value_pb2.AttrValue(s=b"x"))
    assert op.get_attr("dtype") is tf.int32
    assert op.get_attr("_hint") == b"x"
    assert op.node_def.attr["value"] == value
    with tf.Session(graph=graph) as session:
        assert session.run(op.outputs[0]).tolist() == [5, 7]


def test_the_definition_of_an_op_has_the_fields_of_its_message(graph: tf.Graph) -> None:
    definition = tf.one_hot([1], 3).op.op_def
    assert [argument.name for argument in definition.input_arg] == [
        *("indices", "depth", "on_value", "off_value")
    ]
    assert [argument.type_attr for argument in definition.output_arg] == ["T"]
    assert {attribute.name for attribute in definition.attr} == {"axis", "T", "TI"}
    assert not definition.is_stateful
    assert tf.random_shuffle([1]).op.op_def.is_stateful


def test_an_operation_is_printed_as_its_node(graph: tf.Graph) -> None:
    with tf.device("/cpu:0"):
        op = tf.add(1.0, 2.0, name="sum").op
    assert str(op) == str(op.node_def)
    assert str(op).startswith('name: "sum"\nop: "Add"\ninput: "sum/x"\ninput: "sum/y"\ndevice:')
    assert repr(op) == "<tf.Operation 'sum' type=Add>"
