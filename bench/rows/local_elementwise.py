"""Local: a chain of a thousand elementwise operations on 64 x 64 floats."""

import numpy as np

import contest
import sides

COUNT, SIZE = 1000, 64


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    fed = tf.placeholder(tf.float32, [SIZE, SIZE])
    value = fed
    for index in range(COUNT):
        match index % 3:
            case 0:
                value = tf.multiply(value, fed)
            case 1:
                value = tf.add(value, fed)
            case _:
                value = tf.tanh(value)
    session = place.session()
    numbers = np.full((SIZE, SIZE), 0.5, np.float32)
    return lambda: session.run(value.op, {fed: numbers})


ROW = contest.Row(
    "local: 1000 elementwise operations on 64x64", "us", 3, prepare, (sides.POOL, sides.CALLER)
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
