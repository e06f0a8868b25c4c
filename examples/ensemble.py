"""An ensemble of models that pass batches through queues: no client knows the graph of another.

The bottom client puts each batch into the input queue of every model. Each model takes batches from
its queue, on a worker of its own, and puts predictions into another queue. The top client takes one
prediction of each model and prints their mean. It gives up if a model is too slow.

    python examples/ensemble.py
"""

import threading

import numpy as np

import capstan as tf
from five_servers import addresses

MODELS, BATCHES, BATCH = 3, 4, 2


def main(_):
    ps, *workers = addresses(1 + MODELS)
    cluster = tf.train.ClusterSpec({"ps": [ps], "worker": workers})
    tasks = [("ps", 0), *(("worker", index) for index in range(MODELS))]
    servers = [tf.train.Server(cluster, job_name=job, task_index=index) for job, index in tasks]
    clients = [threading.Thread(target=run_bottom, args=[servers[0].target])]
    clients += [
        threading.Thread(target=run_model, args=[servers[1 + index].target, index])
        for index in range(MODELS)
    ]
    for client in clients:
        client.start()
    run_top(servers[0].target)
    for client in clients:
        client.join()


def queues(name):
    """Return the queues of all models. Clients that use the same names share the queues."""
    with tf.device("/job:ps/task:0"):
        return [
            tf.FIFOQueue(10, tf.float32, shapes=[[BATCH]], shared_name=f"{name}_{index}")
            for index in range(MODELS)
        ]


def run_bottom(target):
    with tf.Graph().as_default():
        inputs = queues("inputs")
        batch = tf.placeholder(tf.float32, [BATCH])
        enqueue = [queue.enqueue(batch) for queue in inputs]
        close = [queue.close() for queue in inputs]
        with tf.Session(target) as sess:
            for number in range(BATCHES):
                sess.run(enqueue, {batch: np.arange(BATCH) + number})
            sess.run(close)


def run_model(target, index):
    with tf.Graph().as_default():
        inputs, predictions = queues("inputs")[index], queues("predictions")[index]
        with tf.device(f"/job:worker/task:{index}"):
            prediction = inputs.dequeue() * (index + 1)  # the model
        predict = predictions.enqueue(prediction)
        with tf.Session(target) as sess:
            try:
                while True:
                    sess.run(predict)
            except tf.errors.OutOfRangeError:
                pass  # the bottom client has closed the queue, and it is empty


def run_top(target):
    with tf.Graph().as_default():
        mean = tf.add_n([queue.dequeue() for queue in queues("predictions")]) / MODELS
        with tf.Session(target) as sess:
            for _ in range(BATCHES):
                print("The ensemble predicts", sess.run(mean))
            try:
                sess.run(mean, options=tf.RunOptions(timeout_in_ms=500))
            except tf.errors.DeadlineExceededError:
                print("Timed out: there are no more predictions")


if __name__ == "__main__":
    tf.app.run()
