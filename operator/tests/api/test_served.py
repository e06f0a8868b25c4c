"""The fields that an old CRD lacks are found in the OpenAPI document of the API server."""

import copy
from typing import Any

import pytest

from capstan_operator.api import crd, names, served


def document(schema: Any) -> dict[str, Any]:
    """Return the OpenAPI document of an API server that has a CRD with this schema."""
    kind = {"group": names.GROUP, "version": names.VERSION, "kind": names.KIND}
    others = {"group": names.GROUP, "version": names.VERSION, "kind": f"{names.KIND}List"}
    return {
        "components": {
            "schemas": {
                "List": {"x-kubernetes-group-version-kind": [others]},
                "Meta": {"type": "object"},
                "Job": {**schema, "x-kubernetes-group-version-kind": [kind]},
            }
        }
    }


@pytest.fixture
def schema() -> Any:
    return copy.deepcopy(crd.definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"])


def test_the_crd_of_this_release_lacks_nothing(schema: Any) -> None:
    assert served.lacking(document(schema)) == ()


def test_fields_of_a_newer_release_do_not_matter(schema: Any) -> None:
    schema["properties"]["status"]["properties"]["later"] = {"type": "string"}
    assert served.lacking(document(schema)) == ()


def test_missing_fields_are_found_at_every_depth(schema: Any) -> None:
    properties = schema["properties"]
    del properties["status"]["properties"]["epoch"]
    del properties["status"]["properties"]["tasks"]["items"]["properties"]["uid"]
    del properties["spec"]["properties"]["runPolicy"]
    assert served.lacking(document(schema)) == (
        "spec.runPolicy",
        "status.epoch",
        "status.tasks[].uid",
    )


def test_a_part_that_keeps_unknown_fields_lacks_nothing(schema: Any) -> None:
    schema["properties"]["status"] = {"x-kubernetes-preserve-unknown-fields": True}
    assert served.lacking(document(schema)) == ()


@pytest.mark.parametrize("found", [{}, {"components": None}, {"components": {"schemas": {}}}])
def test_a_document_without_trainingjobs_says_nothing(found: Any) -> None:
    assert served.lacking(found) is None


def test_missing_fields_of_maps_are_found(schema: Any) -> None:
    inner = schema["properties"]["status"]["properties"]
    name, replicas = next(
        (name, part["additionalProperties"])
        for name, part in inner.items()
        if isinstance(part.get("additionalProperties"), dict)
        and part["additionalProperties"].get("properties")
    )
    field = next(iter(replicas["properties"]))
    del replicas["properties"][field]
    assert served.lacking(document(schema)) == (f"status.{name}[].{field}",)
