"""The CustomResourceDefinition, as far as it can be tested without an API server."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from capstan_operator.api import changes, crd, rules, status_json
from capstan_operator.api import status as statuses
from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.replicas import ReplicaSpecs, WorkerSpec
from capstan_operator.api.spec import RunPolicy, Spec
from capstan_operator.api.status import Progress, Status, Summary, TaskStatus

VERSION = crd.definition()["spec"]["versions"][0]
JOB = VERSION["schema"]["openAPIV3Schema"]


def nodes(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, node
    for name, inside in node.get("properties", {}).items():
        yield from nodes(inside, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if inner in node:
            yield from nodes(node[inner], f"{path}.{inner}")


def at(path: str) -> dict[str, Any]:
    return dict(nodes(JOB))[path]


def test_the_schema_is_structural() -> None:
    for path, node in nodes(JOB):
        # An API server refuses or silently ignores unions, references and similar keywords.
        assert not node.keys() & {"$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "const"}, path
        assert not node.keys() & {"title", "nullable", "uniqueItems", "propertyNames"}, path
        assert not isinstance(node.get("additionalProperties"), bool), path
        assert not {"properties", "additionalProperties"} <= node.keys(), path
        special = {"x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"}
        assert ("type" in node) or node.keys() & special, path
        assert node.get("default", 0) is not None, path
        if node.get("type") == "integer":
            assert node["format"] in ("int32", "int64"), path
        if node.get("type") == "array":
            assert node["x-kubernetes-list-type"] in ("map", "atomic"), path
        for key in node.get("x-kubernetes-list-map-keys", ()):
            assert key in node["items"]["required"], path


@pytest.mark.e2e
def test_the_definition_fits_into_the_annotation_of_kubectl_apply() -> None:
    assert len(json.dumps(crd.definition())) < 256 * 1024


def test_every_field_of_the_spec_has_a_description() -> None:
    for path, node in nodes(JOB["properties"]["spec"], "spec"):
        if not path.endswith((".items", ".additionalProperties")):
            assert node.get("description", "").endswith("."), path
            assert "\n" not in node["description"], path


@pytest.mark.parametrize("kind", ReplicaType)
def test_a_template_keeps_fields_that_the_schema_does_not_have(kind: ReplicaType) -> None:
    template = f".spec.replicaSpecs.{kind}.template"
    container = f"{template}.spec.containers.items"
    parts = ["", ".metadata", ".spec", ".spec.containers.items", ".spec.initContainers.items"]
    for path in [template + part for part in parts]:
        assert at(path)["x-kubernetes-preserve-unknown-fields"] is True
    for part in (".env.items", ".resources", ".ports.items"):
        assert at(container + part)["x-kubernetes-preserve-unknown-fields"] is True
    for path, node in nodes(at(template)):
        assert "default" not in node, path


def test_unknown_fields_outside_of_templates_are_dropped() -> None:
    kept = {path for path, node in nodes(JOB) if "x-kubernetes-preserve-unknown-fields" in node}
    assert {path for path in kept if ".template" not in path} == {
        # A metric that is not a number is a text.
        ".status.progress.metrics.additionalProperties"
    }


def test_defaults_are_those_of_the_models() -> None:
    assert at(".spec.replicaSpecs.worker.replicas")["default"] == 1
    assert at(".spec.runPolicy")["default"] == {}
    assert at(".spec.runPolicy.restartBackoff")["default"] == {}
    assert at(".spec.runPolicy.backoffLimit")["default"] == RunPolicy().backoff_limit
    assert at(".spec.cluster.domain")["default"] == "cluster.local"
    for path in (".spec.checkpoint", ".spec.cluster.port", ".spec.runPolicy.activeDeadlineSeconds"):
        assert "default" not in at(path)


def test_the_schema_of_the_status_has_no_enums_and_no_defaults() -> None:
    for path, node in nodes(at(".status")):
        assert not node.keys() & {"enum", "default"}, path
    assert at(".status.tasks")["x-kubernetes-list-type"] == "atomic"
    assert at(".status.conditions")["x-kubernetes-list-map-keys"] == ["type"]


def documented(document: object, node: dict[str, Any], path: str) -> None:
    """Assert that the schema `node` has every field of a document."""
    if isinstance(document, dict):
        for name, value in document.items():
            inside = node.get("properties", {}).get(name) or node.get("additionalProperties")
            assert inside is not None, f"{path}.{name}"
            documented(value, inside, f"{path}.{name}")
    elif isinstance(document, list):
        for value in document:
            documented(value, node["items"], path)


def test_a_status_has_no_field_that_the_schema_would_drop() -> None:
    row = TaskStatus(name=TaskName.parse("ps-0"), pod="p", node="n", waiting="w", exit_code=1)
    status = Status(
        observed_generation=1,
        tasks=(row,),
        progress=Progress(step=1, metrics={"loss": float("nan")}),
        replica_statuses={ReplicaType.PS: statuses.ReplicaStatus()},
        summary=Summary(),
        failure="f",
    )
    documented(status_json.render(status), at(".status"), "status")


@pytest.mark.parametrize("column", crd.COLUMNS, ids=lambda column: column[0])
def test_a_column_shows_a_field_of_its_type(column: tuple[str, str, str, int]) -> None:
    _, kind, path, _ = column
    if path == ".metadata.creationTimestamp":
        assert kind == "date"
    elif path == ".status.progress.metrics.loss":
        values = at(".status.progress.metrics")["additionalProperties"]
        assert values == {"x-kubernetes-preserve-unknown-fields": True}
    else:
        assert at(path)["type"] == kind


def test_columns_are_those_of_the_table_of_jobs() -> None:
    heads = [(name.upper(), wide) for name, _, _, wide in crd.COLUMNS]
    always = ["PHASE", "PS", "WORKERS", "RESTARTS", "STEP", "AGE"]
    assert heads == [(name, 0) for name in always] + [
        (name, 1) for name in ("EPOCH", "STEPS/S", "LOSS", "REASON")
    ]


def test_rules_are_at_the_root_and_name_a_field_of_the_schema() -> None:
    found = [(rule["rule"], rule["message"]) for rule in JOB["x-kubernetes-validations"]]
    assert found[: len(rules.RULES)] == [(rule.cel, rule.message) for rule in rules.RULES]
    fields = dict(nodes(JOB))
    for validation in JOB["x-kubernetes-validations"]:
        assert validation["fieldPath"] in fields


def test_the_spec_is_immutable_except_its_times_and_the_number_of_workers() -> None:
    fields = {f"spec.{field.alias}" for field in Spec.model_fields.values()}
    fields -= {"spec.runPolicy", "spec.replicaSpecs"}
    for path, model in {
        "spec.runPolicy": RunPolicy,
        "spec.replicaSpecs": ReplicaSpecs,
        "spec.replicaSpecs.worker": WorkerSpec,
    }.items():
        fields |= {f"{path}.{field.alias}" for field in model.model_fields.values()}
    assert {change.path for change in changes.CHANGES} == fields - {
        "spec.replicaSpecs.worker.replicas",
        "spec.runPolicy.activeDeadlineSeconds",
        "spec.runPolicy.pendingDeadlineSeconds",
        "spec.runPolicy.progressDeadlineSeconds",
        "spec.runPolicy.ttlSecondsAfterFinished",
        "spec.suspend",
    }
    for change in changes.CHANGES:
        named = set(re.findall(r"\b(?:self|oldSelf)\.([\w.]+)", change.cel))
        assert named - {"spec.replicaSpecs.worker"} == {change.path} - {"spec.replicaSpecs.worker"}
        assert change.message == changes.MESSAGE
