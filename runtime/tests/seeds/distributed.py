"""One task of the tutorial that learns the digits of MNIST, with its flags and its supervisor.

python distributed.py --job_name=ps --task_index=0
python distributed.py --job_name=worker --task_index=0
"""

import math

import capstan as tf
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
    mnist = input_data.read_data_sets(FLAGS.data_dir, one_hot=True, validation_size=10)
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
