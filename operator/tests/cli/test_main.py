"""A command line or a job that cannot be run is refused before anything has happened."""

import contextlib
import io
import shlex
import socket
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from capstan_operator.api.names import TaskName
from capstan_operator.cli import main
from capstan_operator.local import folder, gpus, ports

JOB = """
apiVersion: capstan.dev/v1alpha1
kind: TrainingJob
metadata: {name: digits}
spec:
  replicaSpecs:
    ps: {template: {spec: {containers: [{name: trainer, command: [sleep, "60"]}]}}}
    worker: {replicas: 2, template: {spec: {containers: [{name: trainer, command: [sleep, "60"]}]}}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Run each test in a folder of its own, in which no test may leave state."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not list(Path(".capstan").glob("*/status.json")), "something was started"


def refused(capsys: pytest.CaptureFixture[str], arguments: str) -> str:
    """Return the faults that a refused command line prints, one on each line."""
    assert main.main(shlex.split(arguments)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    head, *faults = printed.err.splitlines()
    assert head.startswith("capstanctl: ")
    assert head.endswith(": nothing was started")
    return "\n".join(faults)


@pytest.mark.parametrize(
    "change, faults",
    [
        (("apiVersion", "\tapiVersion"), ["it is not valid YAML"]),
        (("TrainingJob", "Job"), ["kind: "]),
        (("replicas: 2", "replica: 2"), ["spec.replicaSpecs.worker.replica: "]),
        (("replicas: 2", "replicas: two"), ["spec.replicaSpecs.worker.replicas: "]),
        (("worker: {replicas: 2", "chief: {replicas: 2"), ["spec.replicaSpecs.chief"]),
        (("worker: {replicas: 2, ", "evaluator: {"), ["spec.replicaSpecs: "]),
        (("name: digits", "name: Digits_"), ["metadata.name: "]),
        (("[sleep", "[slep"), ["ps.template.spec.containers[0].command: there is no executable"]),
        (("metadata:", "status: {}\nmetaData:"), ["metadata: ", "metaData: ", "status: "]),
    ],
)
def test_every_fault_of_a_job_is_named_by_its_field(
    capsys: pytest.CaptureFixture[str], change: tuple[str, str], faults: list[str]
) -> None:
    Path("job.yaml").write_text(JOB.replace(*change))
    refusal = refused(capsys, "run job.yaml")
    assert [fault for fault in faults if fault not in refusal] == []
    assert len(refusal.splitlines()) >= len(faults)


@pytest.mark.e2e
def test_a_refused_job_is_also_warned_of_misspelt_pod_fields(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("job.yaml").write_text(JOB.replace("command: [sleep", "comand: [sleep", 1))
    assert main.main(["run", "job.yaml"]) == 2
    warning, refusal, fault = capsys.readouterr().err.splitlines()
    assert warning.startswith("capstanctl: warning: spec.replicaSpecs.ps.template.spec.containers")
    assert warning.endswith("; did you mean command?")
    assert refusal == "capstanctl: job.yaml: nothing was started"
    assert "spec.replicaSpecs.ps.template.spec.containers[0].command: is missing" in fault


@pytest.mark.e2e
@pytest.mark.skipif(gpus.has_driver(), reason="needs a machine without a GPU of NVIDIA")
def test_a_job_is_warned_of_gpus_that_this_machine_lacks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trainer = "{name: trainer, resources: {limits: {nvidia.com/gpu: 1}}, command: [slep"
    Path("job.yaml").write_text(JOB.replace("{name: trainer, command: [sleep", trainer, 1))
    assert main.main(["run", "job.yaml"]) == 2
    warning, *_ = capsys.readouterr().err.splitlines()
    assert warning.startswith("capstanctl: warning: spec.replicaSpecs.ps.template.spec.containers")
    assert warning.endswith("no GPU of NVIDIA: these tasks run on the CPU")


def test_faults_of_commands_and_flags_are_reported_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("job.yaml").write_text(JOB.replace("[sleep", "[slep"))
    refusal = refused(capsys, "run job.yaml --port 65535")
    assert [line.split(": ")[0].strip() for line in refusal.splitlines()] == [
        "spec.replicaSpecs.ps.template.spec.containers[0].command",
        "spec.replicaSpecs.worker.template.spec.containers[0].command",
        "--port 65535",
    ]
    assert not Path(".capstan").exists()


@pytest.mark.e2e
def test_faults_of_file_commands_and_flags_are_reported_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    wrong = JOB.replace("TrainingJob", "TrainJob").replace("v1alpha1", "v1")
    wrong = wrong.replace("name: digits", "nmae: digits").replace("[sleep", "[nosuch", 1)
    Path("job.yaml").write_text(wrong.replace("worker: {replicas: 2", "chief: {replicas: 2"))
    refusal = refused(capsys, "run job.yaml --port 99999")
    assert [line.split(": ")[0].strip() for line in refusal.splitlines()] == [
        "apiVersion",
        "kind",
        "metadata.name",
        "metadata.nmae",
        "spec.replicaSpecs.chief.replicas",
        "spec.replicaSpecs.ps.template.spec.containers[0].command",
        "--port 99999",
    ]


def test_every_fault_of_a_job_from_standard_input_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = JOB.replace("replicas: 2", "replica: 2").encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert refused(capsys, "run -").startswith("  spec.replicaSpecs.worker.replica: ")


@pytest.mark.parametrize("command", ["run", "render", "submit"])
def test_a_program_in_place_of_a_job_is_refused_with_what_to_write(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    Path("train.py").write_text("def main(_):\n    print('x: {}'.format(1))\n")
    assert main.main([command, "train.py"]) == 2
    printed = capsys.readouterr().err
    assert "is a Python program; write the YAML file of a TrainingJob" in printed
    assert "YAML on line" not in printed


@pytest.mark.parametrize(
    "text, fault", [(None, "cannot be read"), ("a: [", "is not valid YAML"), ("", "is empty")]
)
def test_a_file_that_cannot_be_read_does_not_hide_the_flag(
    capsys: pytest.CaptureFixture[str], text: str | None, fault: str
) -> None:
    if text is not None:
        Path("job.yaml").write_text(text)
    file, flag = refused(capsys, "run job.yaml --port 99999").splitlines()
    assert fault in file
    assert flag == "  --port 99999: must be a port, from 1 to 65535"


@pytest.mark.e2e
@pytest.mark.parametrize(
    "trainer",
    [
        "{name: trainer, command: nosuch}",
        "{name: trainer, command: [nosuch, 7]}",
        "{name: a, command: [nosuch]}, {name: b, command: [nosuch]}",
    ],
)
def test_a_command_that_is_faulty_in_the_document_is_reported_once(
    capsys: pytest.CaptureFixture[str], trainer: str
) -> None:
    ps = '{name: trainer, command: [sleep, "60"]}'
    Path("job.yaml").write_text(JOB.replace(ps, trainer, 1))
    (fault,) = refused(capsys, "run job.yaml").splitlines()
    assert "spec.replicaSpecs.ps.template.spec.containers" in fault


@pytest.mark.e2e
def test_a_script_without_its_interpreter_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("start.sh").write_text("#!/no/such/interp\n")
    Path("start.sh").chmod(0o755)
    Path("job.yaml").write_text(JOB.replace("[sleep", "[./start.sh", 1))
    (fault,) = refused(capsys, "run job.yaml").splitlines()
    assert "spec.replicaSpecs.ps.template.spec.containers[0].command: " in fault
    assert "'/no/such/interp' does not exist" in fault


@pytest.mark.e2e
def test_a_fault_beside_a_command_does_not_hide_it(capsys: pytest.CaptureFixture[str]) -> None:
    ps = '{name: trainer, command: [sleep, "60"]}'
    Path("job.yaml").write_text(JOB.replace(ps, "{command: [nosuch], args: [7], env: 7}", 1))
    paths = [line.split(": ")[0] for line in refused(capsys, "run job.yaml").splitlines()]
    assert [path.rpartition(".")[2] for path in paths] == ["name", "args[0]", "env", "command"]


@pytest.mark.e2e
@pytest.mark.parametrize("by", ["--port", "spec.cluster.port"])
def test_a_port_in_use_is_refused_with_the_flag_or_field_that_named_it(
    capsys: pytest.CaptureFixture[str], by: str
) -> None:
    task = TaskName.parse("ps-0")
    with socket.socket() as listener:
        listener.bind((ports.HOST, ports.choose("somebody", (task,))[task]))
        listener.listen()
        port = listener.getsockname()[1]
        in_job = "" if by == "--port" else f"  cluster: {{port: {port}}}\n"
        Path("job.yaml").write_text(JOB + in_job)
        flag = f" --port {port}" if by == "--port" else ""
        refusal = refused(capsys, f"run job.yaml{flag}")
    assert refusal.strip().startswith(by)
    assert f"in use on 127.0.0.1: {port} (ps-0)" in refusal


def test_a_flag_wins_over_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    Path("job.yaml").write_text(JOB + "  cluster: {port: 2222}\n")
    assert "--port 65534: 3 tasks need" in refused(capsys, "run job.yaml --port 65534")


@pytest.mark.e2e
def test_a_running_job_is_not_started_twice(capsys: pytest.CaptureFixture[str]) -> None:
    Path("job.yaml").write_text(JOB)
    other = folder.claim(Path(".capstan/digits"))
    assert "it is run by another capstanctl" in refused(capsys, "run job.yaml")
    other.close()


@pytest.mark.e2e
def test_a_file_that_cannot_be_read_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot be read: No such file" in refused(capsys, "run none.yaml")
    assert "cannot be read: Is a directory" in refused(capsys, "run .")
    Path("job.yaml").write_bytes(b"\xff\xfe\x00")
    assert "is not text in UTF-8" in refused(capsys, "run job.yaml")


@pytest.mark.parametrize(
    "arguments, words",
    [
        ("", "the following arguments are required: COMMAND"),
        ("run", "the following arguments are required: JOB.yaml"),
        ("run job.yaml --port many", "argument --port: invalid int value: 'many'"),
        ("run job.yaml -o yaml", "argument -o/--output: invalid choice: 'yaml'"),
        ("walk job.yaml", "invalid choice: 'walk'"),
        ("logs digits --tail 99999999999999999999", "argument --tail: must have at most 18 digits"),
        ("logs", "the following arguments are required: JOB\n"),
        ("delete ''", "argument JOB: must not be empty"),
        ("explain tjob/", "argument JOB: must not be empty"),
        ("delete .", "argument JOB: must be a name of lowercase letters, digits and dashes, "),
        ("explain ..", "argument JOB: must be a name of lowercase"),
        ("explain pod/digits", "argument JOB: must be a name of lowercase"),
        ("logs tjob/a/b", "argument JOB: must be a name of lowercase"),
        ("top Digits", "argument JOB: must be a name of lowercase"),
        ("wait 1st", "argument JOB: must be a name of lowercase"),
        (f"wait {'x' * 64}", "argument JOB: must be a name of lowercase"),
        ("top -n ..", "argument -n/--namespace: must be a name of lowercase"),
        ("render job.yaml -n 'team a'", "argument -n/--namespace: must be a name of lowercase"),
    ],
)
def test_a_wrong_command_line_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], arguments: str, words: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(shlex.split(arguments))
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_a_command_works_if_the_shell_has_closed_its_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    Path("job.yaml").write_text(JOB)
    assert main.main(["render", "job.yaml"]) == 0
    sys.stdout.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, as on Linux")
def test_a_full_disk_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("job.yaml").write_text(JOB)
    with contextlib.suppress(OSError), open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main.main(["render", "job.yaml"]) == 2
    assert capsys.readouterr().err == "capstanctl: No space left on device\n"


def test_help_names_the_folder_and_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["run", "--help"])
    assert ended.value.code == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "--port N" in output
    assert ".capstan/JOB" in output
    assert "130 Ctrl-C" in output


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"capstanctl {metadata.version('capstan_operator')}\n"
