"""`capstanctl run` with real processes and real signals. No process is left over."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from processes import DEADLINE_SECONDS, ENVIRONMENT, is_running, wait_until

from capstan_operator.local import ports, process

pytestmark = pytest.mark.alone

CAPSTANCTL = (str(Path(sys.executable).with_name("capstanctl")), "run", "job/job.yaml")
SERVE = "import signal; print('serving', flush=True); signal.pause()"
REPORT = """
import json, os
def report(step, **metrics):
    file = os.environ["CAPSTAN_PROGRESS_FILE"]
    with open(file + ".new", "w") as draft:
        json.dump({"step": step, "stepsPerSecond": 10.5, "metrics": metrics}, draft)
    os.replace(file + ".new", file)
"""
UNTIL_SERVED = """
import os, select
log = os.path.join(os.path.dirname(os.environ["CAPSTAN_PROGRESS_FILE"]), "ps-0.1.log")
while not os.path.exists(log) or not os.path.getsize(log):
    select.select([], [], [], 0.01)
"""
TRAIN = REPORT + "report(700, accuracy=0.97249)"


class Run:
    """A folder with a job in it, and one `capstanctl` at a time that runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / ".capstan" / "digits"
        self.process: subprocess.Popen[str] | None = None
        self.descendants: set[int] = set()

    def job(self, policy: str = "{}", grace: int | None = None, **scripts: str) -> None:
        """Write a job. For example, the argument `ps_1` is the script of a ps with one replica.

        `grace` is the grace period of the templates, in seconds.
        """
        pod_fields = {} if grace is None else {"terminationGracePeriodSeconds": grace}
        (self.folder / "job").mkdir(exist_ok=True)
        specs = {}
        for name, script in scripts.items():
            kind, _, count = name.partition("_")
            (self.folder / "job" / f"{kind}.py").write_text(script)
            trainer = {"name": "trainer", "command": ["python", f"{kind}.py"]}
            template = {"spec": {"containers": [trainer], **pod_fields}}
            specs[kind] = {"replicas": int(count), "template": template}
        spec = f"{{replicaSpecs: {json.dumps(specs)}, runPolicy: {policy}}}"
        (self.folder / "job" / "job.yaml").write_text(
            "apiVersion: capstan.dev/v1alpha1\nkind: TrainingJob\n"
            f"metadata: {{name: digits}}\nspec: {spec}\n"
        )

    def start(
        self,
        *flags: str,
        output: int = subprocess.PIPE,
        under: tuple[str, ...] = (),
        term: str = "xterm",
    ) -> "Run":
        self.process = subprocess.Popen(
            [*under, *CAPSTANCTL, *flags],
            cwd=self.folder,
            env={**ENVIRONMENT, "TERM": term},
            stdout=output,
            stderr=subprocess.PIPE if output == subprocess.PIPE else output,
            text=True,
            start_new_session=True,
        )
        return self

    def end(self) -> tuple[int, str, str]:
        """Wait until `capstanctl` ends. Return its exit status, its output and its errors."""
        assert self.process is not None
        output, errors = self.process.communicate(timeout=DEADLINE_SECONDS)
        return self.process.returncode, output, errors

    def status(self) -> dict[str, Any]:
        with contextlib.suppress(FileNotFoundError):
            status: dict[str, Any] = json.loads((self.state / "status.json").read_text())
            return status
        return {"phase": "", "tasks": []}

    def task(self, name: str) -> dict[str, Any]:
        return next((row for row in self.status()["tasks"] if row["name"] == name), {"state": ""})

    def pid(self, name: str) -> int:
        return int(self.task(name)["uid"].partition(".")[0])

    def log(self, name: str, attempt: int = 1) -> str:
        file = self.state / f"{name}.{attempt}.log"
        return file.read_text() if file.exists() else ""

    def wait(self, condition: Callable[[], object]) -> None:
        """Wait for a condition, and record every process that `capstanctl` has started."""

        def holds() -> object:
            self.remember()
            return condition()

        wait_until(holds)
        self.remember()

    def remember(self) -> None:
        assert self.process is not None
        with contextlib.suppress(psutil.NoSuchProcess):
            family = psutil.Process(self.process.pid).children(recursive=True)
            self.descendants |= {child.pid for child in family}

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        wait_until(lambda: not any(map(is_running, self.descendants)), "the end of all processes")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    prepared = Run(tmp_path)
    yield prepared
    prepared.close()


