"""Scopes of a graph: names, devices, colocation, control dependencies and containers. Also groups
and seeds.
"""

from typing import Any

import pytest

import capstan as tf
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def _op(name: str = "x") -> graphs.Operation:
    return tf.constant(0, name=name).op


# --- names


def test_unique_name_marks_the_name_as_used_on_request(graph: graphs.Graph) -> None:
    assert graph.unique_name("a", mark_as_used=False) == "a"
    assert graph.unique_name("a") == "a"
    assert graph.unique_name("a", mark_as_used=False) == "a_1"
    with graph.name_scope("b"):
        assert graph.unique_name("a") == "b/a"
    assert _op("a").name == "a_1"


def test_nested_name_scopes_prefix_names_and_repeated_names_get_a_number() -> None:
    with tf.name_scope("a") as first:
        with tf.name_scope("b") as second:
            inner = _op()
        outer = _op()
    with tf.name_scope("a") as third:
        again = _op()
    assert (first, second, third) == ("a/", "a/b/", "a_1/")
    assert [op.name for op in (inner, outer, again)] == ["a/b/x", "a/x", "a_1/x"]


def test_a_name_may_be_bytes() -> None:
    assert [tf.constant(0, name=name).op.name for name in (b"x", "x", b"x")] == ["x", "x_1", "x_2"]
    with tf.name_scope(b"a") as scope:
        assert (scope, tf.add(1, 2, name=b"x").op.name) == ("a/", "a/x")
    assert tf.get_variable(b"v", [1]).name == "v:0"
    assert tf.FIFOQueue(1, tf.float32, name=b"q").name == "q"


def test_the_prefix_of_a_scope_reopens_the_scope() -> None:
    with tf.name_scope("a") as prefix:
        pass
    with tf.name_scope("b"), tf.name_scope(prefix):
        assert _op().name == "a/x"


@pytest.mark.parametrize("nothing", [None, ""])
def test_an_empty_name_leaves_all_scopes(nothing: str | None) -> None:
    with tf.name_scope("a"), tf.name_scope(nothing) as prefix:
        assert prefix == ""
        assert _op().name == "x"


def test_the_default_name_replaces_a_missing_name() -> None:
    with tf.name_scope(None, "d") as prefix:
        assert prefix == "d/"
    assert tf.name_scope(None, "d").name == "d"
    with pytest.raises(ValueError, match=r"At least one of name .None. and default_name .None."):
        tf.name_scope(None, None, [])


def test_a_name_scope_makes_the_graph_of_its_values_the_default() -> None:
    x = tf.constant(0)
    with graphs.Graph().as_default(), tf.name_scope("a", values=[x]):
        assert tf.get_default_graph() is x.graph


def test_a_scope_ends_when_its_block_fails(graph: graphs.Graph) -> None:
    with pytest.raises(RuntimeError, match=r"^oops$"), tf.name_scope("a"), tf.device("/cpu:0"):
        raise RuntimeError("oops")
    assert _op().name == "x"
    assert _op().device == ""
    assert graph.get_name_scope() == ""


def test_an_inner_scope_may_start_with_an_underscore() -> None:
    with tf.name_scope("a"), tf.name_scope("_b") as prefix:
        assert prefix == "a/_b/"


# --- devices


@pytest.mark.parametrize(
    "outer, inner, device",
    [
        ("/job:ps", "/job:worker", "/job:worker"),
        ("/job:ps/task:1", "/cpu:0", "/job:ps/task:1/device:CPU:0"),
        ("/gpu:0", "/cpu:1", "/device:CPU:1"),
        ("/job:ps/cpu:0", "/job:worker/task:2", "/job:worker/task:2/device:CPU:0"),
        ("/job:ps", None, ""),
        ("/job:ps", "", "/job:ps"),
        (None, "/cpu:0", "/device:CPU:0"),
    ],
)
def test_an_inner_device_overrides_the_outer_device_field_by_field(
    outer: str | None, inner: str | None, device: str
) -> None:
    with tf.device(outer), tf.device(inner):
        assert _op().device == device
    assert _op().device == ""


def test_a_device_block_takes_a_copy_of_a_device_spec() -> None:
    spec = tf.DeviceSpec(job="ps", task=3)
    with tf.device(spec):
        spec.job = "other"
        assert _op().device == "/job:ps/task:3"


def test_a_device_function_sees_the_operation_and_replaces_its_device() -> None:
    seen: list[tuple[str, str, str]] = []

    def choose(op: Any) -> str:
        seen.append((op.type, op.name, op.device))
        return "/job:ps" if op.type == "Const" else op.device

    with tf.device("/task:7"), tf.device(choose), tf.device("/job:worker/cpu:0"):
        x = tf.constant(1.0, name="c")
        y = tf.exp(x, name="e")
    assert seen == [
        ("Const", "c", "/job:worker/device:CPU:0"),
        ("Exp", "e", "/job:worker/device:CPU:0"),
    ]
    assert x.device == "/job:ps/task:7"
    assert y.device == "/job:worker/task:7/device:CPU:0"


