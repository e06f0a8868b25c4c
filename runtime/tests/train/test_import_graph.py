"""`import_meta_graph` builds a graph again: its variables, conditionals, loops and its saver."""

import pathlib
from typing import Any

import pytest
from google.protobuf import text_format

import capstan as tf
from capstan.api import function


def build() -> None:
    x = tf.placeholder(tf.float32, [], "x")
    weight = tf.get_variable("weight", initializer=2.0)

    @function.Defun(tf.float32)
    def add_one(value: Any) -> Any:
        return value + 1.0

    y = tf.cond(x > 0, lambda: add_one(x * weight), lambda: -x, name="choose")
    tf.identity(y, name="y")
    tf.add_to_collection("inputs", x)
    tf.add_to_collection("words", "hello")
    tf.add_to_collection("numbers", 7)


@pytest.fixture
def checkpoint(tmp_path: pathlib.Path) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        build()
        saver = tf.train.Saver(max_to_keep=3)
        session.run(tf.global_variables_initializer())
        session.run(tf.global_variables()[0].assign(5.0).op)
        return str(saver.save(session, str(tmp_path / "model")))


@pytest.mark.e2e
@pytest.mark.parametrize("scope", [None, "again"])
def test_a_graph_its_variables_and_its_saver_are_restored(
    checkpoint: str, scope: str | None
) -> None:
    prefix = f"{scope}/" if scope else ""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        saver = tf.train.import_meta_graph(f"{checkpoint}.meta", import_scope=scope)
        assert saver is not None
        saver.restore(session, checkpoint)
        assert session.run(f"{prefix}y:0", {f"{prefix}x:0": 3.0}) == 16.0
        (weight,) = tf.trainable_variables()
        assert tf.global_variables() == [weight]
        assert weight.name == f"{prefix}weight:0"
        assert session.run(weight) == 5.0
        assert graph.get_collection("inputs") == [graph.get_tensor_by_name(f"{prefix}x:0")]
        assert graph.get_collection("words") == [b"hello"]
        assert graph.get_collection("numbers") == [7]


@pytest.mark.e2e
def test_gradients_go_through_an_imported_conditional(checkpoint: str) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        saver = tf.train.import_meta_graph(f"{checkpoint}.meta")
        assert saver is not None
        x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
        gradients = tf.gradients(y, [x, tf.trainable_variables()[0]])
        saver.restore(session, checkpoint)
        assert session.run(gradients, {x: 3.0}) == [5.0, 3.0]
        assert session.run(gradients, {x: -3.0}) == [-1.0, 0.0]


@pytest.mark.e2e
@pytest.mark.parametrize("scope", [None, "again"])
def test_gradients_go_through_an_imported_loop(scope: str | None) -> None:
    def body(number: Any, value: Any) -> Any:
        grown = tf.cond(value > 5.0, lambda: value + x, lambda: value * x)
        return number + 1, grown

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [], "x")
        _, y = tf.while_loop(lambda number, _: number < 4, body, [tf.constant(0), x])
        tf.identity(y, name="y")
        meta = tf.train.export_meta_graph()
    prefix = f"{scope}/" if scope else ""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.train.import_meta_graph(meta, import_scope=scope)
        x, y = (graph.get_tensor_by_name(f"{prefix}{name}:0") for name in ("x", "y"))
        first = tf.gradients(y, x)[0]
        # 2, 4, 8, 10, 12: the derivative of x ** 3 + 2 * x
        assert session.run([y, first], {x: 2.0}) == [12.0, 14.0]


