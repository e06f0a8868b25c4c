"""Evaluations of `tf.contrib.training` and slim: checkpoints, hooks, summaries and values."""

import pathlib
from typing import Any

import pytest

import capstan as tf

training, slim = tf.contrib.training, tf.contrib.slim
pytestmark = pytest.mark.e2e


def model() -> Any:
    """Return a step of a variable whose value is the number of steps."""
    step = tf.train.get_or_create_global_step()
    total = tf.get_variable("total", [], initializer=tf.zeros_initializer())
    with tf.control_dependencies([step.assign_add(1)]):
        return tf.identity(total.assign_add(1.0))


@pytest.fixture
def trained(graph: tf.Graph, tmp_path: pathlib.Path) -> str:
    """Return a folder with the checkpoints of steps 1, 2 and 3, and build the model again."""
    with tf.Graph().as_default():
        hooks = [tf.train.StopAtStepHook(last_step=3)]
        saving = [tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1)]
        loss = training.train(
            model(), str(tmp_path), hooks=hooks, chief_only_hooks=saving, save_checkpoint_secs=None
        )
    assert loss == 3.0
    model()
    return str(tmp_path)


def counted() -> tuple[Any, Any]:
    """Return an operation that counts its runs and the count, beside the trained value."""
    runs = tf.get_variable("runs", [], trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES],
                           initializer=tf.zeros_initializer())  # fmt: skip
    return runs.assign_add(1.0), runs


def value_of(name: str) -> Any:
    return tf.get_default_graph().get_tensor_by_name(f"{name}/read:0")


@pytest.mark.parametrize("kind", ["tensor", "list", "dict"])
def test_an_evaluation_runs_as_often_as_its_hook_says(trained: str, kind: str) -> None:
    update, runs = counted()
    ops = {"tensor": update, "list": [update], "dict": {"update": update}}[kind]
    values = training.evaluate_once(
        f"{trained}/model.ckpt-2",
        eval_ops=ops,
        final_ops={"runs": runs, "total": value_of("total")},
        hooks=[training.StopAfterNEvalsHook(4)],
    )
    assert values == {"runs": 4.0, "total": 2.0}


def test_an_evaluation_without_a_number_ends_with_its_input(trained: str) -> None:
    batch = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
    with tf.control_dependencies([batch]):
        update, runs = counted()
    values = training.evaluate_once(
        tf.train.latest_checkpoint(trained),
        eval_ops=[batch, update],
        final_ops=runs,
        hooks=[training.StopAfterNEvalsHook(None)],
    )
    assert values == 3.0


def test_every_checkpoint_is_evaluated_in_a_new_session(trained: str) -> None:
    update, runs = counted()
    arguments: Any = {
        "eval_ops": update,
        "final_ops": [runs, value_of("total")],
        "hooks": [training.StopAfterNEvalsHook(2, log_progress=False)],
        "eval_interval_secs": 0,
    }
    assert training.evaluate_repeatedly(
        trained, max_number_of_evaluations=1, **arguments
    ) == [2.0, 3.0]  # fmt: skip


def test_evaluations_end_when_no_checkpoint_comes(tmp_path: pathlib.Path) -> None:
    asked: list[str] = []
    path = str(tmp_path)
    assert training.wait_for_new_checkpoint(path, seconds_to_sleep=0.01, timeout=0.0) is None
    assert training.evaluate_repeatedly(path, timeout=0.0) is None
    end = lambda: asked.append("asked") or len(asked) == 2  # noqa: E731
    assert training.evaluate_repeatedly(path, timeout=0.0, timeout_fn=end) is None
    assert asked == ["asked", "asked"]


def test_summaries_are_written_at_the_step_of_the_checkpoint(trained: str, tmp_path: Any) -> None:
    tf.summary.scalar("doubled", value_of("total") * 2)
    folder = str(tmp_path / "eval")
    training.evaluate_once(f"{trained}/model.ckpt-2", hooks=[training.SummaryAtEndHook(folder)])
    [event] = [
        each for each in tf.contrib.testing.latest_events(folder) if each.HasField("summary")
    ]
    assert event.step == 2
    assert event.summary.value[0].simple_value == 4.0
    with pytest.raises(ValueError, match="log_dir or summary_writer"):
        training.SummaryAtEndHook()


def test_slim_evaluates_checkpoints(trained: str, tmp_path: pathlib.Path) -> None:
    update, runs = counted()
    tf.summary.scalar("runs", runs)
    folder = str(tmp_path / "slim")
    values = slim.evaluation.evaluate_once(
        "", f"{trained}/model.ckpt-1", folder, 3, eval_op=update, final_op=[runs, value_of("total")]
    )
    assert values == [3.0, 1.0]
    assert tf.contrib.testing.latest_summaries(folder)[-1].step == 1


def test_slim_evaluates_new_checkpoints_and_restores_the_named_variables(trained: str) -> None:
    with tf.Graph().as_default():
        renamed = tf.get_variable("renamed", [])
        value = slim.evaluation.evaluation_loop(
            "", trained, f"{trained}/loop", eval_op=tf.no_op(), final_op=renamed, summary_op=None,
            eval_interval_secs=0, variables_to_restore={"total": renamed},
            max_number_of_evaluations=1,
        )  # fmt: skip
    assert value == 3.0


def test_slim_initializes_what_no_checkpoint_restores() -> None:
    start = tf.placeholder(tf.float32, [])
    fresh = tf.get_variable("fresh", initializer=start)
    seen: list[Any] = []

    class Reader(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            seen.append(session.run(fresh))

    value = slim.evaluation.evaluate_once(
        "", None, "unused", initial_op=tf.global_variables_initializer(),
        initial_op_feed_dict={start: 7.0}, eval_op=fresh.assign_add(1.0), final_op=fresh,
        summary_op=None, num_evals=2, hooks=[Reader()],
    )  # fmt: skip
    assert (seen, value) == ([7.0], 9.0)


def test_training_needs_a_folder_for_what_it_writes() -> None:
    op = model()
    with pytest.raises(ValueError, match="save_summaries_steps is not None"):
        training.train(op, None)
    with pytest.raises(ValueError, match="save_checkpoint_secs is not None"):
        training.train(op, None, save_summaries_steps=None)
    hooks = [tf.train.StopAtStepHook(last_step=2)]
    arguments = {"save_summaries_steps": None, "save_checkpoint_secs": None}
    assert training.train(op, None, hooks=hooks, **arguments) == 2.0
