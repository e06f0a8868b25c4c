"""The programs of a book's chapter on distributed TensorFlow print the lines of the chapter."""

import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import clusters
import numpy as np
import pytest
import transcripts

import capstan as tf

ONE_PROCESS = {
    "devices and device functions": (
        """
        with tf.device("/cpu:0"):
            a = tf.Variable(1.0, name="a")
            b = a + 2
        c = a + b
        print([node.device for node in (a, b, c)])

        def variables_on_cpu(op):
            return "/cpu:0" if op.type == "VariableV2" else "/gpu:0"

        with tf.device(variables_on_cpu):
            a = tf.Variable(3.0)
            b = tf.constant(4.0)
            c = a + b
        print([node.device for node in (a, b, c)])
        """,
        """
        ['/device:CPU:0', '/device:CPU:0', '']
        ['/device:CPU:0', '/device:GPU:0', '/device:GPU:0']
        """,
    ),
    "soft placement": (
        """
        with tf.device("/gpu:0"):
            i = tf.Variable(3)
        config = tf.ConfigProto(device_count={"GPU": 0})
        try:
            sess = tf.Session(config=config)
            sess.run(i.initializer)
        except tf.errors.InvalidArgumentError as error:
            print(type(error).__name__)
        config.allow_soft_placement = True
        sess = tf.Session(config=config)
        sess.run(i.initializer)
        print(sess.run(i))
        """,
        """
        InvalidArgumentError
        3
        """,
    ),
    "control dependencies": (
        """
        a = tf.constant(1.0)
        b = a + 2.0
        with tf.control_dependencies([a, b]):
            x = tf.constant(3.0)
            y = tf.constant(4.0)
        z = x + y
        print(x.op.control_inputs)
        with tf.Session() as sess:
            print(z.eval())
        """,
        """
        [<tf.Operation 'Const' type=Const>, <tf.Operation 'add' type=AddV2>]
        7.0
        """,
    ),
    "a local server": (
        """
        c = tf.constant("Hello distributed TensorFlow!")
        server = tf.train.Server.create_local_server()
        with tf.Session(server.target) as sess:
            print(sess.run(c))
        """,
        """
        b'Hello distributed TensorFlow!'
        """,
    ),
    "decoded CSV": (
        """
        default1 = tf.constant([5.])
        default2 = tf.constant([6])
        default3 = tf.constant([7])
        dec = tf.decode_csv(tf.constant("1.,,44"),
                            record_defaults=[default1, default2, default3])
        with tf.Session() as sess:
            print(tf.constant("1.,,44"))
            print([value.item() for value in sess.run(dec)])
        """,
        """
        Tensor("Const_4:0", shape=(), dtype=string)
        [1.0, 6, 44]
        """,
    ),
    "a time limit for dequeuing": (
        """
        q = tf.FIFOQueue(capacity=10, dtypes=[tf.float32], shapes=[()])
        v = tf.placeholder(tf.float32)
        enqueue = q.enqueue([v])
        dequeue = q.dequeue()
        output = dequeue + 1
        config = tf.ConfigProto()
        config.operation_timeout_in_ms = 3000
        with tf.Session(config=config) as sess:
            for value in (1.0, 2.0, 3.0):
                sess.run(enqueue, feed_dict={v: value})
            print(sess.run(output))
            print(sess.run(output, feed_dict={dequeue: 5}))
            print(sess.run(output))
            print(sess.run(output))
            try:
                print(sess.run(output))
            except tf.errors.DeadlineExceededError:
                print("Timed out while dequeuing")
        """,
        """
        2.0
        6.0
        3.0
        4.0
        Timed out while dequeuing
        """,
    ),
    "queues of several kinds": (
        """
        ragged = tf.PaddingFIFOQueue(10, [tf.float32], shapes=[(None, None)])
        v = tf.placeholder(tf.float32)
        enqueue = ragged.enqueue([v])
        shuffled = tf.RandomShuffleQueue(10, 2, [tf.int32], shapes=[()])
        fill = shuffled.enqueue_many([list(range(5))])
        with tf.Session() as sess:
            sess.run(enqueue, {v: [[1., 2.], [3., 4.], [5., 6.]]})
            sess.run(enqueue, {v: [[1.]]})
            sess.run(enqueue, {v: [[7., 8., 9., 5.], [6., 7., 8., 9.]]})
            print(sess.run(ragged.dequeue_many(3)).tolist())
            sess.run(fill)
            sess.run(shuffled.close())
            print(sorted(sess.run(shuffled.dequeue_up_to(9)).tolist()))
            try:
                sess.run(fill)
            except tf.errors.CancelledError:
                print("the queue is closed")
            try:
                sess.run(shuffled.dequeue_many(1))
            except tf.errors.OutOfRangeError:
                print("the queue is empty")
        """,
        """
        [[[1.0, 2.0, 0.0, 0.0], [3.0, 4.0, 0.0, 0.0], [5.0, 6.0, 0.0, 0.0]], \
[[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]], \
[[7.0, 8.0, 9.0, 5.0], [6.0, 7.0, 8.0, 9.0], [0.0, 0.0, 0.0, 0.0]]]
        [0, 1, 2, 3, 4]
        the queue is closed
        the queue is empty
        """,
    ),
    "batches of a dataset": (
        """
        dataset = tf.data.Dataset.from_tensor_slices(np.arange(10))
        dataset = dataset.repeat(3).batch(7)
        iterator = dataset.make_one_shot_iterator()
        next_element = iterator.get_next()
        with tf.Session() as sess:
            try:
                while True:
                    print(next_element.eval())
            except tf.errors.OutOfRangeError:
                print("Done")
        """,
        """
        [0 1 2 3 4 5 6]
        [7 8 9 0 1 2 3]
        [4 5 6 7 8 9 0]
        [1 2 3 4 5 6 7]
        [8 9]
        Done
        """,
    ),
    "one step of an iterator": (
        """
        dataset = tf.data.Dataset.from_tensor_slices(np.arange(10)).repeat(3).batch(7)
        next_element = dataset.make_one_shot_iterator().get_next()
        with tf.Session() as sess:
            try:
                while True:
                    print(sess.run([next_element, next_element]))
            except tf.errors.OutOfRangeError:
                print("Done")
        """,
        """
        [array([0, 1, 2, 3, 4, 5, 6]), array([0, 1, 2, 3, 4, 5, 6])]
        [array([7, 8, 9, 0, 1, 2, 3]), array([7, 8, 9, 0, 1, 2, 3])]
        [array([4, 5, 6, 7, 8, 9, 0]), array([4, 5, 6, 7, 8, 9, 0])]
        [array([1, 2, 3, 4, 5, 6, 7]), array([1, 2, 3, 4, 5, 6, 7])]
        [array([8, 9]), array([8, 9])]
        Done
        """,
    ),
    "interleaved batches": (
        """
        dataset = tf.data.Dataset.from_tensor_slices(np.arange(10)).repeat(3).batch(7)
        dataset = dataset.interleave(
            lambda v: tf.data.Dataset.from_tensor_slices(v), cycle_length=3, block_length=2)
        next_element = dataset.make_one_shot_iterator().get_next()
        with tf.Session() as sess:
            try:
                while True:
                    print(next_element.eval(), end=",")
            except tf.errors.OutOfRangeError:
                print("Done")
        """,
        "0,1,7,8,4,5,2,3,9,0,6,7,4,5,1,2,8,9,6,3,0,1,2,8,9,3,4,5,6,7,Done",
    ),
}

