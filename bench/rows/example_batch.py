"""Local: a shuffled batch of 100 images of a TFRecord file, which threads parse one by one."""

import os

import numpy as np

import contest
import sides

RECORDS, PIXELS, BATCH = 2_000, 784, 100


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    names = tf.train.string_input_producer([write_file(tf, place.folder)])
    _, serialized = tf.TFRecordReader().read(names)
    spec = {
        "image": tf.FixedLenFeature([], tf.string),
        "label": tf.FixedLenFeature([], tf.int64),
    }
    features = tf.parse_single_example(serialized, spec)
    pixels = tf.decode_raw(features["image"], tf.uint8)
    pixels.set_shape([PIXELS])
    image = tf.cast(pixels, tf.float32) * (1.0 / 255) - 0.5
    batch = tf.train.shuffle_batch(
        [image, tf.cast(features["label"], tf.int32)],
        BATCH,
        capacity=1_000 + 3 * BATCH,
        min_after_dequeue=1_000,
        num_threads=2,
    )
    session = place.session()
    tf.train.start_queue_runners(session)
    return lambda: session.run(batch)


def write_file(tf, folder: str) -> str:
    random = np.random.default_rng(0)
    name = os.path.join(folder, "images.tfrecord")
    with tf.python_io.TFRecordWriter(name) as writer:
        for number in range(RECORDS):
            feature = {
                "image": tf.train.Feature(
                    bytes_list=tf.train.BytesList(value=[random.bytes(PIXELS)])
                ),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[number % 10])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())
    return name


ROW = contest.Row(
    "local: shuffle_batch of 100 Examples, 2 threads",
    "steps/s",
    1,
    prepare,
    (sides.POOL, sides.CALLER),
    window_s=2,
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
