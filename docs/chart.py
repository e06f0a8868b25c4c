"""The generated files of charts/capstan: the template of the CRD, and the descriptions of values.

A comment above a key of values.yaml describes this value. README.md and values.schema.json repeat
the description. Everything else in values.schema.json is written by hand.
"""

import json
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

CHART = pathlib.Path(__file__).resolve().parent.parent / "charts/capstan"
VALUES = CHART / "values.yaml"
SCHEMA = CHART / "values.schema.json"

_KEY = re.compile(r"(?P<indent> *)(?P<key>\w+):")


def crd_template(definition: str) -> str:
    """Return the template that installs this CustomResourceDefinition, a YAML text."""
    if "{{" in definition:
        raise ValueError("Helm would read {{ in the definition of TrainingJobs as a template")
    head, name, rest = definition.partition("metadata:\n")
    # Helm deletes no object with this annotation: the jobs would go with their definition.
    kept = "  annotations: {helm.sh/resource-policy: keep}\n"
    return f"{{{{- if .Values.crds.enabled }}}}\n{head}{name}{kept}{rest}{{{{- end }}}}\n"


def values_table() -> str:
    """Return a table of all values, with their defaults and descriptions."""
    defaults = _defaults()
    rows = [
        f"| `{'.'.join(path)}` | `{json.dumps(_at(defaults, path))}` | {text} |"
        for path, text in descriptions()
    ]
    return "\n".join(["| value | default | meaning |", "|---|---|---|", *rows, ""])


def schema() -> str:
    """Return values.schema.json with the descriptions of values.yaml.

    Raises ValueError if a value is only in one of the two files.
    """
    content = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for path, text in descriptions():
        parent = _property(content, path[:-1])
        if path[-1] not in parent:
            raise ValueError(f"values.schema.json does not have {'.'.join(path)}")
        rules = {key: rule for key, rule in parent[path[-1]].items() if key != "description"}
        parent[path[-1]] = {"description": text, **rules}
    extra = set(_described(content)) - {path for path, _ in descriptions()} - {("global",)}
    if extra:
        names = sorted(".".join(path) for path in extra)
        raise ValueError(f"values.yaml does not describe {', '.join(names)}")
    return json.dumps(content, indent=2) + "\n"


def descriptions() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and the description of each value, in the order of values.yaml."""
    path: list[tuple[int, str]] = []
    comment: list[str] = []
    for line in VALUES.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("#"):
            comment.append(line.strip("# "))
            continue
        if key := _KEY.match(line):
            indent = len(key["indent"])
            path = [(column, name) for column, name in path if column < indent]
            path.append((indent, key["key"]))
            if comment:
                yield tuple(name for _, name in path), " ".join(comment)
        comment = []


def _defaults() -> Mapping[str, Any]:
    values: Mapping[str, Any] = yaml.safe_load(VALUES.read_text(encoding="utf-8"))
    return values


def _at(values: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        values = values[name]
    return values


def _property(content: Any, path: tuple[str, ...]) -> Any:
    """Return the `properties` of the schema below a path."""
    for name in path:
        content = content["properties"].get(name, {"properties": {}})
    return content["properties"]


def _described(content: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all properties of a schema that have a description."""
    for name, rules in content.get("properties", {}).items():
        if "description" in rules:
            yield (*path, name)
        else:
            yield from _described(rules, (*path, name))
            if "properties" not in rules:
                yield (*path, name)
