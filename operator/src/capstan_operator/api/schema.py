"""From a pydantic model to a structural schema, which is what an API server takes.

Structural: every node has its type, nothing refers to elsewhere, and no field is of two types.
A model that says what cannot be expressed so is an error here and not in a cluster.

Descriptions are those of the fields, not those of models, which speak to who reads the code.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import core_schema

from capstan_operator.api.fields import INT32_MAX

Schema = dict[str, Any]

INNER = frozenset({"items", "additionalProperties"})
"""Of which a node has one, and which are nodes themselves."""

MEANINGLESS = frozenset({"title", "propertyNames"})
"""Said by pydantic, and either noise or more than an API server can check."""

KEPT = frozenset(
    (
        *("description", "type", "format", "default", "enum", "required", "properties"),
        *("additionalProperties", "items", "minimum", "maximum", "minLength", "maxLength"),
        *("minItems", "maxItems", "pattern", "x-kubernetes-list-type"),
        *("x-kubernetes-list-map-keys", "x-kubernetes-int-or-string"),
        *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations"),
    )
)
"""What is known to be structural, and used."""


def of_what_is_read(model: type[BaseModel]) -> Schema:
    """Return the schema of documents that a model is built from, with its limits and defaults.

    Raises ValueError, with the place in the model, for what no structural schema can say.
    """
    return _of(model, "validation")


def of_what_is_written(model: type[BaseModel]) -> Schema:
    """Return the schema of what a model is rendered to: its fields and their types, no more.

    Without lists of words, for a schema older than its writer must not refuse a new one; without
    defaults, for what was not written is not so. Raises as `of_what_is_read` does.
    """
    return _without(_of(model, "serialization"), "enum", "default")


def _of(model: type[BaseModel], mode: JsonSchemaMode) -> Schema:
    document = model.model_json_schema(mode=mode, schema_generator=_Generator)
    return _node(document, document.pop("$defs", {}), model.__name__)


def _without(node: Schema, *words: str) -> Schema:
    """Leave words out everywhere; `properties` has names there, which stay whatever they are."""
    rest = {key: value for key, value in node.items() if key not in words}
    if "properties" in rest:
        inside = rest["properties"].items()
        rest["properties"] = {name: _without(one, *words) for name, one in inside}
    for inner in INNER & rest.keys():
        rest[inner] = _without(rest[inner], *words)
    return rest


class _Generator(GenerateJsonSchema):
    def nullable_schema(self, schema: core_schema.NullableSchema) -> Schema:
        """An unset field is absent. The API server drops null: no second way to say it."""
        return self.generate_inner(schema["schema"])

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        """The docstring of a model describes none of the fields that hold one."""
        return {**super().model_schema(schema), "description": ""}


def _node(given: Mapping[str, Any], models: Mapping[str, Schema], where: str) -> Schema:
    node = _resolved(given, models)
    # A model's `extra`, true or false. The API server drops what is unknown unless told otherwise.
    if isinstance(node.get("additionalProperties"), bool):
        del node["additionalProperties"]
    if node.get("default") in (None, []) or isinstance(node["default"], dict):
        _default(node)
    if description := node.pop("description", ""):
        node["description"] = " ".join(description.split())
    if unknown := node.keys() - KEPT:
        raise ValueError(f"{where}: no structural schema has {', '.join(sorted(unknown))}")
    if "properties" in node:
        inside = node["properties"].items()
        node["properties"] = {name: _node(one, models, f"{where}.{name}") for name, one in inside}
        if node.get("x-kubernetes-preserve-unknown-fields"):
            # It belongs to its user, who finds nothing in it but what he wrote.
            for one in node["properties"].values():
                one.pop("default", None)
    for inner in INNER & node.keys():
        node[inner] = _node(node[inner], models, f"{where}.{inner}")
    _typed(node, where)
    return _in_order(node)


def _resolved(given: Mapping[str, Any], models: Mapping[str, Schema]) -> Schema:
    """Put models where they are referred to; what is said at the reference goes before."""
    node = dict(given)
    while "$ref" in node:
        name = node.pop("$ref").rpartition("/")[2]
        node = {**models[name], **node}
    return {key: value for key, value in node.items() if key not in MEANINGLESS}


def _default(node: Schema) -> None:
    """Keep `{}` for a model, whose fields have defaults of their own, and no other emptiness."""
    if node.pop("default", None) and "properties" in node:
        node["default"] = {}


def _typed(node: Schema, where: str) -> None:
    """Complete what is said of a type."""
    kind = node.get("type")
    if kind == "integer":
        node["format"] = "int32" if node.get("maximum", INT32_MAX + 1) <= INT32_MAX else "int64"
    elif kind == "array":
        node.setdefault("x-kubernetes-list-type", "atomic")
    elif kind is None and not any(key.startswith("x-kubernetes-") for key in node):
        raise ValueError(f"{where}: has no type")


def _in_order(node: Schema) -> Schema:
    """What `kubectl explain` shows first comes first; what it is made of comes last."""
    last = ("required", "properties", "additionalProperties", "items")
    rest = [key for key in node if key not in ("description", "type", *last)]
    ordered = ("description", "type", *rest, *last)
    return {key: node[key] for key in ordered if key in node}
