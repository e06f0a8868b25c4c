"""Boosted trees: `tf.estimator.BoostedTreesClassifier`, `...Regressor` and `...Estimator`.

The names of the saved tensors are TensorFlow's
(tensorflow_estimator/python/estimator/canned/boosted_trees.py).
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from capstan.api import array_ops, math_ops
from capstan.api.losses import Reduction
from capstan.core import dtypes
from capstan.estimator import estimator, mode_keys
from capstan.estimator.canned import (
    head_inputs,
    heads,
    tree_explanations,
    tree_features,
    tree_growers,
    tree_model,
)
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import checkpoint_reader

_DEBUG: Final = "_serialized_debug_outputs_proto"


class _BoostedTrees(estimator.Estimator):
    def __init__(self, model: tree_model.TreeModel, model_dir: Any, config: Any) -> None:
        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
            return model.model_fn(features, labels, mode, config)

        super().__init__(model_fn, model_dir, config)
        self._model = model

    def experimental_feature_importances(self, normalize: bool = False) -> "OrderedDict[str, Any]":
        """Return the sum of the gains of the splits of each column, the greatest first.

        With `normalize`, the sums add up to 1.

        Raises:
            ValueError: the model was not trained.
            AssertionError: sums that should be normalized are negative, or all are zero.
        """
        saved = checkpoint_reader.load_variable(self.model_dir, "boosted_trees:0_serialized")
        if not saved:
            raise ValueError(
                "Found empty serialized string for TreeEnsemble. You should only call this method "
                "after training."
            )
        return tree_explanations.importances(saved, self._model.columns.names, normalize)

    def experimental_predict_with_explanations(
        self,
        input_fn: Any,
        predict_keys: Iterable[str] | None = None,
        hooks: Iterable[Any] | None = None,
        checkpoint_path: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Yield the predictions of each example with the entries "bias" and "dfc".

        "bias" is the prediction before any split. "dfc" has the contribution of each column, the
        greatest first. They add up to the prediction.

        Raises:
            ValueError: the model has no `center_bias`, or the head has an `inverse_link_fn`.
        """
        model = self._model
        if not model.options.center_bias:
            raise ValueError(
                "center_bias must be enabled during estimator instantiation when using "
                "experimental_predict_with_explanations."
            )
        is_classification = isinstance(model.head, heads.BinaryClassHead | heads.MultiClassHead)
        link = getattr(model.head, "_inverse_link_fn", None)
        if not is_classification and link not in (None, array_ops.identity):
            raise ValueError(
                "For now only identity inverse_link_fn in regression_head is supported for "
                "experimental_predict_with_explanations."
            )
        explained = estimator.Estimator(
            _explaining(model), self.model_dir, self.config,
            warm_start_from=self._warm_start_settings,
        )  # fmt: skip
        keys = None if predict_keys is None else {*predict_keys, _DEBUG}
        for prediction in explained.predict(input_fn, keys, hooks, checkpoint_path):
            output = prediction.pop(_DEBUG)
            prediction["bias"], prediction["dfc"] = tree_explanations.contributions(
                output, model.columns.names, is_classification=is_classification
            )
            yield prediction


