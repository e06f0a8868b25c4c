"""Local: a train step of a perceptron, while six other processes keep the cores busy."""

import subprocess
import sys

import contest
import perceptrons
import sides

SIZES = (784, 256, 128, 10)
BATCH = 100
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
"""A program that computes until its parent has ended."""


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    images, labels, loss = perceptrons.build(tf, SIZES)
    train = tf.train.GradientDescentOptimizer(perceptrons.RATE).minimize(loss)
    session = place.session()
    session.run(tf.global_variables_initializer())
    ((pixels, classes), *_) = perceptrons.batches(SIZES, BATCH, seed=0)
    for _ in range(2):  # Each of the three processes of the row starts as many.
        subprocess.Popen([sys.executable, "-c", BUSY])
    return lambda: session.run([train, loss], {images: pixels, labels: classes})


ROW = contest.Row(
    "local: train step, MLP 784-256-128-10, batch 100, beside 6 busy processes",
    "us",
    1,
    prepare,
    (sides.POOL, sides.CALLER),
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
