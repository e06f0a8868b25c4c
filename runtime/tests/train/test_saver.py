"""Tests of the saver, which writes variables to checkpoints and restores them."""

import pathlib
import threading
from collections.abc import Callable
from typing import Any

import background
import numpy as np
import pytest

import capstan as tf
from capstan.resources import bundle_writer


def make_model() -> tuple[tf.Variable, tf.Variable]:
    weights = tf.Variable(np.arange(6, dtype=np.float32).reshape(2, 3), name="weights")
    words = tf.Variable([b"a", b"long" * 50], name="scope/words")
    return weights, words


@pytest.mark.e2e
@pytest.mark.parametrize("version", [tf.train.SaverDef.V1, tf.train.SaverDef.V2])
@pytest.mark.parametrize("is_sharded", [False, True])
def test_a_new_session_restores_the_saved_values(
    tmp_path: pathlib.Path, is_sharded: bool, version: int
):
    weights, words = make_model()
    saver = tf.train.Saver(sharded=is_sharded, write_version=version)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(weights.assign(weights * 2))
        path = saver.save(session, str(tmp_path / "deep" / "model.ckpt"), global_step=7)
    is_pattern = is_sharded and version == tf.train.SaverDef.V1
    assert path == str(tmp_path / "deep" / "model.ckpt-7") + "-?????-of-00001" * is_pattern
    with tf.Session() as session:
        saver.restore(session, path)
        assert session.run(weights).tolist() == [[0, 2, 4], [6, 8, 10]]
        assert session.run(words).tolist() == [b"a", b"long" * 50]


@pytest.mark.e2e
def test_a_sharded_checkpoint_has_a_shard_for_each_device(tmp_path: pathlib.Path):
    for n in range(3):
        with tf.device(f"/cpu:{n % 2}"):
            tf.Variable(float(n), name=f"v{n}")
    saver = tf.train.Saver(sharded=True)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "m"))
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "checkpoint",
        "m.data-00000-of-00002",
        "m.data-00001-of-00002",
        "m.index",
        "m.meta",
    ]
    assert [tf.train.load_variable(path, f"v{n}") for n in range(3)] == [0, 1, 2]


@pytest.mark.e2e
def test_a_checkpoint_can_be_read_without_a_graph(tmp_path: pathlib.Path):
    make_model()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "m"), global_step=1)
    assert tf.train.list_variables(str(tmp_path)) == [("scope/words", [2]), ("weights", [2, 3])]
    reader = tf.train.load_checkpoint(path)
    assert reader.has_tensor("weights")
    assert not reader.has_tensor("weights:0")
    assert reader.get_variable_to_dtype_map() == {"scope/words": tf.string, "weights": tf.float32}
    assert reader.get_variable_to_shape_map() == {"scope/words": [2], "weights": [2, 3]}
    assert reader.get_tensor("weights")[1, 2] == 5
    assert tf.train.load_variable(str(tmp_path), "weights:0")[0, 1] == 1
    assert b"weights (DT_FLOAT) [2,3]" in reader.debug_string()


def test_a_folder_without_checkpoints_cannot_be_loaded(tmp_path: pathlib.Path):
    with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file or checkpoints in"):
        tf.train.load_checkpoint(str(tmp_path))


def test_names_in_the_checkpoint_can_be_chosen(tmp_path: pathlib.Path):
    variable = tf.Variable(3.0, name="here")
    with tf.Session() as session:
        session.run(variable.initializer)
        path = tf.train.Saver({"there": variable}).save(session, str(tmp_path / "m"))
    assert tf.train.list_variables(path) == [("there", [])]


@pytest.mark.e2e
@pytest.mark.parametrize("version", [tf.train.SaverDef.V1, tf.train.SaverDef.V2])
def test_only_the_newest_checkpoints_are_kept(tmp_path: pathlib.Path, version: int):
    variable = tf.Variable(0)
    saver = tf.train.Saver(max_to_keep=2, write_version=version)
    with tf.Session() as session:
        session.run(variable.initializer)
        paths = [saver.save(session, str(tmp_path / "m"), global_step=n) for n in range(4)]
    assert saver.last_checkpoints == paths[2:]
    assert [tf.train.checkpoint_exists(path) for path in paths] == [False, False, True, True]
    assert tf.train.latest_checkpoint(str(tmp_path)) == paths[3]
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert list(state.all_model_checkpoint_paths) == paths[2:]


