"""Run the suites of the repository, and show at the end how long each took.

    suites.py gate [SUITE ...]    what `make test` runs: everything but the long variants
    suites.py soak [SUITE ...]    what `make soak` runs: 300 examples a property, the long variants
    suites.py gpu [SUITE ...]     what `make gpu` runs: tests on the GPU of this machine

Without names, all suites of the mode run. First `make` installs what the chosen suites need. If
`make` fails, no suite runs. If a suite fails, the next one still runs, and the exit status is 1.
One seed orders the tests and draws the examples. It is 0, except in `soak`, which draws a new one:
whether a change is accepted must not depend on the examples of the day. The run prints the seed,
and `SEED=` in the environment sets it. A suite that runs alone writes to this terminal. Suites that
run side by side write through this process, which puts the name of the suite before each line. The
last lines of the run are a table of the suites, the ten slowest tests, the reason of each skipped
test, and last each failed test with its error, so that the end of a log is enough to know what
failed.

SIGINT and SIGTERM end the current suites, which remove everything that they made. No further suite
runs, and the table ends with those suites.
"""

import os
import pathlib
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import reports

ROOT = pathlib.Path(__file__).resolve().parent.parent
HUNG_S = {"runtime": 900, "operator": 900, "e2e": 1800}
"""The time in seconds after which a test has certainly hung, by folder. No test of `make test`
takes nearly as long.

The limit of a test cannot interrupt C++ code. Therefore a process whose test has hung shows the
stacks of its threads and ends. pytest-xdist reports the test as failed and starts another process.
"""
WORKERS = str(os.cpu_count() or 1)
CHECKERS, GO, ORACLE = ".venv/.dev", ".venv/.testbed", ".venv/.oracle"
STEPS = (CHECKERS, GO, ORACLE)
"""The targets of `make` that install what a suite needs. Each includes the ones before it."""


@dataclass(frozen=True)
class Suite:
    """A command that runs in a folder of the repository after `make` has built the target `needs`.
    A suite of pytest also writes a report.
    """

    name: str
    folder: str
    command: tuple[str, ...]
    needs: str
    is_pytest: bool


Lane = Sequence[Suite]
"""Suites that run one after another."""
Stage = Sequence[Lane]
"""Lanes that run side by side."""


def stages(mode: str, seed: int) -> list[Stage]:
    """Return all suites of a mode. Stages run one after another, the cheapest first."""
    if mode == "gpu":
        return [[gpu(seed)]]
    runtime, runtime_alone = half("runtime", ORACLE, mode, seed)
    operator, operator_alone = half("operator", CHECKERS, mode, seed)
    commands, control_plane, nodes = e2e(mode, seed)
    style = make("style", CHECKERS, "--jobs=2", "lint", "types", "layers", "docs")
    programs = make("programs", GO, "programs")
    halves = (runtime, operator, runtime_alone, operator_alone)
    strict = on_a_gpu("runtime-strict", "tests.strict_everywhere", seed)
    # The stories on a Kubernetes spend much of their time in pauses.
    if mode == "soak":
        return [[[programs]], [[*halves, whole_on_a_strict_device(seed)], [control_plane, nodes]]]
    return [[[style]], [[programs]], [[*halves, strict, commands], [control_plane, nodes]]]


def ended_if_hung(folder: str, mode: str) -> tuple[str, ...]:
    """Return the options that end a process whose test has hung. Tests of `soak` take hours."""
    if mode == "soak":
        return ()
    limit = f"faulthandler_timeout={HUNG_S[folder]}"
    return "-o", limit, "-o", "faulthandler_exit_on_timeout=true"


def half(name: str, needs: str, mode: str, seed: int) -> tuple[Suite, Suite]:
    """Return the suite of a half that uses all processors, and the suite that uses one process:
    tests that count memory and threads, or kill processes.
    """
    profile = "soak" if mode == "soak" else "full"
    words = (
        *(f"--hypothesis-profile={profile}", f"--hypothesis-seed={seed}"),
        *("-p", "randomly", f"--randomly-seed={seed}"),
        *ended_if_hung(name, mode),
    )
    selection = "" if mode == "soak" else " and not soak"
    return (
        pytest(name, name, needs, *words, "-n", WORKERS, "-m", f"not alone{selection}"),
        pytest(f"{name}-alone", name, needs, *words, "-m", f"alone{selection}"),
    )


