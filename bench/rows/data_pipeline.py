"""Local: a pipeline of `tf.data` maps and batches a million small records, and reads ahead."""

import numpy as np

import contest
import sides

RECORDS, WIDTH, BATCH, STEPS = 1_000_000, 4, 128, 100


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    records = tf.placeholder(tf.float32, [None, WIDTH])
    labels = tf.placeholder(tf.int64, [None])
    iterator = tf.data.make_initializable_iterator(
        tf.data.Dataset.from_tensor_slices((records, labels))
        .map(lambda record, label: ((record - 0.5) * 2.0, label % 10))
        .repeat()
        .batch(BATCH)
        .prefetch(2)
    )
    batch = iterator.get_next()
    session = place.session()
    values = np.random.default_rng(0).random((RECORDS, WIDTH), np.float32)
    feeds = {records: values, labels: np.arange(RECORDS)}
    session.run(iterator.initializer, feeds)

    def step() -> None:
        for _ in range(STEPS):
            session.run(batch)

    return step


ROW = contest.Row(
    "local: tf.data, 100 batches of 128 small records, map, batch and prefetch",
    "us",
    3,
    prepare,
    (sides.POOL, sides.CALLER),
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
