"""Build a graph of ten thousand nodes in Python."""

import contest
import large
import sides

ROW = contest.Row("local: build 10000 nodes", "s", 5, large.built, (sides.POOL,), warm_up_steps=1)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
