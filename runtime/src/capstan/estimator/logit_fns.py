"""Functions that compute the logits of canned models, for the `model_fn` of a program.

Sources: tensorflow_estimator/python/estimator/model_fn.py, canned/dnn.py, canned/linear.py.
"""

from collections.abc import Callable, Iterable
from typing import Any

from capstan.estimator import arguments
from capstan.estimator.canned import dnn, linear
from capstan.framework import graph as graphs


def call_logit_fn(
    logit_fn: Callable[..., Any], features: Any, mode: str, params: Any, config: Any
) -> Any:
    """Return the logits of `logit_fn`: a tensor, or tensors by name.

    `logit_fn` gets `features`, and those of `mode`, `params` and `config` that it names.

    Raises:
        ValueError: the result is neither a tensor nor a dictionary of tensors by string.
    """
    available = {"mode": mode, "params": params, "config": config}
    names = arguments.names(logit_fn)
    given = {name: value for name, value in available.items() if name in names}
    found = logit_fn(features=features, **given)
    if isinstance(found, graphs.Tensor):
        return found
    if isinstance(found, dict) and all(
        isinstance(name, str) and isinstance(value, graphs.Tensor) for name, value in found.items()
    ):
        return found
    raise ValueError(
        "logit_fn should return a Tensor or a dictionary mapping strings to Tensors.  logit_fn "
        f"returned: {found}"
    )


def dnn_logit_fn_builder(
    units: int,
    hidden_units: Iterable[int],
    feature_columns: Iterable[Any],
    activation_fn: Any,
    dropout: float | None,
    input_layer_partitioner: Any,
    batch_norm: bool,
) -> Callable[[Any, str], Any]:
    """Return a function of features and a mode with the `units` logits of a `DNNClassifier`.

    The variables are in the scope of the call.

    Raises:
        ValueError: `units` is not an int.
    """
    if not isinstance(units, int):
        raise ValueError(f"units must be an int.  Given type: {type(units)}")
    layers, columns = tuple(hidden_units), tuple(feature_columns)

    def dnn_logit_fn(features: Any, mode: str) -> Any:
        return dnn.logits(
            features, mode, units, layers, columns, activation_fn, dropout,
            input_layer_partitioner, batch_norm,
        )  # fmt: skip

    return dnn_logit_fn


def linear_logit_fn_builder(
    units: int, feature_columns: Iterable[Any], sparse_combiner: str = "sum"
) -> Callable[[Any], Any]:
    """Return a function of features with the `units` logits of a `LinearClassifier`.

    The variables are in the scope of the call.
    """
    columns = tuple(feature_columns)

    def linear_logit_fn(features: Any) -> Any:
        return linear.logits(features, units, columns, sparse_combiner)

    return linear_logit_fn
