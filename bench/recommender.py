"""The model of the recommender rows: wide and deep, with 26 features of words in TFRecord files."""

import os
from typing import Any

import numpy as np

FILES, RECORDS, BATCH = 4, 4_096, 256
DENSE, SPARSE, BUCKETS, DIMENSION = 13, 26, 10_000, 16


def loss(tf: Any, folder: str) -> Any:
    """Return the loss of a batch of 256 records, which a `tf.data` pipeline reads in `folder`."""
    spec = {
        "dense": tf.FixedLenFeature([DENSE], tf.float32),
        "label": tf.FixedLenFeature([1], tf.float32),
    }
    spec |= {f"c{i}": tf.VarLenFeature(tf.string) for i in range(SPARSE)}
    dataset = (
        tf.data.TFRecordDataset(write_files(tf, folder))
        .repeat()
        .shuffle(2 * BATCH, seed=1)
        .batch(BATCH)
        .map(lambda records: tf.parse_example(records, spec))
        .prefetch(2)
    )
    features = tf.data.make_one_shot_iterator(dataset).get_next()
    label = features.pop("label")
    columns = tf.feature_column
    buckets = [columns.categorical_column_with_hash_bucket(f"c{i}", BUCKETS) for i in range(SPARSE)]
    wide = columns.linear_model(features, [*buckets, columns.numeric_column("dense", (DENSE,))])
    deep = columns.input_layer(
        features,
        [columns.numeric_column("dense", (DENSE,))]
        + [columns.embedding_column(bucket, DIMENSION) for bucket in buckets],
    )
    for units in (128, 64):
        deep = tf.nn.relu(dense(tf, deep, units))
    logits = wide + dense(tf, deep, 1)
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logits)
    return tf.reduce_mean(losses)


def optimizer(tf: Any) -> Any:
    return tf.train.AdagradOptimizer(0.05)


def dense(tf: Any, inputs: Any, units: int) -> Any:
    with tf.variable_scope(None, "dense"):
        weights = tf.get_variable("kernel", [inputs.shape[-1], units])
        biases = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
    return tf.nn.bias_add(tf.matmul(inputs, weights), biases)


def write_files(tf: Any, folder: str) -> list[str]:
    random = np.random.default_rng(0)
    names = []
    for number in range(FILES):
        names.append(os.path.join(folder, f"{number}.tfrecord"))
        with tf.python_io.TFRecordWriter(names[-1]) as writer:
            for _ in range(RECORDS):
                writer.write(example(tf, random).SerializeToString())
    return names


def example(tf: Any, random: np.random.Generator) -> Any:
    def floats(values):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    feature = {
        "dense": floats(random.random(DENSE)),
        "label": floats([float(random.random() < 0.25)]),
    }
    for i in range(SPARSE):
        words = [
            b"%x" % word
            for word in random.zipf(1.3, 1 + (i % 3 == 0) * random.integers(3)) % 100_000
        ]
        feature[f"c{i}"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=words))
    return tf.train.Example(features=tf.train.Features(feature=feature))