def gpu(seed: int) -> Lane:
    """Return the suites of a real GPU. The second counts its memory, and the third runs jobs."""
    return (
        on_a_gpu("runtime-gpu", "tests.gpu_everywhere", seed),
        pytest(
            *("runtime-gpu-alone", "runtime", CHECKERS, "-p", "tests.gpu_everywhere"),
            *("-p", "no:randomly", *ended_if_hung("runtime", "gate"), "tests/gpu"),
        ),
        pytest(
            *("commands-gpu", "e2e", CHECKERS, f"--seed={seed}", *ended_if_hung("e2e", "gate")),
            *("-m", "gpu", "--ignore=nodes"),
        ),
    )


def on_a_gpu(name: str, plugin: str, seed: int) -> Suite:
    """Return the suite that runs tests of the runtime again with the GPU of `plugin` in each task.

    It leaves out the tests that make strict devices themselves, the tests whose tasks are other
    processes, and the profile of a step, which is that of host memory. It also leaves out the
    largest files whose tests make no task in this process, or run on its CPU only: a GPU changes
    nothing for them. The tests of `hardware` use a real GPU, and those of the kernels of GPUs use
    one instead of their strict device.
    """
    variables = (
        *("api/test_resource_variables.py", "api/test_variables.py"),
        *("api/test_variable_scopes.py", "api/test_initializers.py", "api/test_clustering.py"),
    )
    is_real = plugin == "tests.gpu_everywhere"
    real = ("hardware",) if is_real else ()
    paths = (*real, *variables, "client", "cluster", "compiler", "framework", "kernels")
    ignored = (
        *(() if is_real else ("kernels/test_gpu.py",)),
        *("cluster/test_strict_device.py", "cluster/test_several_gpus.py"),
        *("cluster/test_device_lists.py", "cluster/test_device_loops.py"),
        *("cluster/test_types_on_gpus.py", "compiler/test_repeats.py"),
        *("compiler/test_repeated_runs.py", "compiler/test_repeated_steps.py"),
        *("cluster/test_queues.py", "train/test_tensorflow.py"),
        "cluster/test_profile.py",
        *("compiler/test_order.py", "compiler/test_siblings.py"),
        *("framework/test_literals.py", "framework/test_static_values.py"),
        *("kernels/test_choice.py", "kernels/test_example_wire.py", "kernels/test_gpu_list.py"),
        *("kernels/test_patterns.py", "kernels/test_refusals.py", "kernels/test_runs.py"),
        *("kernels/test_suppression.py", "kernels/test_training.py", "kernels/test_values.py"),
        *("train/test_preemption.py", "train/test_replicas.py"),
    )
    return pytest(
        *(name, "runtime", CHECKERS, "-p", plugin),
        *("--hypothesis-profile=fast", f"--hypothesis-seed={seed}"),
        *("-p", "randomly", f"--randomly-seed={seed}"),
        *ended_if_hung("runtime", "gate"),
        *("-n", WORKERS, "-m", "not alone and not soak"),
        *(f"tests/{path}" for path in (*paths, "train")),
        *(f"--ignore=tests/{file}" for file in ignored),
    )


def whole_on_a_strict_device(seed: int) -> Suite:
    """Return the suite that runs further tests of the runtime with a strict device in each task:
    those of the interface, Keras and estimators, which seldom depend on the device.
    """
    return pytest(
        *("runtime-strict-whole", "runtime", CHECKERS, "-p", "tests.strict_everywhere"),
        *("--hypothesis-profile=fast", f"--hypothesis-seed={seed}"),
        *("-p", "randomly", f"--randomly-seed={seed}", "-n", WORKERS, "-m", "not alone"),
        *(f"tests/{path}" for path in ("api", "estimator", "keras", "services", "train")),
    )


def e2e(mode: str, seed: int) -> tuple[Suite, Suite, Suite]:
    """Return the suites without Kubernetes, with a control plane, and with nodes."""
    words = (f"--seed={seed}", *ended_if_hung("e2e", mode), "-m")
    selection = "soak" if mode == "soak" else "not soak"
    return (
        pytest("commands", "e2e", ORACLE, *words, f"{selection} and not cluster", "--ignore=nodes"),
        pytest("control-plane", "e2e", GO, *words, f"{selection} and cluster", "--ignore=nodes"),
        pytest("nodes", "e2e", GO, *words, selection, "nodes"),
    )


