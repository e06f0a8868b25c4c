"""Run a graph of ten thousand nodes again."""

import contest
import large
import sides

ROW = contest.Row(
    "local: step of 10000 nodes", "ms", 1, large.later_run, (sides.POOL, sides.CALLER)
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
