"""An input pipeline of queues: files of comma-separated values, decoded and shuffled into batches.

    python examples/csv_input.py

Threads read the files while the model trains. The pipeline ends after five passes over the files.
"""

import os
import tempfile

import numpy as np

import capstan as tf

EPOCHS, BATCH = 5, 20


def main(_):
    with tempfile.TemporaryDirectory() as folder:
        train(write_files(folder))


def train(files):
    names = tf.train.string_input_producer(files, num_epochs=EPOCHS)
    _, line = tf.TextLineReader(skip_header_lines=1).read(names)
    # An empty field gets its default value.
    x1, x2, y = tf.decode_csv(line, record_defaults=[[0.0], [0.0], [0.0]])
    features, wanted = tf.train.shuffle_batch(
        [tf.stack([x1, x2]), y],
        batch_size=BATCH,
        capacity=400,
        min_after_dequeue=200,
        num_threads=2,
        allow_smaller_final_batch=True,
    )
    weights = tf.Variable(tf.zeros([2, 1]))
    bias = tf.Variable(tf.zeros([]))
    predicted = tf.squeeze(tf.matmul(features, weights), axis=1) + bias
    loss = tf.reduce_mean(tf.square(predicted - wanted))
    step = tf.train.get_or_create_global_step()
    update = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    with tf.Session() as sess:
        # The producer counts its passes over the files in a local variable.
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            while not coord.should_stop():
                sess.run(update)
        except tf.errors.OutOfRangeError:
            print(f"All files were read {EPOCHS} times, in {sess.run(step)} batches")
        finally:
            coord.request_stop()
        coord.join(threads)
        print("y = {:.2f} x1 + {:.2f} x2 + {:.2f}".format(*sess.run(weights)[:, 0], sess.run(bias)))


def write_files(folder):
    """Write three files with points of the plane y = 2 x1 - x2 + 1."""
    files = []
    random = np.random.default_rng(0)
    for number in range(3):
        points = random.uniform(-1, 1, (200, 2))
        files.append(os.path.join(folder, f"part{number}.csv"))
        with open(files[-1], "w", encoding="utf-8") as file:
            file.write("x1,x2,y\n")
            file.writelines(f"{x1},{x2},{2 * x1 - x2 + 1}\n" for x1, x2 in points)
    return files


if __name__ == "__main__":
    tf.app.run()
