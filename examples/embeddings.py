"""Word embeddings whose table is cut over two parameter servers, trained with `tf.nn.nce_loss`.

Words of one topic occur side by side in the text. Each of two workers reads its own part of the
text and predicts the neighbours of each word. A step moves only the rows of its batch: a worker
gathers them from both parameter servers, and sends back the gradients of these rows. At the end the
chief prints for how many words of each topic the nearest word is of the same topic.

    python examples/embeddings.py
"""

import threading

import numpy as np

import capstan as tf
from five_servers import addresses

TOPICS = {
    "fruit": ["apple", "pear", "plum", "fig"],
    "metal": ["iron", "tin", "zinc", "gold"],
    "river": ["rhine", "nile", "seine", "oder"],
}
WORDS = [word for topic in TOPICS.values() for word in topic]
WIDTH, BATCH, SAMPLED, STEPS = 8, 32, 4, 600


def main(_):
    first, second, *workers = addresses(4)
    cluster = tf.train.ClusterSpec({"ps": [first, second], "worker": workers})
    tasks = [("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)]
    servers = [tf.train.Server(cluster, job_name=job, task_index=index) for job, index in tasks]
    clients = [
        threading.Thread(target=train, args=[cluster, index, servers[2 + index].target])
        for index in range(2)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()


def train(cluster, index, target):
    with tf.Graph().as_default():
        worker = f"/job:worker/task:{index}"
        with tf.device(tf.train.replica_device_setter(worker_device=worker, cluster=cluster)):
            words = tf.placeholder(tf.int64, [BATCH])
            neighbours = tf.placeholder(tf.int64, [BATCH, 1])
            table, loss = model(words, neighbours)
            step = tf.train.get_or_create_global_step()
            update = tf.train.AdagradOptimizer(0.5).minimize(loss, global_step=step)
            normal = tf.nn.l2_normalize(tf.concat(list(table), 0), 1)
            likeness = tf.matmul(normal, normal, transpose_b=True)
        random = np.random.RandomState(index)
        config = tf.ConfigProto(device_filters=["/job:ps", worker])
        hooks = [tf.train.StopAtStepHook(last_step=STEPS)]
        with tf.train.MonitoredTrainingSession(
            target, is_chief=index == 0, hooks=hooks, config=config
        ) as sess:
            while not sess.should_stop():
                read, beside = pairs(random)
                _, found = sess.run([update, likeness], {words: read, neighbours: beside})
        if index == 0:
            report(found)


def model(words, neighbours):
    """Return the parts of the table of embeddings, and the loss of a batch."""
    partitioner = tf.fixed_size_partitioner(2)
    uniform = tf.random_uniform_initializer(-1.0, 1.0, seed=1)
    table = tf.get_variable("words", [len(WORDS), WIDTH], tf.float32, uniform,
                            partitioner=partitioner)  # fmt: skip
    weights = tf.get_variable("weights", [len(WORDS), WIDTH], partitioner=partitioner,
                              initializer=tf.zeros_initializer())  # fmt: skip
    biases = tf.get_variable("biases", [len(WORDS)], initializer=tf.zeros_initializer())
    rows = tf.nn.embedding_lookup(table, words, partition_strategy="div")
    losses = tf.nn.nce_loss(
        weights, biases, neighbours, rows, SAMPLED, len(WORDS), partition_strategy="div"
    )
    return table, tf.reduce_mean(losses)


def pairs(random):
    """Return the numbers of random words, and of a word that occurs beside each of them."""
    topics = random.randint(len(TOPICS), size=BATCH)
    size = len(WORDS) // len(TOPICS)
    read, beside = (topics * size + random.randint(size, size=BATCH) for _ in range(2))
    return read, beside[:, None]


def report(likeness):
    np.fill_diagonal(likeness, -1)
    nearest = likeness.argmax(1).reshape(len(TOPICS), -1)
    for number, (topic, words) in enumerate(TOPICS.items()):
        right = np.sum(nearest[number] // len(words) == number)
        print(f"{topic}: {right} of {len(words)} words are nearest to a word of their topic")


if __name__ == "__main__":
    tf.app.run()
