"""Programs of TensorFlow 1.15, which run on the servers of another process.

    python tensorflow_1_client.py TARGET FOLDER    with a Python that has tensorflow==1.15

Each program prints its name when it has the value that it must have. FOLDER is for its files.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf

TARGET, FOLDER = sys.argv[1:]
PS = "/job:ps/task:0"


def initialized(graph_of):
    """Run the function that `graph_of` returns in a session with initialised variables."""
    check = graph_of()
    with tf.Session(TARGET) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(tf.tables_initializer())
        check(session)


def training():
    random = np.random.RandomState(0)
    images = random.rand(20, 3).astype(np.float32)
    with tf.device(tf.train.replica_device_setter(ps_tasks=1)):
        weights = tf.get_variable("weights", [3, 1], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(images, weights) - images.dot([[1], [2], [3]])))
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdamOptimizer(0.1).minimize(loss, step)
    with tf.train.MonitoredTrainingSession(TARGET, checkpoint_dir=FOLDER) as session:
        losses = [session.run([loss, train])[0] for _ in range(200)]
        assert session.run(step) == 200
    assert losses[-1] < 0.01 < losses[0]


def synchronous_training():
    with tf.device(tf.train.replica_device_setter(ps_tasks=1)):
        weights = tf.get_variable("weights", [3], initializer=tf.zeros_initializer())
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1, 1)
        train = optimizer.minimize(tf.reduce_sum(tf.square(weights - 1)), step)
    hook = optimizer.make_session_run_hook(True)
    # At the end, the thread that updates waits for gradients until the session is closed.
    with tf.train.MonitoredTrainingSession(
        TARGET, hooks=[hook], stop_grace_period_secs=1
    ) as session:
        for _ in range(20):
            session.run(train)
        # The tokens of the first step let a worker run one step ahead of the updates.
        assert 0.8**20 * 0.99 < 1 - session.run(weights)[0] < 0.8**19 * 1.01


def loop():
    with tf.device(PS):
        factor = tf.Variable(1.0)
    total = tf.while_loop(lambda i, _: i < 10, lambda i, x: (i + 1, x * factor + 1), (0, 1.0))[1]
    slope = tf.gradients(total, factor)[0]
    return lambda session: np.testing.assert_array_equal(session.run([total, slope]), [11, 55])


def condition_of_functions():
    tf.enable_control_flow_v2()
    try:
        x = tf.placeholder_with_default(2.0, [])
        y = tf.cond(x > 1, lambda: x * 2, lambda: x - 1)
        end = tf.while_loop(lambda i: i < 5.0, lambda i: i + y, [0.0])
        slope = tf.gradients(end, x)[0]
    finally:
        tf.disable_control_flow_v2()
    return lambda session: np.testing.assert_array_equal(session.run([y, end, slope]), [4, 8, 4])


def queue():
    with tf.device(PS):
        elements = tf.FIFOQueue(10, [tf.float32], [[]])
    put, get = elements.enqueue_many([[1.0, 2.0, 3.0]]), elements.dequeue_many(2)

    def check(session):
        session.run(put)
        np.testing.assert_array_equal(session.run(get), [1, 2])
        assert session.run(elements.size()) == 1

    return check


def dataset():
    squares = tf.data.Dataset.range(10).map(lambda x: x * x).batch(4)
    iterator = tf.data.make_initializable_iterator(squares)
    batch = iterator.get_next()

    def check(session):
        session.run(iterator.initializer)
        assert [list(session.run(batch)) for _ in range(3)] == [
            [0, 1, 4, 9], [16, 25, 36, 49], [64, 81],
        ]  # fmt: skip

    return check


def input_queues():
    path = os.path.join(FOLDER, "lines.csv")
    with open(path, "w") as file:
        file.write("1,2\n3,4\n5,6\n")
    names = tf.train.string_input_producer([path], num_epochs=2, shuffle=False)
    columns = tf.decode_csv(tf.TextLineReader().read(names)[1], [[0.0], [0.0]])
    batch = tf.train.batch(columns, 2)

    def check(session):
        coordinator, found = tf.train.Coordinator(), []
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            while True:
                found.append(list(session.run(batch)[0]))
        except tf.errors.OutOfRangeError:
            coordinator.request_stop()
        coordinator.join(threads)
        assert found == [[1, 3], [5, 1], [3, 5]], found

    return check


def recurrent_network():
    cells = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(4) for _ in range(2)])
    outputs, _ = tf.nn.dynamic_rnn(cells, tf.ones([2, 5, 3]), dtype=tf.float32)
    slopes = tf.gradients(tf.reduce_sum(outputs), tf.trainable_variables())

    def check(session):
        assert session.run(outputs).shape == (2, 5, 4)
        assert all(np.isfinite(slope).all() for slope in session.run(slopes))

    return check


def attention():
    seq2seq = tf.contrib.seq2seq
    memory = seq2seq.BahdanauAttention(4, tf.ones([2, 3, 4]))
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.LSTMCell(4), memory, 4)
    helper = seq2seq.TrainingHelper(tf.ones([2, 5, 4]), [5, 5])
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    outputs = seq2seq.dynamic_decode(decoder)[0].rnn_output
    slopes = tf.gradients(tf.reduce_sum(outputs), tf.trainable_variables())

    def check(session):
        assert session.run(outputs).shape == (2, 5, 4)
        assert all(np.isfinite(slope).all() for slope in session.run(slopes))

    return check


def convolutions():
    slim = tf.contrib.slim
    hidden = slim.conv2d(tf.ones([2, 8, 8, 3]), 4, 3, normalizer_fn=slim.batch_norm)
    logits = tf.layers.dense(slim.flatten(slim.max_pool2d(hidden, 2)), 10)
    loss = tf.losses.sparse_softmax_cross_entropy([1, 2], logits)
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)

    def check(session):
        before = session.run(loss)
        for _ in range(5):
            session.run(train)
        assert session.run(loss) < before

    return check


def embedding_of_a_vocabulary():
    columns = tf.feature_column
    words = columns.categorical_column_with_vocabulary_list("word", ["a", "b"])
    layer = columns.input_layer(
        {"word": tf.constant([["a"], ["z"]])}, [columns.embedding_column(words, 3)]
    )

    def check(session):
        known, unknown = session.run(layer)
        assert known.any()
        assert not unknown.any()

    return check


def checkpoint():
    with tf.device(PS):
        values = tf.Variable([1.0, 2.0])
    saver = tf.train.Saver()
    change = values.assign([5.0, 5.0])

    def check(session):
        path = saver.save(session, os.path.join(FOLDER, "values"))
        session.run(change)
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run(values), [1, 2])

    return check


def trace():
    with tf.device(PS):
        matrix = tf.random_normal([100, 100])
    with tf.device("/job:worker/task:1"):
        product = tf.matmul(matrix, matrix)
    options, found = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()

    def check(session):
        session.run(product, options=options, run_metadata=found)
        assert len(found.step_stats.dev_stats) == 3

    return check


def partial_run():
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    first = a + 1
    second = first * b

    def check(session):
        handle = session.partial_run_setup([first, second], [a, b])
        value = session.partial_run(handle, first, {a: 1.0})
        assert session.partial_run(handle, second, {b: value * 2}) == 8

    return check


MONITORED = training, synchronous_training
OTHERS = (
    loop, condition_of_functions, queue, dataset, input_queues, recurrent_network, attention,
    convolutions, embedding_of_a_vocabulary, checkpoint, trace, partial_run,
)  # fmt: skip

for program in MONITORED + OTHERS:
    tf.reset_default_graph()
    tf.Session.reset(TARGET)
    if program in MONITORED:
        program()
    else:
        initialized(program)
    print(program.__name__, flush=True)
