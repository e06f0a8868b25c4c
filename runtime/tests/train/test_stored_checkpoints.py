"""Checkpoints and events in stores that have a URL: fsspec's store in memory, and `file://`."""

import importlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.resources import event_file
from capstan.train import checkpoint_fence
from capstan.transport import fence

# The package has no types.
fsspec: Any = importlib.import_module("fsspec")
memory: Any = importlib.import_module("fsspec.implementations.memory")

pytestmark = pytest.mark.e2e

SOURCES = pathlib.Path(tf.__file__).parents[1]


class ObjectStore(memory.MemoryFileSystem):  # type: ignore[misc]
    """A store that records each change, cannot rename, and refuses names that hold `refused`."""

    protocol = "objects"
    changes: list[str] = []  # noqa: RUF012 - fsspec shares the object between all users

    @classmethod
    def _strip_protocol(cls, path: str) -> Any:
        return super()._strip_protocol(path.replace("objects://", "memory://"))

    def put_file(self, lpath: str, rpath: str, **options: Any) -> None:
        if "refused" in rpath:
            raise PermissionError(13, "Access Denied", rpath)
        super().put_file(lpath, rpath, **options)
        self.changes.append(f"put {rpath.rpartition('/')[2]}")

    def rm_file(self, path: str) -> None:
        super().rm_file(path)
        self.changes.append(f"delete {path.rpartition('/')[2]}")

    def cat_file(self, path: str, start: Any = None, end: Any = None, **options: Any) -> Any:
        assert start is None or start < end, "S3 refuses a range without bytes"
        return super().cat_file(path, start, end, **options)

    def mv(self, *names: str, **options: Any) -> None:
        raise NotImplementedError("the store renames no files")

    def info(self, path: str, **options: Any) -> Any:
        if "unreachable" in path:
            raise ConnectionError("connection reset")
        return super().info(path, **options)

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        if "unreachable" in path:
            raise ConnectionError("connection reset")
        return super()._open(path, mode, **options)


fsspec.register_implementation("objects", ObjectStore, clobber=True)


