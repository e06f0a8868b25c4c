"""Read the text of a TrainingJob: defaults are filled in, and all faults are reported at once."""

import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pydantic
from pydantic_core import ErrorDetails

from capstan_operator.api import addresses, document, names, pod, rules, sound, spelling
from capstan_operator.api.names import ReplicaType
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.template import PodModel
from capstan_operator.errors import Fault, Invalid

TFJOB = "TFJob"
_CONVERT = (
    f"must be {names.KIND}, not '{TFJOB}'; capstanctl convert turns a {TFJOB} into a {names.KIND}"
)
_Members = dict[str, type[pydantic.BaseModel] | None]
"""The fields of a model, by their names in documents. The value is the model inside the field."""
IDENTITY = {"apiVersion": f"{names.GROUP}/{names.VERSION}", "kind": names.KIND}


@dataclass(frozen=True, slots=True)
class Draft:
    """A document as it was read.

    A document with `faults` is not a valid job. `sound` is then the document without its faulty
    values, so that more faults can be found. It is None if too little is left. `warnings` name
    fields of pod templates that are probably misspelt. They do not make the job invalid.
    """

    sound: TrainingJob | None
    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...] = ()


def parse(text: str) -> TrainingJob:
    """Read one TrainingJob from YAML or JSON.

    Strict: an unknown field is a fault, except in pod templates, whose fields are Kubernetes'.
    Raises errors.Invalid with all faults of the document. No text makes this function raise another
    error.
    """
    read = draft(text)
    if read.faults or read.sound is None:
        raise Invalid(read.faults)
    return read.sound


def admitted(raw: Mapping[str, Any]) -> TrainingJob:
    """Read an object of the API server.

    Lenient: fields of a newer CustomResourceDefinition and other metadata are ignored. Pod
    templates are kept unchanged. Raises errors.Invalid with all faults, and no other error, if
    this version cannot run the job.
    """
    known = _known(TrainingJob, raw)
    faults = [Fault(rule.path, rule.message) for rule in rules.RULES if not rule.holds(raw)]
    try:
        job = TrainingJob.model_validate(known, by_alias=True, by_name=False)
    except pydantic.ValidationError as error:
        raise Invalid((*map(_fault, sound.causes(error)), *faults)) from error
    faults += addresses.faults(job)
    if faults:
        raise Invalid(tuple(faults))
    return job


def _known(kind: type[pydantic.BaseModel], value: object) -> object:
    """Return a value without the fields that its model does not know. Pod templates stay whole."""
    if not isinstance(value, Mapping) or issubclass(kind, PodModel):
        return value
    inside = _MEMBERS[kind]
    return {
        name: member if (model := inside[name]) is None else _known(model, member)
        for name, member in value.items()
        if name in inside
    }


def draft(text: str) -> Draft:
    """Read as much of a document as possible. Raises nothing, whatever the text is."""
    try:
        raw, faults = document.read(text)
    except Invalid as invalid:
        return Draft(None, invalid.faults)
    if raw.get("kind") == TFJOB:
        # All fields of a TFJob have other names, so further faults would hide the way out.
        return Draft(None, (*faults, Fault("kind", _CONVERT)))
    found = [*faults, *_undeclared(raw)]
    job: TrainingJob | None
    try:
        job = TrainingJob.model_validate(raw, by_alias=True, by_name=False)
    except pydantic.ValidationError as error:
        found += map(_fault, sound.causes(error))
        job = sound.part(raw)
    found += pod.same_names(raw)
    found += [Fault(rule.path, rule.message) for rule in rules.RULES if not rule.holds(raw)]
    found += () if job is None else addresses.faults(job)
    return Draft(job, tuple(found), tuple(pod.unknown_fields(raw)))


def _undeclared(raw: Mapping[str, Any]) -> list[Fault]:
    """Return a fault for each of apiVersion and kind that is missing.

    The models do not report this, because they have defaults for both.
    """
    return [
        Fault(field, f"is required; write `{field}: {value}`")
        for field, value in IDENTITY.items()
        if raw.get(field) is None
    ]


def _fault(error: ErrorDetails) -> Fault:
    where, given, context = error["loc"], error["input"], error.get("ctx", {})
    match error["type"]:
        case "missing":
            message = "is required"
        case "extra_forbidden":
            message = OF_KUBERNETES.get(_path(where)) or (
                "is not a field" + _did_you_mean(str(where[-1]), _fields_beside(where))
            )
        case "invalid_key":
            where = where[:-1]
            message = f"{_shown(given)} is not a field: names of fields are text"
        case "literal_error" | "enum":
            message = f"must be {_alternatives(context['expected'])}, not {_shown(given)}"
        case "greater_than_equal" | "less_than_equal" | "string_too_long":
            message = f"must be {_bound(context)}, not {_shown(given)}"
        case "too_long":
            message = f"must have at most {context['max_length']} items, not {len(given)}"
        case "string_pattern_mismatch":
            message = f"must be {PATTERNS[context['pattern']]}, not {_shown(given)}"
        case "string_too_short" | "too_short":
            message = "must not be empty"
        case other if other in EXPECTED:
            message = f"must be {EXPECTED[other]}, not {_shown(given)}" + _hint(other, given)
        case _:
            message = error["msg"]
    return Fault(_path(where), message)


