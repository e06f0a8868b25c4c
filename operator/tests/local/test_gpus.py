"""`capstanctl run` says which tasks request GPUs that this machine does not have."""

from pathlib import Path

import pytest

from capstan_operator.api.parse import parse
from capstan_operator.api.spec import TrainingJob
from capstan_operator.local import gpus

FIELD = "spec.replicaSpecs.worker.template.spec.containers[0].resources"


def job(resources: str) -> TrainingJob:
    trainer = f"{{name: trainer, command: [train], resources: {resources}}}"
    return parse(
        "apiVersion: capstan.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: digits}\n"
        "spec: {replicaSpecs: {ps: {template: {spec: {containers: [{name: a, command: [b]}]}}}, "
        f"worker: {{template: {{spec: {{containers: [{trainer}]}}}}}}}}}}"
    )


@pytest.mark.parametrize(
    ("resources", "name"),
    [
        ("{limits: {nvidia.com/gpu: 1}}", "nvidia.com/gpu"),
        ("{limits: {nvidia.com/gpu: '2', cpu: 1}}", "nvidia.com/gpu"),
        ("{requests: {nvidia.com/mig-1g.10gb: 1}}", "nvidia.com/mig-1g.10gb"),
    ],
)
def test_a_request_of_gpus_is_reported_if_there_is_none(
    resources: str, name: str, tmp_path: Path
) -> None:
    [warning] = gpus.missing(job(resources), tmp_path)
    assert warning.path == FIELD
    assert warning.message.startswith(f"requests {name}, but this machine has no GPU of NVIDIA")


@pytest.mark.parametrize("resources", ["{}", "{limits: {cpu: 1}}", "{limits: {nvidia.com/gpu: 0}}"])
def test_a_job_without_gpus_is_not_reported(resources: str, tmp_path: Path) -> None:
    assert not list(gpus.missing(job(resources), tmp_path))


@pytest.mark.parametrize("driver", ["nvidiactl", "dxg"])
def test_a_request_of_gpus_is_not_reported_if_there_is_one(driver: str, tmp_path: Path) -> None:
    (tmp_path / driver).touch()
    assert not list(gpus.missing(job("{limits: {nvidia.com/gpu: 1}}"), tmp_path))
