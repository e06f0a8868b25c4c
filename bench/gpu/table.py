"""The table of the rows about GPUs, and the facts about the machine."""

import os
import platform
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import report
from gpu import row

HEAD = ("row", "unit", "Capstan", "min to max", "beside", "figure", "min to max", "ratio", "goal")

NOTHING = ("not measured", "")


def show(lines: Sequence[report.Line]) -> None:
    """Print the facts and the table, and the reason of each row that Capstan refuses."""
    for fact in facts(lines):
        print(f"* {fact}")
    print()
    report.print_table(HEAD, [cells for line in lines for cells in _rows(line)])
    for line in lines:
        for side, figures in line["sides"].items():
            if "refused" in figures:
                print(f"\n{line['title']}: {side} refuses it: {figures['refused']}")


def _rows(line: report.Line) -> Iterator[tuple[Sequence[str], bool]]:
    """Yield the cells of each comparison of a line, and whether it reaches its goal."""
    sides = line["sides"]
    for name in sides:
        if name == row.CAPSTAN:
            continue
        ratio, goal = line["ratios"].get(name), line["goals"].get(name)
        yield (
            (
                *(line["title"], line["unit"], *_cells(sides[row.CAPSTAN])),
                *(name, *_cells(sides[name])),
                "" if ratio is None else f"{ratio:.2g}",
                "" if goal is None else f"{goal:g}",
            ),
            goal is None or (ratio is not None and ratio >= goal),
        )


def _cells(side: Mapping[str, Any]) -> Sequence[str]:
    return report.figure(side) if "median" in side else NOTHING


def facts(lines: Sequence[report.Line]) -> Iterator[str]:
    """Yield what the figures depend on: the date, the commit, the machine, the versions."""
    yield (
        f"{time.strftime('%d %B %Y', time.gmtime())}; Capstan at {report.commit()}; "
        f"{lines[0]['rounds']} rounds a side"
    )
    yield f"GPU and driver: {_gpus()}"
    yield f"{os.cpu_count()} cores: {report.processor()}; {platform.system()} {platform.release()}"
    versions = {part: version for line in lines for part, version in line["versions"].items()}
    found = ", ".join(f"{part} {version}" for part, version in versions.items())
    yield f"Python {platform.python_version()}, {found}"


def _gpus() -> str:
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        asked = subprocess.run(query, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown, because nvidia-smi does not answer"
    return "; ".join(asked.stdout.strip().splitlines())