@pytest.fixture(params=["memory", "file", "objects"])
def folder(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[str]:
    """The URL of a folder that does not exist yet."""
    ObjectStore.changes.clear()
    if request.param == "file":
        yield f"file://{tmp_path}/run"
        return
    yield f"{request.param}://{tmp_path.name}/run"
    memory.MemoryFileSystem.store.clear()
    memory.MemoryFileSystem.pseudo_dirs[:] = [""]


def names_in(folder: str) -> set[str]:
    return set(tf.gfile.ListDirectory(folder))


def test_a_saver_keeps_and_restores_checkpoints_of_a_url(folder: str) -> None:
    weights = tf.get_variable("weights", initializer=np.arange(6.0).reshape(2, 3))
    label = tf.get_variable("label", initializer=[b"one", b"two"])
    tf.get_variable("empty", [0, 3])
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(3):
            written = saver.save(session, f"{folder}/model.ckpt", global_step=step)
            assert written == f"{folder}/model.ckpt-{step}"
            session.run(tf.assign_add(weights, tf.ones_like(weights)))
        assert tf.train.latest_checkpoint(folder) == written
        assert names_in(folder) == {
            "checkpoint",
            *(
                f"model.ckpt-{step}.{part}"
                for step in (1, 2)
                for part in ("data-00000-of-00001", "index", "meta")
            ),
        }
        saver.restore(session, f"{folder}/model.ckpt-1")
        np.testing.assert_array_equal(session.run(weights), np.arange(6.0).reshape(2, 3) + 1)
        assert session.run(label).tolist() == [b"one", b"two"]
    np.testing.assert_array_equal(
        tf.train.load_variable(folder, "weights"), np.arange(6.0).reshape(2, 3) + 2
    )
    assert [name for name, _ in tf.train.list_variables(folder)] == ["empty", "label", "weights"]
    with tf.Graph().as_default(), tf.Session() as session:
        again = tf.train.import_meta_graph(f"{written}.meta")
        again.restore(session, written)
        assert session.run("weights:0")[0, 0] == 2
    another = tf.train.Saver()
    another.recover_last_checkpoints([f"{folder}/model.ckpt-{step}" for step in range(3)])
    assert another.last_checkpoints == [f"{folder}/model.ckpt-{step}" for step in (1, 2)]


@pytest.mark.parametrize("version", [tf.train.SaverDef.V1, tf.train.SaverDef.V2])
def test_sharded_checkpoints_of_both_formats_have_urls(folder: str, version: int) -> None:
    with tf.device("/cpu:0"):
        first = tf.get_variable("first", initializer=[1.0, 2.0])
    second = tf.get_variable("second", initializer=3.0)
    saver = tf.train.Saver(sharded=True, write_version=version)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        written = saver.save(session, f"{folder}/model.ckpt")
        session.run([tf.assign(first, [0, 0]), tf.assign(second, 0)])
        saver.restore(session, tf.train.latest_checkpoint(folder))
        assert session.run([tf.reduce_sum(first), second]) == [3, 3]
    assert not [name for name in names_in(folder) if "_temp" in name and "." not in name]
    tf.train.remove_checkpoint(written, version)
    assert not tf.train.checkpoint_exists(written)


def test_the_state_file_of_a_url_names_checkpoints_relative_to_it(folder: str) -> None:
    saver = tf.train.Saver([tf.get_variable("v", initializer=1.0)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saver.save(session, f"{folder}/model.ckpt")
    with tf.gfile.GFile(f"{folder}/checkpoint") as file:
        assert 'model_checkpoint_path: "model.ckpt"' in file.read()


@pytest.mark.parametrize("folder", ["objects"], indirect=True)
def test_an_object_store_gets_data_then_the_index_then_the_state_file(folder: str) -> None:
    saver = tf.train.Saver([tf.get_variable("v", initializer=1.0)], max_to_keep=1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saver.save(session, f"{folder}/m", global_step=1)
        first = list(ObjectStore.changes)
        saver.save(session, f"{folder}/m", global_step=2)
    parts = ["m-1.data-00000-of-00001", "m-1.index", "checkpoint", "m-1.meta"]
    assert first == [f"put {part}" for part in parts]
    assert ObjectStore.changes[4:-1] == [
        "put m-2.data-00000-of-00001",
        "put m-2.index",
        "put checkpoint",
        "delete m-1.index",
        "delete m-1.data-00000-of-00001",
        "delete m-1.meta",
    ]


@pytest.mark.parametrize("folder", ["objects"], indirect=True)
def test_a_store_that_refuses_a_file_keeps_the_old_checkpoint(folder: str) -> None:
    saver = tf.train.Saver([tf.get_variable("v", initializer=1.0)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saver.save(session, f"{folder}/m")
        with pytest.raises(tf.errors.PermissionDeniedError, match="refused"):
            saver.save(session, f"{folder}/refused")
        assert tf.train.latest_checkpoint(folder) == f"{folder}/m"
        assert not [name for name in names_in(folder) if "refused" in name]


@pytest.mark.parametrize("folder", ["objects"], indirect=True)
def test_a_store_that_cannot_be_reached_is_not_taken_for_an_empty_one(folder: str) -> None:
    with pytest.raises(tf.errors.OpError, match="connection reset"):
        tf.train.latest_checkpoint(f"{folder}/unreachable")
    with pytest.raises(tf.errors.OpError, match="connection reset"):
        tf.train.checkpoint_exists(f"{folder}/unreachable/m")


def test_a_replaced_chief_cannot_save_to_a_url(folder: str) -> None:
    old, new = (
        checkpoint_fence.CheckpointFence(folder, fence.Caller("/job:chief/task:0", attempt))
        for attempt in (1, 2)
    )
    old.take()
    old.check()
    new.take()
    new.check()
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"Attempt 1 .* was replaced"):
        old.check()


def trained(folder: str, last_step: int) -> tuple[int, int]:
    """Train until `last_step`, and return the first and the last global step of the session."""
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        tf.summary.scalar("step", step)
        train = tf.assign_add(step, 1)
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder,
            save_checkpoint_steps=2,
            save_summaries_steps=1,
            hooks=[tf.train.StopAtStepHook(last_step=last_step)],
        ) as session:
            first = last = int(
                session.run_step_fn(lambda step_context: step_context.session.run(step))
            )
            while not session.should_stop():
                last = int(session.run(train))
    tf.summary.FileWriterCache.clear()
    return first, last


def test_a_monitored_session_continues_from_a_url(folder: str) -> None:
    assert trained(folder, 3) == (0, 3)
    assert trained(folder, 5) == (3, 5)
    assert tf.train.latest_checkpoint(folder) == f"{folder}/model.ckpt-5"
    assert "graph.pbtxt" in names_in(folder)
    events = [
        event
        for name in sorted(tf.gfile.Glob(f"{folder}/events*"))
        for event in tf.train.summary_iterator(name)
    ]
    assert {event.step for event in events if event.HasField("summary")} >= {1, 2, 3, 4, 5}


def test_a_supervisor_continues_from_a_url(folder: str) -> None:
    for start in (0, 1):
        with tf.Graph().as_default():
            step = tf.train.get_or_create_global_step()
            train = tf.assign_add(step, 1)
            supervisor = tf.train.Supervisor(logdir=folder, save_model_secs=0)
            with supervisor.managed_session() as session:
                assert session.run(step) == start
                session.run(train)
                supervisor.saver.save(session, supervisor.save_path, global_step=step)
    assert tf.train.latest_checkpoint(folder) == f"{folder}/model.ckpt-2"


def test_each_flush_shows_the_events_of_a_url(folder: str) -> None:
    writer = event_file.EventFileWriter(folder)
    (name,) = tf.gfile.Glob(f"{folder}/events*")
    event = next(iter(tf.train.summary_iterator(name)))
    for count in (2, 3):
        event.step = count
        writer.add_event(event)
        writer.flush()
        assert [each.step for each in tf.train.summary_iterator(name)] == [0, *range(2, count + 1)]
    event.step = 4
    writer.add_event(event)
    writer.close()
    assert [each.step for each in tf.train.summary_iterator(name)] == [0, 2, 3, 4]


TRAINING = """
import sys
import capstan as tf

step = tf.train.get_or_create_global_step()
train = tf.assign_add(step, 1)
with tf.train.MonitoredTrainingSession(
    checkpoint_dir=sys.argv[1], save_checkpoint_steps=1
) as session:
    while True:
        print(session.run(train), flush=True)
"""


def test_a_process_that_was_killed_continues_from_a_url(tmp_path: pathlib.Path) -> None:
    first_steps = []
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", TRAINING, f"file://{tmp_path}/run"],
            env={**os.environ, "PYTHONPATH": str(SOURCES)},
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            steps = [int(process.stdout.readline()) for _ in range(5)]
            process.kill()
        first_steps.append(steps[0])
    # The step whose run was printed last may not have been saved yet.
    assert first_steps[0] == 1
    assert first_steps[1] >= 5
