"""A TrainingJob is read from text. A valid job gets its defaults. An invalid job is refused with
all its faults.
"""

import json
import re

import pytest
import yaml
from api.documents import CONTAINER, DELETE, DIGITS, WORKER, changed, faults
from hypothesis import given
from hypothesis import strategies as st

from capstan_operator.api import names
from capstan_operator.api.names import ReplicaType
from capstan_operator.api.parse import draft, parse
from capstan_operator.api.replicas import OnFailure, RestartPolicy
from capstan_operator.api.spec import SuccessPolicy, TrainingJob
from capstan_operator.errors import Invalid


def test_a_job_gets_the_defaults_of_the_api() -> None:
    job = parse(DIGITS)
    assert (job.metadata.name, job.metadata.namespace, job.metadata.uid) == (
        "digits",
        "default",
        "",
    )
    ps, run = job.replica(ReplicaType.PS), job.spec.run_policy
    assert (ps.replicas, ps.restart_policy, ps.on_failure) == (
        1,
        RestartPolicy.ON_FAILURE,
        OnFailure.RESTART_TASK,
    )
    assert (run.backoff_limit, run.infrastructure_backoff_limit) == (6, 100)
    assert (run.active_deadline_seconds, run.ps_grace_period_seconds) == (None, 30)
    assert run.restart_backoff.model_dump() == {
        "initial_seconds": 5,
        "factor": 2,
        "max_seconds": 300,
        "reset_after_seconds": 600,
    }
    assert job.spec.success_policy is SuccessPolicy.DEFAULT
    assert job.spec.cluster.port is None
    assert ps.template.spec.termination_grace_period_seconds == 30
    assert [str(task) for task in job.tasks()] == ["ps-0", "worker-0", "worker-1"]


def test_tasks_are_in_table_order_however_they_are_written() -> None:
    text = changed(
        "spec", "replicaSpecs", "chief", to=yaml.safe_load(DIGITS)["spec"]["replicaSpecs"]["ps"]
    )
    assert [str(task) for task in parse(text).tasks()] == [
        "chief-0",
        "ps-0",
        "worker-0",
        "worker-1",
    ]
    assert {kind for kind, _ in parse(text).spec.replica_specs.items()} == {"chief", "ps", "worker"}


def test_a_pod_template_belongs_to_its_user() -> None:
    text = changed(*CONTAINER, "resources", to={"limits": {"nvidia.com/gpu": 1}})
    container = parse(text).replica(ReplicaType.WORKER).template.trainer
    assert container.resources is not None
    assert container.resources.limits == {"nvidia.com/gpu": 1}
    text = changed(*CONTAINER, "tty", to=True)
    container = parse(text).replica(ReplicaType.WORKER).template.trainer
    assert container.model_extra == {"tty": True}
    text = changed(*WORKER, "template", "spec", "tolerations", to=[{"anything": 1}])
    spec = parse(text).replica(ReplicaType.WORKER).template.spec
    assert spec.model_extra == {"tolerations": [{"anything": 1}]}


def test_the_trainer_is_the_container_of_that_name_or_the_only_one() -> None:
    assert parse(DIGITS).replica(ReplicaType.PS).template.trainer.command == ("python", "train.py")
    text = changed(
        *WORKER, "template", "spec", "containers", to=[{"name": "log"}, {"name": "trainer"}]
    )
    template = parse(text).replica(ReplicaType.WORKER).template
    assert (template.trainer.name, template.trainer_index) == ("trainer", 1)
    text = changed(*CONTAINER, "name", to="other")
    assert parse(text).replica(ReplicaType.WORKER).template.trainer.name == "other"


def test_an_unset_field_may_be_written_as_null() -> None:
    text = changed("spec", "runPolicy", to={"activeDeadlineSeconds": None, "backoffLimit": None})
    assert parse(text) == parse(DIGITS)


def test_variables_may_come_from_elsewhere() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {}}}]
    container = (
        parse(changed(*CONTAINER, "env", to=env)).replica(ReplicaType.WORKER).template.trainer
    )
    assert [(variable.name, variable.value) for variable in container.env] == [
        ("A", "1"),
        ("B", None),
    ]


