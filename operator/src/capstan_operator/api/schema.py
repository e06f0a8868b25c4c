"""Turn a pydantic model into a structural schema, the only kind that an API server accepts.

Structural: every node has a type, there are no references, and no field has two types. A model
that cannot be expressed as such a schema raises an error here, not in a cluster.

The schema has the descriptions of fields. The descriptions of models are for developers and are
left out.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import core_schema

from capstan_operator.api.fields import INT32_MAX

Schema = dict[str, Any]

INNER = frozenset({"items", "additionalProperties"})
"""Keywords whose value is one node."""

MEANINGLESS = frozenset({"title", "propertyNames"})
"""Keywords of pydantic that have no meaning here, or that an API server cannot check."""

KEPT = frozenset(
    (
        *("description", "type", "format", "default", "enum", "required", "properties"),
        *("additionalProperties", "items", "minimum", "maximum", "minLength", "maxLength"),
        *("minItems", "maxItems", "pattern", "x-kubernetes-list-type"),
        *("x-kubernetes-list-map-keys", "x-kubernetes-int-or-string"),
        *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations"),
    )
)
"""Keywords that are structural and used here."""


def input_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of a model's input, with limits and defaults.

    Raises ValueError that names the place, if a structural schema cannot express the model.
    """
    return _of(model, "validation")


def output_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of a model's output: the fields, their types, and the least numbers.

    The schema has no enums, because an older schema must not refuse the values of a newer operator.
    It has no defaults, because an unset field does not mean the default. Raises the errors of
    `input_schema`.
    """
    return _without(_of(model, "serialization"), "enum", "default")


def _of(model: type[BaseModel], mode: JsonSchemaMode) -> Schema:
    document = model.model_json_schema(mode=mode, schema_generator=_Generator)
    return _node(document, document.pop("$defs", {}), model.__name__)


def _without(node: Schema, *words: str) -> Schema:
    """Return a node without these keywords, at any depth. Names of properties stay."""
    rest = {key: value for key, value in node.items() if key not in words}
    if "properties" in rest:
        inside = rest["properties"].items()
        rest["properties"] = {name: _without(member, *words) for name, member in inside}
    for inner in INNER & rest.keys():
        rest[inner] = _without(rest[inner], *words)
    return rest


class _Generator(GenerateJsonSchema):
    def nullable_schema(self, schema: core_schema.NullableSchema) -> Schema:
        """Leave out null: an unset field is absent, and the API server drops null."""
        return self.generate_inner(schema["schema"])

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        """Leave out the docstring of the model, because it does not describe the field."""
        return {**super().model_schema(schema), "description": ""}


def _node(given: Mapping[str, Any], models: Mapping[str, Schema], where: str) -> Schema:
    node = _resolved(given, models)
    # pydantic adds this keyword for a model's `extra`. The schema does not need it: the API server
    # drops unknown fields, unless the node has x-kubernetes-preserve-unknown-fields.
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
        node["properties"] = {
            name: _node(member, models, f"{where}.{name}") for name, member in inside
        }
        if node.get("x-kubernetes-preserve-unknown-fields"):
            # The user wrote this part. The API server must not add defaults to it.
            for inner in node["properties"].values():
                inner.pop("default", None)
    for inner in INNER & node.keys():
        node[inner] = _node(node[inner], models, f"{where}.{inner}")
    _typed(node, where)
    return _in_order(node)


def _resolved(given: Mapping[str, Any], models: Mapping[str, Schema]) -> Schema:
    """Replace a reference by its model. Keywords at the reference override the model's."""
    node = dict(given)
    while "$ref" in node:
        name = node.pop("$ref").rpartition("/")[2]
        node = {**models[name], **node}
    return {key: value for key, value in node.items() if key not in MEANINGLESS}


def _default(node: Schema) -> None:
    """Replace a model's default by `{}`, because its fields have defaults. Drop empty defaults."""
    if node.pop("default", None) and "properties" in node:
        node["default"] = {}


def _typed(node: Schema, where: str) -> None:
    """Add the format of integers and the kind of lists. Raise ValueError if there is no type."""
    kind = node.get("type")
    if kind == "integer":
        node["format"] = "int32" if node.get("maximum", INT32_MAX + 1) <= INT32_MAX else "int64"
    elif kind == "array":
        node.setdefault("x-kubernetes-list-type", "atomic")
    elif kind is None and not any(key.startswith("x-kubernetes-") for key in node):
        raise ValueError(f"{where}: has no type")


def _in_order(node: Schema) -> Schema:
    """Return a node with its description and type first, and its parts last."""
    last = ("required", "properties", "additionalProperties", "items")
    rest = [key for key in node if key not in ("description", "type", *last)]
    ordered = ("description", "type", *rest, *last)
    return {key: node[key] for key in ordered if key in node}
