"""Synchronous training of a softmax classifier 784-10: one ps, two workers, batches of 100."""

import contest
import perceptrons

ROW = perceptrons.row(
    "sync training, softmax 784-10, 1 ps + 2 workers", 4, (784, 10), synchronous=True
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
