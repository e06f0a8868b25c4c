"""A usual program with flags, a supervisor and synchronous updates runs from start to end."""

import os
import pathlib
import subprocess
import sys

import clusters
import pytest

import capstan as tf

HERE = pathlib.Path(__file__).parent


@pytest.mark.e2e
def test_replicas_train_together_and_end_their_parameter_server(tmp_path: pathlib.Path) -> None:
    spec = clusters.spec(ps=1, worker=2)
    hosts = [f"--{job}_hosts={','.join(addresses)}" for job, addresses in spec.items()]
    tasks = [("ps", 0), ("worker", 1), ("worker", 0)]
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, str(HERE / "replica.py"), *hosts, f"--logdir={tmp_path}"),
                *(f"--job_name={job}", f"--task_index={index}"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src")},
            text=True,
        )
        for job, index in tasks
    ]
    try:
        ps, *workers = processes
        outputs = [worker.communicate(timeout=120) for worker in workers]
        assert [worker.returncode for worker in workers] == [0, 0], outputs
        assert ps.stdout is not None
        assert ps.stdout.readline() == "all workers are done\n"
        assert ps.communicate(timeout=120)[0] == ""
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert ps.returncode == 0
    assert [printed for printed, _ in outputs] == ["", "1.0 2.0 3.0\n"]
    assert tf.train.latest_checkpoint(str(tmp_path)) is not None
