"""A job as text, and its faults if one field is changed."""

import json
from typing import Any

import pytest
import yaml

from capstan_operator.api.parse import parse
from capstan_operator.errors import Invalid

DIGITS = """
apiVersion: capstan.dev/v1alpha1
kind: TrainingJob
metadata: {name: digits}
spec:
  replicaSpecs:
    ps:
      template: &template
        spec:
          containers:
          - {name: trainer, image: "capstan/digits:dev", command: [python, train.py]}
    worker:
      replicas: 2
      template: *template
"""
PLAIN = json.dumps(yaml.safe_load(DIGITS))
"""The same job without aliases."""
DELETE = object()
WORKER = ("spec", "replicaSpecs", "worker")
CONTAINER = (*WORKER, "template", "spec", "containers", 0)


def faults(text: str) -> list[str]:
    with pytest.raises(Invalid) as caught:
        parse(text)
    return [str(fault) for fault in caught.value.faults]


def changed(*path: str | int, to: object) -> str:
    """Return the job of `DIGITS` with one field set to `to`. `DELETE` removes the field."""
    document = json.loads(PLAIN)
    place: Any = document
    for part in path[:-1]:
        place = place[part] if isinstance(part, int) else place.setdefault(part, {})
    if to is DELETE:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return str(yaml.dump(document, Dumper=yaml.CSafeDumper))
