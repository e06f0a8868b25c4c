"""Measure the accuracy of each checkpoint that train.py writes, on images not used for training.

    python evaluate.py --checkpoint_dir=/tmp/digits

In a TrainingJob, this is the program of the evaluator. It takes the flags of train.py, and ends
after the checkpoint with the global step --steps.
"""

import json
import os
import threading
import time

import capstan as tf
import digits
import train

tf.app.flags.DEFINE_float("eval_interval_secs", 0.5, "Seconds between two looks for a checkpoint")
FLAGS = tf.app.flags.FLAGS


def main(_):
    _, test = digits.load()
    images, labels, _, accuracy = train.classifier()
    step = tf.train.get_or_create_global_step()
    saver = tf.train.Saver()
    with tf.Session() as session:
        for checkpoint in checkpoints(FLAGS.checkpoint_dir):
            saver.restore(session, checkpoint)
            at, measured = session.run([step, accuracy], {images: test.images, labels: test.labels})
            print(f"step {at}: test accuracy {measured:.3f}", flush=True)
            report(int(at), float(measured))
            if at >= FLAGS.steps:
                return


def checkpoints(folder):
    """Yield the newest checkpoint of a folder, and each newer one as soon as it is there."""
    seen = None
    while True:
        newest = tf.train.latest_checkpoint(folder)
        if newest != seen:
            yield newest
            seen = newest
        threading.Event().wait(FLAGS.eval_interval_secs)


def report(step, accuracy):
    """Write the file from which capstanctl shows the metrics of a job that runs on this machine."""
    path = os.environ.get("CAPSTAN_PROGRESS_FILE")
    if path:
        now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        progress = {"step": step, "metrics": {"accuracy": accuracy}, "updatedAt": now}
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(progress, file)
        os.replace(f"{path}.new", path)


if __name__ == "__main__":
    tf.app.run(main)
