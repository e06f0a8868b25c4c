"""Distributed MNIST, in the style of TensorFlow 1's tutorials: flags, a supervisor, an Adam step.

With the four idx files of MNIST in --data_dir, the program trains on them. Without these files, it
trains on scikit-learn's digits, enlarged to 28 by 28 pixels. One task in each terminal:

    python mnist.py --job_name=ps --task_index=0
    python mnist.py --job_name=worker --task_index=0
    python mnist.py --job_name=worker --task_index=1

A TrainingJob needs no flags about the cluster, because TF_CONFIG describes it:

    capstanctl run examples/digits/mnist.yaml
"""

import math
import os

import numpy as np

import capstan as tf
import digits
from capstan.examples.tutorials.mnist import input_data

PIXELS = 28
flags = tf.app.flags
flags.DEFINE_string("data_dir", "/tmp/mnist-data", "folder of the files of MNIST")
flags.DEFINE_integer("hidden_units", 100, "units of the hidden layer")
flags.DEFINE_integer("train_steps", 10000, "global steps to train for")
flags.DEFINE_integer("batch_size", 100, "images in a batch")
flags.DEFINE_float("learning_rate", 0.01, "learning rate")
flags.DEFINE_string("ps_hosts", "127.0.0.1:22221", "comma-separated host:port pairs")
flags.DEFINE_string("worker_hosts", "127.0.0.1:22222,127.0.0.1:22223", "the same of the workers")
flags.DEFINE_string("job_name", None, "ps or worker")
flags.DEFINE_integer("task_index", None, "index of the task in its job")
flags.DEFINE_integer("issync", None, "1: synchronous updates")
FLAGS = flags.FLAGS


def take_flags_from_tf_config() -> None:
    """Set the flags of the cluster and of this task from TF_CONFIG, if --job_name is not given."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster = resolver.cluster_spec()
    if not cluster or FLAGS.job_name is not None:
        return
    FLAGS.ps_hosts = ",".join(cluster.job_tasks("ps"))
    FLAGS.worker_hosts = ",".join(cluster.job_tasks("worker"))
    FLAGS.job_name, FLAGS.task_index = resolver.task_type, resolver.task_id


def read_data() -> input_data.Datasets:
    """Return MNIST if its files are in --data_dir, and else scikit-learn's digits in its format."""
    if any("idx3-ubyte" in name for name in tf.gfile.Glob(os.path.join(FLAGS.data_dir, "*"))):
        return input_data.read_data_sets(FLAGS.data_dir, one_hot=True, validation_size=10)
    say("No files of MNIST in %s: training on scikit-learn's digits", FLAGS.data_dir)
    sets = []
    for examples in digits.load():
        pixels = examples.images.reshape(-1, 8, 8).repeat(3, axis=1).repeat(3, axis=2)
        images = np.pad(pixels, [(0, 0), (2, 2), (2, 2)]) * 255
        sets.append(input_data.DataSet(images, np.eye(10)[examples.labels], one_hot=True))
    training, held = sets
    return input_data.Datasets(training, held, held)


def say(text: str, *values: object) -> None:
    print(text % values, flush=True)


def loss_of(x: "tf.Tensor", y: "tf.Tensor") -> "tf.Tensor":
    hidden = tf.Variable(
        tf.truncated_normal([PIXELS * PIXELS, FLAGS.hidden_units], stddev=1.0 / PIXELS),
        name="hid_w",
    )
    hidden_bias = tf.Variable(tf.zeros([FLAGS.hidden_units]), name="hid_b")
    softmax = tf.Variable(
        tf.truncated_normal([FLAGS.hidden_units, 10], stddev=1.0 / math.sqrt(FLAGS.hidden_units)),
        name="sm_w",
    )
    softmax_bias = tf.Variable(tf.zeros([10]), name="sm_b")
    units = tf.nn.relu(tf.nn.xw_plus_b(x, hidden, hidden_bias))
    guess = tf.nn.softmax(tf.nn.xw_plus_b(units, softmax, softmax_bias))
    return -tf.reduce_sum(y * tf.log(tf.clip_by_value(guess, 1e-10, 1.0)))


def main(_: list[str]) -> None:
    take_flags_from_tf_config()
    if FLAGS.job_name is None or FLAGS.job_name == "":
        raise ValueError("Must specify an explicit job_name !")
    say("job_name : %s", FLAGS.job_name)
    if FLAGS.task_index is None:
        raise ValueError("Must specify an explicit task_index!")
    say("task_index : %d", FLAGS.task_index)
    index = FLAGS.task_index
    cluster = tf.train.ClusterSpec(
        {"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")}
    )
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=index)
    if FLAGS.job_name == "ps":
        server.join()
    is_chief = index == 0
    mnist = read_data()
    with tf.device(tf.train.replica_device_setter(cluster=cluster)):
        global_step = tf.Variable(0, name="global_step", trainable=False)
        x = tf.placeholder(tf.float32, [None, PIXELS * PIXELS])
        y = tf.placeholder(tf.float32, [None, 10])
        cross_entropy = loss_of(x, y)
        optimizer = tf.train.AdamOptimizer(FLAGS.learning_rate)
        train_step = optimizer.minimize(cross_entropy, global_step=global_step)
        init_op = tf.global_variables_initializer()
    supervisor = tf.train.Supervisor(
        is_chief=is_chief, init_op=init_op, recovery_wait_secs=1, global_step=global_step
    )
    say("Worker %d: %s...", index, "Initializing session" if is_chief else "Waiting for session")
    sess_config = tf.ConfigProto(
        allow_soft_placement=True,
        log_device_placement=False,
        device_filters=["/job:ps", "/job:worker/task:%d" % index],  # noqa: UP031
    )
    sess = supervisor.prepare_or_wait_for_session(server.target, config=sess_config)
    say("Worker %d: Session initialization complete.", index)
    local_step = 0
    step = 0
    while step < FLAGS.train_steps:
        images, labels = mnist.train.next_batch(FLAGS.batch_size)
        _, step = sess.run([train_step, global_step], feed_dict={x: images, y: labels})
        local_step += 1
        say("Worker %d: training step %d done (global step:%d)", index, local_step, step)
    held = {x: mnist.validation.images, y: mnist.validation.labels}
    say(
        "After %d training step(s), validation cross entropy = %g",
        FLAGS.train_steps,
        sess.run(cross_entropy, feed_dict=held),
    )
    sess.close()


if __name__ == "__main__":
    tf.app.run()
