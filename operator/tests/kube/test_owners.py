"""The job that owns an object, and the task of a pod."""

from typing import Any

import pytest
from kube import documents
from kube.documents import pod

from capstan_operator.api.names import TaskName
from capstan_operator.kube import cache, owners

OWNER = pod()["metadata"]["ownerReferences"][0]


@pytest.mark.parametrize(
    "references, uid",
    [
        ([OWNER], documents.JOB_UID),
        ([OWNER | {"kind": "Deployment", "uid": "x"}, OWNER], documents.JOB_UID),
        ([OWNER | {"apiVersion": "capstan.dev/v2"}], documents.JOB_UID),
        ([OWNER | {"apiVersion": "example.com/v1"}], None),
        ([OWNER | {"kind": "Deployment"}], None),
        ([OWNER | {"name": "letters"}], None),
        ([OWNER | {"controller": False}], None),
        ([{"uid": documents.JOB_UID}], None),
        ([], None),
        (None, None),
    ],
)
def test_the_job_of_an_object_is_its_controller(
    references: list[dict[str, Any]] | None, uid: str | None
) -> None:
    document = cache.thin(pod(metadata={"ownerReferences": references}))
    assert owners.controller(document, "digits") == uid


LABELS = pod()["metadata"]["labels"]


@pytest.mark.parametrize(
    "labels, task",
    [
        (LABELS, (TaskName.parse("worker-1"), 2)),
        (LABELS | {"capstan.dev/replica-type": "master"}, None),
        (LABELS | {"capstan.dev/replica-index": "one"}, None),
        (LABELS | {"capstan.dev/attempt": ""}, None),
        ({"capstan.dev/job-name": "digits"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_labels_of_a_pod_name_its_task_and_its_attempt(
    labels: dict[str, str] | None, task: tuple[TaskName, int] | None
) -> None:
    assert owners.task(cache.thin(pod(metadata={"labels": labels}))) == task