def make(name: str, needs: str, *words: str) -> Suite:
    return Suite(name, ".", ("make", "--no-print-directory", *words), needs, is_pytest=False)


def pytest(name: str, folder: str, needs: str, *words: str) -> Suite:
    command = (sys.executable, "-m", "pytest", "-q", *words)
    return Suite(name, folder, command, needs, is_pytest=True)


def setup(suites: Sequence[Suite]) -> Suite:
    """Return the suite that installs what the suites need."""
    step = max((suite.needs for suite in suites), key=STEPS.index)
    return make("setup", step, step)


class Runner:
    """Runs suites until all have run or a signal arrives."""

    def __init__(self, folder: pathlib.Path) -> None:
        """Write the reports of the suites to `folder`. Handle SIGINT and SIGTERM."""
        self.results: list[reports.Result] = []
        self._reports = folder
        self._processes: set[subprocess.Popen[str]] = set()
        self._was_interrupted = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._end)

    def run(self, stage: Stage) -> None:
        """Run a stage to its end. Run nothing after a signal."""
        threads = [
            threading.Thread(target=self._run_lane, args=(lane, len(stage) > 1)) for lane in stage
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _run_lane(self, lane: Lane, has_neighbours: bool) -> None:
        for suite in lane:
            if not self._was_interrupted:
                self.results.append(self._run_suite(suite, has_neighbours))

    def _run_suite(self, suite: Suite, has_neighbours: bool) -> reports.Result:
        report = self._reports / f"{suite.name}.xml"
        options = (f"--junit-xml={report}",) if suite.is_pytest else ()
        print(f"\n== {suite.name} ==", flush=True)
        began = time.monotonic()
        with subprocess.Popen(
            [*suite.command, *options],
            cwd=ROOT / suite.folder,
            text=True,
            stdout=subprocess.PIPE if has_neighbours else None,
            stderr=subprocess.STDOUT if has_neighbours else None,
        ) as process:
            self._processes.add(process)
            if self._was_interrupted:
                process.send_signal(signal.SIGINT)
            for line in process.stdout or ():
                print(f"{suite.name} | {line}", end="", flush=True)
            status = process.wait()
            self._processes.remove(process)
        seconds = time.monotonic() - began
        ran = list(reports.tests(report))
        return reports.Result(suite.name, suite.is_pytest, status, seconds, ran)

    def _end(self, number: int, _: object) -> None:
        self._was_interrupted = True
        # A terminal sends SIGINT to the suites too, so only SIGTERM is passed on. It is passed on
        # as SIGINT, after which pytest ends all fixtures.
        if number == signal.SIGTERM:
            for process in tuple(self._processes):
                process.send_signal(signal.SIGINT)


def main() -> int:
    """Run the named suites, or all. Return the exit status."""
    mode, *names = sys.argv[1:]
    fresh = secrets.randbelow(2**31) if mode == "soak" else 0
    seed = int(os.environ.get("SEED") or fresh)
    all_stages = stages(mode, seed)
    suites = [suite for stage in all_stages for lane in stage for suite in lane]
    order = ["setup", *(suite.name for suite in suites)]
    if unknown := set(names) - set(order[1:]):
        listed = ", ".join(f"`{name}`" for name in sorted(unknown))
        print(f"no suite is called {listed}: there are {', '.join(order[1:])}")
        return 2
    chosen = [suite for suite in suites if suite.name in (names or order)]
    print(f"seed {seed}: SEED={seed} repeats this order and these examples", flush=True)
    with tempfile.TemporaryDirectory(prefix="capstan-suites-") as folder:
        runner = Runner(pathlib.Path(folder))
        began = time.monotonic()
        runner.run([[setup(chosen)]])
        if not runner.results or runner.results[0].status:
            return 1
        for stage in all_stages:
            lanes = [[suite for suite in lane if suite in chosen] for lane in stage]
            runner.run([lane for lane in lanes if lane])
        seconds = time.monotonic() - began
    results = sorted(runner.results, key=lambda result: order.index(result.name))
    for lines in reports.summary(results, seconds):
        print("", *lines, sep="\n")
    return int(any(result.status for result in results))


if __name__ == "__main__":
    sys.exit(main())
