"""Two parameter servers and three workers in one process, and graphs pinned to their devices.

    python examples/five_servers.py

On a real cluster, each server is a process of its own, on any machine. The clients do not change.
"""

import contextlib
import random
import socket

import capstan as tf


def main(_):
    free = addresses(5)
    cluster = tf.train.ClusterSpec({"ps": free[:2], "worker": free[2:]})
    servers = {
        (job, index): tf.train.Server(cluster, job_name=job, task_index=index)
        for job in cluster.jobs
        for index in cluster.task_indices(job)
    }
    print("The cluster has", ", ".join(f"/job:{job}/task:{index}" for job, index in servers))
    pin_by_hand(servers["worker", 0].target)
    pin_with_a_device_setter(cluster, servers["worker", 1].target)
    share_a_variable([servers["worker", index].target for index in range(3)])


def pin_by_hand(target):
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            a = tf.Variable(1.0, name="a")
        with tf.device("/job:worker/task:2"):
            b = a + 2
        with tf.device("/job:worker/task:1"):
            c = a + b
        with tf.Session(target) as sess:
            sess.run(a.initializer)
            print("Computed by three tasks:", sess.run(c))


def pin_with_a_device_setter(cluster, target):
    with tf.Graph().as_default():
        with tf.device(tf.train.replica_device_setter(cluster=cluster)):
            variables = [tf.Variable(float(n), name=f"v{n}") for n in range(4)]
            total = tf.add_n(variables)
        for variable in variables:
            print(variable.op.name, "is on", variable.device)
        with tf.Session(target) as sess:
            sess.run(tf.global_variables_initializer())
            print("Their sum on", total.device, "is", sess.run(total))


def share_a_variable(targets):
    """Count in one variable from three clients, each of which has a graph of its own."""
    for number, target in enumerate(targets):
        with tf.Graph().as_default(), tf.container("counting"):
            with tf.device("/job:ps/task:1"):
                x = tf.Variable(0.0, name="x")
                increment = tf.assign_add(x, 1.0)
            with tf.Session(target) as sess:
                if number == 0:
                    sess.run(x.initializer)
                print(f"Client {number} counts to", sess.run(increment))
    tf.Session.reset(targets[0], ["counting"])


def addresses(count):
    """Return free addresses of this machine. The kernel gives these ports to no other program.

    The addresses of one call differ. A second call may return an address again.
    """
    with contextlib.ExitStack() as held:  # hold each port, so that the next one differs
        found = []
        for port in random.sample(range(4000, 9000), 5000):
            with contextlib.suppress(OSError):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
                found.append(f"127.0.0.1:{port}")
            if len(found) == count:
                return found
    raise OSError(f"there are fewer than {count} free ports from 4000 to 8999")


if __name__ == "__main__":
    tf.app.run()
