"""Tests of resource variables. The values are those that TensorFlow returns."""

from typing import Any

import numpy as np
import pytest

import capstan as tf


def made(value: Any = (1.0, 2.0), **arguments: Any) -> Any:
    return tf.get_variable(
        "x", initializer=np.array(value, np.float32), use_resource=True, **arguments
    )


def run(fetches: Any, *before: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for fetch in before:
            session.run(fetch)
        return session.run(fetches)


def test_a_resource_variable_has_tensorflows_properties(graph: tf.Graph) -> None:
    x = made()
    assert isinstance(x, tf.Variable)
    assert (x.name, x.op.type, x.dtype, x.handle.dtype) == (
        "x:0",
        "VarHandleOp",
        tf.float32,
        tf.resource,
    )
    assert x.shape == x.get_shape() == [2]
    assert x.graph is graph
    assert repr(x) == "<tf.Variable 'x:0' shape=(2,) dtype=float32>"
    assert x.initializer is x.create
    assert tf.trainable_variables() == tf.global_variables() == [x]
    with pytest.raises(NotImplementedError, match="does not implement set_shape"):
        x.set_shape([2])


@pytest.mark.parametrize(
    "build, kind",
    [
        (lambda: tf.Variable(1.0), "VariableV2"),
        (lambda: tf.Variable(1.0, use_resource=True), "VarHandleOp"),
        (lambda: tf.get_variable("v", [], use_resource=True), "VarHandleOp"),
        (lambda: tf.get_variable("v", []), "VariableV2"),
    ],
)
def test_the_argument_use_resource_chooses_the_kind_of_a_variable(build: Any, kind: str) -> None:
    assert build().op.type == kind


def test_a_scope_chooses_the_kind_of_variables_inside_it() -> None:
    with tf.variable_scope("outer", use_resource=True) as outer:
        assert outer.use_resource is True
        assert tf.Variable(1.0).op.type == "VarHandleOp"
        with tf.variable_scope("inner"):
            assert tf.get_variable("v", []).op.type == "VarHandleOp"
            assert tf.get_variable("w", [], use_resource=False).op.type == "VariableV2"
        with tf.variable_scope("other", use_resource=False):
            assert tf.get_variable("v", []).op.type == "VariableV2"
    assert tf.Variable(1.0).op.type == "VariableV2"
    with tf.variable_scope(outer) as again:
        again.set_use_resource(False)
        assert tf.get_variable("u", []).op.type == "VariableV2"


def test_the_default_kind_can_be_changed_for_the_process() -> None:
    assert not tf.resource_variables_enabled()
    tf.enable_resource_variables()
    try:
        assert tf.resource_variables_enabled()
        assert tf.Variable(1.0).op.type == "VarHandleOp"
        with tf.variable_scope("s", use_resource=False):
            assert tf.Variable(1.0).op.type == "VariableV2"
    finally:
        tf.disable_resource_variables()
    assert tf.Variable(1.0).op.type == "VariableV2"


def test_a_read_sees_the_changes_that_it_waits_for_and_no_later_ones() -> None:
    x = made(1.0)
    first = x.assign(2.0)
    with tf.control_dependencies([first]):
        read = x.read_value()
    with tf.control_dependencies([read]):
        last = x.assign(3.0)
    assert run([read, last]) == [2.0, 3.0]


@pytest.mark.e2e
def test_the_methods_return_the_value_after_the_change() -> None:
    x = made()
    rows = tf.IndexedSlices(tf.constant([5.0]), tf.constant([1]))
    for change, expected in (
        (lambda: x.assign([3.0, 4.0]), [3, 4]),
        (lambda: x.assign_add([1.0, 1.0]), [2, 3]),
        (lambda: x.assign_sub([1.0, 1.0]), [0, 1]),
        (lambda: x.scatter_add(rows), [1, 7]),
        (lambda: x.scatter_sub(rows), [1, -3]),
        (lambda: x.scatter_update(rows), [1, 5]),
        (lambda: tf.assign(x, [3.0, 4.0]), [3, 4]),
        (lambda: tf.assign_add(x, [1.0, 1.0]), [2, 3]),
        (lambda: tf.assign_sub(x, [1.0, 1.0]), [0, 1]),
        (lambda: tf.scatter_add(x, [1], [5.0]), [1, 7]),
        (lambda: tf.scatter_sub(x, [1], [5.0]), [1, -3]),
        (lambda: tf.scatter_update(x, [1], [5.0]), [1, 5]),
    ):
        changed = change()
        assert run(changed).tolist() == expected
        assert run(changed + 0.0).tolist() == expected
    assert isinstance(x.assign([0.0, 0.0], read_value=False), tf.Operation)


def test_a_change_with_another_shape_is_refused_before_any_step() -> None:
    with pytest.raises(ValueError, match=r"Shapes \(2,\) and \(3,\) are incompatible"):
        made().assign([1.0, 2.0, 3.0])


def test_rows_are_gathered_where_the_variable_is() -> None:
    x = made([[1.0, 2.0], [3.0, 4.0]])
    rows = tf.gather(x, [1])
    assert rows.op.inputs[0].op.type == "ResourceGather"
    assert run(rows).tolist() == run(x.sparse_read([1])).tolist() == [[3, 4]]


@pytest.mark.e2e
def test_a_variable_without_a_value_is_reported() -> None:
    x = made()
    with tf.Session() as session:
        assert session.run(tf.report_uninitialized_variables()).tolist() == [b"x"]
        assert not session.run(tf.is_variable_initialized(x))
        assert session.run(x.initialized_value()).tolist() == [1, 2]
        with pytest.raises(tf.errors.FailedPreconditionError, match="x"):
            session.run(x)
        session.run(x.initializer)
        assert session.run(x.is_initialized())
        assert session.run(tf.report_uninitialized_variables()).tolist() == []
        x.load([7.0, 8.0], session)
        assert x.eval(session).tolist() == session.run(x.initialized_value()).tolist() == [7, 8]


def test_a_cached_value_is_kept_on_the_caching_device() -> None:
    with tf.device("/job:ps"):
        x = made(caching_device="/job:worker")
    assert (x.device, x.value().device) == ("/job:ps", "/job:worker")
    delta = tf.constant([1.0, 1.0])
    assert x.assign_add(delta, read_value=False).control_inputs == [x.value().op]


def test_an_initial_value_from_inside_a_loop_must_be_a_function() -> None:
    def body(i: Any) -> Any:
        with pytest.raises(ValueError, match=r"Initializer for variable .* control-flow construct"):
            tf.Variable(i, use_resource=True)
        return i + 1

    tf.while_loop(lambda i: i < 1, body, [0])


@pytest.mark.e2e
def test_gradients_flow_through_reads_in_branches_and_loops() -> None:
    x = made()
    yes = tf.placeholder(tf.bool, [])
    branch = tf.cond(yes, lambda: x * x, lambda: tf.ones([2]))
    _, power = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [0, tf.ones([2])])
    rows = tf.gather(x, [1, 1])
    grads = [tf.gradients(y, [x])[0] for y in (branch, power, rows, x.read_value())]
    with tf.Session() as session:
        session.run(x.initializer)
        assert isinstance(grads[2], tf.IndexedSlices)
        assert session.run(grads[0], {yes: True}).tolist() == [2, 4]
        assert session.run(grads[0], {yes: False}).tolist() == [0, 0]
        assert session.run(grads[1]).tolist() == [3, 12]
        assert session.run(tf.convert_to_tensor(grads[2])).tolist() == [0, 2]
        assert session.run(grads[3]).tolist() == [1, 1]


