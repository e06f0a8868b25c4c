"""One task of a synchronous training with flags, a supervisor, and a queue that ends the ps.

    python replica.py --ps_hosts=A,B --worker_hosts=C,D --job_name=worker --task_index=0

It follows mnist_replica.py, and the usual recipe for a parameter server that ends: each worker puts
a token into a queue on the server, and the server waits for all tokens instead of `join`.

The server then waits for the end of its standard input. It therefore answers the last calls of the
workers, and never outlives the test.
"""

import sys
import threading

import capstan as tf

tf.app.flags.DEFINE_string("ps_hosts", "", "addresses of the parameter servers")
tf.app.flags.DEFINE_string("worker_hosts", "", "addresses of the workers")
tf.app.flags.DEFINE_string("job_name", "", "'ps' or 'worker'")
tf.app.flags.DEFINE_integer("task_index", 0, "index of this task in its job")
tf.app.flags.DEFINE_integer("train_steps", 30, "number of updates")
tf.app.flags.DEFINE_string("logdir", "", "folder of the chief's checkpoints")
FLAGS = tf.app.flags.FLAGS


def done_queue(name: str, workers: int) -> "tf.FIFOQueue":
    with tf.device("/job:ps/task:0"):
        return tf.FIFOQueue(workers, [tf.int32], shapes=[[]], shared_name=name)


def wait_for_workers(server: "tf.train.Server", workers: int) -> None:
    dequeue = done_queue("done", workers).dequeue()
    # Without the filter, the session would also wait for workers that may have ended already.
    alone = tf.ConfigProto(device_filters=["/job:ps"])
    with tf.Session(server.target, config=alone) as session:
        for _ in range(workers):
            session.run(dequeue)
    print("all workers are done", flush=True)


def main(_: list[str]) -> None:
    cluster = tf.train.ClusterSpec(
        {"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")}
    )
    workers, is_chief = cluster.num_tasks("worker"), FLAGS.task_index == 0
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        threading.Thread(target=wait_for_workers, args=(server, workers), daemon=True).start()
        sys.stdin.read()
        return
    worker = f"/job:worker/task:{FLAGS.task_index}"
    with tf.device(tf.train.replica_device_setter(worker_device=worker, cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        weights = tf.get_variable("weights", [3], initializer=tf.zeros_initializer())
        batch = tf.placeholder(tf.float32, [3])
        loss = tf.reduce_sum(tf.square(weights - batch))
        optimizer = tf.train.SyncReplicasOptimizer(
            tf.train.GradientDescentOptimizer(0.1), workers, name="synchronous"
        )
        train = optimizer.minimize(loss, global_step=step)
    first_tokens = optimizer.get_init_tokens_op()
    tell_ps = done_queue("done", workers).enqueue(1)
    for_chief = done_queue("for_chief", workers)
    tell_chief, wait_for_worker = for_chief.enqueue(1), for_chief.dequeue()
    supervisor = tf.train.Supervisor(
        is_chief=is_chief,
        logdir=FLAGS.logdir,
        init_op=tf.global_variables_initializer(),
        local_init_op=optimizer.chief_init_op if is_chief else optimizer.local_step_init_op,
        ready_for_local_init_op=optimizer.ready_for_local_init_op,
        recovery_wait_secs=10**6,
        global_step=step,
    )
    filters = tf.ConfigProto(device_filters=["/job:ps", worker])
    session = supervisor.prepare_or_wait_for_session(server.target, config=filters)
    if is_chief:
        session.run(first_tokens)
        supervisor.start_queue_runners(session, [optimizer.get_chief_queue_runner()])
    # The result is the token that the worker has taken. A worker leaves the tokens of the last step
    # to the other workers, so that none of them waits for ever.
    while session.run(train, {batch: [1, 2, 3]}) < FLAGS.train_steps:
        pass
    if is_chief:
        # The chief's queue runner makes the updates that the other workers wait for.
        for _ in range(workers - 1):
            session.run(wait_for_worker)
        print(*(f"{weight:.1f}" for weight in session.run(weights)), flush=True)
    else:
        session.run(tell_chief)
    session.run(tell_ps)
    supervisor.stop()
    session.close()


if __name__ == "__main__":
    tf.app.run()
