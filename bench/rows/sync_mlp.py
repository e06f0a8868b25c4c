"""Synchronous training of a perceptron 784-512-512-10: one ps, two workers, batches of 100."""

import contest
import perceptrons

ROW = perceptrons.row(
    "sync training, MLP 784-512-512-10, 1 ps + 2 workers", 1, (784, 512, 512, 10), synchronous=True
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
