"""Train replicas of one model in the four ways of TensorFlow 1, on parameter servers and workers.

In-graph replication: worker 0 builds one graph with a replica for each worker, and runs it. The
other workers only serve. Between-graph replication: each worker builds and runs a graph with its
own replica. Either way, the replicas share the variables of the parameter servers. Synchronous
updates use the mean gradient of all replicas. With asynchronous updates, each replica updates the
variables when it has a gradient.

    capstanctl run examples/digits/between-graphs-sync.yaml
    capstanctl run examples/digits/between-graphs-async.yaml
    capstanctl run examples/digits/in-graph-sync.yaml
    capstanctl run examples/digits/in-graph-async.yaml

The model, the cluster and the other flags are those of train.py.
"""

import threading

import capstan as tf
import digits
import train

flags = tf.app.flags
flags.DEFINE_boolean("in_graph", False, "Whether worker 0 builds and runs all replicas")
flags.DEFINE_boolean("sync", False, "Whether an update uses the mean gradient of all replicas")
FLAGS = flags.FLAGS


def main(_):
    cluster, job_name, index = train.find_task()
    if not cluster:
        train.give_up("replicas.py needs a cluster: run one of the jobs that its first lines name")
    server = train.start_server(cluster, job_name, index)
    if job_name == "ps" or (FLAGS.in_graph and index > 0):
        server.join()
    elif not FLAGS.in_graph:
        train_between_graphs(cluster, server.target, index)
    elif FLAGS.sync:
        train_in_graph_together(cluster, server.target)
    else:
        train_in_graph_apart(cluster, server.target)


def train_between_graphs(cluster, target, index):
    workers = cluster.num_tasks("worker")
    is_chief = index == 0
    hooks = []
    with tf.device(on_worker(cluster, index)):
        images, labels, loss, accuracy = replica()
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.AdamOptimizer(FLAGS.learning_rate)
        if FLAGS.sync:
            optimizer = tf.train.SyncReplicasOptimizer(
                optimizer, replicas_to_aggregate=workers, total_num_replicas=workers
            )
            # The chief's hook updates the variables when all gradients of a step have arrived.
            hooks.append(optimizer.make_session_run_hook(is_chief))
        update = optimizer.minimize(loss, global_step=step)
    training, test = digits.load()
    final = tf.train.FinalOpsHook(accuracy, {images: test.images, labels: test.labels})
    # A worker does not wait for the other workers to start.
    filters = ["/job:ps", f"/job:worker/task:{index}"]
    with session_on(target, is_chief, [final], hooks=hooks, filters=filters) as session:
        for batch in digits.batches(training, FLAGS.batch_size, seed=index):
            if session.should_stop():
                break
            session.run(update, {images: batch.images, labels: batch.labels})
    if is_chief:
        print(f"test accuracy {final.final_ops_values:.3f}")


def train_in_graph_together(cluster, target):
    """Run all replicas in each step of one session, and apply the mean of their gradients."""
    replicas, gradients = [], []
    optimizer = tf.train.AdamOptimizer(FLAGS.learning_rate)
    for index in range(cluster.num_tasks("worker")):
        with tf.device(on_worker(cluster, index)), sharing_variables():
            replicas.append(replica())
            gradients.append(optimizer.compute_gradients(replicas[-1][2]))
    means = []
    for pairs in zip(*gradients, strict=True):
        variable = pairs[0][1]
        with tf.device(variable.device):
            means.append((tf.add_n([gradient for gradient, _ in pairs]) / len(pairs), variable))
    with tf.device(on_worker(cluster, 0)):
        step = tf.train.get_or_create_global_step()
        update = optimizer.apply_gradients(means, global_step=step)
    training, test = digits.load()
    images, labels, _, accuracy = replicas[0]
    final = tf.train.FinalOpsHook(accuracy, {images: test.images, labels: test.labels})
    sources = [
        digits.batches(training, FLAGS.batch_size, seed=index) for index in range(len(replicas))
    ]
    with session_on(target, True, [final]) as session:
        while not session.should_stop():
            feeds = {}
            for (images, labels, _, _), source in zip(replicas, sources, strict=True):
                batch = next(source)
                feeds |= {images: batch.images, labels: batch.labels}
            session.run(update, feeds)
    print(f"test accuracy {final.final_ops_values:.3f}")


def train_in_graph_apart(cluster, target):
    """Run each replica, which has its own optimizer, in a thread with its own session."""
    replicas, updates = [], []
    for index in range(cluster.num_tasks("worker")):
        with tf.device(on_worker(cluster, index)), sharing_variables():
            replicas.append(replica())
            step = tf.train.get_or_create_global_step()
            optimizer = tf.train.AdamOptimizer(FLAGS.learning_rate)
            updates.append(optimizer.minimize(replicas[-1][2], global_step=step))
    training, test = digits.load()
    images, labels, _, accuracy = replicas[0]
    final = tf.train.FinalOpsHook(accuracy, {images: test.images, labels: test.labels})
    # The sessions share one scaffold: the operations that initialise and save the model.
    scaffold = tf.train.Scaffold()

    def run_replica(index, session):
        images, labels, _, _ = replicas[index]
        for batch in digits.batches(training, FLAGS.batch_size, seed=index):
            if session.should_stop():
                break
            session.run(updates[index], {images: batch.images, labels: batch.labels})

    def run_other(index):
        with (
            graph.as_default(),
            session_on(target, False, [], scaffold=scaffold) as session,
        ):
            run_replica(index, session)

    graph = tf.get_default_graph()
    threads = [
        threading.Thread(target=run_other, args=[index], daemon=True)
        for index in range(1, len(replicas))
    ]
    with session_on(target, True, [final], scaffold=scaffold) as session:
        for thread in threads:
            thread.start()
        run_replica(0, session)
    for thread in threads:
        thread.join()
    print(f"test accuracy {final.final_ops_values:.3f}")


def replica():
    """Return the images, the labels, the loss and the accuracy of a replica of the model."""
    images, labels, logits, accuracy = train.classifier()
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return images, labels, tf.reduce_mean(losses), accuracy


def on_worker(cluster, index):
    """Return the device function that puts variables on the ps, and all else on a worker."""
    worker = f"/job:worker/task:{index}"
    return tf.train.replica_device_setter(worker_device=worker, cluster=cluster)


def sharing_variables():
    """Return a scope in which the second replica finds the variables of the first."""
    return tf.variable_scope(tf.get_variable_scope(), reuse=tf.AUTO_REUSE)


def session_on(target, is_chief, chief_only_hooks, hooks=(), filters=(), scaffold=None):
    return tf.train.MonitoredTrainingSession(
        master=target,
        is_chief=is_chief,
        checkpoint_dir=FLAGS.checkpoint_dir or None,
        scaffold=scaffold,
        save_checkpoint_secs=2,
        hooks=[tf.train.StopAtStepHook(last_step=FLAGS.steps), *hooks],
        chief_only_hooks=chief_only_hooks,
        config=tf.ConfigProto(device_filters=filters),
    )


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.app.run(main)
