"""The PersistentVolumeClaim of a job has the wanted volume, and is deleted with the job."""

from typing import Any

import pytest
from reconcile.world import make_job, task

from capstan_operator.manifests import pod
from capstan_operator.manifests.volume_claim import volume_claim


@pytest.mark.parametrize(
    "wanted, spec",
    [
        ({}, {"accessModes": ["ReadWriteMany"]}),
        ({"accessModes": ["ReadWriteOnce"]}, {"accessModes": ["ReadWriteOnce"]}),
        (
            {"storageClassName": "fast"},
            {"accessModes": ["ReadWriteMany"], "storageClassName": "fast"},
        ),
    ],
)
def test_the_claim_asks_for_the_volume_of_the_job_and_every_task_mounts_it(
    wanted: dict[str, Any], spec: dict[str, Any]
) -> None:
    job = make_job(checkpoint={"path": "/c", "volumeClaim": {"storage": "10Gi", **wanted}})
    assert job.spec.checkpoint is not None
    assert job.spec.checkpoint.volume_claim is not None
    made = volume_claim(job, job.spec.checkpoint.volume_claim)
    assert made["spec"] == {**spec, "resources": {"requests": {"storage": "10Gi"}}}
    a_pod = pod.pod(job, task("ps-0"), pod.environment(job), attempt=1, epoch=1)
    assert made["metadata"]["ownerReferences"] == a_pod["metadata"]["ownerReferences"]
    volumes = {volume["name"]: volume for volume in a_pod["spec"]["volumes"]}
    claim = volumes[pod.CHECKPOINT_VOLUME]["persistentVolumeClaim"]
    assert claim == {"claimName": made["metadata"]["name"]} == {"claimName": "digits-checkpoints"}
