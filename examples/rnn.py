"""Model parallelism: a recurrent network of two layers, each on a worker of its own.

At each time step, the first layer hands its state to the second, which is on another task. The
tasks work at the same time: while layer 2 computes step t, layer 1 computes step t + 1. The network
learns to add up the numbers of a sequence.

    python examples/rnn.py
"""

import numpy as np

import capstan as tf
from five_servers import addresses

LENGTH, UNITS, BATCH, STEPS = 6, 16, 64, 200


def main(_):
    ps, *workers = addresses(3)
    cluster = tf.train.ClusterSpec({"ps": [ps], "worker": workers})
    tasks = [("ps", 0), ("worker", 0), ("worker", 1)]
    servers = [tf.train.Server(cluster, job_name=job, task_index=index) for job, index in tasks]
    tf.set_random_seed(1)
    sequences = tf.placeholder(tf.float32, [BATCH, LENGTH])
    inputs = [tf.expand_dims(number, 1) for number in tf.unstack(sequences, axis=1)]
    lower = layer(inputs, "layer1", worker=0)
    upper = layer(lower, "layer2", worker=1)
    with tf.device("/job:ps/task:0"):
        weights = tf.get_variable("weights", [UNITS, 1])
    with tf.device("/job:worker/task:1"):
        sums = tf.matmul(upper[-1], weights)
        wanted = tf.reduce_sum(sequences, axis=1, keepdims=True)
        loss = tf.reduce_mean(tf.square(sums - wanted))
    # Compute each gradient where the forward operation ran.
    train = tf.train.AdamOptimizer(0.01).minimize(loss, colocate_gradients_with_ops=True)
    for tensor in (lower[-1], upper[-1]):
        print("The last state of", tensor.op.name.split("/")[0], "is on", tensor.device)
    random = np.random.default_rng(0)
    with tf.Session(servers[1].target) as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(STEPS + 1):
            batch = random.uniform(-0.5, 0.5, [BATCH, LENGTH])
            _, mean_error = sess.run([train, loss], {sequences: batch})
            if step % 100 == 0:
                print(f"step {step}: squared error {mean_error:.1f}")


def layer(inputs, name, worker):
    """Return the states of a layer, one for each time step. Its variables are on the ps."""
    with tf.variable_scope(name):
        with tf.device("/job:ps/task:0"):
            width = int(inputs[0].shape[1])
            kernel = tf.get_variable("kernel", [width + UNITS, UNITS])
            bias = tf.get_variable("bias", [UNITS], initializer=tf.zeros_initializer())
        states = [tf.zeros([BATCH, UNITS])]
        with tf.device(f"/job:worker/task:{worker}"):
            for each in inputs:
                both = tf.concat([each, states[-1]], axis=1)
                states.append(tf.tanh(tf.matmul(both, kernel) + bias))
    return states[1:]


if __name__ == "__main__":
    tf.app.run()
