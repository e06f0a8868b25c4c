"""Read the file of a job, and print documents as JSON or YAML."""

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from capstan_operator.api import parse
from capstan_operator.api.spec import TrainingJob
from capstan_operator.errors import Fault, Invalid

STDIN = "-"

_PROGRAM = (
    "is a Python program; write the YAML file of a TrainingJob, whose containers run the program"
    " (docs/tutorial.md has an example)"
)


def text(file: str) -> str:
    """Return the text of a file, or of standard input for `-`. Raises errors.Invalid."""
    try:
        return read(file)
    except OSError as fault:
        raise Invalid((Fault(file, f"cannot be read: {fault.strerror}"),)) from fault
    except UnicodeDecodeError as fault:
        raise Invalid((Fault(file, "is not text in UTF-8, as YAML must be"),)) from fault
    except Invalid as refused:
        raise Invalid(in_file(file, refused.faults)) from refused


def read(file: str) -> str:
    """Return the text of a file, as `text` does.

    Raises OSError, UnicodeDecodeError, and errors.Invalid for a program in place of a job.
    """
    if Path(file).suffix == ".py":
        raise Invalid((Fault("", _PROGRAM),))
    raw = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    return raw.decode()


def job(file: str) -> TrainingJob:
    """Read a TrainingJob. Warnings go to stderr. Raises errors.Invalid with all faults.

    Each fault begins with the name of the file.
    """
    return parsed(text(file), file)


def parsed(content: str, file: str) -> TrainingJob:
    """Read a TrainingJob from the content of a file, as `job` does."""
    draft = parse.draft(content)
    for warning in draft.warnings:
        print(f"capstanctl: warning: {warning}", file=sys.stderr)
    if draft.faults or draft.sound is None:
        raise Invalid(in_file(file, draft.faults))
    return draft.sound


def manifest(content: str) -> dict[str, Any]:
    """Return the JSON values of a document that `parsed` has accepted.

    JSON has no dates, so dates become text, as kubectl sends them.

    >>> manifest("{kind: TrainingJob, since: 2026-11-02}")
    {'kind': 'TrainingJob', 'since': '2026-11-02'}
    """
    values: dict[str, Any] = json.loads(json.dumps(yaml.safe_load(content), default=str))
    return values


def in_file(file: str, faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Return the faults with the name of their file before the field."""
    return tuple(
        Fault(file, f"{fault.path}: {fault.message}" if fault.path else f"it {fault.message}")
        for fault in faults
    )


def show(documents: Sequence[dict[str, Any]], output: str) -> None:
    """Print documents. Several documents are a List in JSON, and follow each other in YAML."""
    if output == "json":
        document = documents[0] if len(documents) == 1 else _list(documents)
        print(json.dumps(document, indent=2, ensure_ascii=False))
        return
    print("---\n".join(map(_yaml, documents)), end="")


def _yaml(document: dict[str, Any]) -> str:
    # A folded line of TF_CONFIG would be hard to read, so no line is folded.
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=math.inf)


def _list(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(documents)}


class _Dumper(yaml.SafeDumper):
    """Writes equal values in full, because anchors and aliases confuse readers."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