@pytest.mark.e2e
def test_gradients_flow_through_reads_in_a_branch_of_a_loop() -> None:
    x = made()

    def body(i: Any, y: Any) -> Any:
        return i + 1, y + tf.cond(i < 1, lambda: x * x, lambda: tf.ones([2]))

    _, y = tf.while_loop(lambda i, _: i < 3, body, [0, tf.zeros([2])])
    assert run(tf.gradients(y, [x])[0]).tolist() == [2, 4]


OPTIMIZERS = {
    "GradientDescent": lambda: tf.train.GradientDescentOptimizer(0.5),
    "Momentum": lambda: tf.train.MomentumOptimizer(0.5, 0.5),
    "Adam": lambda: tf.train.AdamOptimizer(0.5),
}


@pytest.mark.e2e
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_changes_both_kinds_of_variables_alike(name: str) -> None:
    table = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
    values = []
    for is_resource in (False, True):
        with tf.Graph().as_default() as graph, tf.variable_scope("s", use_resource=is_resource):
            x, rows = (tf.get_variable(name, initializer=table) for name in "ab")
            loss = tf.reduce_sum(x * x) + tf.reduce_sum(tf.gather(rows, [0, 2, 2]) ** 2)
            step = tf.Variable(0, trainable=False)
            train = OPTIMIZERS[name]().minimize(loss, global_step=step)
            values.append(run(tf.global_variables(), train, train))
        kinds = {op.type for op in graph.get_operations()}
        assert ("VarHandleOp" in kinds) is is_resource
        assert ("VariableV2" in kinds) is not is_resource
    for plain, resource in zip(*values, strict=True):
        np.testing.assert_allclose(resource, plain, rtol=1e-6)