def test_a_job_that_succeeds_ends_with_its_results(run: Run) -> None:
    run.job(ps_1=SERVE, worker_2=UNTIL_SERVED + TRAIN)
    code, output, errors = run.start().end()
    assert (code, errors) == (0, "")
    assert output.splitlines()[-1] == "digits: Succeeded  accuracy 0.972  steps 700  restarts 0"
    assert run.status()["phase"] == "Succeeded"
    assert run.log("ps-0") == "serving\n"


@pytest.mark.e2e
def test_a_job_from_standard_input_runs_in_the_current_directory(run: Run) -> None:
    run.job(worker_1="print('trained')")
    folder = run.folder / "job"
    ended = subprocess.run(
        [CAPSTANCTL[0], "run", "-"],
        input=(folder / "job.yaml").read_text(),
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (folder / ".capstan/digits/worker-0.1.log").read_text() == "trained\n"


@pytest.mark.e2e
def test_a_job_that_fails_ends_with_the_reason(run: Run) -> None:
    run.job("{backoffLimit: 0}", ps_1=SERVE, worker_1="raise SystemExit('out of digits')")
    code, output, _ = run.start().end()
    assert code == 1
    last = output.splitlines()[-1]
    reason = "worker-0 attempt 1: exit code 1: out of digits (spec.runPolicy.backoffLimit is 0)"
    assert last == f"digits: Failed  {reason}"
    assert run.status()["failure"] in last


@pytest.mark.e2e
def test_a_pod_field_that_kubernetes_does_not_have_is_warned_of_and_the_job_runs(run: Run) -> None:
    run.job(worker_1="print('trained')")
    file = run.folder / "job" / "job.yaml"
    misspelt = '"name": "trainer", "imagePullPolice": "Always", "fromTomorrow": {"a": 1}'
    file.write_text(file.read_text().replace('"name": "trainer"', misspelt))
    code, output, errors = run.start().end()
    assert code == 0, output + errors
    path = "spec.replicaSpecs.worker.template.spec.containers[0]"
    no_field = "Kubernetes 1.36 has no such field in Container"
    assert errors.splitlines() == [
        f"capstanctl: warning: {path}.imagePullPolice: {no_field}; did you mean imagePullPolicy?",
        f"capstanctl: warning: {path}.fromTomorrow: {no_field}",
    ]


@pytest.mark.e2e
def test_ctrl_c_leaves_no_process(run: Run) -> None:
    run.job(ps_1=SERVE, worker_2=SERVE)
    run.start().wait(lambda: run.status()["phase"] == "Running")
    assert run.process is not None
    assert len(run.descendants) == 6
    run.process.send_signal(signal.SIGINT)
    code, _, errors = run.end()
    assert (code, errors) == (
        130,
        "digits: interrupted; all its processes have ended, and the next run continues\n",
    )
    assert not any(map(is_running, run.descendants))
    status = run.status()
    assert status["phase"] == "Suspended"
    assert {row["state"] for row in status["tasks"]} == {"Stopped"}
    assert {row["exitCode"] for row in status["tasks"]} == {143}
    (suspended,) = (
        condition for condition in status["conditions"] if condition["type"] == "Suspended"
    )
    assert (suspended["reason"], suspended["message"][:7]) == ("Interrupted", "SIGINT ")


@pytest.mark.e2e
def test_ctrl_c_ends_the_worker_that_saves_before_the_ps_and_after_the_others(run: Run) -> None:
    ends = """
import os, signal, sys
def end(*_):
    with open("ends", "a") as ends:
        ends.write(os.environ["CAPSTAN_PROGRESS_FILE"].rpartition("/")[2].split(".")[0] + "\\n")
    sys.exit(143)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
while True: signal.pause()
"""
    run.job(ps_1=ends, worker_2=ends)
    tasks = ("ps-0", "worker-0", "worker-1")
    run.start().wait(lambda: all(map(run.log, tasks)))
    assert run.process is not None
    run.process.send_signal(signal.SIGINT)
    assert run.end()[0] == 130
    ended = (run.folder / "job" / "ends").read_text().split()
    assert ended == ["worker-1", "worker-0", "ps-0"]


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_continues_an_interrupted_one(run: Run, number: signal.Signals) -> None:
    run.job(ps_1=SERVE, worker_1=REPORT + "report(700, loss=0.5)\n" + SERVE)
    run.start().wait(lambda: run.task("worker-0").get("step") == 700)
    assert run.process is not None
    run.process.send_signal(number)
    run.end()
    wait_until(lambda: not any(map(is_running, run.descendants)), "the end of all processes")
    (run.folder / "job" / "worker.py").write_text(TRAIN)
    code, output, _ = run.start().end()
    assert code == 0
    assert "the last run did not finish" in output
    assert output.splitlines()[-1].endswith("steps 700  restarts 0")
    assert [row["attempt"] for row in run.status()["tasks"]] == [2, 2]
    assert run.log("worker-0", 1) == "serving\n"
    assert run.status()["epoch"] == 2


@pytest.mark.e2e
def test_a_run_after_a_failed_one_says_that_it_begins_with_the_checkpoints(run: Run) -> None:
    save = "import os; open(os.environ['CAPSTAN_CHECKPOINT_DIR'] + '/model', 'w').close()\n"
    run.job("{backoffLimit: 0}", worker_1=save + "raise SystemExit(1)")
    code, output, _ = run.start().end()
    assert (code, "checkpoints (" in output) == (1, False)
    _, output, _ = run.start().end()
    assert "the last run did not succeed: this run begins with its checkpoints (" in output


@pytest.mark.e2e
def test_the_condition_says_that_nobody_read_the_output(run: Run) -> None:
    report = "import itertools\nfor step in itertools.count():\n    report(step)\n"
    run.job(worker_1=REPORT + "print('ready', flush=True)\n" + report)
    run.start().wait(lambda: run.log("worker-0"))
    assert run.process is not None
    assert run.process.stdout is not None
    run.process.stdout.close()
    run.process.wait(DEADLINE_SECONDS)
    (suspended,) = (
        condition for condition in run.status()["conditions"] if condition["type"] == "Suspended"
    )
    assert suspended["message"].startswith("nobody read the output of capstanctl any more")


@pytest.mark.e2e
def test_ctrl_c_while_the_servers_end_does_not_undo_a_success(run: Run) -> None:
    deaf = "import signal; signal.signal(signal.SIGTERM, lambda *_: print('no', flush=True))\n"
    loop = deaf + "print('serving', flush=True)\nwhile True: signal.pause()"
    until_go = (
        "import os, select\nwhile not os.path.exists('go'): select.select([], [], [], 0.01)\n"
    )
    run.job("{psGracePeriodSeconds: 3600}", ps_1=loop, worker_1=until_go + TRAIN)
    run.start().wait(lambda: run.log("ps-0"))
    (run.folder / "job" / "go").touch()
    run.wait(lambda: run.status()["phase"] == "Succeeded" and "no" in run.log("ps-0"))
    assert run.process is not None
    run.process.send_signal(signal.SIGINT)
    run.wait(lambda: run.log("ps-0").count("no") >= 1)
    run.process.send_signal(signal.SIGINT)
    code, output, _ = run.end()
    assert code == 0
    assert output.splitlines()[-1].startswith("digits: Succeeded")
    assert run.status()["phase"] == "Succeeded"
    assert run.task("ps-0")["state"] == "Stopped"


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_task_has_the_grace_of_its_template_when_capstanctl_ends(
    run: Run, number: signal.Signals
) -> None:
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, lambda *_: None)\n"
        "print('ready', flush=True); signal.pause()\n"
        "while True: print('alive', flush=True); time.sleep(0.1)"
    )
    run.job(grace=0, worker_1=deaf)
    run.start().wait(lambda: run.log("worker-0"))
    assert run.process is not None
    run.process.send_signal(number)
    run.process.wait(DEADLINE_SECONDS)
    wait_until(lambda: not any(map(is_running, run.descendants)), "the end of all processes")
    # With the default grace period the task would have printed more lines.
    assert run.log("worker-0").count("alive") < 10 * (process.GRACE_SECONDS - 1)


