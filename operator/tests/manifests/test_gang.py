"""The PodGroups of the schedulers, and the marks of their pods."""

from typing import Any

import pytest
from reconcile.world import make_job, task

from capstan_operator.manifests import gang, labels

V1BETA1, V1ALPHA2, COSCHEDULING, VOLCANO = gang.BACK_ENDS
NATIVE_SPEC = {"schedulingPolicy": {"gang": {"minCount": 3}}}


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"hostname": "ps-0", **spec}}


@pytest.mark.parametrize(
    "back_end, name, spec",
    [
        (V1BETA1, "digits", NATIVE_SPEC),
        (V1ALPHA2, "digits-3", NATIVE_SPEC),
        (COSCHEDULING, "digits", {"minMember": 3}),
        (VOLCANO, "digits", {"minMember": 3}),
    ],
    ids=lambda value: getattr(value, "version", ""),
)
def test_a_pod_group_has_the_fields_of_its_scheduler(
    back_end: gang.BackEnd, name: str, spec: dict[str, Any]
) -> None:
    job = make_job()
    manifest = gang.group(job, back_end, 3).manifest(job)
    assert (manifest["apiVersion"], manifest["kind"]) == (back_end.version, "PodGroup")
    assert manifest["metadata"]["name"] == name
    assert manifest["metadata"] == labels.metadata(job, name, applied=True)
    assert manifest["spec"] == spec


@pytest.mark.parametrize(
    "back_end, metadata, spec",
    [
        (V1BETA1, {}, {"schedulingGroup": {"podGroupName": "digits"}}),
        (
            COSCHEDULING,
            {"labels": {"a": "b", "scheduling.x-k8s.io/pod-group": "digits"}},
            {"schedulerName": "scheduler-plugins-scheduler"},
        ),
        (
            VOLCANO,
            {"annotations": {"scheduling.k8s.io/group-name": "digits"}},
            {"schedulerName": "volcano"},
        ),
    ],
    ids=lambda value: getattr(value, "version", ""),
)
def test_a_pod_names_its_group_and_the_scheduler(
    back_end: gang.BackEnd, metadata: dict[str, Any], spec: dict[str, Any]
) -> None:
    joined = gang.PodGroup(back_end, "digits", 3).joined(pod(), task("ps-0"))
    before = pod()
    assert joined["metadata"] == {**before["metadata"], **metadata}
    assert joined["spec"] == {**before["spec"], **spec}


def test_a_template_may_name_another_scheduler() -> None:
    joined = gang.PodGroup(VOLCANO, "digits", 3).joined(pod(schedulerName="mine"), task("ps-0"))
    assert joined["spec"]["schedulerName"] == "mine"
