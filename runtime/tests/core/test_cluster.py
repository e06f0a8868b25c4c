"""Cluster specs, and reading them from TF_CONFIG."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import cluster

jobs = st.from_regex(r"[a-z]{1,6}", fullmatch=True)
addresses = st.integers(1, 65535).map(lambda port: f"127.0.0.1:{port}")
clusters = st.dictionaries(
    jobs,
    st.lists(addresses, min_size=1, max_size=3)
    | st.dictionaries(st.integers(0, 5), addresses, min_size=1, max_size=3),
    max_size=3,
)


@pytest.mark.e2e
@given(clusters)
def test_a_cluster_survives_conversion_to_every_form(given_: Any) -> None:
    spec = cluster.ClusterSpec(given_)
    for form in (spec, spec.as_dict(), spec.as_cluster_def()):
        assert cluster.ClusterSpec(form) == spec
    assert hash(cluster.ClusterSpec(spec.as_dict())) == hash(spec)
    assert sorted(spec.jobs) == sorted(given_)
    assert len(spec.tasks()) == sum(spec.num_tasks(job) for job in spec.jobs)
    assert bool(spec) == bool(given_)


def test_a_cluster_spec_behaves_as_in_tensorflow() -> None:
    spec = cluster.ClusterSpec({"w": ["a:1", "b:2"], "ps": {3: "c:4"}})
    assert spec.jobs == ["w", "ps"]
    assert spec.num_tasks("w") == 2
    assert spec.task_indices("ps") == [3]
    assert spec.task_address("w", 1) == "b:2"
    assert spec.job_tasks("ps") == [None, None, None, "c:4"]
    assert spec.as_dict() == {"w": ["a:1", "b:2"], "ps": {3: "c:4"}}
    assert repr(spec) == "ClusterSpec({'ps': {3: 'c:4'}, 'w': ['a:1', 'b:2']})"
    assert spec == {"ps": {3: "c:4"}, "w": ["a:1", "b:2"]}
    assert spec != {"w": ["a:1"]}
    assert spec != 3
    assert spec.tasks() == {
        "/job:ps/replica:0/task:3": "c:4",
        "/job:w/replica:0/task:0": "a:1",
        "/job:w/replica:0/task:1": "b:2",
    }
    assert [job.name for job in spec.as_cluster_def().job] == ["ps", "w"]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda spec: spec.num_tasks("x"), "No such job in cluster: 'x'"),
        (lambda spec: spec.job_tasks("x"), "No such job in cluster: 'x'"),
        (lambda spec: spec.task_address("w", 7), "No task with index 7 in job 'w'"),
    ],
)
def test_an_unknown_job_or_task_is_a_value_error(call: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        call(cluster.ClusterSpec({"w": ["a:1"]}))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "given_, message",
    [
        (
            ["a:1"],
            "`cluster` must be a dictionary mapping one or more job names to lists of network",
        ),
        (
            {"w": "a:1"},
            "The tasks for job 'w' must be a list or a dictionary from integers to strings.",
        ),
        ({"w": {"0": "a:1"}}, "Task index '0' of job 'w' must be an integer"),
        ({"w": [1]}, "Task address of job 'w' 1 must be a string"),
        ({3: ["a:1"]}, "Job name 3 must be a string"),
    ],
)
def test_a_malformed_cluster_is_a_type_error(given_: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        cluster.ClusterSpec(given_)
    assert str(caught.value).startswith(message)


def test_a_cluster_is_independent_of_its_source_dictionary() -> None:
    given_ = {"w": {0: "a:1"}}
    spec = cluster.ClusterSpec(given_)
    given_["w"][1] = "b:2"
    assert spec.num_tasks("w") == 1


# --- TF_CONFIG


def _config(cluster_: Any, kind: Any = "worker", index: Any = 0, **more: Any) -> str:
    return json.dumps({"cluster": cluster_, "task": {"type": kind, "index": index}, **more})


CLUSTER = {"ps": ["ps-0:2222"], "worker": ["w-0:2222", "w-1:2222"]}


@pytest.mark.parametrize("index", [1, "1"])
def test_tf_config_holds_cluster_task_and_environment(index: Any) -> None:
    read = cluster.from_tf_config(_config(CLUSTER, "worker", index, environment="cloud"))
    assert read.cluster == CLUSTER
    assert (read.task_type, read.task_index, read.environment) == ("worker", 1, "cloud")


@pytest.mark.parametrize("text", ["", "  ", "{}"])
def test_an_empty_tf_config_is_an_empty_cluster(text: str) -> None:
    read = cluster.from_tf_config(text)
    assert not read.cluster
    assert read.task_type is None


def test_a_sparse_cluster_keeps_its_indices() -> None:
    read = cluster.from_tf_config(_config({"worker": {"3": "w-3:2222"}}, "worker", 3))
    assert read.cluster.task_address("worker", 3) == "w-3:2222"


def test_the_evaluator_need_not_be_in_the_cluster() -> None:
    assert cluster.from_tf_config(_config(CLUSTER, "evaluator", 0)).task_type == "evaluator"


@pytest.mark.parametrize(
    "text, words",
    [
        ("{", ["TF_CONFIG is not JSON", "'{'"]),
        ("ps:0", ["TF_CONFIG is not JSON"]),
        ("[1]", ["TF_CONFIG must be a JSON object", "'[1]'"]),
        (_config(["a:1"]), ["cluster must map job names to lists of addresses"]),
        (_config({"worker": "a:1"}), ["cluster.worker must be a list of addresses, but is 'a:1'"]),
        (_config({"worker": ["a"]}), ["cluster.worker[0] must be 'host:port', but is 'a'"]),
        (_config({"worker": ["a:1", 7]}), ["cluster.worker[1] must be 'host:port', but is 7"]),
        (_config({"worker": ["a:99999"]}), ["cluster.worker[0] must be 'host:port'"]),
        (_config({"worker": {"x": "a:1"}}), ["the task index 'x', which is not a number"]),
        (
            _config(CLUSTER, "chief"),
            ["task.type 'chief' is not a job of the cluster", "['ps', 'worker']"],
        ),
        (_config(CLUSTER, "worker", 2), ["task.index 2 is outside the cluster", "[0, 1]"]),
        (_config(CLUSTER, "worker", -1), ["task.index must be a number, but is -1"]),
        (_config(CLUSTER, "worker", 0.5), ["task.index must be a number, but is 0.5"]),
        (_config(CLUSTER, 7), ["task.type must be the name of a job, but is 7"]),
        (
            json.dumps({"Cluster": CLUSTER, "task": {"type": "worker", "index": 0}}),
            ["the key 'Cluster' must be written 'cluster'"],
        ),
        (
            json.dumps({"cluster": CLUSTER, "task": "worker"}),
            ["task must be an object with type and index"],
        ),
        (
            _config({"worker": ["a"], "ps": 3}, None, "x"),
            ["worker[0]", "cluster.ps", "task.type", "task.index"],
        ),
    ],
)
def test_the_error_for_an_invalid_tf_config_lists_every_fault(text: str, words: list[str]) -> None:
    with pytest.raises(ValueError) as caught:
        cluster.from_tf_config(text)
    assert str(caught.value).startswith("TF_CONFIG")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.e2e
@given(
    st.text(max_size=40)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["cluster", "task", "type", "index", "ps"]), inner, max_size=3
            )
        ),
        max_leaves=8,
    ).map(json.dumps)
)
def test_any_text_is_read_or_refused_with_a_value_error(text: str) -> None:
    try:
        read = cluster.from_tf_config(text)
    except ValueError as error:
        assert str(error).startswith("TF_CONFIG")  # noqa: PT017 - most texts are refused
    else:
        assert isinstance(read.cluster, cluster.ClusterSpec)
