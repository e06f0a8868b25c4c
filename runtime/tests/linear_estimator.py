"""A small linear model, and its data, for the tests of estimators."""

import numpy as np

import capstan as tf


def model_fn(features, labels, mode, params):
    prediction = tf.layers.dense(features["x"], 1, name="dense")
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": prediction})
    loss = tf.losses.mean_squared_error(labels, prediction)
    optimizer = tf.train.GradientDescentOptimizer(params["rate"])
    return tf.estimator.EstimatorSpec(
        mode,
        loss=loss,
        predictions={"y": prediction},
        train_op=optimizer.minimize(loss, tf.train.get_global_step()),
        eval_metric_ops={"mse": tf.metrics.mean_squared_error(labels, prediction)},
    )


def input_fn(mode):
    """Return 64 examples of `y = x0 + 2 x1` in batches of 16, without end for the training."""
    x = np.random.RandomState(0).rand(64, 2).astype(np.float32)
    y = x @ np.array([[1.0], [2.0]], np.float32)
    examples = tf.data.Dataset.from_tensor_slices(({"x": x}, y))
    if mode == tf.estimator.ModeKeys.TRAIN:
        examples = examples.repeat()
    return examples.batch(16)


def receiver():
    x = tf.placeholder(tf.float32, [None, 2])
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


def keras_estimator(folder, **settings):
    """Return an estimator of the same model as a model of Keras."""
    x = tf.keras.Input((2,), name="x")
    model = tf.keras.Model(x, tf.keras.layers.Dense(1, name="y")(x))
    model.compile(tf.keras.optimizers.SGD(0.3), "mse", metrics=["mae"])
    config = tf.estimator.RunConfig(tf_random_seed=1, **settings)
    return tf.keras.estimator.model_to_estimator(model, model_dir=str(folder), config=config)


def estimator(folder, model=model_fn, **settings):
    config = tf.estimator.RunConfig(tf_random_seed=1, **settings)
    return tf.estimator.Estimator(model, str(folder), config, params={"rate": 0.3})


def tree_estimator(folder, **settings):
    """Return boosted trees for the same data. Four batches of all workers make a layer."""
    return tf.estimator.BoostedTreesRegressor(
        [tf.feature_column.numeric_column("x", (2,))],
        n_batches_per_layer=4,
        model_dir=str(folder),
        max_depth=3,
        learning_rate=0.5,
        config=tf.estimator.RunConfig(tf_random_seed=1, **settings),
    )
