"""One task of a job that trains an estimator: python task.py KIND FOLDER STEPS, with TF_CONFIG."""

import sys

import linear_estimator as models

import capstan as tf


def main() -> None:
    kind, folder, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    estimator = getattr(models, kind)(
        folder, save_checkpoints_steps=50, experimental_max_worker_delay_secs=0
    )
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(models.input_fn, max_steps=steps),
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