WITH_A_FILE = {
    "readers and queues": (
        """
        filename_queue = tf.FIFOQueue(capacity=10, dtypes=[tf.string], shapes=[()])
        filename = tf.placeholder(tf.string)
        enqueue_filename = filename_queue.enqueue([filename])
        close_filename_queue = filename_queue.close()
        reader = tf.TextLineReader(skip_header_lines=1)
        key, value = reader.read(filename_queue)
        x1, x2, target = tf.decode_csv(value, record_defaults=[[-1.], [-1.], [-1]])
        instance_queue = tf.RandomShuffleQueue(
            capacity=10, min_after_dequeue=2, dtypes=[tf.float32, tf.int32],
            shapes=[[2], []], name="instance_q", shared_name="shared_instance_q")
        enqueue_instance = instance_queue.enqueue([tf.stack([x1, x2]), target])
        close_instance_queue = instance_queue.close()
        minibatch = instance_queue.dequeue_up_to(2)
        with tf.Session() as sess:
            sess.run(enqueue_filename, feed_dict={filename: csv})
            sess.run(close_filename_queue)
            try:
                while True:
                    sess.run(enqueue_instance)
            except tf.errors.OutOfRangeError:
                print("No more files to read")
            sess.run(close_instance_queue)
            instances = []
            try:
                while True:
                    features, targets = sess.run(minibatch)
                    instances += zip(features.tolist(), targets.tolist())
            except tf.errors.OutOfRangeError:
                print(*sorted(instances), sep="\\n")
                print("No more training instances")
        """,
        """
        No more files to read
        ([1.0, -1.0], 0)
        ([4.0, 5.0], 1)
        ([7.0, 8.0], 0)
        No more training instances
        """,
    ),
    "a queue runner and a coordinator": (
        """
        filename_queue = tf.train.string_input_producer([csv], num_epochs=1)
        key, value = tf.TextLineReader(skip_header_lines=1).read(filename_queue)
        x1, x2, target = tf.decode_csv(value, record_defaults=[[-1.], [-1.], [-1]])
        instance_queue = tf.RandomShuffleQueue(10, 2, [tf.float32, tf.int32], [[2], []])
        enqueue_instance = instance_queue.enqueue([tf.stack([x1, x2]), target])
        minibatch = instance_queue.dequeue_up_to(2)
        queue_runner = tf.train.QueueRunner(instance_queue, [enqueue_instance] * 5)
        coord = tf.train.Coordinator()
        with tf.Session() as sess:
            sess.run(tf.local_variables_initializer())
            threads = tf.train.start_queue_runners(sess, coord)
            threads += queue_runner.create_threads(sess, coord=coord, start=True)
            instances = []
            try:
                while True:
                    features, targets = sess.run(minibatch)
                    instances += zip(features.tolist(), targets.tolist())
            except tf.errors.OutOfRangeError:
                print(*sorted(instances), sep="\\n")
                print("No more training instances")
            coord.request_stop()
            coord.join(threads)
        """,
        """
        ([1.0, -1.0], 0)
        ([4.0, 5.0], 1)
        ([7.0, 8.0], 0)
        No more training instances
        """,
    ),
    "lines of a dataset": (
        """
        def decode_csv_line(line):
            x1, x2, y = tf.decode_csv(line, record_defaults=[[-1.], [-1.], [-1]])
            return tf.stack([x1, x2]), y

        dataset = tf.data.TextLineDataset([csv]).skip(1).map(decode_csv_line)
        X, y = dataset.make_one_shot_iterator().get_next()
        with tf.Session() as sess:
            try:
                while True:
                    X_val, y_val = sess.run([X, y])
                    print(X_val, y_val)
            except tf.errors.OutOfRangeError:
                print("Done")
        """,
        """
        [ 1. -1.] 0
        [4. 5.] 1
        [7. 8.] 0
        Done
        """,
    ),
}

