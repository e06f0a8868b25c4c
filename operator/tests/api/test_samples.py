"""The samples of jobs. Each invalid sample lists its faults. This package reports exactly these.

e2e/test_samples.py compares the samples with a real API server.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from processes import DEADLINE_SECONDS

from capstan_operator.api import crd, parse, rules
from capstan_operator.errors import Invalid

SAMPLES = Path(__file__).resolve().parents[3] / "crds" / "samples"
VALID = sorted(SAMPLES.glob("valid/*.yaml"))
LATER = sorted(SAMPLES.glob("invalid-later/*.yaml"))
"""Jobs that the API server accepts, but the operator refuses."""
INVALID = sorted(SAMPLES.glob("invalid/*.yaml")) + LATER
REFUSED = re.compile(
    r"^# refused(?P<by> by the schema| by the operator)?: (?P<fault>(?P<path>\S+): .*)$",
    re.MULTILINE,
)
SCHEMA = " by the schema"
CAPSTANCTL = Path(sys.executable).with_name("capstanctl")


def of(files: list[Path]) -> Any:
    assert files
    return pytest.mark.parametrize("sample", files, ids=lambda file: file.stem)


def run(sample: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [CAPSTANCTL, "run", sample]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=DEADLINE_SECONDS
    )


@of(VALID)
def test_a_valid_sample_is_parsed(sample: Path) -> None:
    parse.parse(sample.read_text())


@pytest.mark.e2e
@of(VALID)
def test_capstanctl_runs_a_valid_sample(sample: Path, tmp_path: Path) -> None:
    ran = run(sample, tmp_path)
    # One sample requests GPUs, which this machine may lack.
    errors = [line for line in ran.stderr.splitlines() if "has no GPU of NVIDIA" not in line]
    assert (ran.returncode, errors) == (0, []), ran.stderr


@of(INVALID)
def test_exactly_the_listed_faults_of_an_invalid_sample_are_reported(sample: Path) -> None:
    text = sample.read_text()
    with pytest.raises(Invalid) as caught:
        parse.parse(text)
    reported = {str(fault) for fault in caught.value.faults}
    assert reported == {listed["fault"] for listed in REFUSED.finditer(text)}


@of(LATER)
def test_the_operator_refuses_jobs_that_the_api_server_cannot_check_with_the_same_message(
    sample: Path,
) -> None:
    text = sample.read_text()
    with pytest.raises(Invalid) as caught:
        parse.admitted(yaml.safe_load(text))
    reported = {str(fault) for fault in caught.value.faults}
    assert reported == {listed["fault"] for listed in REFUSED.finditer(text)}


@pytest.mark.e2e
@of(INVALID)
def test_capstanctl_refuses_an_invalid_sample(sample: Path, tmp_path: Path) -> None:
    ran = run(sample, tmp_path)
    assert ran.returncode == 2
    assert "nothing was started" in ran.stderr
    for refused in REFUSED.finditer(sample.read_text()):
        assert f"  {refused['fault']}\n" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def refused(by: str | None) -> set[tuple[str, str]]:
    found = [fault for file in INVALID for fault in REFUSED.finditer(file.read_text())]
    of_kind = [fault for fault in found if fault["by"] == by]
    return {(fault["path"], fault["fault"].removeprefix(f"{fault['path']}: ")) for fault in of_kind}


def test_every_rule_is_broken_by_a_sample() -> None:
    assert refused(by=None) == {(rule.path, rule.message) for rule in rules.RULES}


KIND = re.compile(r"^spec\.replicaSpecs\.(chief|ps|worker|evaluator)\b")
CONTAINER = re.compile(r"\.(initContainers|containers)\[0\]")


def same_for_all(path: str) -> str:
    """The four replica types are one model, and so are the two kinds of containers."""
    path = re.sub(r"\[\d+\]", "[0]", path)
    return CONTAINER.sub(".containers[0]", KIND.sub("spec.replicaSpecs.TYPE", path))


TYPES = {
    "array": "must be a list",
    "boolean": "must be true or false",
    "integer": "must be a whole number",
    "number": "must be a number",
    "object": "must be a mapping",
    "string": "must be text",
}
LIMITS = {
    "enum": "must be ",
    "maxItems": "must have at most",
    "maxLength": "must be at most",
    "maximum": "must be at most",
    "minItems": "must not be empty",
    "minLength": "must not be empty",
    "minimum": "must be at least",
    "pattern": "must be a",
    "x-kubernetes-int-or-string": "must be a whole number or text",
}


def limits(node: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Yield the path of each limit in a part of the schema, and the start of its message."""
    yield from ((path, words) for limit, words in LIMITS.items() if limit in node)
    if "type" in node and "enum" not in node:
        yield path, TYPES[node["type"]]
    if "x-kubernetes-list-map-keys" in node:
        yield f"{path}[0]", "is the second container called"
    yield from ((f"{path}.{name}", "is required") for name in node.get("required", ()))
    for name, inside in node.get("properties", {}).items():
        yield from limits(inside, f"{path}.{name}")
    if "items" in node:
        yield from limits(node["items"], f"{path}[0]")
    if "additionalProperties" in node:
        yield from limits(node["additionalProperties"], f"{path}.*")


@pytest.mark.e2e
def test_every_limit_of_the_schema_is_broken_by_a_sample() -> None:
    job = crd.definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    refusals = {(same_for_all(path), message) for path, message in refused(SCHEMA)}

    def broken(path: str, words: str) -> bool:
        where = re.escape(same_for_all(path)).replace(re.escape("*"), "[^.]+")
        return any(re.fullmatch(where, at) and text.startswith(words) for at, text in refusals)

    unbroken = {
        limit for limit in limits(job, "") if not broken(limit[0].removeprefix("."), limit[1])
    }
    # No sample can break these: kubectl looks for a job's kind and name before an API server does.
    above = {("", "must be a mapping"), (".spec", "must be a mapping")}
    above |= {(".metadata", "must be a mapping"), (".metadata.name", "must be text")}
    above |= {(".apiVersion", "must be text"), (".kind", "must be text")}
    assert {limit for limit in unbroken if not limit[0].startswith(".status")} == above


def test_an_unknown_field_of_each_part_is_refused() -> None:
    unknown = {
        path.rpartition(".")[0] for path, text in refused(SCHEMA) if "is not a field" in text
    }
    assert unknown == {
        "spec",
        "spec.replicaSpecs",
        "spec.replicaSpecs.ps",
        "spec.cluster",
        "spec.checkpoint",
        "spec.runPolicy",
        "spec.scheduling",
        "spec.runPolicy.restartBackoff",
    }
