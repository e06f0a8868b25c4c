"""Programs in the style of public ones, with only their import changed: how replicas train and end.

Each program has a ps and two workers, which run as threads with a server and a graph of their own.
"""

import clusters
import numpy as np
import pytest
import transcripts

WORKERS = """
    import threading

    def run_all(ps, worker):
        tasks = [("ps", 0, ps), ("worker", 0, worker), ("worker", 1, worker)]

        def run(job, index, program):
            server = tf.train.Server(tf.train.ClusterSpec(cluster), job_name=job, task_index=index)
            try:
                with tf.Graph().as_default():
                    program(server, index)
            except Exception as error:
                failures.append(error)
                raise

        failures = []
        threads = [threading.Thread(target=run, args=task, daemon=True) for task in tasks]
        for thread in threads:
            thread.start()
        for thread in reversed(threads):  # the ps ends after the workers
            thread.join()
            assert not failures, failures

    def setter(index):
        device = "/job:worker/task:%d" % index
        spec = tf.train.ClusterSpec(cluster)
        return tf.train.replica_device_setter(worker_device=device, cluster=spec)

    def linear_model():
        x = tf.placeholder(tf.float32, shape=[None, 3], name="x")
        y_ = tf.placeholder(tf.float32, shape=[None], name="y_")
        return x, y_

    def loss_of(weights, x, y_):
        return tf.reduce_mean(tf.square(tf.reduce_sum(x * weights, axis=1) - y_))

    def next_batch(rng):
        batch = rng.randn(20, 3).astype(np.float32)
        return batch, batch.dot([1.0, -2.0, 3.0])

    def done_queue(size):
        with tf.device("/job:ps/task:0"):
            return tf.FIFOQueue(size, tf.int32, shared_name="done_queue")

    def join_until_done(server, index):
        queue = done_queue(2)
        with tf.Session(server.target) as sess:
            for _ in range(2):
                sess.run(queue.dequeue())
        finished.append("ps")

    finished = []
"""

DOWNPOUR = """
    # Each worker trains a copy of the weights. Every few steps, it pushes what the copy has learnt
    # since its last pull to the ps, and pulls the weights of all workers.
    def worker(server, index):
        with tf.device(setter(index)):
            center = tf.get_variable("center", [3], initializer=tf.zeros_initializer())
            global_step = tf.train.get_or_create_global_step()
        with tf.device("/job:worker/task:%d" % index):
            local = tf.Variable(tf.zeros([3]), collections=[tf.GraphKeys.LOCAL_VARIABLES])
            pulled = tf.Variable(tf.zeros([3]), collections=[tf.GraphKeys.LOCAL_VARIABLES])
            x, y_ = linear_model()
            train = tf.train.GradientDescentOptimizer(0.05).minimize(
                loss_of(local, x, y_), var_list=[local])
        with tf.control_dependencies([tf.assign_add(center, local - pulled)]):
            value = center.read_value()
            exchange = tf.group(local.assign(value), pulled.assign(value),
                                global_step.assign_add(1))
        enqueue = done_queue(2).enqueue(1)
        rng = np.random.RandomState(index)
        hooks = [tf.train.StopAtStepHook(last_step=20)]
        filters = ["/job:ps", "/job:worker/task:%d" % index]
        with tf.train.MonitoredTrainingSession(
                master=server.target, is_chief=index == 0, hooks=hooks,
                config=tf.ConfigProto(device_filters=filters)) as sess:
            while not sess.should_stop():
                for _ in range(5):
                    batch, target = next_batch(rng)
                    sess.run_step_fn(lambda step_context: step_context.session.run(
                        train, {x: batch, y_: target}))
                learnt = sess.run([exchange, center])[1]
        with tf.Session(server.target) as sess:
            if index == 0:
                print("signs", np.sign(learnt))
            sess.run(enqueue)

    run_all(join_until_done, worker)
    print(finished)
"""

