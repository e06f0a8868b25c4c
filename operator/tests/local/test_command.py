"""A template becomes the command that a user of this machine would type."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from capstan_operator.api.names import ReplicaType
from capstan_operator.api.parse import parse
from capstan_operator.api.spec import RunPolicy, TrainingJob
from capstan_operator.api.template import Container
from capstan_operator.local import command
from capstan_operator.local.process import GRACE_SECONDS


def container(*words: str, args: tuple[str, ...] = (), **env: str) -> Container:
    variables = tuple({"name": name, "value": value} for name, value in env.items())
    return Container.model_validate(
        {"name": "trainer", "command": words, "args": args, "env": variables}
    )


def job(pod: str) -> TrainingJob:
    return parse(
        "apiVersion: capstan.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: digits}\n"
        f"spec: {{replicaSpecs: {{worker: {{template: {{spec: {pod}}}}}}}}}"
    )


@pytest.mark.parametrize("python", ["python", "python3"])
def test_python_is_the_interpreter_that_runs_us(tmp_path: Path, python: str) -> None:
    rendered = command.render(container(python, "train.py"), {}, tmp_path)
    assert rendered.executable == sys.executable
    assert rendered.argv == (sys.executable, "train.py")
    assert rendered.directory == tmp_path


def test_a_shell_finds_the_same_python(tmp_path: Path) -> None:
    if sys.prefix == sys.base_prefix:
        pytest.skip("needs an interpreter of a virtual environment: run from .venv")
    path = command.render(container("sh"), {}, tmp_path).environment["PATH"]
    assert path.split(os.pathsep)[0] == str(Path(sys.executable).parent)


def test_args_follow_the_command(tmp_path: Path) -> None:
    assert command.render(container("a", "b", args=("c",)), {}, tmp_path).argv == ("a", "b", "c")


def test_given_variables_override_the_template_and_the_template_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "ours")
    monkeypatch.setenv("BOTH", "ours")
    trainer = container("sh", BOTH="template", TF_CONFIG="template")
    environment = command.render(trainer, {"TF_CONFIG": "given"}, tmp_path).environment
    names = ("OURS", "BOTH", "TF_CONFIG")
    assert [environment[name] for name in names] == ["ours", "template", "given"]


def test_output_is_not_buffered_unless_the_template_wants_it(tmp_path: Path) -> None:
    def unbuffered(**env: str) -> str:
        return command.render(container("sh", **env), {}, tmp_path).environment["PYTHONUNBUFFERED"]

    assert (unbuffered(), unbuffered(PYTHONUNBUFFERED="")) == ("1", "")


@pytest.mark.parametrize(
    "text, meant",
    [
        ("$(CAPSTAN_ATTEMPT)", "3"),
        ("a-$(SIZE)-$(CAPSTAN_ATTEMPT)", "a-10-3"),
        ("$$(SIZE)", "$(SIZE)"),
        ("$$$(SIZE)", "$10"),
        ("$(UNKNOWN) $SIZE $ $(", "$(UNKNOWN) $SIZE $ $("),
        ("$(PATH)", "$(PATH)"),
    ],
)
def test_references_are_replaced_as_in_kubernetes(tmp_path: Path, text: str, meant: str) -> None:
    trainer = container("echo", args=(text,), SIZE="10", COPY=text)
    rendered = command.render(trainer, {"CAPSTAN_ATTEMPT": "3"}, tmp_path)
    assert rendered.argv[1] == meant
    assert rendered.environment["COPY"] == meant


def test_a_path_is_relative_to_the_folder_of_the_job(tmp_path: Path) -> None:
    script = tmp_path / "start.sh"
    script.write_text("#!/bin/sh\n")
    rendered = command.render(container("./start.sh"), {}, tmp_path)
    assert "no executable './start.sh' in" in (command.complaint(rendered) or "")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    assert command.complaint(rendered) is None


def test_a_name_is_looked_up_on_the_path_of_the_task(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "trainer"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    missing = command.render(container("trainer"), {}, tmp_path)
    assert "no executable 'trainer' on the PATH" in (command.complaint(missing) or "")
    found = command.render(container("trainer", PATH=str(program.parent)), {}, tmp_path)
    assert (found.executable, command.complaint(found)) == (str(program), None)


def test_a_missing_command_is_reported(tmp_path: Path) -> None:
    rendered = command.render(container(args=("train.py",)), {}, tmp_path)
    assert "is missing" in (command.complaint(rendered) or "")


def test_a_missing_script_is_found_before_anything_starts(tmp_path: Path) -> None:
    def complaint(*words: str) -> str | None:
        return command.complaint(command.render(container(*words), {}, tmp_path))

    assert "there is no 'trian.py' in" in (complaint("python", "trian.py") or "")
    (tmp_path / "train.py").touch()
    assert complaint("python", "train.py") is None
    assert complaint("python", "-m", "json.tool") is None


def test_fields_without_effect_are_named_once() -> None:
    pod = (
        "{volumes: [], serviceAccountName: x, containers: [{name: trainer, image: i, command: [a],"
        " resources: {}, env: [{name: KEY, valueFrom: {}}, {name: B, value: b}]},"
        " {name: sidecar, image: i}]}"
    )
    assert command.ignored(job(pod)) == (
        "image",
        "resources",
        "env KEY",
        "container sidecar",
        "volumes",
        "serviceAccountName",
    )
    assert command.ignored(job("{containers: [{name: trainer, command: [a]}]}")) == ()


@pytest.mark.parametrize(
    "field, seconds",
    [("", GRACE_SECONDS), ("terminationGracePeriodSeconds: null, ", GRACE_SECONDS)]
    + [(f"terminationGracePeriodSeconds: {number}, ", number) for number in (0, 5, 30, 600)],
)
def test_the_template_sets_the_grace_period_of_a_task(field: str, seconds: float) -> None:
    pod = f"{{{field}containers: [{{name: trainer, command: [a]}}]}}"
    assert command.grace_seconds(job(pod).replica(ReplicaType.WORKER).template) == seconds


def test_pod_labels_are_named_as_without_effect() -> None:
    labelled = job("{containers: [{name: trainer, command: [a]}]}, metadata: {labels: {a: b}}")
    assert command.ignored(labelled) == ("metadata",)


def test_fields_for_clusters_are_named_as_without_effect() -> None:
    spec = "{containers: [{name: trainer, command: [a]}]}"
    document = job(spec).model_dump(mode="json", by_alias=True, exclude_unset=True)
    document["spec"] |= {
        "checkpoint": {"path": "/checkpoints", "existingClaim": "shared"},
        "cluster": {"port": 4000, "domain": "cluster.local"},
        "managedBy": "example.com/other",
        "scheduling": {"gang": "Volcano", "queueName": "training"},
        "suspend": True,
        "runPolicy": {
            "cleanPodPolicy": "None",
            "ttlSecondsAfterFinished": 0,
            "pendingDeadlineSeconds": 60,
            "progressDeadlineSeconds": 60,
        },
    }
    written = parse(json.dumps(document))
    assert command.ignored(written) == (
        "checkpoint",
        "cluster.domain",
        "scheduling.gang",
        "scheduling.queueName",
        "suspend",
        "managedBy",
        "runPolicy.cleanPodPolicy",
        "runPolicy.ttlSecondsAfterFinished",
    )
    spec = command.without_ignored(written).spec
    deadlines = {"pending_deadline_seconds": 60, "progress_deadline_seconds": 60}
    assert spec.run_policy == RunPolicy(**deadlines)
    assert not spec.suspend


def test_the_trainer_is_the_container_of_that_name() -> None:
    pod = "{containers: [{name: sidecar, command: [b]}, {name: trainer, command: [a]}]}"
    assert job(pod).replica(ReplicaType.WORKER).template.trainer.command == ("a",)


@pytest.mark.e2e
def test_python_finds_itself_with_any_path(tmp_path: Path) -> None:
    script = tmp_path / "say.py"
    script.write_text("import sys; print(sys.executable)")
    trainer = container("python", "say.py", PATH="/nowhere")
    rendered = command.render(trainer, {}, tmp_path)
    ran = subprocess.run(
        rendered.argv,
        executable=rendered.executable,
        env=dict(rendered.environment),
        cwd=rendered.directory,
        capture_output=True,
        text=True,
        check=True,
    )
    assert os.path.normpath(ran.stdout.strip()) == os.path.normpath(sys.executable)
