"""Local: a recurrent loop of a hundred small matrix products, with its gradient."""

import numpy as np

import contest
import sides

STEPS, BATCH, SIZE = 100, 16, 32


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    inputs = tf.placeholder(tf.float32, [STEPS, BATCH, SIZE])
    weights = tf.get_variable("weights", [2 * SIZE, SIZE])
    array = tf.TensorArray(tf.float32, STEPS).unstack(inputs)

    def body(time, state, outputs):  # type: ignore[no-untyped-def]
        state = tf.tanh(tf.matmul(tf.concat([array.read(time), state], 1), weights))
        return time + 1, state, outputs.write(time, state)

    start = (tf.constant(0), tf.zeros([BATCH, SIZE]), tf.TensorArray(tf.float32, STEPS))
    _, _, outputs = tf.while_loop(lambda time, state, outputs: time < STEPS, body, start)
    loss = tf.reduce_mean(tf.square(outputs.stack()))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    session = place.session()
    session.run(tf.global_variables_initializer())
    fed = np.random.default_rng(0).random((STEPS, BATCH, SIZE), np.float32)
    return lambda: session.run([train, loss], {inputs: fed})


ROW = contest.Row(
    "local: recurrent loop of 100 matmuls, gradient", "us", 1, prepare, (sides.POOL, sides.CALLER)
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
