"""Tests of the state file, which lists the checkpoints of a folder."""

import errno
import os
import pathlib
import shutil

import disk
import pytest

import capstan as tf
from capstan.resources import bundle_writer


def touch(*prefixes: object) -> list[str]:
    for prefix in prefixes:
        bundle_writer.write(str(prefix), [])
    return [str(prefix) for prefix in prefixes]


def test_the_state_file_names_the_newest_checkpoint(tmp_path: pathlib.Path):
    first, second = touch(tmp_path / "m-1", tmp_path / "m-2")
    tf.train.update_checkpoint_state(str(tmp_path), second, [first, second])
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert state.model_checkpoint_path == second
    assert list(state.all_model_checkpoint_paths) == [first, second]
    assert tf.train.latest_checkpoint(str(tmp_path)) == second


def test_the_state_file_has_tensorflows_text_format(tmp_path: pathlib.Path):
    tf.train.update_checkpoint_state(str(tmp_path), "m-2", ["m-1", "m-2"])
    assert (tmp_path / "checkpoint").read_text() == (
        'model_checkpoint_path: "m-2"\n'
        'all_model_checkpoint_paths: "m-1"\n'
        'all_model_checkpoint_paths: "m-2"\n'
    )


def test_the_newest_checkpoint_is_in_the_list_of_all_checkpoints():
    state = tf.train.generate_checkpoint_state_proto("/d", "/d/b", ["/d/a"])
    assert list(state.all_model_checkpoint_paths) == ["/d/a", "/d/b"]


def test_the_number_of_timestamps_must_match_the_number_of_paths():
    with pytest.raises(ValueError, match="Checkpoint timestamps, if provided, must match"):
        tf.train.generate_checkpoint_state_proto("/d", "/d/b", ["/d/b"], [1.0, 2.0])


def test_relative_paths_are_relative_to_the_folder(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    touch("run/m-1")
    tf.train.update_checkpoint_state("run", "run/m-1")
    assert 'path: "m-1"' in (tmp_path / "run" / "checkpoint").read_text()
    assert tf.train.latest_checkpoint("run") == "run/m-1"


def test_a_folder_with_relative_paths_can_be_moved(tmp_path: pathlib.Path):
    before, after = tmp_path / "before", tmp_path / "after"
    (newest,) = touch(before / "m-1")
    tf.train.update_checkpoint_state(str(before), newest, save_relative_paths=True)
    shutil.move(before, after)
    assert tf.train.latest_checkpoint(str(after)) == str(after / "m-1")


@pytest.mark.parametrize("content", [None, "no protocol buffer {", "\0\xff", "x: 1"])
def test_a_folder_without_a_readable_state_file_has_no_checkpoint(
    tmp_path: pathlib.Path, content: str | None, caplog: pytest.LogCaptureFixture
):
    if content is not None:
        (tmp_path / "checkpoint").write_text(content, "latin-1")
        expected = "Checkpoint ignored"
    else:
        expected = ""
    assert tf.train.get_checkpoint_state(str(tmp_path)) is None
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    assert expected in caplog.text


def test_a_state_file_without_a_newest_checkpoint_is_refused(tmp_path: pathlib.Path):
    (tmp_path / "checkpoint").write_text("")
    with pytest.raises(ValueError, match="Invalid checkpoint state loaded from"):
        tf.train.latest_checkpoint(str(tmp_path))


def test_the_newest_checkpoint_is_added_to_the_list_of_the_caller():
    paths = ["/d/a"]
    tf.train.generate_checkpoint_state_proto("/d", "/d/b", paths)
    assert paths == ["/d/a", "/d/b"]


def test_a_deleted_checkpoint_is_not_the_latest_checkpoint(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
):
    tf.train.update_checkpoint_state(str(tmp_path), str(tmp_path / "m-1"))
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    assert "Couldn't match files for checkpoint" in caplog.text


def test_the_state_file_may_have_another_name(tmp_path: pathlib.Path):
    (newest,) = touch(tmp_path / "m-1")
    tf.train.update_checkpoint_state(str(tmp_path), newest, latest_filename="best")
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    assert tf.train.latest_checkpoint(str(tmp_path), "best") == newest


def test_a_checkpoint_cannot_have_the_name_of_the_state_file(tmp_path: pathlib.Path):
    with pytest.raises(RuntimeError, match="conflicts with path used for checkpoint state"):
        tf.train.update_checkpoint_state(str(tmp_path), str(tmp_path / "checkpoint"))


def test_the_time_of_a_checkpoint_is_the_time_of_its_index_file(tmp_path: pathlib.Path):
    (path,) = touch(tmp_path / "m-1")
    os.utime(path + ".index", (5, 5))
    assert tf.train.get_checkpoint_mtimes([path, str(tmp_path / "m-2")]) == [5]


def test_removing_deletes_every_file_of_a_checkpoint(tmp_path: pathlib.Path):
    (path,) = touch(tmp_path / "m-1")
    pathlib.Path(path + ".meta").write_text("")
    assert tf.train.checkpoint_exists(path)
    tf.train.remove_checkpoint(path)
    assert not tf.train.checkpoint_exists(path)
    assert not list(tmp_path.iterdir())


@pytest.mark.e2e
def test_the_state_file_is_durable_before_an_older_checkpoint_is_deleted(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    """A loss of power must leave a state file that names a complete checkpoint."""
    watched = disk.Disk(monkeypatch)
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.Variable(1.0).initializer)
        saver = tf.train.Saver(max_to_keep=1)
        saver.save(session, str(tmp_path / "m"), 1)
        del watched.calls[:]
        saver.save(session, str(tmp_path / "m"), 2)
    state = tmp_path / "checkpoint"
    assert watched.durable(tmp_path / "m-2.index") < watched.renamed(state)
    assert watched.durable(state) < watched.removed(tmp_path / "m-1.index")
    assert watched.durable(tmp_path / "m-2.meta")


def test_a_state_file_that_cannot_be_written_leaves_the_old_one(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    (first, second) = touch(tmp_path / "m-1", tmp_path / "m-2")
    tf.train.update_checkpoint_state(str(tmp_path), first)
    files = set(tmp_path.iterdir())

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="checkpoint; No space left"):
        tf.train.update_checkpoint_state(str(tmp_path), second)
    assert tf.train.latest_checkpoint(str(tmp_path)) == first
    assert set(tmp_path.iterdir()) == files


def test_a_checkpoint_above_the_largest_size_of_a_file_fails_the_training(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    with tf.Graph().as_default():
        train = tf.train.get_or_create_global_step().assign_add(1)
        saver = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1)
        session = tf.train.MonitoredTrainingSession(hooks=[saver])
        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="File too large"), session:
            session.run(train)
