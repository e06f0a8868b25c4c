"""The rules over several fields: their CEL form and their Python form agree."""

import re
from typing import Any

import pytest
import yaml

from capstan_operator.api import rules
from capstan_operator.api.parse import parse
from capstan_operator.errors import Fault, Invalid

LONG = "is too long: the longest task name, <name>-<type>-<index>, may have at most 63 characters"
NO_TRAINER = "a job needs a chief or at least one worker to train"
TRAINER = (
    "if there are several containers, one must be named trainer: the task ends when that container"
    " ends"
)
ALWAYS = {"name": "again", "restartPolicy": "Always"}
ALL_AGAIN = {"name": "all", "restartPolicyRules": [{"action": "RestartAllContainers"}]}
INIT_CONTAINERS = "spec.replicaSpecs.worker.template.spec.initContainers"
WITH_ALL = "an init container may not set restartPolicyRules"
IN_PLACE = "a container may not set restartPolicy"
CONTAINERS = "spec.replicaSpecs.worker.template.spec.containers"


REPLICAS = "spec.replicaSpecs.worker.replicas"
OUT_OF_RANGE = "must be at least minReplicas and at most maxReplicas"


def job(
    name: str = "digits",
    run: object = None,
    containers: object = None,
    init: object = None,
    range: dict[str, int] | None = None,  # noqa: A002 - the range of replicas
    **counts: int,
) -> str:
    inside = {"containers": containers or [{"name": "trainer"}], "initContainers": init or []}
    replicas = {
        kind: {"replicas": count, "template": {"spec": inside}} for kind, count in counts.items()
    }
    if "worker" in replicas:
        replicas["worker"] |= range or {}
    return yaml.safe_dump(
        {
            "apiVersion": "capstan.dev/v1alpha1",
            "kind": "TrainingJob",
            "metadata": {"name": name},
            "spec": {"replicaSpecs": replicas, "runPolicy": run or {}},
        }
    )


def named(*containers: str) -> list[dict[str, str]]:
    return [{"name": name} for name in containers]


@pytest.mark.parametrize(
    "text",
    [
        job(worker=1),
        job(chief=1),
        job(chief=1, worker=0),
        job(ps=3, worker=5, evaluator=1, chief=1),
        job(name="a", worker=1),
        job(name="a-1", worker=1),
        job(name="x" * 54, worker=10),
        job(name="x" * 53, worker=11),
        job(name="x" * 51, worker=1, evaluator=1),
        job(name="x" * 55, chief=1, worker=0),
        job(worker=1, containers=named("only")),
        job(worker=1, containers=named("log", "trainer")),
        job(worker=1, containers=[{"name": "trainer", "restartPolicy": None}]),
        job(worker=1, init=[ALWAYS]),
        job(worker=1, run={"restartBackoff": {"initialSeconds": 300}}),
        job(worker=1, run={"restartBackoff": {"initialSeconds": 7, "maxSeconds": 7}}),
        job(worker=1, run={"restartBackoff": {"maxSeconds": 5}}),
        job(worker=2, range={"minReplicas": 2, "maxReplicas": 2}),
        job(worker=2, range={"minReplicas": 0}),
        job(worker=2, range={"maxReplicas": 1000}),
        job(name="x" * 53, worker=2, range={"maxReplicas": 100}),
        job(name="x" * 55, chief=1, worker=0, range={"maxReplicas": 0}),
        job(chief=1, range={"minReplicas": 3}),
    ],
)
def test_a_valid_job_keeps_all_rules(text: str) -> None:
    parse(text)


