"""`tf.estimator.ModeKeys`: the names of training, evaluation and prediction.

Source: tensorflow/python/estimator/model_fn.py.
"""

from typing import Final

from capstan.train.saved_model import constants


class ModeKeys:
    """The values of the argument `mode` of a `model_fn`."""

    TRAIN: Final = "train"
    EVAL: Final = "eval"
    PREDICT: Final = "infer"


LOSS_METRIC_KEY: Final = "loss"
AVERAGE_LOSS_METRIC_KEY: Final = "average_loss"

EXPORT_TAG_MAP: Final = {
    ModeKeys.PREDICT: [constants.SERVING],
    ModeKeys.TRAIN: [constants.TRAINING],
    ModeKeys.EVAL: [constants.EVAL],
}
"""The tags of the graph of each mode in a SavedModel."""
