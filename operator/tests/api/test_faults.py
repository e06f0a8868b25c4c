"""Each fault of a file of a job is reported with its place, and all faults at once."""

import pytest
from api.documents import CONTAINER, DELETE, DIGITS, WORKER, changed, faults

from capstan_operator.api.parse import parse

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
