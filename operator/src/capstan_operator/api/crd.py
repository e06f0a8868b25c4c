"""The CustomResourceDefinition of TrainingJobs, with which an API server checks and shows them.

It follows from the models in `spec` and `status` and from the rules in `rules` and `changes`. All
rules are at the root of the schema, where they can see the job's name. Each rule names its field.
"""

from typing import Any

from capstan_operator.api import names, schema
from capstan_operator.api.changes import CHANGES, MUTABLE, SIZE_IN_QUEUE
from capstan_operator.api.rules import RULES
from capstan_operator.api.schema import Schema
from capstan_operator.api.spec import Metadata, Spec
from capstan_operator.api.status import Status

COLUMNS = (
    ("Phase", "string", ".status.phase", 0),
    ("PS", "string", ".status.summary.ps", 0),
    ("Workers", "string", ".status.summary.workers", 0),
    ("Restarts", "integer", ".status.summary.restarts", 0),
    ("Step", "integer", ".status.progress.step", 0),
    ("Age", "date", ".metadata.creationTimestamp", 0),
    ("Epoch", "integer", ".status.epoch", 1),
    ("Steps/s", "number", ".status.progress.stepsPerSecond", 1),
    ("Loss", "number", ".status.progress.metrics.loss", 1),
    ("Reason", "string", ".status.summary.reason", 1),
)
"""The name, type, field and priority of each column. Priority 1 is shown only by `-o wide`."""

SCALE = {
    "specReplicasPath": ".spec.replicaSpecs.worker.replicas",
    "statusReplicasPath": ".status.replicaStatuses.worker.running",
    "labelSelectorPath": ".status.selector",
}
"""The scale subresource acts on the workers."""

SPEC = f"The desired job. Once the job exists, only {', '.join(sorted(MUTABLE))} can be changed."


def definition() -> dict[str, Any]:
    """Return the manifest. It is small enough for the annotation that `kubectl apply` writes."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names.PLURAL}.{names.GROUP}"},
        "spec": {
            "group": names.GROUP,
            "names": {
                "kind": names.KIND,
                "listKind": f"{names.KIND}List",
                "plural": names.PLURAL,
                "singular": names.KIND.lower(),
                "shortNames": ["tjob"],
                "categories": ["all"],
            },
            "scope": "Namespaced",
            "versions": [_version()],
        },
    }


def _version() -> dict[str, Any]:
    return {
        "name": names.VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}, "scale": SCALE},
        "selectableFields": [{"jsonPath": ".status.phase"}],
        "additionalPrinterColumns": [_column(*column) for column in COLUMNS],
        "schema": {"openAPIV3Schema": _job()},
    }


def _column(name: str, kind: str, path: str, priority: int) -> dict[str, Any]:
    return {"name": name, "type": kind, "jsonPath": path, "priority": priority}


def _job() -> Schema:
    spec = {"description": SPEC, **schema.input_schema(Spec)}
    status = {
        "description": "The state of the job, which only the operator writes.",
        **schema.output_schema(Status),
    }
    rules = [_rule(rule.cel, rule.message, rule.path) for rule in RULES]
    rules += [
        _rule(change.cel, change.message, change.path) for change in (*CHANGES, SIZE_IN_QUEUE)
    ]
    return {
        "description": "A distributed training job: its parameter servers and workers, and their"
        " state.",
        "type": "object",
        "x-kubernetes-validations": rules,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object", "properties": {"name": _name()}},
            "spec": spec,
            "status": status,
        },
    }


def _rule(cel: str, message: str, path: str) -> dict[str, str]:
    return {"rule": cel, "message": message, "fieldPath": f".{path}"}


def _name() -> Schema:
    """Return the schema of the job's name.

    API servers allow rules on few other fields of the metadata.
    """
    name: Schema = schema.input_schema(Metadata)["properties"]["name"]
    return {key: name[key] for key in ("type", "maxLength", "pattern")}
