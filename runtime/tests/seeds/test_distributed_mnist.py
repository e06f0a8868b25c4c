"""The tutorial script for MNIST trains with the command lines of the tutorials."""

import logging
import os
import pathlib
import re
import struct
import subprocess
import sys

import background
import clusters
import numpy as np
import pytest

import capstan as tf
from capstan.services import roll_call

ROOT = pathlib.Path(__file__).parents[3]
PROGRAM = ROOT / "examples/digits/mnist.py"
STEPS = 20


def write_digits(folder: pathlib.Path) -> None:
    """Write made-up files of MNIST: an image of digit n has its bright rows at 2n."""
    for name, count in (("train", 60), ("t10k", 10)):
        labels = np.arange(count, dtype=np.uint8) % 10
        images = np.zeros((count, 28, 28), np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[2 * label : 2 * label + 2] = 255
        pixels = struct.pack(">4I", 2051, count, 28, 28) + images.tobytes()
        (folder / f"{name}-images-idx3-ubyte").write_bytes(pixels)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(
            struct.pack(">2I", 2049, count) + labels.tobytes()
        )


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_two_workers_train_on_two_parameter_servers(tmp_path: pathlib.Path) -> None:
    write_digits(tmp_path)
    spec = clusters.spec(ps=2, worker=2)
    flags = [f"--{job}_hosts={','.join(addresses)}" for job, addresses in spec.items()]
    flags += [f"--data_dir={tmp_path}", f"--train_steps={STEPS}", "--batch_size=50"]
    tasks = [("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)]
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, str(PROGRAM), *flags),
                *(f"--job_name={job}", f"--task_index={index}"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **os.environ,
                "CUDA_VISIBLE_DEVICES": "",
                "PYTHONPATH": str(ROOT / "runtime/src"),
            },
            text=True,
        )
        for job, index in tasks
    ]
    servers, workers = processes[:2], processes[2:]
    try:
        outputs = [worker.communicate(timeout=240) for worker in workers]
        assert [server.poll() for server in servers] == [None, None], "a parameter server ended"
    finally:
        for process in processes:
            process.kill()
        of_servers = [server.communicate()[0].splitlines() for server in servers]
    assert [worker.returncode for worker in workers] == [0, 0], outputs
    assert of_servers == [["job_name : ps", f"task_index : {index}"] for index in range(2)]
    begins = ("Initializing session", "Waiting for session")
    for index, (printed, _) in enumerate(outputs):
        *head, last = printed.splitlines()
        assert head[:4] == [
            "job_name : worker",
            f"task_index : {index}",
            f"Worker {index}: {begins[index]}...",
            f"Worker {index}: Session initialization complete.",
        ]
        matches = [
            re.fullmatch(rf"Worker {index}: training step (\d+) done \(global step:(\d+)\)", line)
            for line in head[4:]
        ]
        steps = [tuple(map(int, match.groups())) for match in matches if match is not None]
        assert len(steps) == len(matches) > 0
        assert [local for local, _ in steps] == list(range(1, len(steps) + 1))
        totals = [total for _, total in steps]
        assert totals == sorted(totals)
        assert totals[-1] >= STEPS
        found = re.fullmatch(
            rf"After {STEPS} training step\(s\), validation cross entropy = (\S+)", last
        )
        assert found is not None, last
        # Ten images and a random guess have a cross entropy of 10 * ln(10) = 23.
        assert float(found[1]) < 1


@pytest.mark.e2e
def test_a_session_names_the_task_for_which_it_waits(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(roll_call, "_COMPLAIN_SECONDS", 0.0)
    cluster = tf.train.ClusterSpec(clusters.spec(ps=1, worker=1))
    worker = tf.train.Server(cluster, job_name="worker", task_index=0)
    address = cluster.task_address("ps", 0)
    waits = (
        "CreateSession still waiting for response from worker: /job:ps/replica:0/task:0. "
        f"From {address}: "
    )
    with tf.Graph().as_default(), tf.Session(worker.target) as session:
        one = tf.constant(1)
        with caplog.at_level(logging.WARNING, "capstan"):
            call = background.Background(lambda: session.run(one))
            background.until(lambda: any(line.startswith(waits) for line in caplog.messages))
            server = tf.train.Server(cluster, job_name="ps", task_index=0)
            call.join()
    assert call.result == 1
    server.stop()
    worker.stop()
