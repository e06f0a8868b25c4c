"""The commands about jobs that `.capstan` of the current directory holds.

The folders are as `capstanctl run` leaves them. tests/cli/test_alive.py has jobs that run.
"""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from cli import pictures

from capstan_operator.api import status_json
from capstan_operator.api.status import Phase, Status
from capstan_operator.cli import main, parser
from capstan_operator.local import folder

Call = Callable[[str], tuple[int, str, str]]


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Run a command line in an empty folder, on a machine without a cluster.

    Returns the exit status, stdout and stderr.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))

    def run(line: str) -> tuple[int, str, str]:
        status = main.main(shlex.split(line))
        return status, *capsys.readouterr()

    return run


def keep(status: Status, name: str = "digits") -> Path:
    """Write the folder of a job; return it."""
    path = Path(".capstan", name)
    path.mkdir(parents=True)
    (path / "lock").touch()
    (path / "status.json").write_text(json.dumps(status_json.render(status)))
    return path


def test_a_job_that_ran_here_is_explained(call: Call) -> None:
    keep(pictures.status())
    status, out, _ = call("explain digits")
    assert status == 0
    assert out.startswith("digits: Degraded (.capstan/digits)\n")
    assert "capstanctl run JOB.yaml" in out


@pytest.mark.parametrize("form, load", [("json", json.loads), ("yaml", yaml.safe_load)])
@pytest.mark.parametrize("command", ["explain digits", "top digits", "wait digits"])
def test_a_script_reads_json_or_yaml(
    call: Call, command: str, form: str, load: Callable[[str], dict[str, str]]
) -> None:
    keep(Status(phase=Phase.SUCCEEDED))
    status, out, err = call(f"{command} -o {form}")
    assert (status, err) == (0, "")
    assert load(out)["name"] == "digits"


@pytest.mark.e2e
@pytest.mark.parametrize("command", ["explain", "logs", "top", "wait", "delete"])
@pytest.mark.parametrize(
    "flags, words",
    [
        ("", "no job 'nosuch' in .capstan of this directory, which has digits, and no cluster: "),
        ("-n team-a", "there is no file"),
        ("--context x", "there is no file"),
        ("--kubeconfig missing", "there is no file missing"),
    ],
)
def test_a_job_that_is_nowhere_is_one_line_and_status_2(
    call: Call, command: str, flags: str, words: str
) -> None:
    keep(Status())
    status, out, err = call(f"{command} nosuch {flags}")
    assert (status, out) == (2, "")
    assert err.startswith("capstanctl: ")
    assert words in err
    assert err.count("\n") == 1


def test_the_flags_of_a_cluster_win_over_a_job_of_the_folder(call: Call) -> None:
    keep(Status())
    assert call("explain digits -n team-a")[0] == 2


@pytest.mark.parametrize(
    "phase, line, status",
    [
        (Phase.SUCCEEDED, "wait digits", 0),
        (Phase.SUCCEEDED, "wait digits --for running", 0),
        (Phase.FAILED, "wait digits", 1),
        (Phase.SUSPENDED, "wait digits", 1),
        (Phase.SUCCEEDED, "wait digits --for deleted --timeout 0", 3),
        (Phase.SUCCEEDED, "wait gone --for deleted", 2),
    ],
)
def test_the_exit_status_of_wait_says_how_it_ended(
    call: Call, phase: Phase, line: str, status: int
) -> None:
    keep(Status(phase=phase))
    assert call(line)[0] == status


def test_a_job_that_runs_is_waited_for_until_the_time_is_over(call: Call) -> None:
    path = keep(Status(phase=Phase.RUNNING))
    running = folder.claim(path)
    status, out, _ = call("wait digits --timeout 0.01s")
    running.close()
    assert (status, out) == (3, "digits: Running; the time is over\n")


@pytest.fixture
def logs(call: Call) -> Path:
    """The folder of a job with four logs, in the current directory."""
    path = keep(pictures.status())
    for name, text in {
        "worker-1.2": "c\nd",
        "worker-1.10": "e\n",
        "ps-0.1": "\x1b[31ma\r\nb\n",
        "worker-0.1": "",
    }.items():
        (path / f"{name}.log").write_text(text)
    (path / "other.log").write_text("no task wrote this\n")
    return path


@pytest.mark.parametrize(
    "flags, lines",
    [
        ("", ["ps-0       | \x1b[31ma", "ps-0       | b"]),
        ("--tail 1", ["ps-0       | b"]),
        ("--tail 0", []),
        ("--no-prefix", ["\x1b[31ma", "b"]),
        ("--since 1h", ["ps-0       | \x1b[31ma", "ps-0       | b"]),
    ],
)
@pytest.mark.usefixtures("logs")
def test_the_lines_of_a_task_have_its_name(call: Call, flags: str, lines: list[str]) -> None:
    status, out, _ = call(f"logs digits ps-0 {flags}")
    assert status == 0
    assert out.splitlines() == lines


@pytest.mark.usefixtures("logs")
def test_all_kept_attempts_are_shown_in_order(call: Call) -> None:
    _, out, _ = call("logs digits")
    assert [line.split(" ")[0] for line in out.splitlines()] == [
        *("ps-0", "ps-0"),
        *("worker-1.2", "worker-1.2", "worker-1.10"),
    ]
    assert out.endswith("worker-1.2 | d\nworker-1.10 | e\n")


