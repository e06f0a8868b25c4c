"""`tf.estimator.experimental`: clusters, hooks that stop a training early, functions of logits."""

from typing import Any

from capstan.api.absent import absent
from capstan.estimator.canned.kmeans import KMeansClustering as KMeans
from capstan.estimator.canned.linear_sdca import LinearSDCA
from capstan.estimator.early_stopping import (
    make_early_stopping_hook,
    stop_if_higher_hook,
    stop_if_lower_hook,
    stop_if_no_decrease_hook,
    stop_if_no_increase_hook,
)
from capstan.estimator.in_memory_evaluator import InMemoryEvaluatorHook
from capstan.estimator.logit_fns import (
    call_logit_fn,
    dnn_logit_fn_builder,
    linear_logit_fn_builder,
)
from capstan.estimator.receiver_fns import build_raw_supervised_input_receiver_fn
from capstan.estimator.stop_at_checkpoint import make_stop_at_checkpoint_step_hook

__all__ = [
    "InMemoryEvaluatorHook",
    "KMeans",
    "LinearSDCA",
    "build_raw_supervised_input_receiver_fn",
    "call_logit_fn",
    "dnn_logit_fn_builder",
    "linear_logit_fn_builder",
    "make_early_stopping_hook",
    "make_stop_at_checkpoint_step_hook",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
]


def __getattr__(name: str) -> Any:
    raise absent("tf.estimator.experimental", name)
