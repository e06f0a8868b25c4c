"""Enqueue 100 rows of 784 floats in a queue of a ps, and dequeue them as a batch."""

import contest
import sides
import transfers

COUNT, WIDTH = 100, 784


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    rows = tf.zeros([COUNT, WIDTH])
    with tf.device(transfers.PS):
        queue = tf.FIFOQueue(1000, tf.float32, [(WIDTH,)], shared_name="rows")
        enqueue, batch = queue.enqueue_many([rows]), queue.dequeue_many(COUNT)
    session = place.session()

    def step() -> None:
        session.run(enqueue)
        session.run(batch)

    return step


ROW = contest.Row(
    "enqueue_many and dequeue_many of 100 x 784 floats, queue on a ps",
    "us",
    8,
    prepare,
    (sides.REFERENCE,),
    ps=1,
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
