"""The results of suites, and the last lines of a run."""

import ast
import pathlib
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

SLOWEST = 10
ERROR_LINES = 8


@dataclass(frozen=True)
class Test:
    """One test of a report. `outcome` is passed, failed or skipped. `reason` explains a skip or a
    failure.
    """

    name: str
    seconds: float
    outcome: str
    reason: str = ""


@dataclass
class Result:
    """The result of a suite that has ended."""

    name: str
    is_pytest: bool
    status: int
    seconds: float
    tests: Sequence[Test]


def summary(results: Sequence[Result], seconds: float) -> tuple[Iterator[str], ...]:
    """Return the blocks of lines at the end of a run that took `seconds`."""
    return table(results, seconds), slowest(results), skipped(results), failed(results)


def tests(report: pathlib.Path) -> Iterator[Test]:
    """Yield the tests of a JUnit report. Yield nothing if the file does not exist. The time of a
    test includes its fixtures.
    """
    if not report.exists():
        return
    for case in ET.parse(report).iter("testcase"):
        if case.get("name") is None:
            continue  # pytest writes a case without a name if an interrupt ends a test
        name = f"{case.get('classname')}::{case.get('name')}"
        seconds = float(case.get("time", 0))
        skipped = case.find("skipped")
        errors = [error for error in case if error.tag in ("failure", "error")]
        if errors:
            yield Test(name, seconds, "failed", errors[0].get("message", ""))
        elif skipped is not None:
            yield Test(name, seconds, "skipped", _why(skipped))
        else:
            yield Test(name, seconds, "passed")


def _why(skipped: ET.Element) -> str:
    """Return the reason of a skip. That of a whole file is in a tuple: path, line and reason."""
    message = skipped.get("message", "")
    if message != "collection skipped":
        return message
    reason: str = ast.literal_eval(skipped.text or "")[2]
    return reason.removeprefix("Skipped: ")


def table(results: Sequence[Result], seconds: float) -> Iterator[str]:
    """Yield the lines of a table of the suites with their counts and times. The last line has the
    time of the whole run, which is less than the sum if suites ran side by side.
    """
    width = max(len(result.name) for result in results)
    yield f"{'suite':{width}}  passed  failed  skipped   time"
    for result in results:
        yield (
            f"{result.name:{width}}  {counts(result)}  {clock(result.seconds)}"
            f"{f'  exit status {result.status}' if result.status else ''}"
        )
    yield f"{'all':{width}}  {'':23}  {clock(seconds)}"


def counts(result: Result) -> str:
    if not result.is_pytest:
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


def failed(results: Sequence[Result]) -> Iterator[str]:
    """Yield the name of each failed test, and the first lines of its error."""
    for result in results:
        for test in result.tests:
            if test.outcome == "failed":
                error = "\n".join(test.reason.splitlines()[:ERROR_LINES])
                yield f"{result.name} FAILED {test.name}"
                yield textwrap.indent(error, "    ")


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60:3}:{int(seconds) % 60:02}"