@pytest.mark.e2e
def test_a_recovered_saver_deletes_the_old_checkpoints_of_the_earlier_run(tmp_path: pathlib.Path):
    variable = tf.Variable(0)
    with tf.Session() as session:
        session.run(variable.initializer)
        first = tf.train.Saver(max_to_keep=2)
        paths = [first.save(session, str(tmp_path / "m"), global_step=n) for n in range(2)]
        second = tf.train.Saver(max_to_keep=2)
        second.recover_last_checkpoints([str(tmp_path / "gone"), *paths])
        assert second.last_checkpoints == paths
        second.save(session, str(tmp_path / "m"), global_step=2)
    assert not tf.train.checkpoint_exists(paths[0])


@pytest.mark.e2e
def test_the_step_may_be_a_tensor_and_may_be_padded(tmp_path: pathlib.Path):
    step = tf.train.create_global_step()
    saver = tf.train.Saver(pad_step_number=True)
    with tf.Session() as session:
        session.run(step.initializer)
        session.run(step.assign_add(12))
        assert saver.save(session, str(tmp_path / "m"), step).endswith("m-00000012")


@pytest.mark.e2e
def test_a_saver_that_writes_no_state_leaves_the_state_file_alone(tmp_path: pathlib.Path):
    variable = tf.Variable(0)
    with tf.Session() as session:
        session.run(variable.initializer)
        tf.train.Saver().save(session, str(tmp_path / "m"), write_state=False)
    assert not (tmp_path / "checkpoint").exists()


def test_restoring_may_change_the_shape(tmp_path: pathlib.Path):
    bundle_writer.write(str(tmp_path / "m"), [bundle_writer.Piece("v", np.arange(6.0))])
    variable = tf.Variable(np.zeros((2, 3)), name="v")
    with tf.Session() as session:
        tf.train.Saver(reshape=True).restore(session, str(tmp_path / "m"))
        assert session.run(variable).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_restoring_sequentially_gives_the_same_values(tmp_path: pathlib.Path):
    bundle_writer.write(
        str(tmp_path / "m"), [bundle_writer.Piece(n, np.array(1.0)) for n in ("a", "b")]
    )
    variables = [tf.Variable(np.float64(0), name=name) for name in ("a", "b")]
    with tf.Session() as session:
        tf.train.Saver(restore_sequentially=True).restore(session, str(tmp_path / "m"))
        assert session.run(variables) == [1, 1]


@pytest.mark.e2e
def test_another_saver_can_use_the_operations_that_a_saver_def_names(tmp_path: pathlib.Path):
    with tf.name_scope("scope"):
        variable = tf.Variable(4.0, name="v")
        first = tf.train.Saver(max_to_keep=3, name="own")
    assert first.to_proto("other") is None
    exported = first.to_proto("scope")
    assert exported.restore_op_name == "own/restore_all"
    second = tf.train.Saver.from_proto(exported, "scope")
    assert second.to_proto() == first.to_proto()
    with tf.Session() as session:
        session.run(variable.initializer)
        paths = [second.save(session, str(tmp_path / "m"), global_step=n) for n in range(4)]
        third = tf.train.Saver(saver_def=first.as_saver_def())
        third.restore(session, paths[-1])
    assert second.last_checkpoints == paths[1:]
    assert third.last_checkpoints == []


def test_checkpoints_set_by_name_are_kept_as_the_newest_of_their_hours(tmp_path: pathlib.Path):
    variable = tf.Variable(0)
    saver = tf.train.Saver(max_to_keep=1)
    with tf.Session() as session:
        session.run(variable.initializer)
        old = tf.train.Saver().save(session, str(tmp_path / "old"))
        saver.set_last_checkpoints([old])
        new = saver.save(session, str(tmp_path / "new"))
    assert saver.last_checkpoints == [new]
    assert tf.train.checkpoint_exists(old)


def test_an_empty_saver_writes_only_the_graph_and_restores_nothing(tmp_path: pathlib.Path):
    saver = tf.train.Saver(allow_empty=True)
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    with tf.Session() as session:
        assert saver.save(session, str(tmp_path / "m")) is None
        saver.restore(session, None)
    assert [file.name for file in tmp_path.iterdir()] == ["m.meta"]


