"""A TrainingJob is read from text. A valid job gets its defaults. An invalid job is refused with
all its faults.
"""

import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from capstan_operator.api import names
from capstan_operator.api.names import ReplicaType
from capstan_operator.api.parse import draft, parse
from capstan_operator.api.replicas import OnFailure, RestartPolicy
from capstan_operator.api.spec import SuccessPolicy, TrainingJob
from capstan_operator.errors import Invalid

DIGITS = """
apiVersion: capstan.dev/v1alpha1
kind: TrainingJob
metadata: {name: digits}
spec:
  replicaSpecs:
    ps:
      template: &template
        spec:
          containers:
          - {name: trainer, image: "capstan/digits:dev", command: [python, train.py]}
    worker:
      replicas: 2
      template: *template
"""
PLAIN = json.dumps(yaml.safe_load(DIGITS))
"""The same job without aliases."""


def faults(text: str) -> list[str]:
    with pytest.raises(Invalid) as caught:
        parse(text)
    return [str(fault) for fault in caught.value.faults]


def changed(*path: str | int, to: object) -> str:
    """Return the job of `DIGITS` with one field set to `to`. `DELETE` removes the field."""
    document = json.loads(PLAIN)
    place: Any = document
    for part in path[:-1]:
        place = place[part] if isinstance(part, int) else place.setdefault(part, {})
    if to is DELETE:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return str(yaml.dump(document, Dumper=yaml.CSafeDumper))


DELETE = object()
WORKER = ("spec", "replicaSpecs", "worker")
CONTAINER = (*WORKER, "template", "spec", "containers", 0)


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


NAME = "spec.replicaSpecs.worker"
LABEL = (
    "must be a DNS label: lowercase letters, digits and '-', beginning with a letter and ending"
    " with a letter or digit"
)


