"""A TFJob becomes a valid TrainingJob, and every field that is not kept is named.

The samples have the fields of the examples of kubeflow/training-operator v1.9. Their first lines
name the lost fields. e2e/test_commands.py has the API server check the results.
"""

import contextlib
import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from capstan_operator.api import parse
from capstan_operator.cli import main
from capstan_operator.convert import tfjob
from capstan_operator.errors import Invalid

SAMPLES = sorted(Path(__file__).with_name("tfjobs").glob("*.yaml"))
NOT_KEPT = re.compile(r"^# not kept: (.*)$", re.MULTILINE)


def load(name: str) -> dict[str, Any]:
    path = Path(__file__).with_name("tfjobs") / f"{name}.yaml"
    # Through JSON, because the samples use anchors and the tests change single fields.
    document: dict[str, Any] = json.loads(json.dumps(yaml.safe_load(path.read_text())))
    return document


def converted(name: str) -> Any:
    return tfjob.convert(load(name)).manifest["spec"]


def test_there_are_twenty_samples() -> None:
    assert len(SAMPLES) == 20


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_exactly_the_lost_fields_are_reported(sample: Path) -> None:
    text = sample.read_text()
    result = tfjob.convert(yaml.safe_load(text))
    assert list(map(str, result.lost)) == NOT_KEPT.findall(text)
    assert parse.draft(json.dumps(result.manifest)).warnings == ()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_pod_templates_are_passed_on(sample: Path) -> None:
    before = yaml.safe_load(sample.read_text())
    spec = tfjob.convert(before).manifest["spec"]
    for name, replica in before["spec"]["tfReplicaSpecs"].items():
        pod = dict(replica["template"]["spec"])
        pod.pop("restartPolicy", None)
        kind = "chief" if name == "Master" else name.lower()
        after = spec["replicaSpecs"][kind]["template"]["spec"]
        for container in (*pod["containers"], *after["containers"]):
            container["name"] = container["name"].replace("trainer", "tensorflow")
        assert after == pod


def test_the_default_restart_policy_is_the_default_of_a_tfjob() -> None:
    assert converted("lowercase")["replicaSpecs"]["ps"]["restartPolicy"] == "Never"


def test_types_keep_their_counts_and_a_master_is_the_chief() -> None:
    replicas = converted("estimator")["replicaSpecs"]
    counts = {kind: replica["replicas"] for kind, replica in replicas.items()}
    assert counts == {"chief": 1, "ps": 2, "worker": 4, "evaluator": 1}
    assert list(converted("master")["replicaSpecs"]) == ["chief", "ps"]


@pytest.mark.e2e
def test_limits_success_policy_and_port_are_kept() -> None:
    assert converted("limits")["runPolicy"] == {
        "activeDeadlineSeconds": 3600,
        "backoffLimit": 2,
        "cleanPodPolicy": "All",
        "ttlSecondsAfterFinished": 60,
    }
    assert converted("kueue")["suspend"] is True
    assert "suspend" not in converted("simple")
    assert converted("all-workers")["successPolicy"] == "AllWorkers"
    assert converted("own-port")["cluster"] == {"port": 5000}
    assert "cluster" not in converted("simple")


def test_among_several_containers_the_task_is_called_trainer() -> None:
    containers = converted("sidecar")["replicaSpecs"]["worker"]["template"]["spec"]["containers"]
    assert [container["name"] for container in containers] == ["log-shipper", "trainer"]


def change(path: str, value: object) -> dict[str, Any]:
    """Return the estimator with another value at a path. The value `...` removes the field."""
    document = load("estimator")
    *outer, last = path.split(".")
    inside: Any = document
    for key in outer:
        inside = inside[int(key) if key.isdecimal() else key]
    if value is ...:
        del inside[last]
    else:
        inside[last] = value
    return document


TEMPLATE = "spec.tfReplicaSpecs.PS.template.spec"


