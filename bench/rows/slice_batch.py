"""Local: a batch of 50 images, each a slice of a constant that a queue of indices chooses."""

import numpy as np

import contest
import sides

IMAGES, SIZE, BATCH = 1_000, 28, 50


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    images = np.random.default_rng(0).random((IMAGES, SIZE, SIZE), np.float32)
    slices = tf.train.slice_input_producer([tf.constant(images), tf.range(IMAGES)])
    batch = tf.train.batch(slices, BATCH, num_threads=2)
    session = place.session()
    tf.train.start_queue_runners(session)
    return lambda: session.run(batch)


ROW = contest.Row(
    "local: batch of 50 slices, 2 threads",
    "steps/s",
    1,
    prepare,
    (sides.POOL, sides.CALLER),
    window_s=2,
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
