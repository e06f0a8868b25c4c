"""Tests of the cluster resolver, which reads TF_CONFIG."""

import json

import clusters
import pytest

import capstan as tf

CLUSTER = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}


def resolve(monkeypatch: pytest.MonkeyPatch, value: object, **arguments: object):
    text = value if isinstance(value, str) else json.dumps(value)
    monkeypatch.setenv("TF_CONFIG", text)
    return tf.distribute.cluster_resolver.TFConfigClusterResolver(**arguments)


def test_the_resolver_reads_the_cluster_and_the_task(monkeypatch: pytest.MonkeyPatch):
    config = {"cluster": CLUSTER, "task": {"type": "worker", "index": 1}, "environment": "cloud"}
    resolver = resolve(monkeypatch, config)
    assert resolver.cluster_spec() == tf.train.ClusterSpec(CLUSTER)
    assert (resolver.task_type, resolver.task_id) == ("worker", 1)
    assert (resolver.environment, resolver.rpc_layer) == ("cloud", "grpc")
    assert resolver.master() == "grpc://c:1"
    assert resolver.master("ps", 0) == "grpc://d:1"


def test_arguments_override_tf_config(monkeypatch: pytest.MonkeyPatch):
    config = {"cluster": CLUSTER, "task": {"type": "worker", "index": 1}}
    resolver = resolve(monkeypatch, config, task_type="ps", task_id=0)
    assert resolver.master() == "grpc://d:1"


@pytest.mark.parametrize("value", ["", "{}", {"cluster": {}}, {"cluster": {"worker": ["a:1"]}}])
def test_a_single_task_has_an_empty_target(monkeypatch: pytest.MonkeyPatch, value: object):
    resolver = resolve(monkeypatch, value)
    assert resolver.master() == ""
    assert resolver.task_type is None
    assert resolver.task_id is None


def test_the_target_of_an_unknown_task_is_an_error(monkeypatch: pytest.MonkeyPatch):
    resolver = resolve(monkeypatch, {"cluster": CLUSTER})
    with pytest.raises(ValueError, match="TF_CONFIG names no task"):
        resolver.master()


@pytest.mark.parametrize(
    "value, words",
    [
        ("{", ["TF_CONFIG is not JSON"]),
        ("[]", ["TF_CONFIG must be a JSON object"]),
        (
            {"cluster": CLUSTER, "task": {"type": "worker", "index": 2}},
            ["TF_CONFIG", "2", "worker"],
        ),
        ({"cluster": CLUSTER, "task": {"type": "tester", "index": 0}}, ["TF_CONFIG", "tester"]),
        ({"cluster": {"ps": ["d"]}, "task": {"type": "ps"}}, ["TF_CONFIG", "cluster.ps[0]"]),
    ],
)
def test_faults_of_tf_config_are_named(
    monkeypatch: pytest.MonkeyPatch, value: object, words: list[str]
):
    with pytest.raises(ValueError, match="TF_CONFIG") as caught:
        resolve(monkeypatch, value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.e2e
def test_the_devices_of_a_task_are_counted(monkeypatch: pytest.MonkeyPatch):
    with clusters.running(ps=1, worker=2) as servers:
        message = next(iter(servers.values())).server_def.cluster
        listed = tf.train.ClusterSpec(message).as_dict()
        config = {"cluster": listed, "task": {"type": "worker", "index": 1}}
        resolver = resolve(monkeypatch, config)
        assert resolver.num_accelerators()["CPU"] == 1
        settings = tf.ConfigProto(device_count={"CPU": 1})
        assert resolver.num_accelerators("ps", 0, settings)["CPU"] == 1
        union = tf.distribute.cluster_resolver.UnionResolver(resolver)
        assert union.num_accelerators() == resolver.num_accelerators()


def test_the_devices_of_this_process_are_counted(monkeypatch: pytest.MonkeyPatch):
    settings = tf.ConfigProto(device_count={"CPU": 3})
    for value in ("", {"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}):
        found = resolve(monkeypatch, value).num_accelerators(config_proto=settings)
        assert found["CPU"] == 3