@pytest.mark.parametrize("is_resource", [False, True])
def test_a_constraint_is_applied_after_each_update(is_resource: bool) -> None:
    x = tf.Variable(
        [1.0, 2.0], use_resource=is_resource, constraint=lambda value: tf.maximum(value, 0.5)
    )
    train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(x * x))
    assert run(x, train).tolist() == [0.5, 0.5]


@pytest.mark.e2e
def test_a_checkpoint_holds_resource_variables_under_their_names(tmp_path: Any) -> None:
    x, y = made(), tf.Variable(3.0, name="y")
    path = str(tmp_path / "model")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, path)
    with tf.Graph().as_default(), tf.Session() as session:
        plain = tf.get_variable("x", [2])
        tf.train.Saver([plain]).restore(session, path)
        assert session.run(plain).tolist() == [1, 2]
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(path + ".meta")
        saver.restore(session, path)
        (again,) = tf.trainable_variables()[:1]
        assert (again.name, again.op.type, again.trainable) == ("x:0", "VarHandleOp", True)
        assert session.run([again, again.read_value() * 2])[1].tolist() == [2, 4]
    assert tf.Variable.from_proto(x.to_proto()).handle is x.handle
    assert tf.Variable.from_proto(y.to_proto()).value() is y.value()


def test_a_variable_is_found_again_inside_an_import_scope() -> None:
    with tf.name_scope("s"):
        x = tf.Variable(1.0, name="x", use_resource=True)
    message = x.to_proto(export_scope="s")
    assert (message.variable_name, message.is_resource) == ("x:0", True)
    assert tf.Variable.from_proto(message, import_scope="s").handle is x.handle
    assert x.to_proto(export_scope="t") is None


def test_the_ps_tasks_take_resource_variables_in_turn() -> None:
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        found = [tf.Variable(1.0, use_resource=True) for _ in range(3)]
    assert [x.device for x in found] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    assert {x.initializer.device for x in found} <= {x.device for x in found}


@pytest.mark.parametrize("shape", [[None], tf.TensorShape(None)])
def test_a_variable_of_a_partly_unknown_shape_gets_values_of_several_shapes(shape: Any) -> None:
    v = tf.Variable([1.0, 2.0], shape=shape, use_resource=True)
    assert v.shape.as_list() == [None] if isinstance(shape, list) else v.shape.ndims is None
    longer, total = v.assign([1.0, 2.0, 3.0]), tf.reduce_sum(v)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([v, total])[1] == 3
        session.run(longer)
        assert session.run(v).tolist() == [1, 2, 3]
        assert session.run(total) == 6


def test_a_shape_that_does_not_fit_the_initial_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r"initial value of 'v' has the shape \(2,\)"):
        tf.Variable([1.0, 2.0], shape=[3], name="v", use_resource=True)
