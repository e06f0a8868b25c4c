"""`capstanctl render` prints the operator's objects. e2e compares them with a cluster."""

import json
from pathlib import Path

import pytest
import yaml

from capstan_operator.cli import main

JOB = """
apiVersion: capstan.dev/v1alpha1
kind: TrainingJob
metadata: {name: digits, namespace: team-a}
spec:
  replicaSpecs:
    ps: {template: {spec: {containers: [{name: trainer, image: x}]}}}
    worker: {replicas: 2, template: {spec: {containers: [{name: trainer, image: x}]}}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return path


@pytest.mark.e2e
def test_all_objects_are_printed_in_the_order_of_their_creation(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["render", str(file)]) == 0
    objects = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [(each["kind"], each["metadata"]["name"]) for each in objects] == [
        ("Service", "digits"),
        ("Pod", "digits-ps-0"),
        ("Pod", "digits-worker-0"),
        ("Pod", "digits-worker-1"),
    ]


@pytest.mark.e2e
def test_json_is_a_list_of_the_same_objects(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main.main(["render", str(file)])
    objects = list(yaml.safe_load_all(capsys.readouterr().out))
    main.main(["render", str(file), "-o", "json"])
    listed = json.loads(capsys.readouterr().out)
    assert listed == {"apiVersion": "v1", "kind": "List", "items": objects}


@pytest.mark.e2e
def test_the_namespace_of_the_flag_is_in_objects_and_addresses(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main.main(["render", str(file), "-n", "team-b"])
    out = capsys.readouterr().out
    assert "team-a" not in out
    assert '"ps-0.digits.team-b.svc.cluster.local:2222"' in out


def test_every_fault_is_a_line_with_the_file(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(JOB.replace("replicas: 2", "replica: 2").replace("digits", "Digits"))
    assert main.main(["render", str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(": ")[:3] for line in err.splitlines()] == [
        ["capstanctl", str(file), "metadata.name"],
        ["capstanctl", str(file), "spec.replicaSpecs.worker.replica"],
    ]


@pytest.mark.e2e
def test_a_misspelt_field_of_a_pod_is_a_warning(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(JOB.replace("image: x", "imgae: x", 1))
    assert main.main(["render", str(file)]) == 0
    assert "did you mean image?" in capsys.readouterr().err


def test_a_training_job_needs_no_conversion(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["convert", str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"capstanctl: {file}: is a TrainingJob already, and needs no conversion\n"


@pytest.mark.parametrize("command", ["render", "convert", "submit"])
def test_a_file_that_is_missing_is_one_line(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main([command, "none.yaml"]) == 2
    err = capsys.readouterr().err
    assert err == "capstanctl: none.yaml: cannot be read: No such file or directory\n"
