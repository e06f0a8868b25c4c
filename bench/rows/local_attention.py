"""Local: a train step of a recommender that attends to the last items of 128 users."""

import numpy as np

import contest
import sides

USERS, HISTORY, ITEMS, SIZE = 128, 20, 30_000, 16
NEVER = -1e9


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    item = tf.placeholder(tf.int64, [None])
    history = tf.placeholder(tf.int64, [None, HISTORY])
    length = tf.placeholder(tf.int32, [None])
    clicked = tf.placeholder(tf.float32, [None])
    table = tf.get_variable("items", [ITEMS, SIZE])

    def dense(name, inputs, units):  # type: ignore[no-untyped-def]
        weights = tf.get_variable(name, [inputs.shape[-1], units])
        biases = tf.get_variable(f"{name}_biases", [units])
        return tf.nn.bias_add(tf.matmul(inputs, weights), biases)

    asked, seen = tf.nn.embedding_lookup(table, item), tf.nn.embedding_lookup(table, history)
    each = tf.tile(asked[:, None], [1, HISTORY, 1])
    pairs = tf.reshape(tf.concat([each, seen, each - seen, each * seen], 2), [-1, 4 * SIZE])
    scores = dense("scores", tf.nn.sigmoid(dense("hidden", pairs, 32)), 1)
    scores = tf.reshape(scores, [-1, HISTORY])
    is_seen = tf.sequence_mask(length, HISTORY)
    shares = tf.nn.softmax(tf.where(is_seen, scores, tf.fill(tf.shape(scores), NEVER)))
    liked = tf.reduce_sum(shares[:, :, None] * seen, 1)
    deep = tf.nn.relu(dense("deep", tf.concat([asked, liked, asked * liked], 1), 64))
    logits = tf.reshape(dense("logits", deep, 1), [-1])
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=clicked, logits=logits)
    loss = tf.reduce_mean(losses)
    train = tf.train.AdagradOptimizer(0.05).minimize(loss)
    session = place.session()
    session.run(tf.global_variables_initializer())
    random = np.random.default_rng(0)
    feeds = {
        item: random.integers(0, ITEMS, USERS),
        history: random.integers(0, ITEMS, (USERS, HISTORY)),
        length: random.integers(1, HISTORY + 1, USERS, np.int32),
        clicked: random.integers(0, 2, USERS).astype(np.float32),
    }
    return lambda: session.run([train, loss], feeds)


ROW = contest.Row(
    "local: train step, attention to 20 items of 128 users",
    "us",
    1,
    prepare,
    (sides.POOL, sides.CALLER),
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
