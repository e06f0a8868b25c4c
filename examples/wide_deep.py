"""Train a wide and deep recommender with an Estimator: who clicks on which advertisement?

    python wide_deep.py                        # in one process
    capstanctl run examples/wide_deep.yaml     # with parameter servers, workers and an evaluator

The clicks are made up. Each user and each advertisement has a hidden taste, which the embeddings of
the deep half find. In some pairs of a country and a category, people click for no such reason. The
wide half memorizes these pairs. `tf.estimator.train_and_evaluate` does the work of every task: it
reads TF_CONFIG, starts the server, trains on workers, and evaluates each checkpoint.
"""

import os

import numpy as np

import capstan as tf

USERS, ADS, COUNTRIES, CATEGORIES = 400, 200, 8, 6

flags = tf.app.flags
flags.DEFINE_string(
    "model_dir",
    os.environ.get("CAPSTAN_CHECKPOINT_DIR", "/tmp/wide_deep"),
    "Directory for checkpoints and summaries",
)
flags.DEFINE_integer("steps", 3000, "Global step at which training ends")
flags.DEFINE_integer("batch_size", 100, "Clicks in each step of a worker")
FLAGS = flags.FLAGS


def main(_):
    config = tf.estimator.RunConfig(
        FLAGS.model_dir,
        save_checkpoints_secs=5,
        log_step_count_steps=1000,
        # TensorFlow lets worker n wait for 5 n seconds before it starts.
        experimental_max_worker_delay_secs=0,
    )
    model = tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=wide_columns(),
        linear_optimizer=tf.train.FtrlOptimizer(0.1),
        dnn_feature_columns=deep_columns(),
        dnn_optimizer=tf.train.AdamOptimizer(0.01),
        dnn_hidden_units=[32, 16],
        loss_reduction=tf.losses.Reduction.MEAN,
        config=config,
    )
    tf.estimator.train_and_evaluate(
        model,
        tf.estimator.TrainSpec(clicks(seed_of(config)), max_steps=FLAGS.steps),
        tf.estimator.EvalSpec(test_clicks(), steps=None, start_delay_secs=1, throttle_secs=1),
    )


def seed_of(config):
    """Return a seed for the clicks of this task."""
    return config.task_id + (100 if config.task_type == "worker" else 0)


def wide_columns():
    """Return the columns whose pairs the linear model memorizes."""
    country = tf.feature_column.categorical_column_with_identity("country", COUNTRIES)
    category = tf.feature_column.categorical_column_with_identity("category", CATEGORIES)
    return [country, category, tf.feature_column.crossed_column([country, category], 1000)]


def deep_columns():
    """Return the columns whose embeddings the neural network compares."""
    sizes = {"user": USERS, "ad": ADS}
    return [
        tf.feature_column.embedding_column(
            tf.feature_column.categorical_column_with_identity(name, size), 8
        )
        for name, size in sizes.items()
    ]


def clicks(seed):
    """Return the input function of endless made-up clicks, other ones for each seed."""
    features, labels = world(60_000, seed)
    return tf.estimator.inputs.numpy_input_fn(
        features, labels, FLAGS.batch_size, num_epochs=None, shuffle=True
    )


def test_clicks():
    """Return the input function of clicks that no worker trains on."""
    features, labels = world(10_000, seed=10_000)
    return tf.estimator.inputs.numpy_input_fn(features, labels, 1000, shuffle=False)


def world(count, seed):
    """Return features by name, and whether each user clicked."""
    fixed, drawn = np.random.RandomState(1), np.random.RandomState(seed)
    tastes = {"user": fixed.normal(size=(USERS, 3)), "ad": fixed.normal(size=(ADS, 3))}
    odd = fixed.choice([-2.0, 0.0, 2.0], size=(COUNTRIES, CATEGORIES))
    user, ad = drawn.randint(USERS, size=count), drawn.randint(ADS, size=count)
    features = {"user": user, "ad": ad, "country": user % COUNTRIES, "category": ad % CATEGORIES}
    liking = (tastes["user"][user] * tastes["ad"][ad]).sum(1) + odd[
        features["country"], features["category"]
    ]
    labels = drawn.uniform(size=count) < 1 / (1 + np.exp(-liking))
    return features, labels.astype(np.int64)


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.app.run(main)