@pytest.fixture
def hanging_up() -> Iterator[None]:
    """Let started processes receive SIGHUP, also when these tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.e2e
@pytest.mark.usefixtures("hanging_up")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_and_sighup_leave_no_process(run: Run, number: signal.Signals) -> None:
    run.job(worker_1=SERVE)
    run.start().wait(lambda: run.status()["phase"] == "Running")
    assert run.process is not None
    run.process.send_signal(number)
    assert run.end()[0] == 128 + number
    assert run.status()["phase"] == "Suspended"
    assert not any(map(is_running, run.descendants))


@pytest.mark.e2e
def test_nohup_is_respected_and_a_shell_s_background_is_not(run: Run) -> None:
    run.job(worker_1=SERVE)
    run.start(under=("sh", "-c", "trap '' HUP INT; exec \"$@\"", "sh"))
    run.wait(lambda: run.status()["phase"] == "Running")
    assert run.process is not None
    run.process.send_signal(signal.SIGHUP)
    run.process.send_signal(signal.SIGINT)
    assert run.end()[0] == 130
    assert not any(map(is_running, run.descendants))


@pytest.mark.e2e
def test_a_second_ctrl_c_kills_tasks_that_do_not_stop(run: Run) -> None:
    deaf = "import signal; signal.signal(signal.SIGTERM, lambda *_: print('no', flush=True))\n"
    heedless = deaf + SERVE.replace("signal.pause()", "[signal.pause() for _ in range(99)]")
    run.job(grace=3600, worker_1=heedless)
    run.start().wait(lambda: run.log("worker-0"))
    assert run.process is not None
    run.process.send_signal(signal.SIGINT)
    run.wait(lambda: "no" in run.log("worker-0"))
    run.process.send_signal(signal.SIGINT)
    status, output, _ = run.end()
    assert status == 130
    assert "digits: the tasks are ending; a second Ctrl-C ends them at once\n" in output
    assert not any(map(is_running, run.descendants))


@pytest.mark.e2e
def test_a_killed_capstanctl_leaves_no_process(run: Run) -> None:
    run.job(ps_1=SERVE, worker_1=SERVE)
    run.start().wait(lambda: run.status()["phase"] == "Running")
    assert run.process is not None
    run.process.kill()
    wait_until(lambda: not any(map(is_running, run.descendants)), "the end of all processes")


@pytest.mark.e2e
def test_a_killed_task_comes_back_under_the_same_address(run: Run) -> None:
    report = "import os; print(os.environ['TF_CONFIG'], os.environ['CAPSTAN_EPOCH'], flush=True)\n"
    policy = "{restartBackoff: {initialSeconds: 0.1}}"
    run.job(policy, ps_1=report + SERVE, worker_2=report + SERVE)
    run.start().wait(lambda: run.status()["phase"] == "Running")
    for name, epoch in (("worker-1", "1"), ("ps-0", "2")):
        run.wait(lambda name=name: "serving" in run.log(name))
        os.kill(run.pid(name), signal.SIGKILL)
        run.wait(lambda name=name: "serving" in run.log(name, 2))
        first, again = run.log(name, 1).split(" 1\n"), run.log(name, 2).split(f" {epoch}\n")
        assert again == first
        run.wait(lambda: run.status()["phase"] == "Running")
    assert run.task("worker-0")["attempt"] == 1
    assert run.status()["restarts"] == {"application": 2, "infrastructure": 0}


@pytest.mark.e2e
def test_a_killed_guard_is_a_failed_task(run: Run) -> None:
    run.job("{restartBackoff: {initialSeconds: 0.1}}", worker_1=SERVE)
    run.start().wait(lambda: run.status()["phase"] == "Running")
    os.kill(psutil.Process(run.pid("worker-0")).ppid(), signal.SIGKILL)
    run.wait(lambda: "serving" in run.log("worker-0", 2))
    assert run.status()["restarts"] == {"application": 1, "infrastructure": 0}


@pytest.mark.e2e
def test_a_task_that_keeps_failing_ends_the_job_when_the_budget_is_used(run: Run) -> None:
    fail = "import os; raise SystemExit(f'no {os.environ[\"CAPSTAN_ATTEMPT\"]}')"
    run.job("{backoffLimit: 2, restartBackoff: {initialSeconds: 0.1}}", ps_1=SERVE, worker_1=fail)
    code, output, _ = run.start().end()
    assert code == 1
    assert output.splitlines()[-1].startswith(
        "digits: Failed  worker-0 attempt 3: exit code 1: no 3"
    )
    assert [run.log("worker-0", attempt) for attempt in (1, 2, 3)] == ["no 1\n", "no 2\n", "no 3\n"]


@pytest.mark.e2e
def test_a_task_has_the_promised_environment(run: Run) -> None:
    show = "import json, os; print(json.dumps([os.getcwd(), dict(os.environ)]))"
    run.job(ps_1=SERVE, worker_1=show)
    port = next(low for low in range(20_000, 30_000, 2) if all(map(ports.is_free, (low, low + 1))))
    assert run.start("--port", str(port)).end()[0] == 0
    folder, environment = json.loads(run.log("worker-0"))
    assert folder == str(run.folder / "job")
    assert json.loads(environment["TF_CONFIG"])["cluster"] == {
        "ps": [f"127.0.0.1:{port}"],
        "worker": [f"127.0.0.1:{port + 1}"],
    }
    assert environment["CAPSTAN_CHECKPOINT_DIR"] == str(run.state / "checkpoints")
    assert environment["CAPSTAN_PROGRESS_FILE"] == str(run.state / "worker-0.progress.json")
    assert (environment["CAPSTAN_EPOCH"], environment["CAPSTAN_ATTEMPT"]) == ("1", "1")


@pytest.mark.e2e
def test_checkpoints_outlive_a_failure_and_are_set_aside_after_a_success(run: Run) -> None:
    count = (
        "import os, pathlib; file = pathlib.Path(os.environ['CAPSTAN_CHECKPOINT_DIR'], 'n');"
        "n = int(file.read_text()) + 1 if file.exists() else 1; file.write_text(str(n));"
        "print(n); raise SystemExit(n % 2)"
    )
    run.job("{backoffLimit: 0}", worker_1=count)
    logs, codes = [], []
    for _ in range(3):
        codes.append(run.start().end()[0])
        logs.append(run.log("worker-0"))
    assert (codes, logs) == ([1, 0, 1], ["1\n", "2\n", "1\n"])
    (aside,) = run.state.glob("checkpoints.*")
    assert (aside / "n").read_text() == "2"


@pytest.mark.e2e
@pytest.mark.parametrize(
    "policy, line",
    [
        ("{cleanPodPolicy: All}", "the field runPolicy.cleanPodPolicy is ignored"),
        (
            "{cleanPodPolicy: All, ttlSecondsAfterFinished: 9}",
            "the fields runPolicy.cleanPodPolicy, runPolicy.ttlSecondsAfterFinished are ignored",
        ),
    ],
)
def test_a_run_names_the_fields_that_have_no_effect_on_one_machine(
    run: Run, policy: str, line: str
) -> None:
    run.job(policy, worker_1="print(1)")
    _, output, errors = run.start().end()
    assert f"digits: {line}, because tasks are local processes\n" in output + errors


@pytest.mark.e2e
def test_json_is_the_final_status_and_nothing_else(run: Run) -> None:
    run.job(ps_1=SERVE, worker_1=TRAIN)
    code, output, errors = run.start("-o", "json").end()
    assert code == 0
    assert json.loads(output) == run.status()
    assert "worker-0: Running" in errors


@pytest.mark.e2e
def test_a_closed_stdout_ends_the_job(run: Run) -> None:
    run.job(worker_1=SERVE)
    run.start().wait(lambda: run.status()["phase"] == "Running")
    assert run.process is not None
    assert run.process.stdout is not None
    run.process.stdout.close()
    os.kill(run.pid("worker-0"), signal.SIGKILL)
    assert run.process.wait(DEADLINE_SECONDS) == 128 + signal.SIGPIPE
    assert run.process.stderr is not None
    assert run.process.stderr.read() == ""
    assert run.status()["phase"] == "Suspended"
    assert not any(map(is_running, run.descendants))
    run.process.stderr.close()
    run.process = None


@pytest.mark.e2e
def test_a_run_that_never_began_leaves_the_status_of_the_last(run: Run) -> None:
    run.job(worker_1=TRAIN)
    assert run.start().end()[0] == 0
    before = run.status()
    reader, writer = os.pipe()
    os.close(reader)
    run.start(output=writer)
    os.close(writer)
    assert run.process is not None
    assert run.process.wait(DEADLINE_SECONDS) != 0
    assert run.status() in (before, {"phase": "", "tasks": []})


@pytest.mark.e2e
def test_on_a_terminal_there_is_a_table(run: Run) -> None:
    ours, terminal = pty.openpty()
    run.job(ps_1=SERVE, worker_1=REPORT + "report(700, loss=0.5)\n" + SERVE)
    run.start(output=terminal)
    os.close(terminal)
    output = ""

    def read() -> str:
        nonlocal output
        with contextlib.suppress(OSError):  # Linux reports this error if the other end is closed
            output += os.read(ours, 65536).decode()
        return re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", output)

    run.wait(lambda: re.search(r"worker-0 +Running +1 +\d+ +700 +10\.5", read()))
    assert re.search(r"TASK +STATE +ATTEMPT +PID +STEP +STEPS/S +REASON", read())
    assert re.search(r"ps-0 +Running +1 +\d+", read())
    assert run.process is not None
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(DEADLINE_SECONDS) == 130
    assert "\x1b[?25h" in (read() and output), "the cursor is not shown again"
    os.close(ours)


@pytest.mark.e2e
def test_on_a_terminal_that_cannot_move_the_cursor_there_are_lines(run: Run) -> None:
    ours, terminal = pty.openpty()
    run.job(ps_1=SERVE, worker_1=SERVE)
    run.start(output=terminal, term="dumb")
    os.close(terminal)
    run.wait(lambda: run.status()["phase"] == "Running")
    assert run.process is not None
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(DEADLINE_SECONDS) == 130
    output = os.read(ours, 65536).decode()
    assert "\x1b" not in output
    assert re.search(r"worker-0.*Running", output)
    os.close(ours)


@pytest.mark.e2e
def test_two_jobs_run_side_by_side(run: Run, tmp_path: Path) -> None:
    other = Run(tmp_path / "other")
    other.folder.mkdir()
    for job_run in (run, other):
        job_run.job(ps_1=SERVE, worker_1=SERVE)
        job_run.start()
    for job_run in (run, other):
        job_run.wait(lambda job_run=job_run: job_run.status()["phase"] == "Running")
        assert job_run.process is not None
        job_run.process.send_signal(signal.SIGTERM)
        assert job_run.end()[0] == 143
