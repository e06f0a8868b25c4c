"""`capstanctl convert`: turn the TFJobs of a file into TrainingJobs."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import yaml

from capstan_operator.api import names
from capstan_operator.cli import documents
from capstan_operator.convert import tfjob
from capstan_operator.errors import Fault, Invalid

_NOT_YAML = (yaml.YAMLError, ArithmeticError, LookupError, RecursionError, TypeError, ValueError)
"""The errors that PyYAML raises, including those for malformed dates and numbers."""


def convert(options: argparse.Namespace) -> int:
    """Print the TrainingJobs, and on stderr the fields that they lack. Return the exit status.

    Raises errors.Invalid if the file has no TFJob, or one that cannot be converted.
    """
    found = _documents(options.file)
    try:
        converted = [tfjob.convert(each) for each in found if tfjob.is_tfjob(each)]
    except Invalid as invalid:
        raise Invalid(documents.in_file(options.file, invalid.faults)) from invalid
    if not converted:
        raise Invalid((Fault(options.file, _nothing_to_convert(found)),))
    for each in (each for each in found if each is not None and not tfjob.is_tfjob(each)):
        print(f"capstanctl: {_name(each)}: left out, because it is not a TFJob", file=sys.stderr)
    for result in converted:
        for lost in result.lost:
            print(f"capstanctl: not kept: {lost}", file=sys.stderr)
    documents.show([result.manifest for result in converted], options.output)
    return 0


def _nothing_to_convert(found: Sequence[Any]) -> str:
    kinds = [each.get("kind") for each in found if isinstance(each, dict)]
    if names.KIND in kinds:
        return f"is a {names.KIND} already, and needs no conversion"
    return f"has no {tfjob.KIND}"


def _documents(file: str) -> list[Any]:
    text = documents.text(file)
    try:
        return list(yaml.safe_load_all(text))
    except _NOT_YAML as error:
        raise Invalid((Fault(file, f"is not valid YAML: {error}"),)) from error


def _name(document: Any) -> str:
    if not isinstance(document, dict):
        return "a document"
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return " ".join(str(word) for word in (document.get("kind"), name) if word) or "a document"