_SET_BY_SERVER = "is set by the API server; remove it"
_ONLY_BY_KUBECTL = "is read by kubectl only; remove it, or use kubectl create"

OF_KUBERNETES = {
    "metadata.creationTimestamp": _SET_BY_SERVER,
    "metadata.deletionGracePeriodSeconds": _SET_BY_SERVER,
    "metadata.deletionTimestamp": _SET_BY_SERVER,
    "metadata.finalizers": _ONLY_BY_KUBECTL,
    "metadata.generateName": "is read by kubectl only; write metadata.name, or use kubectl create",
    "metadata.managedFields": _SET_BY_SERVER,
    "metadata.ownerReferences": _ONLY_BY_KUBECTL,
    "metadata.resourceVersion": _SET_BY_SERVER,
    "metadata.selfLink": _SET_BY_SERVER,
    "status": _SET_BY_SERVER,
}
"""Fields of every object of Kubernetes that a job's file must not have, and what to do."""

EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "model_type": "a mapping",
    "quantity_type": "a whole number or text",
    "string_type": "text",
    "tuple_type": "a list",
}
"""pydantic's error types, in words for YAML."""

PATTERNS = {
    names.QUANTITY: "a size, such as 10Gi or 500Mi",
    names.ABSOLUTE_PATH: "an absolute path without colons, such as /checkpoints",
    names.DOMAIN_PREFIXED: "a name with a domain, such as capstan.dev/operator",
    names.DNS_LABEL: "a DNS label: lowercase letters, digits and '-', beginning with a letter and"
    " ending with a letter or digit",
    names.DNS_SUBDOMAIN: "a DNS name: lowercase letters, digits, '-' and '.', beginning and ending"
    " with a letter or digit",
}
"""The patterns of fields, in words."""


def _bound(context: Mapping[str, Any]) -> str:
    match context:
        case {"ge": least}:
            return f"at least {_number(least)}"
        case {"le": most}:
            return f"at most {_number(most)}"
        case _:
            return f"at most {context['max_length']} characters long"


def _number(bound: float) -> str:
    return str(int(bound) if bound == int(bound) else bound)


def _hint(kind: str, given: object) -> str:
    if kind in ("string_type", "quantity_type") and isinstance(given, bool | int | float):
        return "; put it in quotes"
    if kind == "tuple_type" and isinstance(given, str):
        return f"; write [{', '.join(given.split())}]"
    return ""


def _alternatives(expected: str) -> str:
    """Return pydantic's "'a', 'b' or 'c'" without quotes, as in YAML."""
    return expected.replace("'", "")


def _shown(value: object) -> str:
    """Return a short form of a value, or the kind of a mapping or list."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return repr(value if len(value) <= 40 else value[:39] + "…")
        case Mapping():
            return "a mapping"
        case list() | tuple() | set():
            return "a list"
        case _:
            return str(value)[:40]


def _path(where: Iterable[int | str]) -> str:
    path = ""
    for part in where:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part != "[key]":
            path += f".{part}" if path else part
    return path


OF_TFJOB = {"master": ReplicaType.CHIEF}
"""Names of fields of a TFJob, in lowercase, that are not similar to the names of the same fields
here."""


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    name = OF_TFJOB.get(name.casefold(), name)
    there_are = f"; there are {', '.join(known)}" if known else ""
    return spelling.did_you_mean(name, known) or there_are


def _fields_beside(where: tuple[int | str, ...]) -> list[str]:
    """Return the names of the known fields beside an unknown one."""
    model: type[pydantic.BaseModel] = TrainingJob
    for part in where[:-1]:
        if isinstance(part, str):
            model = _MEMBERS[model].get(part) or model
    return [field.alias or "" for field in model.model_fields.values()]


def _model_in(annotation: Any) -> type[pydantic.BaseModel] | None:
    """Return the model in `Model | None`, `tuple[Model, ...]` and the like, or None without one."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return annotation
    return next(filter(None, map(_model_in, typing.get_args(annotation))), None)


def _members(model: type[pydantic.BaseModel]) -> dict[type[pydantic.BaseModel], _Members]:
    """Return the members of this model and of all models inside."""
    found: _Members = {
        field.alias or "": _model_in(field.annotation) for field in model.model_fields.values()
    }
    inside = (_members(member) for member in found.values() if member is not None)
    return {model: found} | {kind: members for each in inside for kind, members in each.items()}


_MEMBERS = _members(TrainingJob)
"""The members of each model. To find them takes longer than to read a job."""
