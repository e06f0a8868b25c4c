"""A process under its guard ends on request, and never outlives its owner."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from processes import ENVIRONMENT, Bench, is_running, wait_for, wait_until

from capstan_operator.local import guard, process

pytestmark = pytest.mark.alone

SAY_READY_AND_WAIT = "import signal; print('ready', flush=True); signal.pause()"
IGNORE_SIGTERM = (
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "print('ready', flush=True)\nwhile True: signal.pause()"
)
WITH_A_CHILD = (
    "import subprocess, sys, signal;"
    "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()']);"
    "print(child.pid, flush=True);"
)


@pytest.mark.parametrize("code", [0, 1, 3, 255])
def test_the_exit_code_is_that_of_the_task(bench: Bench, code: int) -> None:
    assert wait_for(bench.start(f"raise SystemExit({code})")) == process.Exit(code)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_the_exit_code_of_a_signal_is_the_same_as_in_a_shell(
    bench: Bench, number: signal.Signals
) -> None:
    started = bench.start("import signal; signal.pause()")
    os.kill(started.pid, number)
    assert wait_for(started) == process.Exit(128 + number)


def test_a_task_has_its_environment_its_folder_its_log_and_no_input(bench: Bench) -> None:
    script = "import os, sys; print(os.environ['COLOUR'], os.getcwd(), sys.stdin.read() == '')"
    assert wait_for(bench.start(script, COLOUR="blue")).code == 0
    assert bench.output() == f"blue {bench.folder} True\n"


def test_errors_go_to_the_same_log(bench: Bench) -> None:
    assert wait_for(bench.start("raise ValueError('too warm')")).code == 1
    assert bench.output().splitlines()[-1] == "ValueError: too warm"


def test_a_task_starts_with_the_usual_signals_and_no_foreign_files(bench: Bench) -> None:
    script = """
import os, signal
for number in signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD:
    assert signal.getsignal(number) is signal.SIG_DFL, number
for file in range(3, 100):
    try:
        os.fstat(file)
    except OSError:
        continue
    raise SystemExit(f"{file} is open")