class BoostedTreesClassifier(_BoostedTrees):
    """A classifier for two classes whose logit is the sum of the leaves of trees.

    The columns are numeric, bucketized or indicator columns. `n_batches_per_layer` batches, of all
    workers together, give the statistics from which the chief adds a layer. Training ends when
    there are `n_trees` trees of `max_depth` layers. `learning_rate` scales their leaves.
    `l1_regularization` and `l2_regularization` make the leaves smaller, and `tree_complexity` the
    trees. A node is split if the hessian of its examples is at least `min_node_weight`. With
    `center_bias`, the first tree begins with the logit of the share of class 1. `pruning_mode` is
    "none", "pre" (no splits without a gain) or "post" (such splits are undone when the tree is
    complete). `quantile_sketch_epsilon` is the share of the examples in a bucket of a numeric
    column. With `train_in_memory`, the input is one batch with all examples, and the cluster one
    task. `weight_column`, `label_vocabulary` and the other arguments are as for `DNNClassifier`.

    Raises:
        ValueError: there are more classes than two, or a column is of another kind.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any],
        n_batches_per_layer: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        n_trees: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        tree_complexity: float = 0.0,
        min_node_weight: float = 0.0,
        config: Any = None,
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
        train_in_memory: bool = False,
    ) -> None:
        if n_classes != 2:
            raise ValueError(
                f"For now only binary classification is supported. n_classes given as {n_classes}"
            )
        head = heads.BinaryClassHead(
            weight_column=weight_column,
            label_vocabulary=label_vocabulary,
            loss_reduction=Reduction.SUM_OVER_BATCH_SIZE,
        )
        options = tree_growers.TreeOptions(
            *(n_trees, max_depth, learning_rate, l1_regularization, l2_regularization),
            *(tree_complexity, min_node_weight, center_bias, pruning_mode),
            quantile_sketch_epsilon,
        )
        has_numbers = weight_column is None and label_vocabulary is None
        model = tree_model.TreeModel(
            head,
            tree_features.TreeColumns(feature_columns),
            options,
            n_batches_per_layer,
            derivatives=_derivatives_of_log_loss if has_numbers else None,
            weight_column=weight_column,
            train_in_memory=train_in_memory,
        )
        super().__init__(model, model_dir, config)


class BoostedTreesRegressor(_BoostedTrees):
    """A regressor whose prediction is the sum of the leaves of trees. The loss is squared error.

    The arguments have the meaning that they have for `BoostedTreesClassifier`. With `center_bias`,
    the first tree begins with the mean of the labels.

    Raises:
        ValueError: `label_dimension` is not 1, or a column is of another kind.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any],
        n_batches_per_layer: Any,
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
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
        train_in_memory: bool = False,
    ) -> None:
        if label_dimension != 1:
            raise ValueError(
                "For now only 1 dimension regression is supported. label_dimension given as "
                f"{label_dimension}"
            )
        head = heads.RegressionHead(
            weight_column=weight_column, loss_reduction=Reduction.SUM_OVER_BATCH_SIZE
        )
        options = tree_growers.TreeOptions(
            *(n_trees, max_depth, learning_rate, l1_regularization, l2_regularization),
            *(tree_complexity, min_node_weight, center_bias, pruning_mode),
            quantile_sketch_epsilon,
        )
        model = tree_model.TreeModel(
            head,
            tree_features.TreeColumns(feature_columns),
            options,
            n_batches_per_layer,
            weight_column=weight_column,
            train_in_memory=train_in_memory,
        )
        super().__init__(model, model_dir, config)


class BoostedTreesEstimator(_BoostedTrees):
    """Boosted trees whose `head` the program chooses. The head has one logit.

    The other arguments have the meaning that they have for `BoostedTreesClassifier`.
    `weight_column` weighs the examples when quantiles are computed. Give it to the head too.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any],
        n_batches_per_layer: Any,
        head: Any,
        model_dir: Any = None,
        weight_column: Any = None,
        n_trees: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        tree_complexity: float = 0.0,
        min_node_weight: float = 0.0,
        config: Any = None,
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
    ) -> None:
        options = tree_growers.TreeOptions(
            *(n_trees, max_depth, learning_rate, l1_regularization, l2_regularization),
            *(tree_complexity, min_node_weight, center_bias, pruning_mode),
            quantile_sketch_epsilon,
        )
        columns = tree_features.TreeColumns(feature_columns)
        model = tree_model.TreeModel(
            head, columns, options, n_batches_per_layer, weight_column=weight_column
        )
        super().__init__(model, model_dir, config)


def _derivatives_of_log_loss(logits: Any, labels: Any) -> tuple[Any, Any]:
    """Return the gradients and hessians of the mean cross entropy of two classes."""
    probability = raw.Sigmoid(logits)
    share = 1.0 / math_ops.cast(array_ops.size(probability), dtypes.float32)
    labels = head_inputs.labels_like(math_ops.cast(labels, dtypes.float32), logits, 1)
    return (probability - labels) * share, probability * (1.0 - probability) * share


def _explaining(model: tree_model.TreeModel) -> Any:
    """Return the function that builds predictions with serialized paths through the trees."""

    def model_fn(features: Any, mode: str) -> Any:
        with graphs.get_default_graph().name_scope("boosted_trees") as scope:
            parts = model.parts(features, scope)
            dimension = model.head.logits_dimension
            spec = model.head.create_estimator_spec(
                features=features,
                mode=mode_keys.ModeKeys.PREDICT,
                logits=parts.logits(dimension),
            )
            spec.predictions[_DEBUG] = raw.BoostedTreesExampleDebugOutputs(
                parts.ensemble.resource_handle, parts.buckets, logits_dimension=dimension
            )
            return spec

    return model_fn