def test_the_other_fields_of_a_tfjob_are_no_further_faults() -> None:
    tfjob = "{apiVersion: kubeflow.org/v1, kind: TFJob, spec: {tfReplicaSpecs: {}}}"
    assert faults(tfjob) == [
        "kind: must be TrainingJob, not 'TFJob'; capstanctl convert turns a TFJob into a "
        "TrainingJob"
    ]


def test_with_uid_changes_only_the_uid_of_a_job() -> None:
    job = parse(DIGITS)
    named = job.with_uid(names.Uid("u"))
    assert named.metadata.uid == "u"
    assert named.with_uid(names.Uid("")) == job


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = ["apiVersion", "kind", "metadata", "name", "spec", "replicaSpecs", "worker", "replicas"]
MORE = ["template", "containers", "command", "env", "runPolicy", "restartBackoff", "maxSeconds"]
keys = st.text(max_size=6) | st.sampled_from([*KEYS, *MORE])
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


def answer(text: str) -> TrainingJob | list[str]:
    """Return the job that `parse` returns, or the faults that it raises as `Invalid`."""
    try:
        return parse(text)
    except Invalid as invalid:
        return [str(fault) for fault in invalid.faults]


@pytest.mark.e2e
@given(st.text(max_size=60) | documents.map(json.dumps) | documents.map(yaml.safe_dump))
def test_any_text_is_a_job_or_has_faults(text: str) -> None:
    assert answer(text)


@pytest.mark.e2e
@given(st.data())
def test_a_wrong_value_anywhere_raises_nothing_but_invalid(data: st.DataObject) -> None:
    document = yaml.safe_load(DIGITS)
    places = [(document, key) for key in document]
    for place, key in places:
        inner = place[key]
        entries = (
            inner.items()
            if isinstance(inner, dict)
            else enumerate(inner)
            if isinstance(inner, list)
            else ()
        )
        places += [(inner, name) for name, _ in entries]
    place, key = data.draw(st.sampled_from(places))
    place[key] = data.draw(documents)
    assert answer(yaml.safe_dump(document))


@pytest.mark.parametrize(
    "path, value",
    [
        (("kind",), "Pod"),
        (("metadata",), DELETE),
        (("metadata",), {"labels": {7: 7}}),
        ((7,), 7),
        (("spec", "paused"), True),
        ((*WORKER, "replicas"), "two"),
        ((*WORKER, "template"), {"spec": {"containers": [{"image": 7, "command": ["a"]}]}}),
        ((*CONTAINER, "name"), 7),
        ((*CONTAINER, "command", 1), 7),
        ((*CONTAINER, "env"), [{"value": 7}, 7]),
        ((*WORKER, "template", "spec", "containers"), []),
        ((*WORKER, "template", "spec", "containers"), [{"name": "trainer"}, 7]),
    ],
)
def test_the_sound_part_of_a_faulty_job_is_returned(
    path: tuple[str | int, ...], value: object
) -> None:
    read = draft(changed(*path, to=value))
    assert read.faults
    assert read.sound is not None
    ps = read.sound.replica(ReplicaType.PS)
    assert ps == parse(DIGITS).replica(ReplicaType.PS)


@pytest.mark.parametrize("spec", [DELETE, 7, {}, {"replicaSpecs": 7}])
def test_a_draft_without_replica_specs_has_no_sound_part(spec: object) -> None:
    assert draft(changed("spec", to=spec)).sound is None


@pytest.mark.e2e
@given(documents.map(yaml.safe_dump))
def test_a_draft_of_any_document_is_read_without_an_error(text: str) -> None:
    read = draft(text)
    assert read.faults


legal_names = st.from_regex(r"[a-z]([-a-z0-9]{0,40}[a-z0-9])?", fullmatch=True)


@pytest.mark.e2e
@given(legal_names, st.integers(1, 1000))
def test_every_pod_name_of_a_valid_job_is_a_dns_label(name: str, workers: int) -> None:
    document = yaml.safe_load(DIGITS)
    document["metadata"]["name"] = name
    document["spec"]["replicaSpecs"]["worker"]["replicas"] = workers
    job: TrainingJob = parse(yaml.safe_dump(document))
    for task in job.tasks():
        pod = f"{job.metadata.name}-{task}"
        assert len(pod) <= 63
        assert re.fullmatch(names.DNS_LABEL, pod)
