"""`make bench`: measure every row, print the table, keep it in README.md.

    ROWS=read,assign_add    measure only these; README.md stays as it is
    ROUNDS=3                rounds of each side in a row; 7 by default

A row is a script of its own in `rows/`, run one after the other, so nothing of one is left when the
next one starts. No figure is a failure; only a row that cannot be measured is.
"""

import json
import os
import pathlib
import subprocess
import sys

import process
import report

HERE = pathlib.Path(__file__).resolve().parent

ORDER = (
    "local_noop",
    "local_add",
    "local_chain",
    "local_train",
    "read",
    "assign_add",
    "pull_large",
    "push_large",
    "pull_many",
    "push_many",
    "pull_small",
    "push_small",
    "train_softmax",
    "train_mlp",
    "import_time",
    "import_memory",
    "first_step_time",
    "first_step_memory",
)


def main() -> int:
    """Run the rows that are asked for; return the exit status."""
    asked = [name for name in os.environ.get("ROWS", "").replace(",", " ").split() if name]
    unknown = sorted(set(asked) - set(ORDER))
    if unknown:
        print(f"bench: no rows {', '.join(unknown)}; there are {', '.join(ORDER)}", file=sys.stderr)
        return 2
    for name in process.dropped():
        print(f"bench: {name} is not passed on: it would slow one side's BLAS", file=sys.stderr)
    load = os.getloadavg()[0]
    lines = []
    failed = 0
    for name in asked or ORDER:
        print(f"bench: {name}", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, "-m", f"rows.{name}"], cwd=HERE, stdout=subprocess.PIPE, text=True
        )
        if done.returncode:
            failed += 1
            continue
        lines.append(json.loads(done.stdout))
    report.show(lines)
    if lines and not asked and not failed:
        report.keep(lines, HERE / "README.md", load)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
