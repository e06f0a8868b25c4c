"""`tf.contrib.learn`: estimators before `tf.estimator`, experiments, and their data.

The estimators do their work with those of `tf.estimator`.
"""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.learn import datasets as datasets
from capstan.contrib.learn import learn_runner as learn_runner
from capstan.contrib.learn import monitors as monitors
from capstan.contrib.learn import preprocessing as preprocessing
from capstan.contrib.learn.dnn import DNNClassifier as DNNClassifier
from capstan.contrib.learn.dnn import DNNEstimator as DNNEstimator
from capstan.contrib.learn.dnn import DNNRegressor as DNNRegressor
from capstan.contrib.learn.dnn_linear_combined import (
    DNNLinearCombinedClassifier as DNNLinearCombinedClassifier,
)
from capstan.contrib.learn.dnn_linear_combined import (
    DNNLinearCombinedEstimator as DNNLinearCombinedEstimator,
)
from capstan.contrib.learn.dnn_linear_combined import (
    DNNLinearCombinedRegressor as DNNLinearCombinedRegressor,
)
from capstan.contrib.learn.dynamic_rnn import DynamicRnnEstimator as DynamicRnnEstimator
from capstan.contrib.learn.estimators import Estimator as Estimator
from capstan.contrib.learn.estimators import SKCompat as SKCompat
from capstan.contrib.learn.estimators import (
    infer_real_valued_columns_from_input as infer_real_valued_columns_from_input,
)
from capstan.contrib.learn.estimators import (
    infer_real_valued_columns_from_input_fn as infer_real_valued_columns_from_input_fn,
)
from capstan.contrib.learn.experiment import Experiment as Experiment
from capstan.contrib.learn.export_strategy import ExportStrategy as ExportStrategy
from capstan.contrib.learn.export_strategy import InputFnOps as InputFnOps
from capstan.contrib.learn.export_strategy import (
    build_parsing_serving_input_fn as build_parsing_serving_input_fn,
)
from capstan.contrib.learn.export_strategy import make_export_strategy as make_export_strategy
from capstan.contrib.learn.graph_actions import infer as infer
from capstan.contrib.learn.graph_actions import run_feeds as run_feeds
from capstan.contrib.learn.graph_actions import run_n as run_n
from capstan.contrib.learn.heads import Head as Head
from capstan.contrib.learn.heads import binary_svm_head as binary_svm_head
from capstan.contrib.learn.heads import multi_class_head as multi_class_head
from capstan.contrib.learn.heads import multi_head as multi_head
from capstan.contrib.learn.heads import multi_label_head as multi_label_head
from capstan.contrib.learn.heads import no_op_train_fn as no_op_train_fn
from capstan.contrib.learn.heads import poisson_regression_head as poisson_regression_head
from capstan.contrib.learn.heads import regression_head as regression_head
from capstan.contrib.learn.kmeans import KMeansClustering as KMeansClustering
from capstan.contrib.learn.linear import LinearClassifier as LinearClassifier
from capstan.contrib.learn.linear import LinearEstimator as LinearEstimator
from capstan.contrib.learn.linear import LinearRegressor as LinearRegressor
from capstan.contrib.learn.metric_key import MetricKey as MetricKey
from capstan.contrib.learn.metric_spec import MetricSpec as MetricSpec
from capstan.contrib.learn.mode_keys import ModeKeys as ModeKeys
from capstan.contrib.learn.model_fn import ModelFnOps as ModelFnOps
from capstan.contrib.learn.pandas_data import extract_pandas_data as extract_pandas_data
from capstan.contrib.learn.pandas_data import extract_pandas_labels as extract_pandas_labels
from capstan.contrib.learn.pandas_data import extract_pandas_matrix as extract_pandas_matrix
from capstan.contrib.learn.prediction_key import PredictionKey as PredictionKey
from capstan.contrib.learn.problem_type import ProblemType as ProblemType
from capstan.contrib.learn.run_config import RunConfig as RunConfig
from capstan.contrib.learn.run_config import TaskType as TaskType
from capstan.contrib.learn.svm import SVM as SVM
from capstan.core import alias, public
from capstan.train import NanLossDuringTrainingError as NanLossDuringTrainingError

_HERE = "capstan.contrib.learn"
_LEARN: alias.Homes = (_HERE,)
_ESTIMATORS = (
    "dnn", "dnn_linear_combined", "estimator", "linear", "model_fn", "prediction_key", "run_config",
)  # fmt: skip
_OLD_HEADS = {
    f"_{name}": f"{_HERE}.heads.{name}"
    for name in (
        "binary_svm_head", "multi_class_head", "multi_head", "multi_label_head",
        "poisson_regression_head", "regression_head",
    )
}  # fmt: skip
"""The names of heads in old programs."""
alias.grow(
    __name__,
    {
        "python.learn": _LEARN,
        **{
            f"python.learn.estimators.{name}": (
                _HERE, f"{_HERE}.run_config", f"{_HERE}.model_fn",
            )
            for name in _ESTIMATORS
        },
        **dict.fromkeys(("head", "python.learn.estimators.head"), (f"{_HERE}.heads", _OLD_HEADS)),
        "estimators": _LEARN,
        "python.learn.estimators.constants": (f"{_HERE}.problem_type",),
        **dict.fromkeys(
            (
                "python.learn.estimators.dynamic_rnn_estimator",
                "python.learn.estimators.rnn_common",
            ),
            (f"{_HERE}.dynamic_rnn",),
        ),
        "python.learn.estimators.svm": (f"{_HERE}.svm",),
        "python.learn.estimators.metric_key": (f"{_HERE}.metric_key",),
        "python.learn.estimators": _LEARN,
        "python.learn.basic_session_run_hooks": ("capstan.train",),
        "python.learn.session_run_hook": ("capstan.train",),
        "python.learn.datasets.base": (f"{_HERE}.datasets", f"{_HERE}.example_inputs"),
        "python.learn.datasets.mnist": (f"{_HERE}.datasets",),
        "python.learn.experiment": (f"{_HERE}.experiment",),
        "python.learn.export_strategy": (f"{_HERE}.export_strategy",),
        "python.learn.learn_runner": (f"{_HERE}.learn_runner",),
        "python.learn.metric_spec": (f"{_HERE}.metric_spec",),
        "python.learn.monitored_session": ("capstan.train", "capstan"),
        "python.learn.monitors": (f"{_HERE}.monitors",),
        "python.learn.preprocessing": (f"{_HERE}.preprocessing",),
        "python.learn.preprocessing.text": (f"{_HERE}.preprocessing",),
        "python.learn.utils.input_fn_utils": (f"{_HERE}.export_strategy",),
        "python.learn.utils.saved_model_export_utils": (f"{_HERE}.export_strategy",),
        "utils": _LEARN,
        "utils.input_fn_utils": (f"{_HERE}.export_strategy",),
        "utils.saved_model_export_utils": (f"{_HERE}.export_strategy",),
        "graph_actions": (f"{_HERE}.graph_actions",),
        "io": (f"{_HERE}.input_functions", f"{_HERE}.example_inputs", _HERE),
        "python.learn.learn_io.graph_io": (f"{_HERE}.example_inputs",),
        "python.learn.graph_actions": (f"{_HERE}.graph_actions",),
        "python.learn.learn_io.numpy_io": (f"{_HERE}.input_functions",),
        "python.learn.learn_io.pandas_io": (f"{_HERE}.input_functions", _HERE),
    },
)  # fmt: skip


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.learn", name)


def __dir__() -> list[str]:
    return sorted({*public.names(globals()), *alias.inside(globals())})
