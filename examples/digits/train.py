"""Train a classifier of handwritten digits with parameter servers and between-graph replication.

Every task of the cluster runs this script. The environment variable TF_CONFIG, or flags, tell the
script which task it is. Without either, it trains alone in one process:

    python train.py
    python train.py --ps_hosts=127.0.0.1:2222 --worker_hosts=127.0.0.1:2223,127.0.0.1:2224 \
        --job_name=worker --task_index=0
"""

import math
import os
import sys

import capstan as tf
import digits

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "Comma-separated host:port of the parameter servers")
flags.DEFINE_string("worker_hosts", "", "Comma-separated host:port of the workers")
flags.DEFINE_string("job_name", "", "Job of this task: ps or worker")
flags.DEFINE_integer("task_index", 0, "Index of this task within its job")
flags.DEFINE_string(
    "checkpoint_dir",
    os.environ.get("CAPSTAN_CHECKPOINT_DIR", ""),
    "Directory for checkpoints; by default none are written",
)
flags.DEFINE_integer("steps", 20000, "Global step at which training ends")
flags.DEFINE_integer("batch_size", 64, "Images in each step of a worker")
flags.DEFINE_integer("hidden", 128, "Number of units in the hidden layer")
flags.DEFINE_float("learning_rate", 0.001, "Learning rate of the Adam optimizer")
FLAGS = flags.FLAGS


def main(_):
    cluster, job_name, task_index = find_task()
    target = ""
    if cluster:
        server = start_server(cluster, job_name, task_index)
        if job_name == "ps":
            server.join()
            return
        target = server.target
    is_chief = task_index == 0 and (job_name == "chief" or "chief" not in cluster.jobs)
    train(cluster, target, job_name, task_index, is_chief)


def train(cluster, target, job_name, task_index, is_chief):
    training, test = digits.load()
    this_task = f"/job:{job_name}/task:{task_index}"
    with tf.device(tf.train.replica_device_setter(worker_device=this_task, cluster=cluster)):
        images, labels, logits, accuracy = classifier()
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        )
        step = tf.train.get_or_create_global_step()
        update = tf.train.AdamOptimizer(FLAGS.learning_rate).minimize(loss, global_step=step)

    test_accuracy = tf.train.FinalOpsHook(
        {"accuracy": accuracy}, {images: test.images, labels: test.labels}
    )
    with tf.train.MonitoredTrainingSession(
        master=target,
        is_chief=is_chief,
        checkpoint_dir=FLAGS.checkpoint_dir or None,
        save_checkpoint_secs=2,
        log_step_count_steps=1000,
        hooks=[
            tf.train.StopAtStepHook(last_step=FLAGS.steps),
            tf.train.LoggingTensorHook({"step": step, "loss": loss}, every_n_iter=1000),
        ],
        chief_only_hooks=[test_accuracy],
        # A worker talks to the parameter servers only. With these filters it does not wait for
        # the other workers to start.
        config=tf.ConfigProto(device_filters=["/job:ps", this_task] if cluster else []),
    ) as session:
        for batch in digits.batches(training, FLAGS.batch_size, seed=task_index):
            if session.should_stop():
                break
            session.run(update, {images: batch.images, labels: batch.labels})
    if is_chief:
        print(f"test accuracy {test_accuracy.final_ops_values['accuracy']:.3f}")


def classifier():
    """Return the placeholders of images and labels, the logits, and the accuracy."""
    images = tf.placeholder(tf.float32, [None, digits.PIXELS], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    hidden = tf.nn.relu(dense(images, digits.PIXELS, FLAGS.hidden, "hidden"))
    logits = dense(hidden, FLAGS.hidden, digits.CLASSES, "logits")
    hits = tf.equal(tf.argmax(logits, 1), labels)
    accuracy = tf.reduce_mean(tf.cast(hits, tf.float32), name="accuracy")
    return images, labels, logits, accuracy


def dense(inputs, fan_in, units, name):
    with tf.variable_scope(name):
        weights = tf.get_variable(
            "weights",
            [fan_in, units],
            initializer=tf.truncated_normal_initializer(stddev=1 / math.sqrt(fan_in)),
        )
        biases = tf.get_variable("biases", [units], initializer=tf.zeros_initializer())
        return tf.nn.bias_add(tf.matmul(inputs, weights), biases)


def find_task():
    """Return the cluster, this task's job and its index. The cluster is empty when it trains alone.

    An invalid TF_CONFIG or flag ends the program with exit code 2 and one line on stderr.
    """
    by_flags = FLAGS.job_name or FLAGS.ps_hosts or FLAGS.worker_hosts
    given = f"--job_name={FLAGS.job_name} --task_index={FLAGS.task_index}"
    source = given if by_flags else "TF_CONFIG"
    try:
        cluster, job_name, task_index = task_of_flags() if by_flags else task_of_environment()
        if cluster:
            cluster.task_address(job_name, task_index)
    except (ValueError, TypeError) as error:
        fault = str(error) if source in str(error) else f"{source}: {error}"
        give_up(f"cannot tell which task this is: {fault}")
    return cluster, job_name, task_index


def task_of_flags():
    hosts = {"ps": FLAGS.ps_hosts, "worker": FLAGS.worker_hosts}
    cluster = tf.train.ClusterSpec({job: text.split(",") for job, text in hosts.items() if text})
    if not FLAGS.job_name:
        raise ValueError("--ps_hosts or --worker_hosts is given, but --job_name is missing")
    if not cluster:
        raise ValueError("--job_name is given, but --ps_hosts and --worker_hosts are missing")
    return cluster, FLAGS.job_name, FLAGS.task_index


def task_of_environment():
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster = resolver.cluster_spec()
    if not cluster:
        return cluster, "worker", 0
    if resolver.task_type is None:
        raise ValueError("it describes a cluster, but has no 'task'")
    return cluster, resolver.task_type, resolver.task_id


def start_server(cluster, job_name, task_index):
    try:
        return tf.train.Server(cluster, job_name=job_name, task_index=task_index)
    except tf.errors.OpError as error:
        give_up(error.message)


def give_up(message):
    print(f"train.py: {message}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.app.run(main)