PRODUCERS = (
    """
    files = tf.train.string_input_producer(["a", "b"], num_epochs=2, shuffle=False).dequeue()
    rows = tf.train.input_producer([[1, 2], [3, 4]], num_epochs=1, shuffle=False).dequeue()
    numbers = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    slices = tf.train.slice_input_producer([[1, 2, 3], ["x", "y", "z"]], num_epochs=1,
                                           shuffle=False)
    """,
    """
    batch = tf.train.batch([numbers], 2, allow_smaller_final_batch=True)
    joined = tf.train.batch_join([[slices[0]]], 3)
    shuffled = tf.train.shuffle_batch([files], 4, 50, 1)
    both = tf.train.shuffle_batch_join([[rows]], 2, 50, 1)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        print(sess.run(batch), sess.run(batch))
        print(sess.run(joined))
        print(sorted(sess.run(shuffled).tolist()))
        print(sorted(sess.run(both).tolist()))
        coord.request_stop()
        coord.join(threads)
    """,
)


@pytest.mark.parametrize("program", ONE_PROCESS)
def test_a_program_prints_its_lines(program: str) -> None:
    source, expected = ONE_PROCESS[program]
    assert transcripts.printed(source, np=np) == transcripts.lines(expected)


@pytest.mark.parametrize("program", WITH_A_FILE)
def test_a_program_reads_a_file_and_prints_its_lines(program: str, tmp_path: pathlib.Path) -> None:
    csv = tmp_path / "my_test.csv"
    csv.write_text("x1, x2, target\n1.,,0\n4., 5., 1\n7., 8., 0\n")
    source, expected = WITH_A_FILE[program]
    assert transcripts.printed(source, csv=str(csv)) == transcripts.lines(expected)


@pytest.mark.e2e
def test_the_producers_and_batches_of_the_chapter_give_every_element() -> None:
    program = "\n".join(part for text in PRODUCERS for part in transcripts.lines(text))
    assert transcripts.printed(program) == [
        "[0 1] [2]",
        "[1 2 3]",
        "[b'a', b'a', b'b', b'b']",
        "[[1, 2], [3, 4]]",
    ]


@pytest.fixture(scope="module")
def five_servers() -> Iterator[dict[str, Any]]:
    servers = clusters.start(ps=2, worker=3)
    yield servers
    tf.Session.reset(servers["ps:0"].target)


