"""Finds the fields that the CRD of an API server lacks. An older release may have installed it.

The API server refuses a status with a field that its CRD does not have. The operator could then
start no task, because the operator acts only after it has written its intention. From a spec, the
API server drops such a field, unless the client of the user asks for an error.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from capstan_operator.api import crd, names
from capstan_operator.api.schema import Schema

_KEEPS_ALL = "x-kubernetes-preserve-unknown-fields"
_WANTED: Schema = crd.definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
"""The schema of this release. To make it takes longer than to compare it."""


def lacking(document: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the fields that this release has and the served CRD lacks, such as `status.epoch`.

    `document` is the OpenAPI v3 document of the group and version. Return None if it has no
    TrainingJobs yet: API servers publish the schema of a new CRD a moment after they serve it.
    """
    served = _schema(document)
    if served is None:
        return None
    return tuple(
        path
        for part in ("spec", "status")
        for path in _missing(_WANTED["properties"][part], _inner(served, "properties", part), part)
    )


def _schema(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for schema in _inner(document, "components", "schemas").values():
        kinds = schema.get("x-kubernetes-group-version-kind") or []
        if {"group": names.GROUP, "version": names.VERSION, "kind": names.KIND} in kinds:
            found: Mapping[str, Any] = schema
            return found
    return None


def _missing(wanted: Schema, served: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield the paths of the fields below `path` that `served` lacks, the outermost only."""
    if served.get(_KEEPS_ALL):
        return
    for name, schema in wanted.get("properties", {}).items():
        if name not in served.get("properties", {}):
            yield f"{path}.{name}"
        else:
            yield from _missing(schema, served["properties"][name], f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        schema = wanted.get(inner)
        if isinstance(schema, dict):
            yield from _missing(schema, _inner(served, inner), f"{path}[]")


def _inner(schema: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return the object at the end of a path of names, or an empty one."""
    for name in names:
        found = schema.get(name)
        schema = found if isinstance(found, Mapping) else {}
    return schema