AGN = """
    # Each worker adds up the gradients of several batches, and pushes their mean.
    def worker(server, index):
        with tf.device(setter(index)):
            weights = tf.get_variable("weights", [3], initializer=tf.zeros_initializer())
            global_step = tf.train.get_or_create_global_step()
            x, y_ = linear_model()
            loss = loss_of(weights, x, y_)
            optimizer = tf.train.GradientDescentOptimizer(0.1)
            pairs = optimizer.compute_gradients(loss)
            with tf.device("/job:worker/task:%d" % index):
                sums = [tf.Variable(tf.zeros_like(v.initialized_value()), trainable=False,
                                    collections=[tf.GraphKeys.LOCAL_VARIABLES])
                        for _, v in pairs]
                accumulate = tf.group(*[s.assign_add(g) for s, (g, _) in zip(sums, pairs)])
                clear = tf.group(*[s.assign(tf.zeros_like(s)) for s in sums])
            push = optimizer.apply_gradients(
                [(s / 4.0, v) for s, (_, v) in zip(sums, pairs)], global_step=global_step)
        enqueue = done_queue(2).enqueue(1)
        sv = tf.train.Supervisor(is_chief=index == 0, init_op=tf.global_variables_initializer(),
                                 local_init_op=tf.local_variables_initializer(),
                                 global_step=global_step, recovery_wait_secs=1, summary_op=None)
        filters = ["/job:ps", "/job:worker/task:%d" % index]
        sess = sv.prepare_or_wait_for_session(
            server.target, config=tf.ConfigProto(device_filters=filters))
        rng = np.random.RandomState(index)
        while sess.run(global_step) < 60:
            sess.run(clear)
            for _ in range(4):
                batch, target = next_batch(rng)
                sess.run(accumulate, {x: batch, y_: target})
            sess.run(push)
        if index == 0:
            print("signs", np.sign(sess.run(weights)))
        sess.run(enqueue)

    run_all(join_until_done, worker)
    print(finished)
"""

RATES = """
    # Synchronous training in which each worker scales its gradients by a rate of its own.
    rates = [0.05, 0.15]

    def worker(server, index):
        with tf.device(setter(index)):
            weights = tf.get_variable("weights", [3], initializer=tf.zeros_initializer())
            global_step = tf.train.get_or_create_global_step()
            x, y_ = linear_model()
            optimizer = tf.train.SyncReplicasOptimizer(
                tf.train.GradientDescentOptimizer(1.0), replicas_to_aggregate=2,
                total_num_replicas=2)
            pairs = optimizer.compute_gradients(loss_of(weights, x, y_))
            train = optimizer.apply_gradients(
                [(rates[index] * g, v) for g, v in pairs], global_step=global_step)
        enqueue = done_queue(2).enqueue(1)
        hooks = [optimizer.make_session_run_hook(index == 0),
                 tf.train.StopAtStepHook(last_step=60)]
        filters = ["/job:ps", "/job:worker/task:%d" % index]
        rng = np.random.RandomState(index)
        with tf.train.MonitoredTrainingSession(
                master=server.target, is_chief=index == 0, hooks=hooks,
                config=tf.ConfigProto(device_filters=filters)) as sess:
            while not sess.should_stop():
                batch, target = next_batch(rng)
                learnt = sess.run([train, weights], {x: batch, y_: target})[1]
        if index == 0:
            print("signs", np.sign(learnt))
        with tf.Session(server.target) as sess:
            sess.run(enqueue)

    run_all(join_until_done, worker)
    print(finished)
"""


@pytest.mark.e2e
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(DOWNPOUR, id="DOWNPOUR"),
        pytest.param(AGN, id="AGN"),
        pytest.param(RATES, id="a rate for each worker"),
    ],
)
def test_replicas_learn_and_end_their_ps_through_a_queue(program: str) -> None:
    cluster = clusters.spec(ps=1, worker=2)
    source = "\n".join(line for part in (WORKERS, program) for line in transcripts.lines(part))
    # The weights are not compared: a worker that lags may push a gradient of old weights last.
    assert transcripts.printed(source, np=np, cluster=cluster) == ["signs [ 1. -1.  1.]", "['ps']"]
