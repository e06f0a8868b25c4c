"""Synchronous training of a perceptron 784-512-512-10: one ps, two workers, batches of 100."""

import contest
import perceptrons
import sides

SIZES = (784, 512, 512, 10)


def prepare(place: contest.Place) -> contest.Step:
    return perceptrons.train_between_graphs(place, SIZES, synchronous=True)


ROW = contest.Row(
    "sync training, MLP 784-512-512-10, 1 ps + 2 workers",
    "steps/s",
    1,
    prepare,
    (sides.REFERENCE, sides.RESOURCE),
    ps=1,
    workers=2,
    window_s=2,
    lockstep=True,
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
