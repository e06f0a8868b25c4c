"""A producer and a consumer in two threads of a worker, and between them a queue of a ps.

A step is one element that the consumer gets.
"""

import threading

import contest
import sides
import transfers


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    with tf.device(transfers.PS):
        queue = tf.FIFOQueue(100, tf.int32, [()], shared_name="numbers")
        enqueue, number = queue.enqueue(1), queue.dequeue()
    session = place.session()

    def produce() -> None:
        while True:
            session.run(enqueue)

    threading.Thread(target=produce, daemon=True).start()
    return lambda: session.run(number)


ROW = contest.Row(
    "producer, queue on a ps, consumer",
    "steps/s",
    8,
    prepare,
    (sides.REFERENCE,),
    ps=1,
    window_s=2,
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
