"""The programs of notes on distributed TensorFlow: clusters, pinned layers, and a device setter."""

import clusters
import numpy as np
import transcripts

import capstan as tf

LAYERS = """
    with tf.device("/job:ps/task:0"):
        weights_1 = tf.Variable(np.eye(2, dtype=np.float32))
        biases_1 = tf.Variable(tf.zeros([2]))
    with tf.device("/job:ps/task:1"):
        weights_2 = tf.Variable(np.eye(2, dtype=np.float32))
        biases_2 = tf.Variable(tf.ones([2]))
    with tf.device("/job:worker/task:7"):
        input, labels = tf.constant([[1., 2.]]), tf.constant([[3., 5.]])
        layer_1 = tf.nn.relu(tf.matmul(input, weights_1) + biases_1)
        logits = tf.nn.relu(tf.matmul(layer_1, weights_2) + biases_2)
        loss = tf.reduce_sum(tf.square(logits - labels))
        train_op = tf.train.GradientDescentOptimizer(0.02).minimize(loss)
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        print(sess.run(loss))
        for _ in range(100):
            sess.run(train_op)
        print(sess.run(loss) < 0.01)
        print(sess.run(logits).round(1))
        metadata = tf.RunMetadata()
        full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        sess.run(train_op, options=full, run_metadata=metadata)
        ran = {}
        for device in metadata.step_stats.dev_stats:
            types = [node.node_name.rpartition("/")[2] for node in device.node_stats]
            ran.setdefault(device.device.partition("/device")[0], set()).update(types)
        for task, types in sorted(ran.items()):
            print(task, "ApplyGradientDescent" in types, "Relu" in types)
"""


def test_the_tasks_of_a_cluster_are_numbered_in_the_order_of_their_addresses() -> None:
    program = """
        cluster = tf.train.ClusterSpec({"local": ["localhost:2222", "localhost:2223"]})
        print([cluster.task_address("local", index) for index in cluster.task_indices("local")])
        spec = {"worker": ["worker0.example.com:2222", "worker1.example.com:2222"],
                "ps": ["ps0.example.com:2222"]}
        cluster = tf.train.ClusterSpec(spec)
        print(cluster)
        print(cluster.jobs, cluster.num_tasks("worker"), cluster.as_dict() == spec)
        device = "/job:worker/task:%d" % 1
        with tf.device(tf.train.replica_device_setter(worker_device=device, cluster=cluster)):
            v1 = tf.Variable(1.0)
            train_op = v1.assign_add(1.0)
            doubled = v1 * 2
        print(v1.device, train_op.device, doubled.device)
    """
    assert transcripts.printed(program) == [
        "['localhost:2222', 'localhost:2223']",
        "ClusterSpec({'ps': ['ps0.example.com:2222'], "
        "'worker': ['worker0.example.com:2222', 'worker1.example.com:2222']})",
        "['worker', 'ps'] 2 True",
        "/job:ps/task:0 /job:ps/task:0 /job:worker/task:1",
    ]


def test_pinned_layers_train_on_two_parameter_servers_and_a_worker() -> None:
    first, second, worker = clusters.addresses(3)
    cluster = tf.train.ClusterSpec({"ps": [first, second], "worker": {7: worker}})
    tasks = [("ps", 0), ("ps", 1), ("worker", 7)]
    servers = [tf.train.Server(cluster, job_name=job, task_index=index) for job, index in tasks]
    printed = transcripts.printed(LAYERS, np=np, target=servers[2].target)
    for server in servers:
        server.stop()
    assert printed[:3] == ["5.0", "True", "[[3. 5.]]"]
    assert printed[3:] == [
        "/job:ps/replica:0/task:0 True False",
        "/job:ps/replica:0/task:1 True False",
        "/job:worker/replica:0/task:7 False True",
    ]
