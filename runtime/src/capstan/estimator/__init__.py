"""`tf.estimator`: models that train, evaluate, predict and export, on one task or on a cluster.

estimator = tf.estimator.Estimator(model_fn, model_dir="/models/taxi")
tf.estimator.train_and_evaluate(
    estimator,
    tf.estimator.TrainSpec(read_training_data, max_steps=10000),
    tf.estimator.EvalSpec(read_test_data),
)
"""

from typing import Any

from capstan.api.absent import absent as _absent
from capstan.estimator import experimental, export, inputs, tpu
from capstan.estimator.canned.baseline import (
    BaselineClassifier,
    BaselineEstimator,
    BaselineRegressor,
)
from capstan.estimator.canned.boosted_trees import (
    BoostedTreesClassifier,
    BoostedTreesEstimator,
    BoostedTreesRegressor,
)
from capstan.estimator.canned.dnn import DNNClassifier, DNNEstimator, DNNRegressor
from capstan.estimator.canned.dnn_linear_combined import (
    DNNLinearCombinedClassifier,
    DNNLinearCombinedEstimator,
    DNNLinearCombinedRegressor,
)
from capstan.estimator.canned.heads import (
    BinaryClassHead,
    Head,
    LogisticRegressionHead,
    MultiClassHead,
    MultiHead,
    MultiLabelHead,
    PoissonRegressionHead,
    RegressionHead,
)
from capstan.estimator.canned.linear import LinearClassifier, LinearEstimator, LinearRegressor
from capstan.estimator.estimator import Estimator
from capstan.estimator.estimator_spec import EstimatorSpec
from capstan.estimator.exporter import BestExporter, Exporter, FinalExporter, LatestExporter
from capstan.estimator.extenders import add_metrics
from capstan.estimator.mode_keys import ModeKeys
from capstan.estimator.parse_specs import (
    classifier_parse_example_spec,
    regressor_parse_example_spec,
)
from capstan.estimator.run_config import RunConfig
from capstan.estimator.specs import EvalSpec, TrainSpec
from capstan.estimator.training import train_and_evaluate
from capstan.estimator.warm_starting import WarmStartSettings
from capstan.train import (
    CheckpointSaverHook,
    CheckpointSaverListener,
    FeedFnHook,
    FinalOpsHook,
    GlobalStepWaiterHook,
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    ProfilerHook,
    SecondOrStepTimer,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    StepCounterHook,
    StopAtStepHook,
    SummarySaverHook,
)
from capstan.train.vocabulary import VocabInfo

__all__ = [
    "BaselineClassifier",
    "BaselineEstimator",
    "BaselineRegressor",
    "BestExporter",
    "BinaryClassHead",
    "BoostedTreesClassifier",
    "BoostedTreesEstimator",
    "BoostedTreesRegressor",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "DNNClassifier",
    "DNNEstimator",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedEstimator",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "Estimator",
    "EstimatorSpec",
    "EvalSpec",
    "Exporter",
    "FeedFnHook",
    "FinalExporter",
    "FinalOpsHook",
    "GlobalStepWaiterHook",
    "Head",
    "LatestExporter",
    "LinearClassifier",
    "LinearEstimator",
    "LinearRegressor",
    "LoggingTensorHook",
    "LogisticRegressionHead",
    "ModeKeys",
    "MultiClassHead",
    "MultiHead",
    "MultiLabelHead",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "PoissonRegressionHead",
    "ProfilerHook",
    "RegressionHead",
    "RunConfig",
    "SecondOrStepTimer",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "TrainSpec",
    "VocabInfo",
    "WarmStartSettings",
    "add_metrics",
    "classifier_parse_example_spec",
    "experimental",
    "export",
    "inputs",
    "regressor_parse_example_spec",
    "tpu",
    "train_and_evaluate",
]


def __getattr__(name: str) -> Any:
    raise _absent("tf.estimator", name)


def __dir__() -> list[str]:
    return sorted(__all__)
