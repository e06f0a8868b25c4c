"""`make bench` measures every row, prints the table, and writes it to README.md.

    ROWS=read,assign_add    measure only these rows, and do not change README.md
    ROUNDS=3                the number of rounds of each side in a row; 7 by default

Each row is a script in `rows/` and runs in its own process, one after the other, so that no state
of a row affects the next. The run fails if a row cannot be measured. It does not fail because of a
figure.
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
    "local_elementwise",
    "local_train",
    "local_busy",
    "local_loop",
    "local_recurrent",
    "local_beam",
    "local_attention",
    "local_lstm",
    "local_residual",
    "data_pipeline",
    "csv_batch",
    "slice_batch",
    "example_batch",
    "wide_deep_records",
    "large_build",
    "large_gradients",
    "large_first_run",
    "large_step",
    "read",
    "assign_add",
    "pull_large",
    "push_large",
    "pull_many",
    "push_many",
    "pull_small",
    "push_small",
    "gather_rows",
    "scatter_rows",
    "queue_one",
    "queue_producer",
    "queue_batch",
    "train_softmax",
    "train_mlp",
    "train_wide_deep",
    "sync_softmax",
    "sync_mlp",
    "import_time",
    "import_memory",
    "first_step_time",
    "first_step_memory",
)


def main() -> int:
    """Run the requested rows and return the exit status."""
    requested = [name for name in os.environ.get("ROWS", "").replace(",", " ").split() if name]
    unknown = sorted(set(requested) - set(ORDER))
    if unknown:
        print(
            f"bench: ROWS names unknown rows {', '.join(unknown)}; the rows are {', '.join(ORDER)}",
            file=sys.stderr,
        )
        return 2
    for name in process.dropped():
        print(f"bench: {name} is ignored, because it would slow one side's BLAS", file=sys.stderr)
    load = os.getloadavg()[0]
    lines = []
    failed = 0
    try:
        for name in requested or ORDER:
            print(f"bench: {name}", file=sys.stderr, flush=True)
            done = subprocess.run(
                [sys.executable, "-m", f"rows.{name}"], cwd=HERE, stdout=subprocess.PIPE, text=True
            )
            if done.returncode:
                failed += 1
                continue
            lines.append(json.loads(done.stdout))
            print(f"bench: {report.summary(lines[-1])}", file=sys.stderr, flush=True)
    finally:  # An interrupt of the user leaves the rows that are measured.
        report.show(lines)
    if lines and not requested and not failed:
        report.keep(lines, HERE / "README.md", load)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
