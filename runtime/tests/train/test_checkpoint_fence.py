"""Two chiefs that are alive at the same time: only the newer one saves checkpoints."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

import capstan as tf

pytestmark = pytest.mark.e2e


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Return a function after which this process seems to be an attempt of a worker."""

    def begin(attempt: int, index: int = 0) -> None:
        config = {
            "cluster": {"worker": ["localhost:1", "localhost:2"]},
            "task": {"type": "worker", "index": index},
        }
        monkeypatch.setenv("CAPSTAN_ATTEMPT", str(attempt))
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))

    return begin


def chief(folder: pathlib.Path) -> Any:
    """Return a session that saves a checkpoint after every step."""
    scaffold = tf.train.Scaffold(saver=tf.train.Saver())
    return tf.train.MonitoredTrainingSession(
        scaffold=scaffold, checkpoint_dir=str(folder), save_checkpoint_steps=1,
        save_summaries_steps=None, save_summaries_secs=None, log_step_count_steps=None,
    )  # fmt: skip


def model() -> Any:
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


def state(folder: pathlib.Path) -> dict[str, bytes]:
    """Return the files of the folder that checkpoints consist of."""
    kept = [path for path in folder.iterdir() if "ckpt" in path.name or path.name == "checkpoint"]
    return {path.name: path.read_bytes() for path in kept}


def test_a_chief_that_was_replaced_saves_nothing(
    tmp_path: pathlib.Path, launch: Callable[..., None]
) -> None:
    launch(1)
    step = model()
    old = chief(tmp_path)
    old.run(step)
    launch(2)
    with tf.Graph().as_default():
        add = model()
        new = chief(tmp_path)
    with new:
        new.run(add)
        saved = state(tmp_path)
        with pytest.raises(
            tf.errors.FailedPreconditionError,
            match=r"Attempt 1 of /job:worker/replica:0/task:0 was replaced: attempt 2 has claimed",
        ):
            old.run(step)
        assert state(tmp_path) == saved
        assert new.run(add) == 3
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-3")


def test_a_chief_that_was_replaced_cannot_claim_the_folder_again(
    tmp_path: pathlib.Path, launch: Callable[..., None]
) -> None:
    model()
    launch(1)
    saver = tf.train.Saver()
    manager = tf.train.SessionManager()
    initializer = tf.global_variables_initializer()
    prepare = ("", initializer, saver, str(tmp_path))
    manager.prepare_session(*prepare).close()
    manager.prepare_session(*prepare).close()
    launch(2)
    tf.train.SessionManager().prepare_session(
        "", initializer, tf.train.Saver(), str(tmp_path)
    ).close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="End this process"):
        manager.prepare_session(*prepare)


def test_a_save_that_began_before_the_claim_is_not_recorded(
    tmp_path: pathlib.Path, launch: Callable[..., None]
) -> None:
    """The newer process claims the folder while the older one writes a checkpoint."""
    model()
    launch(1)
    old = tf.train.Saver()
    old.claim(str(tmp_path))

    class Claiming:
        """A session in which the newer process claims the folder during the step that saves."""

        def __init__(self, session: tf.Session) -> None:
            self._session = session
            self.graph = session.graph

        def run(self, *args: Any) -> Any:
            launch(2)
            tf.train.Saver().claim(str(tmp_path))
            return self._session.run(*args)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.FailedPreconditionError, match="End this process"):
            old.save(Claiming(session), str(tmp_path / "model"))
    assert tf.train.latest_checkpoint(str(tmp_path)) is None


def test_other_tasks_save_to_the_same_folder(
    tmp_path: pathlib.Path, launch: Callable[..., None]
) -> None:
    model()
    savers = []
    for index in (0, 1):
        launch(1, index)
        savers.append(tf.train.Saver())
        savers[-1].claim(str(tmp_path))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for index, saver in enumerate(savers):
            saved = saver.save(session, str(tmp_path / f"model-{index}"))
            assert tf.train.latest_checkpoint(str(tmp_path)) == saved


def test_a_job_that_is_created_again_saves_to_the_folder_of_the_job_before(
    tmp_path: pathlib.Path, launch: Callable[..., None]
) -> None:
    """Attempts are counted from 1 again."""
    for attempt in (3, 1):
        launch(attempt)
        with tf.Graph().as_default():
            step = model()
            with chief(tmp_path) as session:
                session.run(step)
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-2")


def test_without_a_launcher_nothing_is_claimed(tmp_path: pathlib.Path) -> None:
    step = model()
    with chief(tmp_path) as session:
        session.run(step)
    assert not list(tmp_path.glob(".capstan-fence*"))
