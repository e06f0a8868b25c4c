"""Check that JSON has the shape of an answer of a Kubernetes API server. Pure."""

from collections.abc import Mapping
from typing import Any


def is_object(document: Mapping[str, Any]) -> bool:
    """Say whether a document has metadata, as every object has."""
    return isinstance(document.get("metadata"), dict)


def is_list(document: object) -> bool:
    """Say whether a document is a page of a LIST, and holds objects only."""
    if not isinstance(document, Mapping):
        return False
    texts = (document.get("apiVersion"), document.get("kind"))
    if not is_object(document) or not all(isinstance(text, str) for text in texts):
        return False
    items = document.get("items") or []
    return (
        isinstance(document["metadata"].get("resourceVersion"), str)
        and isinstance(items, list)
        and all(isinstance(member, dict) and is_object(member) for member in items)
    )