@pytest.mark.e2e
def test_variables_and_operations_are_pinned_to_the_five_servers(
    five_servers: dict[str, Any],
) -> None:
    program = """
        with tf.device("/job:ps"):
            a = tf.Variable(1.0, name="a")
        with tf.device("/job:worker"):
            b = a + 2
        with tf.device("/job:worker/task:1"):
            c = a + b
        with tf.Session(target) as sess:
            sess.run(a.initializer)
            print(c.eval())
    """
    target = five_servers["ps:1"].target
    assert transcripts.printed(program, target=target) == ["4.0"]


@pytest.mark.e2e
def test_a_device_setter_spreads_variables_over_the_parameter_servers(
    five_servers: dict[str, Any],
) -> None:
    program = """
        with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
            v1 = tf.Variable(1.0, name="v1")
            v2 = tf.Variable(2.0, name="v2")
            v3 = tf.Variable(3.0, name="v3")
            s = v1 + v2
            with tf.device("/task:1"):
                p1 = 2 * s
                with tf.device("/cpu:0"):
                    p2 = 3 * s
        for node in (v1, v2, v3, s, p1, p2):
            print(node.device)
        with tf.Session(target) as sess:
            tf.global_variables_initializer().run()
            print(*sess.run([v3, p1, p2]))
    """
    target = five_servers["worker:2"].target
    assert transcripts.printed(program, target=target) == [
        "/job:ps/task:0",
        "/job:ps/task:1",
        "/job:ps/task:0",
        "/job:worker",
        "/job:worker/task:1",
        "/job:worker/task:1/device:CPU:0",
        "3.0 6.0 9.0",
    ]


@pytest.mark.e2e
def test_clients_share_a_variable_until_its_container_is_reset(
    five_servers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    simple_client = """
        import sys
        with tf.container("my_problem_1"):
            x = tf.Variable(0.0, name="x")
            increment_x = tf.assign(x, x + 1)
        with tf.Session(sys.argv[1]) as sess:
            if sys.argv[2:] == ["init"]:
                sess.run(x.initializer)
            sess.run(increment_x)
            print(x.eval())
    """
    machine_a, machine_b = (five_servers[task].target for task in ("worker:0", "worker:1"))
    monkeypatch.setattr(sys, "argv", ["simple_client.py", machine_a, "init"])
    assert transcripts.printed(simple_client) == ["1.0"]
    monkeypatch.setattr(sys, "argv", ["simple_client.py", machine_b])
    assert transcripts.printed(simple_client) == ["2.0"]
    tf.Session.reset(machine_a, ["my_problem_1"])
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value x"):
        transcripts.printed(simple_client)


def test_clients_pass_batches_through_shared_queues_to_an_ensemble(
    five_servers: dict[str, Any],
) -> None:
    queues = """
        def shared(name):
            with tf.device("/job:ps/task:0"):
                return tf.FIFOQueue(10, [tf.float32], shapes=[[2]], shared_name=name)

        inputs = [shared("inputs_%d" % index) for index in range(2)]
        predictions = [shared("predictions_%d" % index) for index in range(2)]
    """
    bottom = """
        batch = tf.placeholder(tf.float32, [2])
        enqueue = [queue.enqueue(batch) for queue in inputs]
        with tf.Session(targets["worker:0"]) as sess:
            for values in ([1., 2.], [3., 4.]):
                sess.run(enqueue, {batch: values})
            sess.run([queue.close() for queue in inputs])
    """
    model = """
        with tf.device("/job:worker/task:%d" % index):
            predict = predictions[index].enqueue(inputs[index].dequeue() * (index + 1))
        with tf.Session(targets["worker:%d" % index]) as sess:
            try:
                while True:
                    sess.run(predict)
            except tf.errors.OutOfRangeError:
                print("Model %d has read all batches" % index)
    """
    top = """
        mean = tf.add_n([queue.dequeue() for queue in predictions]) / 2
        config = tf.ConfigProto(operation_timeout_in_ms=500)
        with tf.Session(targets["worker:2"]) as sess:
            print(sess.run(mean), sess.run(mean))
        with tf.Session(targets["worker:2"], config=config) as sess:
            try:
                sess.run(mean)
            except tf.errors.DeadlineExceededError:
                print("Timed out while dequeuing")
    """
    targets = {task: server.target for task, server in five_servers.items()}

    def run(*parts: str, **names: Any) -> list[str]:
        program = "\n".join(line for part in parts for line in transcripts.lines(part))
        return transcripts.printed(program, targets=targets, **names)

    assert run(queues, bottom) == []
    assert run(queues, model, index=0) == ["Model 0 has read all batches"]
    assert run(queues, model, index=1) == ["Model 1 has read all batches"]
    assert run(queues, top) == ["[1.5 3. ] [4.5 6. ]", "Timed out while dequeuing"]
