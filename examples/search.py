"""A search for hyper-parameters: workers take trials from a queue, and put results into another.

A worker that is fast takes more trials than a slow one. To search with more machines, start more
workers.

    python examples/search.py
"""

import threading

import numpy as np

import capstan as tf
from five_servers import addresses

WORKERS, STEPS = 3, 20
RATES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)


def main(_):
    ps, *workers = addresses(1 + WORKERS)
    cluster = tf.train.ClusterSpec({"ps": [ps], "worker": workers})
    tasks = [("ps", 0), *(("worker", index) for index in range(WORKERS))]
    servers = [tf.train.Server(cluster, job_name=job, task_index=index) for job, index in tasks]
    threads = [
        threading.Thread(target=run_trials, args=[servers[1 + index].target, index])
        for index in range(WORKERS)
    ]
    for thread in threads:
        thread.start()
    trials, results = queues()
    rates = tf.placeholder(tf.float32, [None])
    fill, close, result = trials.enqueue_many(rates), trials.close(), results.dequeue()
    with tf.Session(servers[0].target) as sess:
        sess.run(fill, {rates: RATES})
        sess.run(close)
        losses = dict(sess.run(result) for _ in RATES)
    for thread in threads:
        thread.join()
    for rate in sorted(losses):
        print(f"learning rate {rate:<6.4g} loss {losses[rate]:.2f}")
    print(f"The best learning rate is {min(losses, key=losses.get):.4g}")


def queues():
    """Return the queue of learning rates, and the queue of learning rates and their losses."""
    with tf.device("/job:ps/task:0"):
        trials = tf.FIFOQueue(100, tf.float32, shapes=[[]], shared_name="trials")
        results = tf.FIFOQueue(
            100, [tf.float32, tf.float32], shapes=[[], []], shared_name="results"
        )
    return trials, results


def run_trials(target, index):
    """Train a linear model for each trial, until no trial is left."""
    random = np.random.default_rng(0)
    inputs = random.normal(size=(200, 3)).astype(np.float32)
    outputs = inputs @ [[1.0], [-2.0], [0.5]] + 3.0
    with tf.Graph().as_default():
        trials, results = queues()
        trial = trials.dequeue()
        with tf.device(f"/job:worker/task:{index}"), tf.variable_scope(f"worker_{index}"):
            rate = tf.placeholder(tf.float32, [])
            weights = tf.get_variable("weights", [3, 1], initializer=tf.zeros_initializer())
            bias = tf.get_variable("bias", [], initializer=tf.zeros_initializer())
            error = (
                tf.matmul(tf.constant(inputs), weights) + bias - tf.constant(outputs, tf.float32)
            )
            loss = tf.reduce_mean(tf.square(error))
            train = tf.train.GradientDescentOptimizer(rate).minimize(loss)
            initialise = tf.variables_initializer([weights, bias])
        report = results.enqueue([rate, loss])
        with tf.Session(target) as sess:
            try:
                while True:
                    chosen = sess.run(trial)
                    sess.run(initialise)
                    for _ in range(STEPS):
                        sess.run(train, {rate: chosen})
                    sess.run(report, {rate: chosen})
            except tf.errors.OutOfRangeError:
                pass  # the queue is closed and empty


if __name__ == "__main__":
    tf.app.run()
