"""Between-graph training with a supervisor, in five steps, as in TensorFlow 1's guides.

Two workers fit a line to points. One terminal for each task:

    HOSTS="--ps_hosts=127.0.0.1:2222 --worker_hosts=127.0.0.1:2224,127.0.0.1:2225"
    python supervisor.py $HOSTS --job_name=ps --task_index=0
    python supervisor.py $HOSTS --job_name=worker --task_index=0
    python supervisor.py $HOSTS --job_name=worker --task_index=1

Or all tasks with one command, which also restarts tasks that fail:

    capstanctl run examples/supervisor.yaml
"""

import os

import numpy as np

import capstan as tf

# Step 1: the cluster and this task, by flags, or by TF_CONFIG if there are no flags.
flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "Comma-separated host:port of the parameter servers")
flags.DEFINE_string("worker_hosts", "", "Comma-separated host:port of the workers")
flags.DEFINE_string("job_name", "", "Job of this task: ps or worker")
flags.DEFINE_integer("task_index", 0, "Index of this task within its job")
flags.DEFINE_string(
    "logdir",
    os.environ.get("CAPSTAN_CHECKPOINT_DIR"),
    "Folder of checkpoints and summaries; by default that of the job, if it has one",
)
flags.DEFINE_integer("steps", 1000, "Global step at which training ends")
flags.DEFINE_boolean("issync", False, "Whether an update uses the gradients of all workers")
FLAGS = flags.FLAGS


def find_task():
    if FLAGS.job_name:
        hosts = {"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")}
        return tf.train.ClusterSpec(hosts), FLAGS.job_name, FLAGS.task_index
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    return resolver.cluster_spec(), resolver.task_type, resolver.task_id


def model():
    """Return the points that a step is fed, the slope and the offset of the line, and the loss."""
    x = tf.placeholder(tf.float32, [None])
    y = tf.placeholder(tf.float32, [None])
    slope = tf.get_variable("slope", [], initializer=tf.zeros_initializer())
    offset = tf.get_variable("offset", [], initializer=tf.zeros_initializer())
    return x, y, (slope, offset), tf.reduce_mean(tf.square(slope * x + offset - y))


def main(_):
    cluster, job_name, task_index = find_task()
    # Step 2: the server of this task.
    server = tf.train.Server(cluster, job_name=job_name, task_index=task_index)
    # Step 3: a parameter server only serves.
    if job_name == "ps":
        server.join()
    is_chief = task_index == 0
    # Step 4: the model, with its variables on the parameter servers.
    this_task = f"/job:worker/task:{task_index}"
    with tf.device(tf.train.replica_device_setter(worker_device=this_task, cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        x, y, line, loss = model()
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        if FLAGS.issync:
            workers = cluster.num_tasks("worker")
            optimizer = tf.train.SyncReplicasOptimizer(
                optimizer, replicas_to_aggregate=workers, total_num_replicas=workers
            )
        train = optimizer.minimize(loss, global_step=step)
        options = {}
        if FLAGS.issync:
            options["ready_for_local_init_op"] = optimizer.ready_for_local_init_op
            options["local_init_op"] = (
                optimizer.chief_init_op if is_chief else optimizer.local_step_init_op
            )
            first_tokens = optimizer.get_init_tokens_op()
        initialise = tf.global_variables_initializer()
    # Step 5: a supervisor. In the chief, it initialises or restores the variables, and saves them.
    # The supervisor cannot compute summaries, because it has no points to feed.
    supervisor = tf.train.Supervisor(
        is_chief=is_chief,
        logdir=FLAGS.logdir,
        init_op=initialise,
        summary_op=None,
        global_step=step,
        recovery_wait_secs=1,
        save_model_secs=2,
        **options,
    )
    # A worker does not wait for the other workers to start.
    config = tf.ConfigProto(device_filters=["/job:ps", this_task])
    random = np.random.default_rng(task_index)
    with supervisor.managed_session(server.target, config=config) as session:
        if FLAGS.issync and is_chief:
            supervisor.start_queue_runners(session, [optimizer.get_chief_queue_runner()])
            session.run(first_tokens)
        at = 0
        while not supervisor.should_stop() and at < FLAGS.steps:
            points = random.uniform(-1, 1, 100)
            feeds = {x: points, y: 2 * points + 10}
            _, at, error = session.run([train, step, loss], feeds)
            if at % 100 == 0:
                print(f"worker {task_index}, step {at}: loss {error:.6f}", flush=True)
        if is_chief:
            print("y = {:.2f} x + {:.2f}".format(*session.run(line)), flush=True)


if __name__ == "__main__":
    tf.app.run()