@pytest.mark.parametrize(
    "document, fault",
    [
        (change("kind", "PyTorchJob"), "kind: must be TFJob, not 'PyTorchJob'"),
        (change("apiVersion", "kubeflow.org/v1beta2"), "apiVersion: must be kubeflow.org/v1"),
        (change("spec", []), "spec: must be a mapping"),
        (change("spec.tfReplicaSpecs", ...), "spec.replicaSpecs: "),
        (
            change("spec.tfReplicaSpecs.Boss", {}),
            "spec.tfReplicaSpecs.Boss: is not a replica type of TFJob: use Chief, Master, PS, "
            "Worker or Evaluator",
        ),
        (
            change("spec.tfReplicaSpecs.Master", {}),
            "spec.tfReplicaSpecs.Master: is the same as spec.tfReplicaSpecs.Chief",
        ),
        (change("metadata.name", "Big"), "metadata.name: "),
        (change("metadata.name", ...), "metadata.name: is required"),
        (change("spec.tfReplicaSpecs.Chief.replicas", 2), "spec.replicaSpecs.chief"),
        (change("spec.tfReplicaSpecs.PS.restartPolicy", "Maybe"), "restartPolicy: must be"),
        (change("spec.tfReplicaSpecs.PS.template", 7), "PS.template: must be a mapping"),
        (change(f"{TEMPLATE}.containers", []), f"{TEMPLATE}.containers: must be a list"),
        (change(f"{TEMPLATE}.containers", ["x"]), "containers[0]: must be a mapping"),
        (
            change(f"{TEMPLATE}.containers", [{"name": "main"}]),
            f"{TEMPLATE}.containers: no container is called tensorflow",
        ),
        (
            change(f"{TEMPLATE}.containers", [{"name": "trainer"}, {"name": "tensorflow"}]),
            f"{TEMPLATE}.containers[0].name: trainer is the name of the task's container",
        ),
        (change("spec.successPolicy", "Some"), "spec.successPolicy: must be"),
        (change("spec.runPolicy.schedulingPolicy", 7), "schedulingPolicy: must be a mapping"),
    ],
)
def test_a_tfjob_that_cannot_be_converted_is_refused_with_its_field(
    document: dict[str, Any], fault: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        tfjob.convert(document)
    assert fault in str(refusal.value)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=5,
)


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a TFJob in which one value is replaced by anything."""
    document = load(draw(st.sampled_from(["estimator", "volcano-gang", "sidecar", "own-port"])))
    paths: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in members:
            paths.append((value, key))
            if isinstance(member, dict | list):
                walk(member)

    walk(document)
    where, key = draw(st.sampled_from(paths))
    where[key] = draw(ANYTHING)
    return document


@pytest.mark.e2e
@given(damaged())
def test_a_damaged_tfjob_is_converted_or_refused_and_never_changed(
    document: dict[str, Any],
) -> None:
    before = copy.deepcopy(document)
    with contextlib.suppress(Invalid):
        result = tfjob.convert(document)
        assert not parse.draft(json.dumps(result.manifest)).faults
    assert document == before


def in_yaml(selector: str) -> str:
    """Return a TFJob whose pods have this node selector."""
    sample = (Path(__file__).with_name("tfjobs") / "simple.yaml").read_text()
    return sample.replace("containers:", f"nodeSelector: {selector}\n          containers:")


@pytest.mark.parametrize(
    "selector, fault",
    [
        ("{2026-11-02: x}", "2026-11-02 is not a field: names of fields are text"),
        ("{!!binary aGVs: x}", "b'hel' is not a field: names of fields are text"),
    ],
)
def test_a_key_that_is_not_text_is_refused(selector: str, fault: str) -> None:
    with pytest.raises(Invalid, match=f"^spec.replicaSpecs.worker.template.*nodeSelector: {fault}"):
        tfjob.convert(yaml.safe_load(in_yaml(selector)))


def test_an_anchor_that_contains_itself_is_refused() -> None:
    with pytest.raises(Invalid, match=r"template.spec.nodeSelector.a\[1\]: contains itself"):
        tfjob.convert(yaml.safe_load(in_yaml("{a: &a [x, *a]}")))


def test_dates_become_text() -> None:
    spec = tfjob.convert(yaml.safe_load(in_yaml("{since: 2026-11-02}"))).manifest["spec"]
    pod = spec["replicaSpecs"]["worker"]["template"]["spec"]
    assert pod["nodeSelector"] == {"since": "2026-11-02"}


@pytest.mark.e2e
def test_the_command_prints_the_job_and_a_line_for_each_loss(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.yaml"
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
    sample = Path(__file__).with_name("tfjobs") / "limits.yaml"
    path.write_text(f"{claim}---\n{sample.read_text()}---\n")
    assert main.main(["convert", str(path)]) == 0
    out, err = capsys.readouterr()
    assert parse.parse(out).metadata.name == "limits"
    assert err.splitlines() == [
        "capstanctl: PersistentVolumeClaim data: left out, because it is not a TFJob",
        *(f"capstanctl: not kept: {lost}" for lost in NOT_KEPT.findall(sample.read_text())),
    ]
    assert main.main(["convert", str(path), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "TrainingJob"


@pytest.mark.parametrize(
    "text, words",
    [
        ("a: [", "job.yaml: is not valid YAML"),
        ("- 1", "job.yaml: has no TFJob"),
        ("", "job.yaml: has no TFJob"),
        ("a: 2001-99-99", "job.yaml: is not valid YAML"),
        ("kind: TFJob", "job.yaml: apiVersion: must be kubeflow.org/v1, not None"),
    ],
)
def test_a_file_without_a_tfjob_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(text)
    assert main.main(["convert", "job.yaml"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"capstanctl: {words}")
    assert err.count("\n") == 1
