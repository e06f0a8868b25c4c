"""Trees, accumulators, tables and centers are on a parameter server, and workers train them."""

import json
import pathlib
import subprocess
import sys
from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf
from capstan.core import tree_messages

SHARED = (
    "BoostedTreesEnsembleResourceHandleOp", "BoostedTreesQuantileStreamResourceHandleOp",
    "ResourceConditionalAccumulator", "MutableHashTableOfTensorsV2", "VarHandleOp", "VariableV2",
)  # fmt: skip


class _Devices(tf.train.SessionRunHook):
    """Notes the tasks of the operations that make what workers share."""

    def __init__(self) -> None:
        self.found: dict[str, set[str]] = {}

    def begin(self) -> None:
        for op in tf.get_default_graph().get_operations():
            local = "_local" in op.name or "Iterator" in op.type
            if op.type in SHARED and not local and "metrics" not in op.name:
                self.found.setdefault(op.type, set()).add(op.device)


def trees(folder: pathlib.Path, config: Any) -> Any:
    return tf.estimator.BoostedTreesRegressor(
        [tf.feature_column.numeric_column("x", (2,))], 3, folder, n_trees=2, max_depth=2,
        center_bias=True, config=config,
    )  # fmt: skip


def kmeans(folder: pathlib.Path, config: Any) -> Any:
    return tf.estimator.experimental.KMeans(
        2, folder, mini_batch_steps_per_iteration=2, config=config,
        feature_columns=[tf.feature_column.numeric_column("x", (2,))],
    )  # fmt: skip


def sdca(folder: pathlib.Path, config: Any) -> Any:
    return tf.estimator.LinearRegressor(
        [tf.feature_column.numeric_column("x", (2,))], folder, config=config,
        optimizer=tf.estimator.experimental.LinearSDCA("id", symmetric_l2_regularization=2.0),
    )  # fmt: skip


@pytest.mark.e2e
@pytest.mark.parametrize("make", [trees, kmeans, sdca])
def test_a_chief_trains_what_is_on_a_ps(
    make: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(0)
    features = {
        "x": random.normal(size=(40, 2)).astype(np.float32),
        "id": np.array([str(number) for number in range(40)]),
    }
    labels = features["x"].sum(1)

    def input_fn() -> Any:
        given = features if make is kmeans else (features, labels)
        return tf.data.Dataset.from_tensor_slices(given).repeat().batch(20)

    spec = clusters.spec(chief=1, worker=1, ps=1)
    servers = [
        tf.train.Server(spec, job_name=job, task_index=0) for job in ("ps", "worker", "chief")
    ]
    task = {"cluster": spec, "task": {"type": "chief", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    devices = _Devices()
    session_config = tf.ConfigProto(device_filters=["/job:ps", "/job:chief"])
    config = tf.estimator.RunConfig(
        save_checkpoints_steps=10, session_config=session_config, tf_random_seed=1
    )
    make(tmp_path, config).train(input_fn, hooks=[devices], max_steps=30)
    assert devices.found
    assert set().union(*devices.found.values()) == {"/job:ps/task:0"}
    monkeypatch.delenv("TF_CONFIG")
    results = make(tmp_path, None).evaluate(input_fn, steps=1)
    assert results["global_step"] > 0
    assert np.isfinite(results["loss"])
    del servers


_PS = """
import json, sys
import capstan as tf
server = tf.train.Server(json.loads(sys.argv[1]), job_name="ps", task_index=0)
print("up", flush=True)
sys.stdin.read()
"""


class _Kill(tf.train.SessionRunHook):
    """Kills the ps in the middle of the training, and starts another one."""

    def __init__(self, spec: dict[str, list[str]]) -> None:
        self._spec, self._left = spec, 40
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PS, json.dumps(self._spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "up\n"

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._left -= 1
        if not self._left:
            self.stop()
            self.start()


@pytest.mark.e2e
def test_trees_grow_on_after_their_ps_was_killed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(80, 2)).astype(np.float32)

    def input_fn() -> Any:
        given = {"x": x}, x.prod(1)
        return tf.data.Dataset.from_tensor_slices(given).repeat().batch(40)

    def regressor(config: Any) -> Any:
        return tf.estimator.BoostedTreesRegressor(
            [tf.feature_column.numeric_column("x", (2,))], 2, tmp_path, n_trees=15, max_depth=2,
            config=config,
        )  # fmt: skip

    spec = clusters.spec(chief=1, worker=1, ps=1)
    kill = _Kill(spec)
    try:
        server = tf.train.Server(spec, job_name="chief", task_index=0)
        task = {"cluster": spec, "task": {"type": "chief", "index": 0}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(task))
        filters = tf.ConfigProto(device_filters=["/job:ps", "/job:chief"])
        config = tf.estimator.RunConfig(save_checkpoints_steps=5, session_config=filters)
        regressor(config).train(input_fn, hooks=[kill])
        del server
    finally:
        kill.stop()
    monkeypatch.delenv("TF_CONFIG")
    saved = tf.train.load_variable(str(tmp_path), "boosted_trees:0_serialized")
    ensemble = tree_messages.TreeEnsemble.FromString(saved)
    assert [each.is_finalized for each in ensemble.tree_metadata] == [*[True] * 15, False]
    # Two batches make a layer, two layers a tree. Those of a lost accumulator come again.
    assert tf.train.load_variable(str(tmp_path), "global_step") in (60, 61)
    assert np.isfinite(regressor(None).evaluate(input_fn, steps=1)["loss"])
