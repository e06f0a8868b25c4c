"""Boosted trees that train on all examples at once.

Source: tensorflow_estimator/contrib/estimator/python/estimator/boosted_trees.py.
"""

from collections.abc import Callable, Iterable
from typing import Any

from capstan.estimator.canned import boosted_trees


def boosted_trees_classifier_train_in_memory(
    train_input_fn: Callable[[], Any],
    feature_columns: Iterable[Any],
    model_dir: Any = None,
    n_classes: Any = 2,
    weight_column: Any = None,
    label_vocabulary: Any = None,
    n_trees: int = 100,
    max_depth: int = 6,
    learning_rate: float = 0.1,
    l1_regularization: float = 0.0,
    l2_regularization: float = 0.0,
    tree_complexity: float = 0.0,
    min_node_weight: float = 0.0,
    config: Any = None,
    train_hooks: Any = None,
    center_bias: bool = False,
    pruning_mode: str = "none",
    quantile_sketch_epsilon: float = 0.01,
) -> Any:
    """Train a `tf.estimator.BoostedTreesClassifier` on one batch with all examples. Return it.

    `train_input_fn` returns that batch. The other arguments and the errors are those of the class.
    """
    classifier = boosted_trees.BoostedTreesClassifier(
        feature_columns, 1, model_dir, n_classes, weight_column, label_vocabulary, n_trees,
        max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity,
        min_node_weight, config, center_bias, pruning_mode, quantile_sketch_epsilon,
        train_in_memory=True,
    )  # fmt: skip
    return classifier.train(train_input_fn, hooks=train_hooks)


def boosted_trees_regressor_train_in_memory(
    train_input_fn: Callable[[], Any],
    feature_columns: Iterable[Any],
    model_dir: Any = None,
    label_dimension: int = 1,
    weight_column: Any = None,
    n_trees: int = 100,
    max_depth: int = 6,
    learning_rate: float = 0.1,
    l1_regularization: float = 0.0,
    l2_regularization: float = 0.0,
    tree_complexity: float = 0.0,
    min_node_weight: float = 0.0,
    config: Any = None,
    train_hooks: Any = None,
    center_bias: bool = False,
    pruning_mode: str = "none",
    quantile_sketch_epsilon: float = 0.01,
) -> Any:
    """Train a `tf.estimator.BoostedTreesRegressor` as the function for classifiers does."""
    regressor = boosted_trees.BoostedTreesRegressor(
        feature_columns, 1, model_dir, label_dimension, weight_column, n_trees, max_depth,
        learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight,
        config, center_bias, pruning_mode, quantile_sketch_epsilon, train_in_memory=True,
    )  # fmt: skip
    return regressor.train(train_input_fn, hooks=train_hooks)
