"""`tf.estimator.export`: the inputs and outputs of exported models."""

from typing import Any

from capstan.api.absent import absent
from capstan.estimator.export_output import (
    ClassificationOutput,
    EvalOutput,
    ExportOutput,
    PredictOutput,
    RegressionOutput,
    TrainOutput,
)
from capstan.estimator.receiver_fns import (
    build_parsing_serving_input_receiver_fn,
    build_raw_serving_input_receiver_fn,
)
from capstan.estimator.receivers import (
    ServingInputReceiver,
    SupervisedInputReceiver,
    TensorServingInputReceiver,
    UnsupervisedInputReceiver,
)

__all__ = [
    "ClassificationOutput",
    "EvalOutput",
    "ExportOutput",
    "PredictOutput",
    "RegressionOutput",
    "ServingInputReceiver",
    "SupervisedInputReceiver",
    "TensorServingInputReceiver",
    "TrainOutput",
    "UnsupervisedInputReceiver",
    "build_parsing_serving_input_receiver_fn",
    "build_raw_serving_input_receiver_fn",
]


def __getattr__(name: str) -> Any:
    raise absent("tf.estimator.export", name)
