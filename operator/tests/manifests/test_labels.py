"""The owner of a job's objects."""

from typing import Any

import pytest
from reconcile.world import make_job

from capstan_operator.manifests import certificates, cluster_file, gang, pod

JOB = make_job()


@pytest.mark.parametrize(
    "manifest",
    [
        certificates.secret(JOB, "a", {}),
        cluster_file.config_map(JOB, pod.address(JOB), version=1, epoch=1),
        gang.group(JOB, gang.BACK_ENDS[0], 3).manifest(JOB),
    ],
    ids=lambda manifest: manifest["kind"],
)
def test_an_applied_object_has_the_same_owner_in_every_version(manifest: dict[str, Any]) -> None:
    """Some clusters let only those change the owner who may delete the object."""
    (owner,) = manifest["metadata"]["ownerReferences"]
    assert owner == {
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "TrainingJob",
        "name": "digits",
        "uid": "a-job",
        "controller": True,
    }
