"""The input of a prediction in `tf.contrib.learn` ends (learn/estimators/estimator.py).

Source of the rule: `_is_input_constant`. Features that never end are read once.
"""

from collections.abc import Callable
from typing import Any

from capstan.api import dataset, nest
from capstan.estimator import calls
from capstan.framework import convert
from capstan.framework.sparse_tensor import SparseTensor
from capstan.train import input_producers


def ending(input_fn: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function with the features of `input_fn`, of one batch if they would never end."""

    def function() -> Any:
        result = input_fn()
        if isinstance(result, dataset.Dataset):
            return result
        features, labels = calls.pair(result)
        if not calls.is_endless(features):
            return result
        return nest.map_structure(_once, features), labels

    return function


def _once(feature: Any) -> Any:
    if isinstance(feature, SparseTensor):
        return SparseTensor(feature.indices, _once(feature.values), feature.dense_shape)
    return input_producers.limit_epochs(convert.convert_to_tensor(feature), 1)
