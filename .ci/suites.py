"""Run the suites of the repository one after another, and show at the end how long each took.

    suites.py gate [SUITE ...]    what `make test` runs: everything but the long variants
    suites.py soak [SUITE ...]    what `make soak` runs: 300 examples a property, the long variants

Without names, all suites of the mode run. The next suite runs even if one fails; the exit status is
then 1. One seed orders the tests and draws the examples. The run prints the seed, and `SEED=` in
the environment sets it. Each suite writes to this terminal while it runs. The last lines of the run
are a table of the suites, the ten slowest tests, and the reason of each skipped test.

SIGINT and SIGTERM end the current suite, which removes everything that it made. No further suite
runs, and the table ends with that suite.
"""

import os
import pathlib
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parent.parent
SLOWEST = 10
WORKERS = str(os.cpu_count() or 1)


@dataclass(frozen=True)
class Suite:
    """A command that runs in a folder of the repository. A suite of pytest also writes a report."""

    name: str
    folder: str
    command: tuple[str, ...]
    is_pytest: bool


@dataclass(frozen=True)
class Test:
    """One test of a report. `outcome` is passed, failed or skipped; `reason` explains a skip."""

    name: str
    seconds: float
    outcome: str
    reason: str = ""


@dataclass
class Result:
    """The result of a suite that has ended."""

    suite: Suite
    status: int
    seconds: float
    tests: Sequence[Test]
    was_interrupted: bool


def suites(mode: str, seed: int) -> list[Suite]:
    """Return all suites of a mode in the order in which they run, the cheapest first."""
    soak = mode == "soak"
    style = () if soak else (make("style", "--jobs=2", "lint", "types", "layers"),)
    halves = []
    for half in ("runtime", "operator"):
        seeded = (
            *(f"--hypothesis-profile={'soak' if soak else 'full'}", f"--hypothesis-seed={seed}"),
            *("-p", "randomly", f"--randomly-seed={seed}"),
        )
        short = "" if soak else " and not soak"
        halves += [
            pytest(half, half, *seeded, "-n", WORKERS, "-m", f"not alone{short}"),
            # These tests count memory and threads, or kill processes. Nothing runs beside them.
            pytest(f"{half}-alone", half, *seeded, "-m", f"alone{short}"),
        ]
    selection = ("-m", "soak" if soak else "not soak")
    return [
        *style,
        *halves,
        make("programs", "programs"),
        pytest("control-plane", "e2e", f"--seed={seed}", *selection, "--ignore=nodes"),
        *([] if soak else [pytest("nodes", "e2e", f"--seed={seed}", *selection, "nodes")]),
    ]


def make(name: str, *words: str) -> Suite:
    return Suite(name, ".", ("make", "--no-print-directory", *words), is_pytest=False)


def pytest(name: str, folder: str, *words: str) -> Suite:
    return Suite(name, folder, (sys.executable, "-m", "pytest", "-q", *words), is_pytest=True)


def run(suite: Suite, reports: pathlib.Path) -> Result:
    """Run a suite to its end. It writes to this terminal."""
    report = reports / "report.xml"
    report.unlink(missing_ok=True)
    options = (f"--junit-xml={report}",) if suite.is_pytest else ()
    print(f"\n== {suite.name} ==", flush=True)
    signals: list[int] = []
    began = time.monotonic()
    with subprocess.Popen([*suite.command, *options], cwd=ROOT / suite.folder) as process:

        def end(number: int, _: object) -> None:
            signals.append(number)
            # A terminal sends SIGINT to the suite too, so only SIGTERM is passed on.
            if number == signal.SIGTERM:
                process.terminate()

        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
        status = process.wait()
    seconds = time.monotonic() - began
    return Result(suite, status, seconds, list(tests(report)), was_interrupted=bool(signals))


def tests(report: pathlib.Path) -> Iterator[Test]:
    """Yield the tests of a JUnit report; none if the file does not exist. The time of a test
    includes its fixtures.
    """
    if not report.exists():
        return
    for case in ET.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        seconds = float(case.get("time", 0))
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            yield Test(name, seconds, "failed")
        elif skipped is not None:
            yield Test(name, seconds, "skipped", skipped.get("message", ""))
        else:
            yield Test(name, seconds, "passed")


def table(results: Sequence[Result]) -> Iterator[str]:
    """Yield the lines of a table of the suites with their counts, their times and the sum."""
    width = max(len(result.suite.name) for result in results)
    yield f"{'suite':{width}}  passed  failed  skipped   time"
    for result in results:
        yield (
            f"{result.suite.name:{width}}  {counts(result)}  {clock(result.seconds)}"
            f"{f'  exit status {result.status}' if result.status else ''}"
        )
    yield f"{'total':{width}}  {'':23}  {clock(sum(result.seconds for result in results))}"


def counts(result: Result) -> str:
    if not result.suite.is_pytest:
        return " " * 23
    outcomes = Counter(test.outcome for test in result.tests)
    return f"{outcomes['passed']:6}  {outcomes['failed']:6}  {outcomes['skipped']:7}"


def slowest(results: Sequence[Result]) -> Iterator[str]:
    """Yield a line for each of the slowest tests of all suites, the slowest first."""
    all_tests = [test for result in results for test in result.tests]
    for test in sorted(all_tests, key=lambda test: -test.seconds)[:SLOWEST]:
        yield f"{test.seconds:6.1f} s  {test.name}"


def skipped(results: Sequence[Result]) -> Iterator[str]:
    """Yield a line for each reason why tests were skipped, with the number of such tests."""
    reasons = Counter(
        test.reason for result in results for test in result.tests if test.outcome == "skipped"
    )
    for reason, number in reasons.most_common():
        yield f"{number} skipped: {reason}"


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60:3}:{int(seconds) % 60:02}"


def main() -> int:
    """Run the named suites, or all. Return the exit status."""
    mode, *names = sys.argv[1:]
    seed = int(os.environ.get("SEED") or secrets.randbelow(2**31))
    chosen = [suite for suite in suites(mode, seed) if not names or suite.name in names]
    if unknown := set(names) - {suite.name for suite in chosen}:
        known = ", ".join(suite.name for suite in suites(mode, seed))
        listed = ", ".join(f"`{name}`" for name in sorted(unknown))
        print(f"no suite is called {listed}: there are {known}")
        return 2
    print(f"seed {seed}: SEED={seed} repeats this order and these examples", flush=True)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="capstan-suites-") as reports:
        for suite in chosen:
            results.append(run(suite, pathlib.Path(reports)))
            if results[-1].was_interrupted:
                break
    for lines in (table(results), slowest(results), skipped(results)):
        print("", *lines, sep="\n")
    return int(any(result.status for result in results))


if __name__ == "__main__":
    sys.exit(main())
