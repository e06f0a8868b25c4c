"""Build a graph of ten thousand nodes and its gradients in Python."""

import contest
import large
import sides

ROW = contest.Row(
    "local: build 10000 nodes and their gradients",
    "s",
    6,
    large.differentiated,
    (sides.POOL,),
    warm_up_steps=1,
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
