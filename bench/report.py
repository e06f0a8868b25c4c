"""The table of figures, for a terminal, for a pipe and for README.md."""

import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import rich.console
import rich.table

Line = Mapping[str, Any]

HEAD = (
    "row",
    "unit",
    "Capstan",
    "min to max",
    "TensorFlow",
    "min to max",
    "its setting",
    "times better",
    "goal",
)
RIGHT = frozenset(
    {"Capstan", "TensorFlow", "figure", "min to max", "times better", "ratio", "goal"}
)
"""The titles of the columns of figures, in all tables."""

_PACKAGES = {"numpy": "numpy", "grpcio": "grpc", "tensorflow-cpu": "tensorflow"}
_BLOCK = r"(<!-- {name} -->\n).*?(<!-- end -->)"


def show(lines: Sequence[Line]) -> None:
    """Print the table. It has borders on a terminal, and is Markdown elsewhere."""
    print_table(HEAD, [(_cells(line), line.get("ratio", 0) >= line["goal"]) for line in lines])


def summary(line: Line) -> str:
    """Return the figures of a row in a sentence."""
    own = f"{line['title']}: {_number(line['capstan']['median'])} {line['unit']}"
    if "tensorflow" not in line:
        return own
    peer = f"TensorFlow {_number(line['tensorflow']['median'])} {line['unit']}"
    return f"{own}, {peer}, {times(line['ratio'])} times better"


def print_table(head: Sequence[str], rows: Sequence[tuple[Sequence[str], bool]]) -> None:
    """Print rows of cells below a head. A row whose flag is False is yellow on a terminal."""
    if not sys.stdout.isatty():
        print(in_markdown(head, [cells for cells, _ in rows]))
        return
    table = rich.table.Table()
    for title in head:
        table.add_column(title, justify="right" if title in RIGHT else "left")
    for cells, is_good in rows:
        table.add_row(*cells, style=None if is_good else "yellow")
    rich.console.Console().print(table)


def keep(lines: Sequence[Line], page: pathlib.Path, load: float) -> None:
    """Write the table and the measuring conditions between the marks in `page`.

    `load` is the load average before the first row, which other programs caused.
    """
    write(page, "latest", [facts(lines, load), in_markdown(HEAD, map(_cells, lines))])


def write(page: pathlib.Path, name: str, blocks: Sequence[str]) -> None:
    """Replace the text between the marks `<!-- name -->` and `<!-- end -->` in `page`."""
    text = "\n\n".join(blocks) + "\n"
    pattern = re.compile(_BLOCK.format(name=name), re.DOTALL)
    old = page.read_text(encoding="utf-8")
    page.write_text(pattern.sub(lambda found: f"{found[1]}{text}{found[2]}", old), encoding="utf-8")


def facts(lines: Sequence[Line], load: float) -> str:
    """Return a list of what the figures depend on: the date, the commit, the machine, versions."""
    return "\n".join(f"* {fact}" for fact in _circumstances(lines, load))


def in_markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of cells below a head as a table in Markdown."""
    rule = ["--:" if title in RIGHT else "---" for title in head]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def _cells(line: Line) -> list[str]:
    cells = [line["title"], line["unit"], *figure(line["capstan"])]
    if "tensorflow" not in line:
        return [*cells, "", "", "not installed", "", _goal(line)]
    cells += [*figure(line["tensorflow"]), line["setting"] if line["others"] else ""]
    return [*cells, times(line["ratio"]), _goal(line)]


def times(ratio: float) -> str:
    """Return a factor in two digits."""
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}"


def figure(side: Mapping[str, float]) -> list[str]:
    """Return the cells of a side: its median, and its range."""
    return [_number(side["median"]), f"{_number(side['min'])} to {_number(side['max'])}"]


def _number(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if value >= 100 else f"{value:.3g}"


def _goal(line: Line) -> str:
    return "ahead" if line["goal"] == 1 else f"{line['goal']:g}"


def _circumstances(lines: Sequence[Line], load: float) -> Iterable[str]:
    yield (
        f"{time.strftime('%d %B %Y', time.gmtime())}; Capstan at {commit()}; "
        f"{lines[0]['rounds']} rounds a side"
    )
    yield (
        f"{os.cpu_count()} cores: {processor()}; {platform.system()} {platform.release()}; "
        f"load average before {load:.1f}"
    )
    installed = [
        f"{name} {importlib.metadata.version(name)}"
        for name, module in _PACKAGES.items()
        if importlib.util.find_spec(module)
    ]
    yield f"Python {platform.python_version()}, {', '.join(installed)}"


def commit() -> str:
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=pathlib.Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip() or "an unknown commit"


def processor() -> str:
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"model name\s*: (.+)", text)
    return found[1] if found else platform.machine()
