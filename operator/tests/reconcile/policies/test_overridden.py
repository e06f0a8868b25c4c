"""A user learns which fields of a template have no effect."""

from typing import Any

import pytest
from reconcile.world import World, make_job

from capstan_operator.api.spec import TrainingJob
from capstan_operator.reconcile.policies import overridden

INTRODUCTION = "the operator sets these fields itself, and ignores the job's: "
SPEC = "spec.replicaSpecs.worker.template.spec"


def job(container: dict[str, Any] | None = None, **pod: Any) -> TrainingJob:
    containers = [{"name": "trainer", "command": ["python"], **(container or {})}]
    template = {"spec": {"containers": containers, **pod}}
    return make_job(ps=0, workers=1, each={"worker": {"template": template}})


@pytest.mark.parametrize(
    "job, fields",
    [
        (job(), []),
        (job(restartPolicy="Never", hostname=None, setHostnameAsFQDN=False), []),
        (job({"env": [{"name": "CAPSTAN_CHECKPOINT_DIR", "value": "/kept"}]}), []),
        (
            job(restartPolicy="OnFailure"),
            [f"{SPEC}.restartPolicy (see spec.replicaSpecs.worker.restartPolicy)"],
        ),
        (
            job(hostname="a", subdomain="b", setHostnameAsFQDN=True),
            [f"{SPEC}.hostname", f"{SPEC}.subdomain", f"{SPEC}.setHostnameAsFQDN"],
        ),
        (
            job({"env": [{"name": "TF_CONFIG", "value": "{}"}, {"name": "MINE", "value": "1"}]}),
            ["spec.replicaSpecs.worker.template: the variable TF_CONFIG"],
        ),
    ],
)
def test_an_event_names_the_fields_that_the_operator_sets_itself(
    job: TrainingJob, fields: list[str]
) -> None:
    found = [news.message for news in overridden.news(job)]
    assert found == ([INTRODUCTION + ", ".join(fields)] if fields else [])


@pytest.mark.parametrize("suspend", [False, True])
def test_the_event_is_posted_once(suspend: bool) -> None:
    template = {"spec": {"containers": [{"name": "trainer", "command": ["a"]}], "hostname": "b"}}
    world = World(
        make_job(ps=0, workers=1, each={"worker": {"template": template}}, suspend=suspend)
    )
    world.settle()
    assert world.reasons.count("FieldsIgnored") == 1