@pytest.mark.e2e
def test_a_graph_may_be_imported_twice_into_one_scope(checkpoint: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for scope in ("again", "again_1"):
            saver = tf.train.import_meta_graph(f"{checkpoint}.meta", import_scope="again")
            assert saver is not None
            saver.restore(session, checkpoint)
            assert session.run(f"{scope}/weight:0") == 5.0


def test_a_graph_other_than_the_default_may_be_the_target() -> None:
    with tf.Graph().as_default():
        tf.Variable(1.0, name="v")
        meta = tf.train.Saver().export_meta_graph()
    target = tf.Graph()
    saver = tf.train.import_meta_graph(meta, graph=target)
    assert isinstance(saver, tf.train.Saver)
    assert [each.name for each in target.get_collection("trainable_variables")] == ["v:0"]
    assert not tf.global_variables()


def test_devices_are_cleared_on_request() -> None:
    with tf.Graph().as_default(), tf.device("/job:ps"):
        build()
        meta = tf.train.export_meta_graph()
    for clear, device in ((False, "/job:ps"), (True, "")):
        with tf.Graph().as_default() as graph:
            tf.train.import_meta_graph(meta, clear_devices=clear)
            assert graph.get_operation_by_name("x").device == device


def test_a_graph_without_a_saver_gets_one_if_it_has_variables() -> None:
    with tf.Graph().as_default():
        build()
        meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        assert isinstance(tf.train.import_meta_graph(meta), tf.train.Saver)
    with tf.Graph().as_default():
        tf.constant(1.0)
        empty = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        assert tf.train.import_meta_graph(empty) is None
        tf.Variable(1.0, name="scope/v")
        assert tf.train.import_meta_graph(empty, import_scope="other") is None
        saver = tf.train.import_meta_graph(empty, import_scope="scope")
        assert isinstance(saver, tf.train.Saver)


def test_a_meta_graph_names_the_version_of_tensorflow() -> None:
    with tf.Graph().as_default():
        info = tf.train.export_meta_graph().meta_info_def
    assert (info.tensorflow_version, info.tensorflow_git_version) == (tf.VERSION, tf.GIT_VERSION)


@pytest.mark.e2e
@pytest.mark.parametrize("scope", [None, "new"])
def test_the_global_step_and_the_savers_of_a_graph_are_imported(scope: str | None) -> None:
    with tf.Graph().as_default():
        step = tf.train.create_global_step()
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver(max_to_keep=3))
        tf.add_to_collection("mine", step)
        meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta, import_scope=scope)
        name = f"{scope}/global_step:0" if scope else "global_step:0"
        assert tf.train.get_global_step().name == name
        assert [tensor.name for tensor in tf.get_collection("mine")] == [name]
        (saver,) = tf.get_collection(tf.GraphKeys.SAVERS)
        assert saver.to_proto(scope).restore_op_name == "save/restore_all"
        assert saver.to_proto().max_to_keep == 3


def test_a_file_may_hold_text(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "graph.txt")
    with tf.Graph().as_default():
        build()
        tf.train.export_meta_graph(path, as_text=True)
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(path)
        assert graph.get_operation_by_name("y").type == "Identity"


@pytest.mark.e2e
def test_attributes_with_default_values_are_left_out_on_request() -> None:
    with tf.Graph().as_default():
        build()
        tf.matmul([[1.0]], [[2.0]], transpose_b=True, name="product")
        whole = tf.train.export_meta_graph()
        bare = tf.train.export_meta_graph(strip_default_attrs=True)
        product = {node.name: node for node in bare.graph_def.node}["product"]
    assert set(product.attr) == {"T", "transpose_b"}
    assert bare.meta_info_def.stripped_default_attrs
    with tf.Graph().as_default():
        tf.train.import_meta_graph(bare)
        again = tf.train.export_meta_graph()
    found, expected = (
        {node.name: set(node.attr) for node in meta.graph_def.node} for meta in (again, whole)
    )
    assert found.items() >= expected.items()  # the import adds a saver


