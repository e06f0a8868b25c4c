"""Local: a beam search with 5 beams for each of 4 examples, 40 steps, 1000 words."""

import numpy as np

import contest
import sides

STEPS, EXAMPLES, BEAMS, WORDS, SIZE = 40, 4, 5, 1000, 64


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    fed = tf.placeholder(tf.float32, [EXAMPLES * BEAMS, SIZE])
    words = tf.get_variable("words", [SIZE, WORDS])
    embeddings = tf.get_variable("embeddings", [WORDS, SIZE])
    weights = tf.get_variable("weights", [SIZE, SIZE])
    first = tf.range(EXAMPLES)[:, None] * BEAMS

    def body(time, last, scores, state):  # type: ignore[no-untyped-def]
        state = tf.tanh(tf.matmul(state, weights) + tf.gather(embeddings, last))
        extended = tf.nn.log_softmax(tf.matmul(state, words)) + scores[:, None]
        scores, chosen = tf.nn.top_k(tf.reshape(extended, [EXAMPLES, BEAMS * WORDS]), BEAMS)
        beams = tf.reshape(chosen // WORDS + first, [-1])
        chosen = tf.reshape(chosen % WORDS, [-1])
        return time + 1, chosen, tf.reshape(scores, [-1]), tf.gather(state, beams)

    start = (0, tf.zeros([EXAMPLES * BEAMS], tf.int32), tf.zeros([EXAMPLES * BEAMS]), fed)
    _, _, scores, _ = tf.while_loop(lambda time, *_: time < STEPS, body, start)
    session = place.session()
    session.run(tf.global_variables_initializer())
    states = np.random.default_rng(0).random((EXAMPLES * BEAMS, SIZE), np.float32)
    return lambda: session.run(scores, {fed: states})


ROW = contest.Row(
    "local: beam search of 40 steps, 4 x 5 beams, 1000 words",
    "us",
    1,
    prepare,
    (sides.POOL, sides.CALLER),
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
