"""`tf.contrib.distribute.run_standard_tensorflow_server` starts the task that TF_CONFIG names."""

import json

import pytest

import capstan as tf

START = tf.contrib.distribute.run_standard_tensorflow_server


def test_the_server_is_the_task_of_the_environment_and_runs_graphs(graph, monkeypatch):
    cluster = {"worker": ["localhost:0"]}
    document = {"cluster": cluster, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(document))
    server = START(tf.ConfigProto(inter_op_parallelism_threads=3))
    try:
        assert server.settings.inter_op_parallelism_threads == 3
        with tf.Session(server.target) as session:
            assert session.run(tf.constant(2) + 3) == 5
    finally:
        server.stop()


@pytest.mark.parametrize(
    "document, message",
    [
        ({}, '"cluster" is not found'),
        ({"cluster": {"worker": ["a:1"]}}, '"task" with a type is not found'),
        ({"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 0}}, "chief or worker"),
    ],
)
def test_an_environment_that_names_no_task_of_workers_is_refused(monkeypatch, document, message):
    monkeypatch.setenv("TF_CONFIG", json.dumps(document))
    with pytest.raises(ValueError, match=message):
        START()
