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
from capstan.estimator import export
from capstan.estimator.estimator_spec import EstimatorSpec
from capstan.estimator.mode_keys import ModeKeys

__all__ = ["EstimatorSpec", "ModeKeys", "export"]


def __getattr__(name: str) -> Any:
    raise _absent("tf.estimator", name)
