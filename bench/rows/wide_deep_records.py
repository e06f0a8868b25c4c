"""Local: a step of wide and deep training. A `tf.data` pipeline parses TFRecord files for it."""

import contest
import recommender
import sides


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    loss = recommender.loss(tf, place.folder)
    train = recommender.optimizer(tf).minimize(loss)
    session = place.session()
    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
    return lambda: session.run([train, loss])


ROW = contest.Row(
    "local: wide and deep training of 256 records from TFRecord files",
    "steps/s",
    1,
    prepare,
    (sides.POOL, sides.CALLER),
    window_s=2,
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
