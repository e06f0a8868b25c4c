"""Local: a `while_loop` of a thousand scalar additions."""

import contest
import sides


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    limit = tf.placeholder(tf.int32, [])
    total = tf.while_loop(lambda i: i < limit, lambda i: i + 1, [tf.constant(0)])
    session = place.session()
    return lambda: session.run(total, {limit: 1000})


ROW = contest.Row(
    "local: while_loop of 1000 additions", "us", 5, prepare, (sides.POOL, sides.CALLER)
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
