"""Open a session and run a graph of ten thousand nodes for the first time."""

import contest
import large
import sides

ROW = contest.Row(
    "local: first run of 10000 nodes", "s", 4, large.first_run, (sides.POOL,), warm_up_steps=1
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
