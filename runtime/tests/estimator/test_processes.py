"""train_and_evaluate does the work of every task of a cluster, in processes of their own."""

import json
import os
import pathlib
import subprocess
import sys

import clusters
import linear_estimator as models
import pytest

import capstan as tf

HERE = pathlib.Path(__file__).parent
STEPS = 200


def _start(
    spec: dict[str, list[str]], job: str, kind: str, folder: pathlib.Path
) -> subprocess.Popen[str]:
    source = os.pathsep.join((str(HERE.parents[1] / "src"), str(HERE.parent)))
    return subprocess.Popen(
        [sys.executable, str(HERE / "task.py"), kind, str(folder), str(STEPS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONPATH": source,
            "TF_CONFIG": json.dumps({"cluster": spec, "task": {"type": job, "index": 0}}),
        },
        text=True,
    )


@pytest.mark.e2e
@pytest.mark.parametrize("kind", ["estimator", "keras_estimator", "tree_estimator"])
def test_the_tasks_of_a_cluster_train_evaluate_and_export(
    kind: str, tmp_path: pathlib.Path
) -> None:
    spec = clusters.spec(chief=1, worker=1, ps=1)
    jobs = ["ps", "worker", "evaluator", "chief"]
    tasks = {job: _start(spec, job, kind, tmp_path) for job in jobs}
    try:
        ends = {job: tasks[job].communicate(timeout=150) for job in jobs if job != "ps"}
        assert {job: out for job, (out, _) in ends.items()} == {
            job: "done\n" for job in jobs if job != "ps"
        }, ends
        assert tasks["ps"].poll() is None
    finally:
        for task in tasks.values():
            task.kill()
            task.communicate()
    estimator = getattr(models, kind)(tmp_path)
    results = estimator.evaluate(models.input_fn)
    assert results["global_step"] >= STEPS
    assert results["loss"] < 0.05
    (export,) = (tmp_path / "export" / "final").iterdir()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], str(export))
    assert list((tmp_path / "eval").iterdir())
