"""SavedModels: what the builder refuses, assets, sparse inputs, and folders that are URLs."""

import importlib
import pathlib
import re

import pytest

import capstan as tf
from capstan.python.saved_model import (  # type: ignore[import-not-found]
    builder_impl,
    signature_def_utils,
    utils,
)

pytestmark = pytest.mark.e2e

PAGE = pathlib.Path(__file__).parents[3] / "docs/how-to/export-a-model.md"


@pytest.fixture
def session() -> tf.Session:
    tf.get_variable("v", initializer=3.0)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def test_a_folder_with_files_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(AssertionError, match="isn't empty"):
        tf.saved_model.builder.SavedModelBuilder(str(tmp_path))


def test_variables_are_written_once_and_first(session: tf.Session, tmp_path: pathlib.Path) -> None:
    builder = tf.saved_model.Builder(str(tmp_path))
    with pytest.raises(AssertionError, match="not been saved yet"):
        builder.add_meta_graph(["a"])
    builder.add_meta_graph_and_variables(session, ["a"])
    with pytest.raises(AssertionError, match="already been saved"):
        builder.add_meta_graph_and_variables(session, ["a"])
    assert not tf.saved_model.maybe_saved_model_directory(str(tmp_path))
    assert builder.save() == bytes(tmp_path / "saved_model.pb")


@pytest.mark.parametrize("key", ["__saved_model_init_op", "__saved_model_train_op"])
def test_reserved_signatures_are_refused(
    session: tf.Session, tmp_path: pathlib.Path, key: str
) -> None:
    signature = signature_def_utils.build_signature_def()
    with pytest.raises(KeyError, match="reserved"):
        tf.saved_model.Builder(str(tmp_path)).add_meta_graph_and_variables(
            session, ["a"], {key: signature}
        )


def test_an_incomplete_tensor_info_is_refused(session: tf.Session, tmp_path: pathlib.Path) -> None:
    info = utils.build_tensor_info(tf.constant(1))
    info.ClearField("dtype")
    signature = signature_def_utils.build_signature_def({"a": info})
    with pytest.raises(AssertionError, match="must have a name and a dtype"):
        tf.saved_model.Builder(str(tmp_path)).add_meta_graph_and_variables(
            session, ["a"], {"a": signature}
        )


def test_a_wrong_main_op_is_refused(session: tf.Session, tmp_path: pathlib.Path) -> None:
    builder = tf.saved_model.Builder(str(tmp_path))
    with pytest.raises(TypeError, match="main_op needs to be an Operation"):
        builder.add_meta_graph_and_variables(session, ["a"], main_op=tf.constant(1))
    tf.add_to_collection("legacy_init_op", tf.no_op())
    with pytest.raises(ValueError, match="already contains one or more main ops"):
        builder.add_meta_graph_and_variables(session, ["a"], legacy_init_op=tf.no_op())


def test_assets_of_one_name_are_kept_apart(session: tf.Session, tmp_path: pathlib.Path) -> None:
    tensors = []
    for name, content in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "words").write_text(content)
        tensors.append(tf.constant(str(tmp_path / name / "words"), name=name))
    builder = tf.saved_model.Builder(str(tmp_path / "model"))
    names = tf.get_variable("names", initializer=["", "", ""], trainable=False)
    session.run(names.initializer)
    main_op = tf.assign(names, tf.stack(tensors)).op
    builder.add_meta_graph_and_variables(session, ["a"], assets_collection=tensors, main_op=main_op)
    builder.save()
    with tf.Graph().as_default(), tf.Session() as again:
        tf.saved_model.load(again, ["a"], str(tmp_path / "model"))
        copies = [pathlib.Path(name.decode()) for name in again.run("names:0")]
    assert {copy.parent for copy in copies} == {tmp_path / "model" / "assets"}
    assert [copy.read_text() for copy in copies] == ["1", "1", "2"]


