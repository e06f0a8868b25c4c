"""The reference pages list all fields and variables of the code, and no others."""

import operator
import pathlib
import re
import typing

import pydantic
import pytest

import capstan as tf
from capstan.api import absent
from capstan_operator.api import names, parse, replicas, spec, status
from capstan_operator.manifests import cluster

REFERENCE = pathlib.Path(__file__).resolve().parent.parent / "docs/reference"


def section(page: str, heading: str) -> str:
    """Return the text under a heading, up to the next heading of any level."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    _, _, rest = f"\n{text}".partition(f"\n{heading}\n")
    assert rest, f"{page} has no {heading!r}"
    return re.split(r"^#", rest, maxsplit=1, flags=re.MULTILINE)[0]


def first_column(text: str) -> set[str]:
    """Return the names in backticks of the first column of a table."""
    cells = re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def fields(model: type[pydantic.BaseModel]) -> set[str]:
    """Return the names of a model's fields."""
    return {str(field.alias) for field in model.model_fields.values()}


@pytest.mark.parametrize(
    "heading, documented",
    [
        ("## metadata", fields(spec.Metadata)),
        ("## spec", fields(spec.Spec)),
        ("### spec.replicaSpecs", fields(replicas.ReplicaSpecs)),
        ("### spec.replicaSpecs.TYPE", fields(replicas.WorkerSpec)),
        ("### spec.cluster", fields(spec.Cluster)),
        ("### spec.checkpoint", fields(spec.Checkpoint)),
        ("### spec.runPolicy", fields(spec.RunPolicy)),
        ("### spec.runPolicy.restartBackoff", fields(spec.RestartBackoff)),
        ("## status", fields(status.Status)),
        ("### status.tasks", fields(status.TaskStatus)),
        ("### status.replicaStatuses.TYPE", fields(status.ReplicaStatus)),
        ("### status.restarts", fields(status.Restarts)),
        ("### status.progress", fields(status.Progress)),
    ],
)
def test_every_field_of_a_training_job_is_documented(heading: str, documented: set[str]) -> None:
    assert first_column(section("trainingjob.md", heading)) == documented


def test_every_condition_is_documented() -> None:
    types = typing.get_args(status.ConditionType)
    conditions = first_column(section("trainingjob.md", "### status.conditions"))
    assert conditions == fields(status.Condition) | set(types)


def test_every_phase_is_documented() -> None:
    row = re.search(
        r"^\| `phase` \| (.*) \|$", section("trainingjob.md", "## status"), re.MULTILINE
    )
    assert row is not None
    assert re.findall(r"`([^`]+)`", row[1]) == [phase.value for phase in status.Phase]


def test_the_job_on_the_page_is_valid() -> None:
    text = (REFERENCE / "trainingjob.md").read_text(encoding="utf-8")
    block = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert block is not None
    assert [str(task) for task in parse.parse(block[1]).tasks()] == ["ps-0", "worker-0", "worker-1"]


def test_every_variable_that_a_task_gets_is_documented() -> None:
    job = parse.parse(
        "apiVersion: capstan.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: one}\n"
        "spec: {replicaSpecs: {worker: {template: {spec: {containers: [{name: trainer, "
        "image: any, command: [python]}]}}}}}\n"
    )
    environment = cluster.environment(job, lambda _: "127.0.0.1:1", "/any", "/any")
    given = environment.of(names.TaskName(names.ReplicaType.WORKER, 0), attempt=1, epoch=1)
    documented = first_column(section("environment.md", "# The environment of a task"))
    # Local mode adds the progress file, because it is a path on the user's machine.
    assert documented == {*given, "CAPSTAN_PROGRESS_FILE"}


def test_the_error_of_a_missing_name_agrees_with_the_page() -> None:
    text = (REFERENCE / "api.md").read_text(encoding="utf-8")
    missing = {
        f"{module}.{name}".removeprefix("tf.")
        for module, line in re.findall(r"^## (\S+)\n\n[^#]*?^Missing: (.*)$", text, re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", line)
    }
    assert missing >= absent._LACKED
    for path in missing:
        with pytest.raises(AttributeError) as caught:
            operator.attrgetter(path)(tf)
        assert not re.search("has no such name|Did you mean", str(caught.value)), path
