"""Structural schemas of models, and the models for which no such schema exists."""

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from capstan_operator.api import schema


class Part(BaseModel):
    """Words for who reads the code."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="allow")

    a: int = 1
    """Words for
    the user."""


class Whole(BaseModel):
    part: Part = Part()
    other: Part | None = None
    texts: tuple[str, ...] = ()
    numbers: dict[str, float] = {}
    small: Annotated[int, Field(ge=0, le=9)]


def test_a_model_becomes_a_structural_schema() -> None:
    words = {"description": "Words for the user."}
    part = {
        "type": "object",
        "properties": {"a": {**words, "type": "integer", "default": 1, "format": "int64"}},
    }
    assert schema.input_schema(Whole) == {
        "type": "object",
        "required": ["small"],
        "properties": {
            "part": {**part, "default": {}},
            "other": part,
            "texts": {
                "type": "array",
                "x-kubernetes-list-type": "atomic",
                "items": {"type": "string"},
            },
            "numbers": {"type": "object", "additionalProperties": {"type": "number"}},
            "small": {"type": "integer", "minimum": 0, "maximum": 9, "format": "int32"},
        },
    }


def test_the_schema_of_output_has_neither_defaults_nor_enums() -> None:
    written = schema.output_schema(Whole)["properties"]["part"]
    assert written == {
        "type": "object",
        "properties": {
            "a": {"description": "Words for the user.", "type": "integer", "format": "int64"}
        },
    }


@pytest.mark.parametrize(
    "annotation, words",
    [
        (int | str, r"Wrong.field: no structural schema has anyOf"),
        (tuple[int, str], r"Wrong.field: no structural schema has prefixItems"),
        (set[int], r"Wrong.field: no structural schema has uniqueItems"),
        (Any, r"Wrong.field: has no type"),
    ],
)
def test_a_model_that_no_structural_schema_can_express_is_an_error_with_its_place(
    annotation: Any, words: str
) -> None:
    wrong = type("Wrong", (BaseModel,), {"__annotations__": {"field": annotation}})
    with pytest.raises(ValueError, match=words):
        schema.input_schema(wrong)