def test_a_signature_may_name_the_operations_to_run(
    session: tf.Session, tmp_path: pathlib.Path
) -> None:
    builder = builder_impl._SavedModelBuilder(str(tmp_path))
    with pytest.raises(AssertionError, match="not been saved yet"):
        builder.add_meta_graph(["a"])
    v = tf.global_variables()[0]
    init_op, train_op = tf.assign(v, 5.0).op, tf.assign_add(v, 1.0).op
    builder.add_meta_graph_and_variables(session, ["a"], init_op=init_op, train_op=train_op)
    builder.add_meta_graph(["b"])
    with pytest.raises(KeyError, match="reserved"):
        builder.add_meta_graph(
            ["c"], {"__saved_model_init_op": signature_def_utils.build_signature_def()}
        )
    builder.save()
    with tf.Graph().as_default(), tf.Session() as again:
        meta = tf.saved_model.load(again, ["a"], str(tmp_path))
        key = "__saved_model_train_op"
        again.run(signature_def_utils.load_op_from_signature_def(meta.signature_def[key], key))
        assert again.run("v:0") == 6
    with tf.Graph().as_default(), tf.Session() as again:
        tf.saved_model.load(again, ["b"], str(tmp_path))
        assert again.run("v:0") == 3


@pytest.mark.parametrize("text", [False, True])
def test_an_asset_must_be_a_constant_string(
    session: tf.Session, tmp_path: pathlib.Path, text: bool
) -> None:
    asset = tf.constant("") if text else tf.placeholder(tf.string, [])
    expected = (ValueError, "name of the file is empty") if text else (TypeError, "constant of one")
    with pytest.raises(expected[0], match=expected[1]):
        tf.saved_model.Builder(str(tmp_path)).add_meta_graph_and_variables(
            session, ["a"], assets_collection=[asset]
        )


def test_a_sparse_input_is_found_by_its_parts() -> None:
    sparse = tf.sparse_placeholder(tf.float32, [2, 3])
    found = utils.get_tensor_from_tensor_info(utils.build_tensor_info(sparse))
    assert [found.indices, found.values, found.dense_shape] == [
        sparse.indices, sparse.values, sparse.dense_shape
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"Invalid TensorInfo\.encoding: None"):
        utils.get_tensor_from_tensor_info(type(utils.build_tensor_info(sparse))())


def test_a_model_without_variables_may_be_at_a_url(tmp_path: pathlib.Path) -> None:
    folder = f"memory://{tmp_path.name}"
    with tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.saved_model.simple_save(session, folder, {"x": x}, {"y": tf.square(x, name="y")})
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, ["serve"], folder)
        assert session.run("y:0", {"x:0": 3}) == 9
    importlib.import_module("fsspec").filesystem("memory").store.clear()


def test_a_main_op_initializes_what_a_checkpoint_lacks(
    session: tf.Session, tmp_path: pathlib.Path
) -> None:
    count = tf.get_variable("count", initializer=7, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    saver = tf.train.Saver()
    saved = saver.save(session, str(tmp_path / "model"))
    session.run(tf.assign(tf.global_variables()[0], 0))
    filename, restore = (
        saver.as_saver_def().filename_tensor_name,
        saver.as_saver_def().restore_op_name,
    )
    session.run(tf.saved_model.main_op.main_op_with_restore(restore), {filename: saved})
    assert session.run([tf.global_variables()[0], count]) == [3, 7]


@pytest.mark.parametrize(
    "content, message", [(None, "does not exist at"), (b"\xff", "Cannot parse file")]
)
def test_a_missing_or_damaged_model_is_named(
    tmp_path: pathlib.Path, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "saved_model.pb").write_bytes(content)
    with tf.Session() as session, pytest.raises(OSError, match=message):
        tf.saved_model.load(session, ["serve"], str(tmp_path))


def test_the_programs_of_the_guide_export_and_load_a_model(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for program in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        with tf.Graph().as_default():
            exec(program, names)
    assert capsys.readouterr().out.startswith("[[")
    with tf.Graph().as_default(), tf.Session() as session:
        model = tf.saved_model.load(session, ["serve"], "models/2")
        assert sorted(model.signature_def) == ["digit", "serving_default"]
