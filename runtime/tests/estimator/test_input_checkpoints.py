"""The hook that saves the places of the iterators of an estimator."""

import pathlib
from typing import Any

import pytest

import capstan as tf

pytestmark = pytest.mark.e2e


def input_fn() -> Any:
    return tf.data.Dataset.range(100).map(lambda x: (tf.cast([x], tf.float32), x))


def estimator(folder: pathlib.Path, seen: list[int], config: Any = None) -> Any:
    """Return an estimator whose steps note the elements that they take."""

    def model_fn(features: Any, labels: Any, mode: Any) -> Any:
        noted = tf.py_func(lambda x: seen.append(int(x)) or x, [labels], tf.int64)
        step = tf.train.get_or_create_global_step()
        with tf.control_dependencies([noted]):
            train = tf.assign_add(step, 1)
        return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_sum(features), train_op=train)

    return tf.estimator.Estimator(model_fn, str(folder), config)


def test_training_goes_on_with_the_next_element(tmp_path: pathlib.Path) -> None:
    seen: list[int] = []
    for steps in (3, 2):
        made = estimator(tmp_path, seen)
        hook = tf.data.experimental.CheckpointInputPipelineHook(made)
        made.train(input_fn, [hook], steps=steps)
    assert seen == [0, 1, 2, 3, 4]
    estimator(tmp_path, seen).train(input_fn, steps=1)
    assert seen[5:] == [0]
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-6")
    newest = tf.train.latest_checkpoint(str(tmp_path), "checkpoint_input")
    assert newest == str(tmp_path / "input.ckpt-5")


def test_the_places_are_saved_as_often_as_the_model(tmp_path: pathlib.Path) -> None:
    config = tf.estimator.RunConfig(save_checkpoints_steps=2, keep_checkpoint_max=9)
    made = estimator(tmp_path, [], config)
    made.train(input_fn, [tf.data.experimental.CheckpointInputPipelineHook(made)], steps=5)
    for name in ("model", "input"):
        found = {path.stem.partition("-")[2] for path in tmp_path.glob(f"{name}.ckpt-*.index")}
        assert found == {"0", "2", "4", "5"}
