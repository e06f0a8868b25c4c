"""Add one to a scalar variable of a ps, from a session of a worker. The step fetches no value."""

import contest
import sides
import transfers


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    with tf.device(transfers.PS):
        scalar = tf.get_variable("scalar", [], initializer=tf.zeros_initializer())
        added = tf.assign_add(scalar, tf.ones([])).op
    session = place.session()
    session.run(tf.global_variables_initializer())
    return lambda: session.run(added)


ROW = contest.Row("assign_add on a ps", "us", 4, prepare, (sides.REFERENCE, sides.RESOURCE), ps=1)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
