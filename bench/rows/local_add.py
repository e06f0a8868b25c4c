"""Local: feed two scalars, fetch their sum."""

import contest
import sides


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    left, right = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    total = left + right
    session = place.session()
    return lambda: session.run(total, {left: 1.0, right: 2.0})


ROW = contest.Row("local: add two fed scalars", "us", 1, prepare, (sides.POOL, sides.CALLER))

if __name__ == "__main__":
    contest.main(ROW, __spec__)