def test_a_device_function_may_read_the_node_def(graph: graphs.Graph) -> None:
    def choose(op: Any) -> str:
        assert op.node_def.device == "/device:CPU:0"
        return "/job:ps"

    v = _op("v")
    with tf.device(choose), tf.device("/cpu:0"):
        x = _op("x")
    with tf.colocate_with(v), tf.device(choose), tf.device("/cpu:0"):
        y = _op("y")
    assert x.node.device == y.node.device == "/job:ps"
    assert y.node.attrs["_class"] == [b"loc:@v"]
    assert [node.device for node in graph.nodes()] == ["", "/job:ps", "/job:ps"]


@pytest.mark.parametrize("device", [None, "", tf.DeviceSpec()])
def test_a_device_function_may_return_no_device(device: Any) -> None:
    with tf.device(lambda op: device), tf.device("/cpu:0"):
        assert _op().device == ""


def test_an_invalid_device_name_is_refused() -> None:
    with (
        pytest.raises(ValueError, match="Unknown attribute: 'foo' in '/foo:1'"),
        tf.device("/foo:1"),
    ):
        raise AssertionError("the block must not be entered")
    with pytest.raises(ValueError, match="Unknown attribute"), tf.device(lambda op: "/foo:1"):
        _op()


# --- colocation


def test_a_colocated_operation_joins_the_group_and_takes_the_device() -> None:
    with tf.device("/job:ps"):
        v = _op("v")
    with tf.device("/job:worker"), tf.colocate_with(v):
        x = _op()
        with tf.device("/cpu:0"):
            y = _op("y")
    assert x.get_attr("_class") == [b"loc:@v"]
    assert x.device == "/job:ps"
    assert y.device == "/device:CPU:0"
    assert v.colocation_groups() == [b"loc:@v"]
    assert x.colocation_groups() == [b"loc:@v"]


def test_nested_colocations_add_up_and_are_inherited() -> None:
    a, b = _op("a"), _op("b")
    with tf.colocate_with(a), tf.colocate_with(b):
        both = _op()
    with tf.colocate_with(both):
        assert _op("z").get_attr("_class") == [b"loc:@a", b"loc:@b"]
    with tf.colocate_with(a), tf.colocate_with(b, ignore_existing=True):
        assert _op("y").get_attr("_class") == [b"loc:@b"]
    with tf.colocate_with(a), tf.colocate_with(None, ignore_existing=True):
        assert "_class" not in _op("w").node.attrs
    with pytest.raises(ValueError, match="Trying to reset colocation"), tf.colocate_with(None):
        pass


def test_an_operation_that_changes_a_variable_is_colocated_with_it() -> None:
    with tf.device("/job:ps/task:1"):
        v = tf.Variable(1.0, name="v")
    with tf.device("/job:worker"):
        add = v.assign_add(1.0)
    assert add.op.get_attr("_class") == [b"loc:@v"]
    assert add.device == "/job:ps/task:1"
    assert v.value().op.get_attr("_class") == [b"loc:@v"]
    delta = add.op.inputs[1].op
    assert delta.device == "/job:worker"
    assert "_class" not in delta.node.attrs


# --- control dependencies


def _waits_for(op: graphs.Operation) -> list[str]:
    return sorted(other.name for other in op.control_inputs)


def test_only_operations_created_in_the_block_wait() -> None:
    a = _op("a")
    before = tf.constant(1.0, name="before")
    with tf.control_dependencies([a]):
        inside = tf.identity(before)
    after = _op("after")
    assert _waits_for(inside.op) == ["a"]
    assert _waits_for(before.op) == _waits_for(after) == []


def test_control_dependencies_add_up_and_none_ignores_outer_blocks() -> None:
    a, b, c = _op("a"), _op("b"), _op("c")
    with tf.control_dependencies([a]):
        with tf.control_dependencies([b]):
            both = _op()
        with tf.control_dependencies(None):
            free = _op()
            with tf.control_dependencies([c]):
                only_c = _op()
        again = _op()
    assert [_waits_for(op) for op in (both, free, only_c, again)] == [["a", "b"], [], ["c"], ["a"]]


def test_an_operation_that_reads_a_waiting_operation_does_not_wait_itself() -> None:
    a = _op("a")
    with tf.control_dependencies([a]):
        x = tf.constant(1.0)
        y = tf.exp(x)
    assert _waits_for(x.op) == ["a"]
    assert _waits_for(y.op) == []