def test_an_exported_graph_may_have_another_graph_def_and_more_information() -> None:
    with tf.Graph().as_default() as other:
        tf.constant(1, name="other")
    with tf.Graph().as_default() as graph:
        build()
        whole = tf.train.export_meta_graph()
        info = type(whole.meta_info_def)(tags=["serve"])
        meta = tf.train.export_meta_graph(None, info, other.as_graph_def(), None, [], False, graph)
        with_ops = type(whole.meta_info_def)(stripped_op_list=meta.meta_info_def.stripped_op_list)
        same = tf.train.export_meta_graph(meta_info_def=with_ops)
    assert [node.name for node in meta.graph_def.node] == ["other"]
    assert [op.name for op in meta.meta_info_def.stripped_op_list.op] == ["Const"]
    assert list(meta.meta_info_def.tags) == ["serve"]
    assert not meta.collection_def
    assert [op.name for op in same.meta_info_def.stripped_op_list.op] == ["Const"]


def test_unknown_attributes_with_the_defaults_of_the_writer_are_left_out() -> None:
    with tf.Graph().as_default():
        tf.no_op(name="a")
        meta = tf.train.export_meta_graph()
    (node,) = meta.graph_def.node
    node.attr["new"].i = 123
    (op,) = meta.meta_info_def.stripped_op_list.op
    assert op.name == "NoOp"
    op.attr.add(name="new", type="int").default_value.i = 123
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta)
        assert "new" not in graph.get_operation_by_name("a").node_def.attr


@pytest.mark.parametrize("as_text", [True, False])
def test_a_graph_is_written_into_a_folder(tmp_path: pathlib.Path, as_text: bool) -> None:
    with tf.Graph().as_default() as graph:
        build()
        folder = str(tmp_path / "made" / "here")
        path = tf.train.write_graph(graph, folder, "graph", as_text=as_text)
        message = graph.as_graph_def()
        assert tf.train.write_graph(message, folder, "graph", as_text=as_text) == path
    content = pathlib.Path(path).read_bytes()
    parsed = tf.GraphDef()
    if as_text:
        text_format.Parse(content.decode(), parsed)
    else:
        parsed.ParseFromString(content)
    assert (path, parsed) == (str(tmp_path / "made" / "here" / "graph"), message)


def test_a_file_that_is_no_graph_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(OSError, match="File does not exist"):
        tf.train.import_meta_graph(str(tmp_path / "nothing"))
    (tmp_path / "noise").write_bytes(b"\xff\xfe noise")
    with pytest.raises(OSError, match="Cannot parse file"):
        tf.train.import_meta_graph(str(tmp_path / "noise"))


@pytest.mark.parametrize("scope", [None, "new"])
def test_a_program_chooses_the_message_of_its_collections(scope: str | None) -> None:
    from capstan.python.framework import ops

    def to_proto(member: Any, export_scope: str | None = None) -> Any:
        return tf.NodeDef(name=member[0], input=[export_scope or ""]) if member else None

    def from_proto(message: Any, import_scope: str | None = None) -> Any:
        return (message.name, import_scope)

    key = f"own_members_{scope}"
    ops.register_proto_function(key, tf.NodeDef, to_proto, from_proto)
    with tf.Graph().as_default():
        tf.constant(1, name="one")
        for member in (("a",), None, ("b",)):
            tf.add_to_collection(key, member)
        meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta, import_scope=scope)
        assert tf.get_collection(key) == [("a", scope), ("b", scope)]
    with pytest.raises(KeyError, match=key):
        ops.register_proto_function(key)
    with pytest.raises(TypeError, match="from_proto must be callable"):
        ops.register_proto_function("other", from_proto="no")


@pytest.mark.parametrize("as_text", [False, True])
def test_an_exported_graph_makes_its_folder(tmp_path: pathlib.Path, as_text: bool) -> None:
    path = tmp_path / "new" / "folder" / "graph.meta"
    with tf.Graph().as_default():
        tf.constant(1.0, name="only")
        tf.train.export_meta_graph(str(path), as_text=as_text)
    assert b"only" in path.read_bytes()
