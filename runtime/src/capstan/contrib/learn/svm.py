"""`tf.contrib.learn.SVM` (contrib/learn/python/learn/estimators/svm.py)."""

from collections.abc import Iterable
from typing import Any

from capstan.contrib.learn import dual_ascent, estimators, heads
from capstan.contrib.learn.prediction_key import PredictionKey
from capstan.estimator.canned import linear_sdca

_LEAST_L2 = 1.0


class SVM(estimators.Estimator):
    """A linear support vector machine of two classes, trained by dual coordinate ascent.

    The features have a string for each example in `example_id_column`, which finds its dual
    variable. `l1_regularization` and `l2_regularization` are the penalties of the weights, for the
    whole data. The second one is at least 1. `num_loss_partitions` is the number of workers that
    train at the same time. The variables have the names of TensorFlow's checkpoints.

    Raises:
        ValueError: `kernels` are given, or a penalty is negative.
    """

    def __init__(
        self,
        example_id_column: str,
        feature_columns: Iterable[Any],
        weight_column_name: str | None = None,
        model_dir: Any = None,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        num_loss_partitions: int = 1,
        kernels: None = None,
        config: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:
        if kernels is not None:
            raise ValueError("Kernel SVMs are not currently supported.")
        if l2_regularization < 0.0:
            raise ValueError(
                f"symmetric_l2_regularization should be non-negative. Found ({l2_regularization})"
            )
        optimizer = linear_sdca.LinearSDCA(
            example_id_column, num_loss_partitions, None, l1_regularization,
            max(l2_regularization, _LEAST_L2), adaptive=True,
        )  # fmt: skip
        head = heads.binary_svm_head(weight_column_name=weight_column_name)
        model_fn = dual_ascent.model_fn(
            head, feature_columns, optimizer, weight_column_name, "hinge_loss"
        )
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)

    def predict_classes(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:  # fmt: skip
        """Return the class of each example, 0 or 1. Raises as `Estimator.predict`."""
        return self._predict_key(PredictionKey.CLASSES, x, input_fn, batch_size, as_iterable)