def test_an_operation_waits_although_its_input_was_created_outside_the_block() -> None:
    a = _op("a")
    with tf.control_dependencies([a]):
        with tf.control_dependencies(None):
            free = tf.constant(1.0)
        v = tf.Variable(1.0)
        assert _waits_for(tf.exp(free).op) == ["a"]
        assert _waits_for(tf.exp(v).op) == ["a"]


def test_an_operation_does_not_wait_for_its_own_input() -> None:
    x = tf.constant(1.0)
    with tf.control_dependencies([x]):
        assert _waits_for(tf.exp(x).op) == []


def test_variables_operations_tensors_slices_and_names_can_be_control_inputs() -> None:
    v = tf.Variable([1.0], name="v")
    slices = tf.IndexedSlices(tf.constant([1.0], name="values"), tf.constant([0]))
    with tf.control_dependencies([v, v.initializer, tf.constant(0, name="c"), slices, "c"]):
        assert _waits_for(_op()) == ["c", "v", "v/Assign", "values"]


@pytest.mark.parametrize(
    "wrong, message",
    [
        (None, "Can not convert a NoneType into a Tensor or Operation."),
        (3, "Can not convert a int into a Tensor or Operation."),
    ],
)
def test_a_control_input_of_another_type_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught, tf.control_dependencies([wrong]):
        pass
    assert str(caught.value) == message


# --- containers


def test_a_container_block_sets_the_container_of_new_variables() -> None:
    with tf.container("c1"):
        x = tf.Variable(1.0, name="x")
        with tf.container("c2"):
            y = tf.Variable(1.0, name="y")
        assert "container" not in x.value().op.node.attrs
    z = tf.Variable(1.0, name="z")
    assert [v.op.get_attr("container") for v in (x, y, z)] == [b"c1", b"c2", b""]


def test_the_container_attribute_of_an_operation_overrides_the_block() -> None:
    with tf.container("c1"):
        v = raw.VariableV2(dtype=tf.float32, shape=[], container="own")
    assert v.op.get_attr("container") == b"own"


# --- groups


def _inputs(op: graphs.Operation) -> list[str]:
    return sorted(other.name for other in op.control_inputs)


def test_a_group_waits_for_all_its_inputs(graph: graphs.Graph) -> None:
    a, b = _op("a"), _op("b")
    done = tf.group(a, b.outputs[0], None, tf.Variable(1.0, name="v"), name="done")
    assert (done.type, done.name, _inputs(done)) == ("NoOp", "done", ["a", "b", "v"])
    assert _inputs(tf.group([a, (None,)], {"b": b.outputs, "c": _op("c")}, name="n")) == [
        "a",
        "b",
        "c",
    ]
    assert tf.group(name="empty").control_inputs == []
    assert [tf.group(a, b).name, tf.group().name] == ["group_deps", "group_deps_1"]
    with pytest.raises(TypeError, match=r"Expected tf.group"):
        tf.group(3)


def test_a_group_over_several_devices_has_one_operation_per_device() -> None:
    with tf.device("/job:ps/task:0"):
        a, b = _op("a"), _op("b")
    with tf.device("/job:ps/task:1"):
        c = _op("c")
    done = tf.group(a, b, c, name="done")
    parts = sorted(done.control_inputs, key=lambda op: op.device)
    assert [(op.device, _inputs(op)) for op in parts] == [
        ("/job:ps/task:0", ["a", "b"]),
        ("/job:ps/task:1", ["c"]),
    ]
    assert (done.name, done.device) == ("done", "")


def test_the_tensors_of_a_tuple_wait_for_each_other() -> None:
    x, y = tf.constant(1.0, name="x"), tf.constant(2.0, name="y")
    slices = tf.IndexedSlices(y, tf.constant([0]))
    gate = _op("gate")
    first, nothing, last = tf.tuple([x, None, slices], control_inputs=[gate])
    assert nothing is None
    assert isinstance(last, tf.IndexedSlices)
    for tensor in (first, last.values):
        (barrier,) = tensor.op.control_inputs
        assert _inputs(barrier) == ["gate", "x", "y"]
    with pytest.raises(ValueError, match="Must have at least one Tensor"):
        tf.tuple([None])


# --- seeds


def test_seeds_of_graph_and_operation_are_combined(graph: graphs.Graph) -> None:
    assert tf.get_seed(None) == (None, None)
    assert tf.get_seed(7) == (87654321, 7)
    tf.set_random_seed(5)
    assert graph.seed == 5
    assert tf.get_seed(7) == (5, 7)
    first = tf.get_seed(None)
    _op()
    assert first == (5, 0)
    assert tf.get_seed(None) == (5, 1)
    tf.set_random_seed(0)
    assert tf.get_seed(0) == (0, 2**31 - 1)
    assert tf.get_seed(2**40) == (0, 2**40 % (2**31 - 1))