@pytest.mark.parametrize(
    "path, value, fault",
    [
        (("metadata", "name"), DELETE, "metadata.name: is required"),
        (("metadata", "name"), 7, "metadata.name: must be text, not 7; put it in quotes"),
        *(
            (("metadata", "name"), name, f"metadata.name: {LABEL}, not {name!r}")
            for name in ("Digits", "1st", "a_b", "a.b", "-a", "a-", "a\n", "ä")
        ),
        (
            ("metadata", "name"),
            "x" * 64,
            f"metadata.name: must be at most 63 characters long, not '{'x' * 39}…'",
        ),
        (("metadata", "namespace"), "", "metadata.namespace: must not be empty"),
        (("metadata", "nmae"), "x", "metadata.nmae: is not a field; did you mean name?"),
        (
            ("metadata", "labels"),
            {"a": 1},
            "metadata.labels.a: must be text, not 1; put it in quotes",
        ),
        (("spec", "replicaSpecs"), DELETE, "spec.replicaSpecs: is required"),
        (("spec", "replicaSpecs"), None, "spec.replicaSpecs: is required"),
        (("spec", "replicaSpecs"), [], "spec.replicaSpecs: must be a mapping, not a list"),
        (
            ("spec", "workers"),
            {},
            "spec.workers: is not a field; there are replicaSpecs, cluster, checkpoint,"
            " successPolicy, runPolicy,"
            " scheduling, suspend, managedBy",
        ),
        (
            ("spec", "replicaSpecs", "workers"),
            {},
            "spec.replicaSpecs.workers: is not a field; did you mean worker?",
        ),
        *(
            (
                ("spec", "replicaSpecs", name),
                {},
                f"spec.replicaSpecs.{name}: is not a field; did you mean chief?",
            )
            for name in ("master", "Master")
        ),
        ((*WORKER, "replicas"), -1, f"{NAME}.replicas: must be at least 0, not -1"),
        ((*WORKER, "replicas"), 1001, f"{NAME}.replicas: must be at most 1000, not 1001"),
        ((*WORKER, "replicas"), "2", f"{NAME}.replicas: must be a whole number, not '2'"),
        ((*WORKER, "replicas"), 1.5, f"{NAME}.replicas: must be a whole number, not 1.5"),
        ((*WORKER, "replicas"), True, f"{NAME}.replicas: must be a whole number, not true"),
        (
            (*WORKER, "restartpolicy"),
            "Never",
            f"{NAME}.restartpolicy: is not a field; did you mean restartPolicy?",
        ),
        (
            (*WORKER, "restart_policy"),
            "Never",
            f"{NAME}.restart_policy: is not a field; did you mean restartPolicy?",
        ),
        (
            (*WORKER, "restartPolicy"),
            "onfailure",
            f"{NAME}.restartPolicy: must be Always, OnFailure, Never or ExitCode, not 'onfailure'",
        ),
        (
            (*WORKER, "onFailure"),
            7,
            f"{NAME}.onFailure: must be RestartTask, RestartJob, FailJob or Ignore, not 7",
        ),
        ((*WORKER, "template"), DELETE, f"{NAME}.template: is required"),
        (
            (*WORKER, "template", "spec", "containers"),
            [],
            f"{NAME}.template.spec.containers: must not be empty",
        ),
        ((*CONTAINER, "name"), DELETE, f"{NAME}.template.spec.containers[0].name: is required"),
        (
            (*CONTAINER, "command"),
            "python train.py",
            f"{NAME}.template.spec.containers[0].command: must be a list, not 'python train.py';"
            " write [python, train.py]",
        ),
        (
            (*CONTAINER, "args"),
            ["--port", 80],
            f"{NAME}.template.spec.containers[0].args[1]: must be text, not 80; put it in quotes",
        ),
        (
            (*CONTAINER, "env"),
            [{"name": "DEBUG", "value": True}],
            f"{NAME}.template.spec.containers[0].env[0].value: must be text, not true;"
            " put it in quotes",
        ),
        (("spec", "cluster"), {"port": 0}, "spec.cluster.port: must be at least 1, not 0"),
        (
            ("spec", "cluster"),
            {"port": 65536},
            "spec.cluster.port: must be at most 65535, not 65536",
        ),
        (
            ("spec", "successPolicy"),
            "Any",
            "spec.successPolicy: must be Default or AllWorkers, not 'Any'",
        ),
        (
            ("spec", "runPolicy"),
            {"backoffLimit": -1},
            "spec.runPolicy.backoffLimit: must be at least 0, not -1",
        ),
        (
            ("spec", "runPolicy"),
            {"activeDeadlineSeconds": 0},
            "spec.runPolicy.activeDeadlineSeconds: must be at least 1, not 0",
        ),
        (
            ("spec", "runPolicy"),
            {"restartBackoff": {"factor": 0.5}},
            "spec.runPolicy.restartBackoff.factor: must be at least 1, not 0.5",
        ),
        (
            ("spec", "runPolicy"),
            {"restartBackoff": {"maxSeconds": float("inf")}},
            "spec.runPolicy.restartBackoff.maxSeconds: must be a finite number, not inf",
        ),
        (("apiVersion",), "v1", "apiVersion: must be capstan.dev/v1alpha1, not 'v1'"),
        (
            ("apiVersion",),
            DELETE,
            "apiVersion: is required; write `apiVersion: capstan.dev/v1alpha1`",
        ),
        (("kind",), None, "kind: is required; write `kind: TrainingJob`"),
        (("kind",), "trainingjob", "kind: must be TrainingJob, not 'trainingjob'"),
        (
            ("kind",),
            "TFJob",
            "kind: must be TrainingJob, not 'TFJob'; capstanctl convert turns a TFJob into a "
            "TrainingJob",
        ),
        (("status",), {}, "status: is set by the API server; remove it"),
        (
            ("metadata", "resourceVersion"),
            "7",
            "metadata.resourceVersion: is set by the API server; remove it",
        ),
        (
            ("metadata", "finalizers"),
            ["a.b/c"],
            "metadata.finalizers: is read by kubectl only; remove it, or use kubectl create",
        ),
    ],
)
def test_one_wrong_field_is_one_fault_that_names_it(
    path: tuple[str | int, ...], value: object, fault: str
) -> None:
    assert faults(changed(*path, to=value)) == [fault]


