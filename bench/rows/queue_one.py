"""Enqueue a small element in a queue of a ps, and dequeue it, in two steps of a worker."""

import contest
import sides
import transfers


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    with tf.device(transfers.PS):
        queue = tf.FIFOQueue(100, tf.int32, [()], shared_name="numbers")
        enqueue, number = queue.enqueue(1), queue.dequeue()
    session = place.session()

    def step() -> None:
        session.run(enqueue)
        session.run(number)

    return step


ROW = contest.Row(
    "enqueue and dequeue a scalar, queue on a ps", "us", 8, prepare, (sides.REFERENCE,), ps=1
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
