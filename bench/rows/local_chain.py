"""Local: a chain of a hundred scalar additions. Each adds to the result of the previous one."""

import contest
import sides


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    start, one = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    total = start
    for _ in range(100):
        total = total + one
    session = place.session()
    return lambda: session.run(total, {start: 0.0, one: 1.0})


ROW = contest.Row("local: 100 dependent adds", "us", 1, prepare, (sides.POOL, sides.CALLER))

if __name__ == "__main__":
    contest.main(ROW, __spec__)
