"""Synchronous training on equal workers, without parameter servers.

Each worker has all variables. In each step, the workers add their gradients. To run two workers:

    capstanctl run examples/multi_worker.yaml
"""

import os

import numpy as np

import capstan as tf

BATCH = 32
STEPS = 400


def input_fn(input_context=None):
    """Return the batches of this worker. All workers together have batches of BATCH examples."""
    x = np.random.RandomState(0).rand(1024, 4).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1, keepdims=True)))
    size = BATCH
    if input_context is not None:
        size = input_context.get_per_replica_batch_size(BATCH)
        dataset = dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
    return dataset.repeat().shuffle(256, seed=1).batch(size)


def model_fn(features, labels, mode):
    """Return a model with a hidden layer. The loss is the mean over the examples of a replica."""
    outputs = tf.layers.dense(tf.layers.dense(features, 16, tf.nn.relu), 1)
    loss = tf.losses.mean_squared_error(labels, outputs)
    train_op = tf.train.AdamOptimizer(0.01).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def main():
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    config = tf.estimator.RunConfig(
        model_dir=os.environ.get("CAPSTAN_CHECKPOINT_DIR"),
        save_checkpoints_steps=100,
        train_distribute=strategy,
    )
    estimator = tf.estimator.Estimator(model_fn, config=config)
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(input_fn, max_steps=STEPS),
        tf.estimator.EvalSpec(input_fn, steps=10),
    )


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.INFO)
    main()
