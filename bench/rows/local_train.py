"""Local: a train step of a perceptron 64-128-10, batch 64."""

import contest
import perceptrons
import sides

SIZES = (64, 128, 10)


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    images, labels, loss = perceptrons.build(tf, SIZES)
    train = tf.train.GradientDescentOptimizer(perceptrons.RATE).minimize(loss)
    session = place.session()
    session.run(tf.global_variables_initializer())
    ((pixels, classes), *_) = perceptrons.batches(SIZES, 64, seed=0)
    return lambda: session.run([train, loss], {images: pixels, labels: classes})


ROW = contest.Row(
    "local: train step, MLP 64-128-10, batch 64", "us", 2, prepare, (sides.POOL, sides.CALLER)
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
