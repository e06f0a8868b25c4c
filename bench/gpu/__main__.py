"""`make bench-gpu` measures the rows about GPUs and prints the table.

    ROWS=adam,pull      measure only these rows
    ROUNDS=3            the number of rounds of each side in a row; 7 by default
    -o json             print the facts and the lines of the rows as JSON

Each row runs in its own process, as in `make bench`. The run fails if a row cannot be measured. It
does not fail because of a figure. It writes no file.
"""

import argparse
import json
import pathlib
import subprocess
import sys

from gpu import order, present, table

BENCH = pathlib.Path(__file__).resolve().parents[1]


def main() -> int:
    """Run the requested rows and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m gpu", description="measure GPUs")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    output = parser.parse_args().output
    if status := present.main("bench-gpu"):
        return status
    lines = []
    requested = order.requested()
    for name in requested:
        print(f"bench-gpu: {name}", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, "-m", f"gpu.rows.{name}"], cwd=BENCH, stdout=subprocess.PIPE, text=True
        )
        if not done.returncode:
            lines.append(json.loads(done.stdout))
    if output == "json":
        print(json.dumps({"facts": list(table.facts(lines)) if lines else [], "rows": lines}))
    elif lines:
        table.show(lines)
    was_refused = any("refused" in side for line in lines for side in line["sides"].values())
    return 1 if was_refused or len(lines) < len(requested) else 0


if __name__ == "__main__":
    sys.exit(main())