@pytest.mark.usefixtures("logs")
def test_following_a_job_that_nobody_runs_ends_with_its_last_line(call: Call) -> None:
    status, out, _ = call("logs -f digits worker-1")
    assert status == 0
    assert sorted(out.splitlines()) == [
        "worker-1.10 | e",
        "worker-1.2 | c",
        "worker-1.2 | d",
    ]


@pytest.mark.parametrize(
    "task, words",
    [
        ("worker-7", "job digits has no task worker-7; its tasks are ps-0, worker-0, worker-1"),
        ("boss-0", "'boss-0' is not a task name"),
        ("worker-1.2", "evaluator; worker-1 shows all attempts, each line with its own"),
    ],
)
@pytest.mark.usefixtures("logs")
def test_a_wrong_task_is_one_line_and_status_2(call: Call, task: str, words: str) -> None:
    status, out, err = call(f"logs digits {task}")
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_top_shows_the_reports_of_the_tasks(call: Call) -> None:
    path = keep(pictures.status())
    report = {"step": 1300, "stepsPerSecond": 40.5}
    (path / "worker-0.progress.json").write_text(json.dumps(report))
    _, out, _ = call("top digits")
    head, columns, *rows = out.splitlines()
    assert (
        head == "digits: Degraded  step 1234  81.2 steps/s  loss 0.250  accuracy 0.900  restarts 3"
    )
    assert columns.split() == ["TASK", "STATE", "ATTEMPT", "STEP", "STEPS/S"]
    assert [row.split() for row in rows] == [
        ["ps-0", "Running", "2", "-", "-"],
        ["worker-0", "Running", "1", "1300", "40.5"],
        ["worker-1", "BackOff", "3", "1200", "-"],
    ]


@pytest.mark.e2e
def test_top_without_a_name_shows_all_jobs_of_the_folder(call: Call) -> None:
    keep(pictures.status())
    keep(Status(phase=Phase.FAILED), "other")
    _, out, _ = call("top")
    assert [line.split()[:2] for line in out.splitlines()] == [
        ["JOB", "PHASE"],
        ["digits", "Degraded"],
        ["other", "Failed"],
    ]
    _, out, _ = call("top -o json")
    assert [job["name"] for job in json.loads(out)["jobs"]] == ["digits", "other"]


@pytest.mark.usefixtures("logs")
def test_delete_removes_status_and_logs_and_keeps_checkpoints(call: Call, logs: Path) -> None:
    (logs / "checkpoints").mkdir()
    (logs / "checkpoints" / "model-7").touch()
    status, out, _ = call("delete digits")
    assert (status, out) == (
        0,
        "digits: its status and logs are deleted; checkpoints stay in .capstan/digits\n",
    )
    assert [path.name for path in logs.rglob("*") if path.is_file() and path.name != "lock"] == [
        "model-7"
    ]
    assert call("explain digits")[0] == 2


def test_tasks_follow_the_flags_of_logs(call: Call) -> None:
    path = keep(pictures.status())
    for task in ("ps-0", "worker-0", "worker-1"):
        (path / f"{task}.1.log").write_text(f"hello of {task}\n")
    in_order = call("logs digits worker-0 worker-1 --tail 1")
    assert in_order[0] == 0
    assert call("logs digits --tail 1 worker-0 worker-1") == in_order
    assert call("logs digits worker-0 --tail 1 worker-1") == in_order
    assert "worker-0" in in_order[1]
    assert "ps-0" not in in_order[1]


def test_the_flags_of_a_cluster_may_stand_before_the_command() -> None:
    flags = ["--context", "test", "-n", "team-a", "--kubeconfig=file"]
    behind = parser.parsed("capstanctl", ["wait", *flags, "digits", "--timeout", "5s"])
    before = parser.parsed("capstanctl", [*flags, "wait", "digits", "--timeout", "5s"])
    assert before == behind
    assert (before.namespace, before.context, before.kubeconfig) == ("team-a", "test", "file")


def test_a_job_may_have_its_kind_before_it() -> None:
    for job in ("digits", "tjob/digits", "trainingjobs.capstan.dev/digits"):
        assert parser.parsed("capstanctl", ["explain", job]).job == "digits"


def test_a_command_line_without_a_command_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main.main(["-n", "team-a"])
    assert "required: COMMAND" in capsys.readouterr().err


def test_other_words_too_many_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for line in ("logs digits worker-0 --tale 1", "explain digits -o json worker-0"):
        with pytest.raises(SystemExit):
            main.main(line.split())
        assert "unrecognized arguments: " in capsys.readouterr().err


def test_a_job_that_runs_is_not_deleted(call: Call) -> None:
    path = keep(Status(phase=Phase.RUNNING))
    running = folder.claim(path)
    status, _, err = call("delete digits")
    running.close()
    assert status == 2
    assert err.startswith("capstanctl: digits is run by another capstanctl")
    assert err.count("\n") == 1
    assert (path / "status.json").exists()


@pytest.mark.parametrize("name", ["..", "digits/inside", "../.capstan/digits"])
def test_a_path_is_not_the_name_of_a_job(call: Call, name: str) -> None:
    path = keep(Status())
    (path / "inside").mkdir()
    files = [Path("status.json"), path / "inside" / "status.json", path / "status.json"]
    for file in files:
        file.write_text("{}")
    with pytest.raises(SystemExit, match="2"):
        call(f"delete {name}")
    assert all(file.exists() for file in files)


def test_a_status_that_cannot_be_read_is_no_status(call: Call) -> None:
    (keep(Status()) / "status.json").write_text("{")
    _, out, _ = call("explain digits")
    assert out.startswith("digits: Unobserved")