@pytest.mark.parametrize(
    "text, path, message",
    [
        (job(name="x" * 55, worker=10), "metadata.name", LONG),
        (job(name="x" * 54, worker=11), "metadata.name", LONG),
        (job(name="x" * 52, worker=1, evaluator=1), "metadata.name", LONG),
        (job(name="x" * 53, worker=2, range={"maxReplicas": 101}), "metadata.name", LONG),
        (job(name="x" * 55, chief=1, worker=0, range={"maxReplicas": 1}), "metadata.name", LONG),
        (job(), "spec.replicaSpecs", NO_TRAINER),
        (job(ps=2), "spec.replicaSpecs", NO_TRAINER),
        (job(ps=1, worker=0, chief=0), "spec.replicaSpecs", NO_TRAINER),
        (job(evaluator=1), "spec.replicaSpecs", NO_TRAINER),
        (job(chief=2), "spec.replicaSpecs.chief.replicas", "a job has at most one chief"),
        (
            job(worker=1, evaluator=2),
            "spec.replicaSpecs.evaluator.replicas",
            "a job has at most one evaluator",
        ),
        (job(worker=1, range={"minReplicas": 2}), REPLICAS, OUT_OF_RANGE),
        (job(worker=3, range={"maxReplicas": 2}), REPLICAS, OUT_OF_RANGE),
        (job(worker=2, range={"minReplicas": 3, "maxReplicas": 1}), REPLICAS, OUT_OF_RANGE),
        (job(worker=1, containers=named("a", "b")), CONTAINERS, TRAINER),
        (job(worker=1, containers=[ALWAYS]), CONTAINERS, IN_PLACE),
        (job(worker=1, containers=[*named("trainer"), ALWAYS]), CONTAINERS, IN_PLACE),
        (job(worker=1, init=[ALWAYS | {"restartPolicyRules": []}]), INIT_CONTAINERS, WITH_ALL),
        (job(worker=1, init=[ALWAYS, ALL_AGAIN]), INIT_CONTAINERS, WITH_ALL),
        (
            job(worker=1, run={"restartBackoff": {"initialSeconds": 301}}),
            "spec.runPolicy.restartBackoff",
            "initialSeconds must not be more than maxSeconds",
        ),
        (
            job(worker=1, run={"restartBackoff": {"maxSeconds": 4}}),
            "spec.runPolicy.restartBackoff",
            "initialSeconds must not be more than maxSeconds",
        ),
    ],
)
def test_each_change_breaks_exactly_one_rule(text: str, path: str, message: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse(text)
    (fault,) = caught.value.faults
    assert fault.path == path
    assert fault.message.startswith(message)


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: f"{rule.path}: {rule.message[:20]}")
@pytest.mark.parametrize("wrong", ["text", [], [7], True, 1.5])
def test_a_rule_holds_for_values_that_the_schema_refuses(rule: rules.Rule, wrong: Any) -> None:
    replica = {"replicas": wrong, "template": {"spec": {"containers": wrong}}}
    for document in (
        {"metadata": wrong, "spec": wrong},
        {"metadata": {"name": wrong}, "spec": {"replicaSpecs": wrong, "runPolicy": wrong}},
        {"spec": {"runPolicy": {"restartBackoff": wrong}}},
        {"spec": {"runPolicy": {"restartBackoff": {"initialSeconds": wrong}}}},
        {"spec": {"replicaSpecs": {"worker": replica, "chief": wrong, "evaluator": replica}}},
    ):
        assert rule.holds(document)


def test_all_rules_have_a_cel_form_and_a_python_form_and_differ() -> None:
    places = [(rule.path, rule.message) for rule in rules.RULES]
    assert len(set(places)) == len(places)
    for rule in rules.RULES:
        assert rule.cel.startswith(("self.", "!has(self.", "(has(self.", "(!has(self."))
        assert rule.cel.count("(") == rule.cel.count(")")
        fields = re.findall(r"self\.(metadata\.name|spec\.[A-Za-z.]+)", rule.cel)
        assert any(field.startswith(rule.path.split(".")[0]) for field in fields)


def test_a_fault_is_shown_as_path_and_message() -> None:
    assert str(Fault("--port", "is in use")) == "--port: is in use"
    assert str(Fault("", "is empty")) == "is empty"
    assert str(Invalid((Fault("a", "x"), Fault("b", "y")))) == "a: x; b: y"


CLAIM = {"volumeClaim": {"storage": "10Gi"}}


@pytest.mark.parametrize(
    "claims, count",
    [
        ({}, 0),
        (CLAIM, 1),
        ({"existingClaim": "models"}, 1),
        ({"existingClaim": None, **CLAIM}, 1),
        ({"existingClaim": "models", **CLAIM}, 2),
    ],
)
def test_a_checkpoint_names_exactly_one_claim(claims: dict[str, Any], count: int) -> None:
    document = yaml.safe_load(job(worker=1))
    document["spec"]["checkpoint"] = {"path": "/checkpoints", **claims}
    if count == 1:
        parse(yaml.safe_dump(document))
        return
    with pytest.raises(Invalid) as refused:
        parse(yaml.safe_dump(document))
    message = "set either existingClaim or volumeClaim"
    assert refused.value.faults == (Fault("spec.checkpoint", message),)