"""
    assert wait_for(bench.start(script)).code == 0, bench.output()


def test_a_broken_pipe_kills_as_it_does_in_a_shell(bench: Bench) -> None:
    wait_for(bench.execute("/bin/sh", "sh", "-c", "yes | head -n 1"))
    assert bench.output() == "y\n"


def test_a_task_is_the_leader_of_its_group_and_not_of_our_session(bench: Bench) -> None:
    started = bench.start(SAY_READY_AND_WAIT)
    assert os.getpgid(started.pid) == started.pid
    assert os.getsid(started.pid) not in (os.getsid(0), started.pid)


def test_a_stop_is_sigterm(bench: Bench) -> None:
    started = bench.start(SAY_READY_AND_WAIT)
    started.stop(60)
    assert wait_for(started).code == 128 + signal.SIGTERM


def test_a_task_may_use_its_grace_to_end_well(bench: Bench) -> None:
    started = bench.start(
        "import signal; signal.signal(signal.SIGTERM, lambda *_: exit(print('saved') or 0));"
        "print('ready', flush=True); signal.pause()"
    )
    wait_until(lambda: "ready" in bench.output())
    started.stop(60)
    assert wait_for(started).code == 0
    assert bench.output() == "ready\nsaved\n"


def test_a_task_that_does_not_stop_is_killed(bench: Bench) -> None:
    started = bench.start(IGNORE_SIGTERM)
    wait_until(lambda: "ready" in bench.output())
    started.stop(0.1)
    assert wait_for(started).code == 128 + signal.SIGKILL


def test_a_second_stop_shortens_the_grace(bench: Bench) -> None:
    started = bench.start(IGNORE_SIGTERM)
    wait_until(lambda: "ready" in bench.output())
    started.stop(1000)
    started.stop(0)
    assert wait_for(started).code == 128 + signal.SIGKILL


def test_a_second_stop_never_lengthens_the_grace(bench: Bench) -> None:
    deaf = IGNORE_SIGTERM.replace("signal.SIG_IGN", "lambda *_: print('no', flush=True)")
    started = bench.start(deaf)
    wait_until(lambda: "ready" in bench.output())
    started.stop(3)
    # On a busy machine, SIGKILL may end the task before it can print.
    wait_until(lambda: "no" in bench.output() or not is_running(started.pid))
    started.stop(1000)
    assert wait_for(started).code == 128 + signal.SIGKILL


def test_stopping_an_ended_task_does_nothing(bench: Bench) -> None:
    started = bench.start("")
    wait_for(started)
    started.stop(0)
    assert started.exit == process.Exit(0)


def test_children_of_an_ended_task_are_killed(bench: Bench) -> None:
    started = bench.start(WITH_A_CHILD)
    assert wait_for(started).code == 0
    child = int(bench.output())
    wait_until(lambda: not is_running(child), "the child's end")


def test_a_stop_is_sigterm_to_children_too(bench: Bench) -> None:
    heir = (
        "import signal, subprocess, sys; signal.signal(signal.SIGTERM, lambda *_: None);"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'],"
        " preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL));"
        "print('ready', flush=True); print(child.wait(), flush=True)"
    )
    started = bench.start(heir)
    wait_until(lambda: "ready" in bench.output())
    started.stop(60)
    assert wait_for(started).code == 0
    assert bench.output() == f"ready\n{-signal.SIGTERM}\n"


def test_a_command_that_cannot_start_is_an_exit_with_the_reason(bench: Bench) -> None:
    started = bench.execute("/no/such/trainer", "trainer")
    assert started.pid == 0
    assert started.exit == process.Exit(127, "No such file or directory: /no/such/trainer")


def test_a_script_without_its_interpreter_is_not_reported_as_missing(bench: Bench) -> None:
    script = bench.folder / "start.sh"
    script.write_text("#!/no/such/interp\n")
    refusal = bench.execute(str(script), "start.sh").exit
    assert refusal == process.Exit(127, f"Permission denied: {script}")
    script.chmod(0o755)
    refusal = bench.execute(str(script), "start.sh").exit
    message = f"No such file or directory: the interpreter of {script}"
    assert refusal == process.Exit(127, message)


def test_a_folder_that_is_gone_is_an_exit_with_the_reason(bench: Bench) -> None:
    command = process.Command(sys.executable, ("python",), {}, bench.folder / "gone")
    started = process.Process(command, bench.log, 1)
    assert started.exit == process.Exit(127, f"No such file or directory: {bench.folder / 'gone'}")


def test_a_killed_guard_takes_the_task_with_it(bench: Bench) -> None:
    started = bench.start(SAY_READY_AND_WAIT)
    its_guard = psutil.Process(started.pid).ppid()
    os.kill(its_guard, signal.SIGKILL)
    assert wait_for(started).code == 128 + signal.SIGKILL
    wait_until(lambda: not is_running(started.pid), "the task's end")


def test_a_terminated_guard_stops_the_task_and_reports_it(bench: Bench) -> None:
    started = bench.start(SAY_READY_AND_WAIT)
    os.kill(psutil.Process(started.pid).ppid(), signal.SIGTERM)
    assert wait_for(started) == process.Exit(128 + signal.SIGTERM)


OWNER = """
import json, os, sys
from pathlib import Path
from capstan_operator.local import process
lock = open("lock", "w")
import fcntl; fcntl.flock(lock, fcntl.LOCK_EX)
argv = (sys.executable, "-c", sys.argv[1])
command = process.Command(sys.executable, argv, os.environ, Path.cwd(), float(sys.argv[2]))
started = process.Process(command, Path("task.log"), lock.fileno())
import psutil
print(json.dumps([started.pid, psutil.Process(started.pid).ppid()]), flush=True)
os.kill(os.getpid(), 19)
"""


@pytest.mark.parametrize("script", [WITH_A_CHILD + "signal.pause()", IGNORE_SIGTERM])
def test_nothing_outlives_an_owner_that_is_killed(tmp_path: Path, script: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, script, "0.1"],
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=ENVIRONMENT,
    ) as owner:
        assert owner.stdout is not None
        pids = json.loads(owner.stdout.readline())
        log = tmp_path / "task.log"
        wait_until(lambda: log.read_text().strip())
        if log.read_text().strip().isdigit():
            pids.append(int(log.read_text()))
        assert all(map(is_running, pids))
        owner.kill()
    wait_until(lambda: not any(map(is_running, pids)), "the end of all")


def test_the_lock_of_a_killed_owner_is_free_when_its_task_has_ended(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, IGNORE_SIGTERM, "60"],
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=ENVIRONMENT,
    ) as owner:
        assert owner.stdout is not None
        task, its_guard = json.loads(owner.stdout.readline())
        wait_until(lambda: "ready" in (tmp_path / "task.log").read_text())
        owner.kill()
    with (tmp_path / "lock").open() as lock:
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.kill(task, signal.SIGKILL)
        fcntl.flock(lock, fcntl.LOCK_EX)
    wait_until(lambda: not is_running(its_guard), "the guard's end")


def test_the_guard_imports_nothing_heavy() -> None:
    imported = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-X",
            "importtime",
            guard.__file__,
            "0",
            "1",
            "--",
            "/bin/true",
            "true",
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    assert not {"subprocess", "threading", "site", "json"} & set(imported.split())
