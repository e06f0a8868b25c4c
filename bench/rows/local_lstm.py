"""Local: a train step of a language model: an LSTM of 200 units over 20 sequences of 20 words."""

import numpy as np

import contest
import sides

WORDS, UNITS, BATCH, STEPS = 2000, 200, 20, 20


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    words = tf.placeholder(tf.int32, [BATCH, STEPS])
    following = tf.placeholder(tf.int32, [BATCH, STEPS])
    vectors = tf.get_variable("vectors", [WORDS, UNITS])
    weights = tf.get_variable("weights", [2 * UNITS, 4 * UNITS])
    biases = tf.get_variable("biases", [4 * UNITS], initializer=tf.zeros_initializer())
    hidden = state = tf.zeros([BATCH, UNITS])
    outputs = []
    for vector in tf.unstack(tf.nn.embedding_lookup(vectors, words), axis=1):
        gates = tf.nn.bias_add(tf.matmul(tf.concat([vector, hidden], 1), weights), biases)
        write, new, forget, show = tf.split(gates, 4, 1)
        state = state * tf.sigmoid(forget + 1.0) + tf.sigmoid(write) * tf.tanh(new)
        hidden = tf.tanh(state) * tf.sigmoid(show)
        outputs.append(hidden)
    logits = tf.matmul(tf.reshape(tf.stack(outputs, 1), [-1, UNITS]), vectors, transpose_b=True)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(following, [-1]), logits=logits
    )
    loss = tf.reduce_mean(losses)
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    train = tf.train.GradientDescentOptimizer(1.0).apply_gradients(
        zip(gradients, variables, strict=True)
    )
    session = place.session()
    session.run(tf.global_variables_initializer())
    random = np.random.default_rng(0)
    fed = {each: random.integers(0, WORDS, (BATCH, STEPS)) for each in (words, following)}
    return lambda: session.run([train, loss], fed)


ROW = contest.Row(
    "local: train step, LSTM of 200 units, 20 sequences of 20 words",
    "us",
    1,
    prepare,
    (sides.POOL, sides.CALLER),
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
