"""`make bench-growth` measures each family of rows and writes the tables to README.md.

    ROWS=workers,queues     measure only these families, and do not change README.md
    ROUNDS=3                the number of rounds of each side in a row

Each row runs in its own process, as in `make bench`. The run fails if a row cannot be measured. It
does not fail because of a figure.
"""

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import report
from growth import families

BENCH = pathlib.Path(__file__).resolve().parents[1]

HEAD = ("unit", "Capstan", "growth", "TensorFlow", "growth", "times better")


def main() -> int:
    """Run the requested families and return the exit status."""
    requested = os.environ.get("ROWS", "").replace(",", " ").split()
    unknown = sorted(set(requested) - set(families.FAMILIES))
    if unknown:
        names = ", ".join(families.FAMILIES)
        print(
            f"bench-growth: ROWS names unknown families {', '.join(unknown)}; "
            f"the families are {names}",
            file=sys.stderr,
        )
        return 2
    load = os.getloadavg()[0]
    found: dict[str, list[Any]] = {}
    for name in requested or families.FAMILIES:
        lines = [_measured(name, size) for size in families.FAMILIES[name].sizes]
        found[name] = [line for line in lines if line is not None]
        print(f"\n{families.FAMILIES[name].title}\n")
        report.print_table(_head(name), [(cells, True) for cells in _table(name, found[name])])
    is_whole = all(len(found[name]) == len(families.FAMILIES[name].sizes) for name in found)
    if is_whole and not requested:
        _keep(found, load)
    return 0 if is_whole else 1


def _measured(family: str, size: int) -> Any:
    """Measure a row in a process of its own. Return its line, or None if the row failed."""
    print(f"bench-growth: {family} {size}", file=sys.stderr, flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "growth.families"],
        cwd=BENCH,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"FAMILY": family, "SIZE": str(size)},
    )
    if done.returncode:
        return None
    return {"size": size} | json.loads(done.stdout)


def _head(family: str) -> Sequence[str]:
    return (families.FAMILIES[family].size, *HEAD)


def _table(family: str, lines: Sequence[Any]) -> list[Sequence[str]]:
    """Return the cells of each row. The growth is the figure divided by that of the first row."""
    return [
        (
            f"{line['size']:,}".replace(",", " "),
            line["unit"],
            *_side(lines, index, "capstan"),
            *(_side(lines, index, "tensorflow") if "tensorflow" in line else ("", "")),
            report.times(line["ratio"]) if "ratio" in line else "not installed",
        )
        for index, line in enumerate(lines)
    ]


def _side(lines: Sequence[Any], index: int, side: str) -> tuple[str, str]:
    """Return the median of a side, and its growth."""
    median = lines[index][side]["median"]
    return report.figure(lines[index][side])[0], report.times(median / lines[0][side]["median"])


def _keep(found: dict[str, list[Any]], load: float) -> None:
    blocks = [report.facts([line for lines in found.values() for line in lines], load)]
    for name, lines in found.items():
        title = families.FAMILIES[name].title
        blocks += [f"**{title[0].upper()}{title[1:]}**"]
        blocks += [report.in_markdown(_head(name), _table(name, lines))]
    report.write(BENCH / "README.md", "growth", blocks)


if __name__ == "__main__":
    sys.exit(main())
