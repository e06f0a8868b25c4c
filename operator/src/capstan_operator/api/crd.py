"""The CustomResourceDefinition of TrainingJobs: all that an API server can check and show of them.

It follows from the models of `spec` and `status`, from the rules of `rules` and from `changes`.
Rules stand at the root, where they see the job's name too; each names the field that is at fault.
"""

from typing import Any

from capstan_operator.api import names, schema
from capstan_operator.api.changes import CHANGES, MUTABLE
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
    ("Reason", "string", ".status.summary.reason", 1),
)
"""Name, type, field, and 1 for those that only `kubectl get -o wide` shows."""

SPEC = (
    f"What is asked for. Of a job that exists, only {' and '.join(sorted(MUTABLE))} can be changed."
)


def definition() -> dict[str, Any]:
    """Return the manifest. `kubectl apply` takes it as it is: it is smaller than an annotation."""
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
        "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": ".status.phase"}],
        "additionalPrinterColumns": [_column(*one) for one in COLUMNS],
        "schema": {"openAPIV3Schema": _job()},
    }


def _column(name: str, kind: str, path: str, priority: int) -> dict[str, Any]:
    return {"name": name, "type": kind, "jsonPath": path, "priority": priority}


def _job() -> Schema:
    spec = {"description": SPEC, **schema.of_what_is_read(Spec)}
    status = {"description": "What has become of it.", **schema.of_what_is_written(Status)}
    rules = [_rule(one.cel, one.message, one.path) for one in RULES]
    rules += [_rule(one.cel, one.message, one.path) for one in CHANGES]
    return {
        "description": "A distributed training: parameter servers, workers, and what becomes of"
        " them.",
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
    """The job's name; of metadata, no more can be said in a CustomResourceDefinition."""
    name: Schema = schema.of_what_is_read(Metadata)["properties"]["name"]
    return {key: name[key] for key in ("type", "maxLength", "pattern")}