MANY_FAULTS = """
apiVersion: capstan.dev/v1alpha1
kind: TrainingJob
metadata: {name: Digits}
spec:
  paused: true
  successPolicy: Any
  replicaSpecs:
    ps:
      replicas: two
      template: {spec: {containers: [{name: a, command: python}, {name: b}]}}
    chief:
      replicas: 2
      restartpolicy: Never
      template: {spec: {containers: [{image: x}]}}
    evaluator: {replicas: 3, template: {spec: {containers: [{name: a}, {name: a}]}}}
  runPolicy: {backoffLimit: -1, restartBackoff: {initialSeconds: 400}}
"""


def test_all_faults_of_a_file_are_reported_at_once() -> None:
    found = faults(MANY_FAULTS)
    assert sorted(fault.split(": ")[0] for fault in found) == sorted(
        [
            "metadata.name",
            "spec.paused",
            "spec.successPolicy",
            "spec.replicaSpecs.ps.replicas",
            "spec.replicaSpecs.ps.template.spec.containers[0].command",
            "spec.replicaSpecs.ps.template.spec.containers",
            "spec.replicaSpecs.chief.replicas",
            "spec.replicaSpecs.chief.restartpolicy",
            "spec.replicaSpecs.chief.template.spec.containers[0].name",
            "spec.replicaSpecs.evaluator.replicas",
            "spec.replicaSpecs.evaluator.template.spec.containers",
            "spec.replicaSpecs.evaluator.template.spec.containers[1]",
            "spec.runPolicy.backoffLimit",
            "spec.runPolicy.restartBackoff",
        ]
    )


def test_a_key_that_is_given_twice_is_a_fault() -> None:
    text = DIGITS + "    chief: {template: *template}\n    chief: {template: *template}\n"
    assert faults(text) == [
        "spec.replicaSpecs.chief: is given twice, on line 15 and on line 16; keep one"
    ]


@pytest.mark.e2e
def test_nested_aliases_are_read_without_expanding_them() -> None:
    laughs = ["x0: &x0 [ha, ha]"]
    laughs += [f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]" for n in range(1, 40)]
    volumes = "\n            ".join(["volumes:", *laughs])
    text = DIGITS.replace("          containers:", f"          {volumes}\n          containers:")
    assert parse(text).metadata.name == "digits"
    assert faults(
        text.replace("        - {name: trainer", "        - *x39\n          - {name: trainer")
    )


def test_a_wrong_kind_does_not_hide_other_faults() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: A}\nspec: {containers: 7}\n"
    assert [fault.split(": ")[0] for fault in faults(text)] == [
        "apiVersion",
        "kind",
        "metadata.name",
        "spec.replicaSpecs",
        "spec.containers",
    ]


BEGINS = "a TrainingJob begins with `apiVersion:` and `kind:`"


@pytest.mark.parametrize(
    "text, fault",
    [
        ("", f"is empty; {BEGINS}"),
        ("# nothing\n", f"is empty; {BEGINS}"),
        ("- a", f"is not a mapping; {BEGINS}"),
        ("hello", f"is not a mapping; {BEGINS}"),
        (
            "a: 1\n---\nb: 1",
            "has another document on line 2; write each job into a file of its own",
        ),
        (
            "a:\n  - [b\n",
            "is not valid YAML on line 3, column 1: while parsing a flow sequence",
        ),
        (
            "a: b: c",
            "is not valid YAML on line 1, column 5: mapping values are not allowed",
        ),
        ("a: \x07", "is not valid YAML: unacceptable character"),
        (
            "a: !!python/object:os.system x",
            "is not valid YAML on line 1, column 4: could not",
        ),
        (
            "a: 2026-13-45",
            "has a value that YAML cannot convert (month must be in 1..12); put it in quotes",
        ),
        ("a: &a [*a]", "a[0]: contains itself (line 1)"),
        ("[" * 500, "is nested too deeply"),
    ],
)
def test_text_that_is_not_a_yaml_mapping_is_refused_with_its_place(text: str, fault: str) -> None:
    (found,) = faults(text)
    assert found.startswith(fault)


def test_a_field_name_that_is_not_text_is_a_fault() -> None:
    text = DIGITS + "7: 2\ntrue: 1\n"
    assert sorted(faults(text)) == [
        "7 is not a field: names of fields are text",
        "true is not a field: names of fields are text",
    ]
    text = changed("spec", "runPolicy", to={7: 1})
    assert faults(text) == ["spec.runPolicy: 7 is not a field: names of fields are text"]


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