@pytest.mark.e2e
def test_building_a_saver_can_be_deferred(tmp_path: pathlib.Path):
    saver = tf.train.Saver(defer_build=True)
    variable = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(variable.initializer)
        with pytest.raises(RuntimeError, match="should be called before save"):
            saver.save(session, str(tmp_path / "m"))
        saver.build()
        saver.build()
        assert saver.save(session, str(tmp_path / "m"))


@pytest.mark.e2e
def test_the_graph_is_written_beside_the_checkpoint_and_deleted_with_it(tmp_path: pathlib.Path):
    variable = tf.Variable(0, name="v")
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as session:
        session.run(variable.initializer)
        for step in (1, 2, 3):
            saver.save(session, str(tmp_path / "m"), step, write_meta_graph=step < 3)
    assert {path.name for path in tmp_path.iterdir()} == {
        "checkpoint",
        "m-2.data-00000-of-00001",
        "m-2.index",
        "m-2.meta",
        "m-3.data-00000-of-00001",
        "m-3.index",
    }


def test_a_graph_is_exported_with_its_saver_and_collections(tmp_path: pathlib.Path):
    with tf.device("/cpu:0"):
        variable = tf.Variable(0, name="v")
    saver = tf.train.Saver()
    members = (
        *(("names", "a"), ("names", b"b"), ("ops", variable.op), ("variables of mine", variable)),
        *(("numbers", 3), ("numbers", 4), ("mixed", 3), ("mixed", 3.5), ("texts", "a")),
        *(("texts", object()), (saver, 3)),
    )
    for key, member in members:
        tf.add_to_collection(key, member)
    path = tmp_path / "graph.pbtxt"
    meta = saver.export_meta_graph(str(path), as_text=True, clear_devices=True)
    assert meta.saver_def == saver.saver_def
    assert [node.name for node in meta.graph_def.node][:2] == ["v/initial_value", "v"]
    assert {node.device for node in meta.graph_def.node} == {""}
    assert meta.saver_def.restore_op_name == "save/restore_all"
    assert meta.saver_def.filename_tensor_name == "save/Const:0"
    collections = meta.collection_def
    assert not {"mixed", "texts"} & set(collections)
    assert list(collections["names"].bytes_list.value) == [b"a", b"b"]
    assert list(collections["ops"].node_list.value) == ["v"]
    assert list(collections["variables of mine"].node_list.value) == ["v:0"]
    assert list(collections["numbers"].int64_list.value) == [3, 4]
    assert len(collections["variables"].bytes_list.value) == 1
    assert 'restore_op_name: "save/restore_all"' in path.read_text()
    only = tf.train.export_meta_graph(collection_list=["ops"])
    assert list(only.collection_def) == ["ops"]


class SessionOfTwoSavers:
    """A session whose first step starts a thread, and lasts until `is_stopped` is set."""

    def __init__(
        self, session: tf.Session, then: Callable[[], object], is_stopped: threading.Event
    ) -> None:
        self.graph = session.graph
        self.second: background.Background | None = None
        self._session = session
        self._then = then
        self._is_stopped = is_stopped

    def run(self, *arguments: Any) -> Any:
        values = self._session.run(*arguments)
        if self.second is None:
            self.second = background.Background(self._then)
            assert self._is_stopped.wait(background.PATIENCE_S)
        return values


class WatchedLock:
    """A lock that sets `is_awaited` when a thread begins to wait for it."""

    def __init__(self, is_awaited: threading.Event) -> None:
        self._lock = threading.Lock()
        self._is_awaited = is_awaited

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self._is_awaited.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


@pytest.mark.e2e
def test_the_checkpoint_of_the_last_save_is_the_latest_if_two_threads_save(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = tf.Variable(0, name="step")
    train = step.assign_add(1)
    saver, path = tf.train.Saver(), str(tmp_path / "model.ckpt")
    with tf.Session() as session:
        session.run(step.initializer)

        # The second thread waits for the first save, or, if `save` has no lock, it ends.
        is_stopped = threading.Event()
        monkeypatch.setattr(saver, "_saving", WatchedLock(is_stopped))

        def train_and_save() -> None:
            try:
                session.run(train)
                saver.save(session, path, global_step=step)
            finally:
                is_stopped.set()

        savers = SessionOfTwoSavers(session, train_and_save, is_stopped)
        saver.save(savers, path, global_step=step)
        assert savers.second is not None
        savers.second.join()
    assert tf.train.latest_checkpoint(str(tmp_path)) == f"{path}-1"
