"""One task of a job that trains an estimator: python task.py KIND FOLDER STEPS, with TF_CONFIG."""

import json
import os
import sys

import linear_estimator as models

import capstan as tf


def training_data(kind: str, mode: str) -> tf.data.Dataset:
    """Return the data of this task.

    Only the chief grows trees, as in TensorFlow. A worker of trees therefore takes few of the
    steps, however fast it is.
    """
    examples = models.input_fn(mode)
    task = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
    is_limited = kind == "tree_estimator" and task == "worker"
    return examples.take(20) if is_limited else examples


def main() -> None:
    kind, folder, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    estimator = getattr(models, kind)(
        folder, save_checkpoints_steps=50, experimental_max_worker_delay_secs=0
    )
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(lambda mode: training_data(kind, mode), max_steps=steps),
        tf.estimator.EvalSpec(
            models.input_fn,
            steps=None,
            exporters=tf.estimator.FinalExporter("final", models.receiver),
            start_delay_secs=0,
            throttle_secs=1,
        ),
    )
    print("done", flush=True)


if __name__ == "__main__":
    main()
