"""`tf.contrib.estimator`: heads, and functions that extend estimators and optimizers."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib import package_aliases
from capstan.contrib.estimator.clipping import clip_gradients_by_norm as clip_gradients_by_norm
from capstan.contrib.estimator.exports import (
    build_supervised_input_receiver_fn_from_input_fn,
)
from capstan.contrib.estimator.exports import (
    export_all_saved_models as export_all_saved_models,
)
from capstan.contrib.estimator.exports import (
    export_saved_model_for_mode as export_saved_model_for_mode,
)
from capstan.contrib.estimator.features import forward_features as forward_features
from capstan.contrib.estimator.heads import (
    binary_classification_head as binary_classification_head,
)
from capstan.contrib.estimator.heads import logistic_regression_head as logistic_regression_head
from capstan.contrib.estimator.heads import multi_class_head as multi_class_head
from capstan.contrib.estimator.heads import multi_head as multi_head
from capstan.contrib.estimator.heads import multi_label_head as multi_label_head
from capstan.contrib.estimator.heads import poisson_regression_head as poisson_regression_head
from capstan.contrib.estimator.heads import regression_head as regression_head
from capstan.contrib.estimator.recurrent import RNNClassifier as RNNClassifier
from capstan.contrib.estimator.recurrent import RNNEstimator as RNNEstimator
from capstan.contrib.estimator.replication import TowerOptimizer as TowerOptimizer
from capstan.contrib.estimator.replication import replicate_model_fn as replicate_model_fn
from capstan.contrib.estimator.saved_models import SavedModelEstimator as SavedModelEstimator
from capstan.contrib.estimator.trees import (
    boosted_trees_classifier_train_in_memory as boosted_trees_classifier_train_in_memory,
)
from capstan.contrib.estimator.trees import (
    boosted_trees_regressor_train_in_memory as boosted_trees_regressor_train_in_memory,
)
from capstan.estimator.early_stopping import make_early_stopping_hook as make_early_stopping_hook
from capstan.estimator.early_stopping import read_eval_metrics as read_eval_metrics
from capstan.estimator.early_stopping import stop_if_higher_hook as stop_if_higher_hook
from capstan.estimator.early_stopping import stop_if_lower_hook as stop_if_lower_hook
from capstan.estimator.early_stopping import stop_if_no_decrease_hook as stop_if_no_decrease_hook
from capstan.estimator.early_stopping import stop_if_no_increase_hook as stop_if_no_increase_hook
from capstan.estimator.extenders import add_metrics as add_metrics
from capstan.estimator.in_memory_evaluator import InMemoryEvaluatorHook as InMemoryEvaluatorHook
from capstan.estimator.logit_fns import call_logit_fn as call_logit_fn
from capstan.estimator.logit_fns import dnn_logit_fn_builder as dnn_logit_fn_builder
from capstan.estimator.logit_fns import linear_logit_fn_builder as linear_logit_fn_builder
from capstan.estimator.receiver_fns import (
    build_raw_supervised_input_receiver_fn as build_raw_supervised_input_receiver_fn,
)
from capstan.estimator.stop_at_checkpoint import (
    make_stop_at_checkpoint_step_hook as make_stop_at_checkpoint_step_hook,
)

__all__ = [
    "InMemoryEvaluatorHook",
    "RNNClassifier",
    "RNNEstimator",
    "SavedModelEstimator",
    "TowerOptimizer",
    "add_metrics",
    "binary_classification_head",
    "boosted_trees_classifier_train_in_memory",
    "boosted_trees_regressor_train_in_memory",
    "build_raw_supervised_input_receiver_fn",
    "build_supervised_input_receiver_fn_from_input_fn",
    "call_logit_fn",
    "clip_gradients_by_norm",
    "dnn_logit_fn_builder",
    "export_all_saved_models",
    "export_saved_model_for_mode",
    "forward_features",
    "linear_logit_fn_builder",
    "logistic_regression_head",
    "make_early_stopping_hook",
    "make_stop_at_checkpoint_step_hook",
    "multi_class_head",
    "multi_head",
    "multi_label_head",
    "poisson_regression_head",
    "read_eval_metrics",
    "regression_head",
    "replicate_model_fn",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
]
package_aliases.grow(__name__)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.estimator", name)


def __dir__() -> list[str]:
    return sorted(__all__)
