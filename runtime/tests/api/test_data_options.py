"""The options of datasets, which tune TensorFlow and change nothing in Capstan."""

import capstan as tf


def test_options_that_tune_a_dataset_are_accepted_and_change_no_element() -> None:
    options = tf.data.Options()
    options.experimental_deterministic = False
    options.experimental_optimization.map_and_batch_fusion = True
    options.experimental_threading.private_threadpool_size = 4
    options.experimental_stats.latency_all_edges = True
    options.experimental_distribute.auto_shard = False
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.Dataset.range(3).with_options(options)
        element = dataset.make_one_shot_iterator().get_next()
        assert [session.run(element) for _ in range(3)] == [0, 1, 2]


def test_the_options_of_two_datasets_are_independent() -> None:
    first, second = tf.data.Options(), tf.data.Options()
    first.experimental_threading.private_threadpool_size = 4
    assert not hasattr(second.experimental_threading, "private_threadpool_size")
