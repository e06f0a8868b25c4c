"""Functions that make the inputs of exported models: of serialized Examples, or of raw features.

Source: tensorflow/python/estimator/export/export.py.
"""

from collections.abc import Callable, Mapping
from typing import Any

from capstan.api import creation_ops, example_ops
from capstan.core import dtypes, tensor_shape
from capstan.estimator import receivers
from capstan.framework import graph as graphs


def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], receivers.ServingInputReceiver]:
    """Return a function for models whose clients send serialized Examples.

    The function adds a placeholder for strings of shape [default_batch_size], by the name
    `examples`, and parses the features of `feature_spec` from it.
    """

    def serving_input_receiver_fn() -> receivers.ServingInputReceiver:
        serialized = creation_ops.placeholder(
            dtypes.string, [default_batch_size], name="input_example_tensor"
        )
        features = example_ops.parse_example(serialized, dict(feature_spec))
        return receivers.ServingInputReceiver(features, {"examples": serialized})

    return serving_input_receiver_fn


def build_raw_serving_input_receiver_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], receivers.ServingInputReceiver]:
    """Return a function for models whose clients send the features as tensors.

    The function adds a placeholder like each tensor of `features`, whose first dimension is
    `default_batch_size`.
    """
    kinds = {name: _kind(tensor) for name, tensor in features.items()}

    def serving_input_receiver_fn() -> receivers.ServingInputReceiver:
        placeholders = {
            name: _placeholder(kind, default_batch_size) for name, kind in kinds.items()
        }
        # A model may change its dictionary of features.
        return receivers.ServingInputReceiver(dict(placeholders), placeholders)

    return serving_input_receiver_fn


def build_raw_supervised_input_receiver_fn(
    features: Any, labels: Any, default_batch_size: int | None = None
) -> Callable[[], receivers.SupervisedInputReceiver]:
    """Return a function for exported graphs that train or evaluate on fed features and labels.

    `features` and `labels` are a tensor or a dictionary of tensors. The function adds a placeholder
    like each, whose first dimension is `default_batch_size`. The names of single tensors are
    `input` and `label`.

    Raises:
        ValueError: features and labels share a name.
    """
    named = [
        receivers.named_tensors(tensors, field)
        for tensors, field in ((features, "receiver_tensor"), (labels, "label"))
    ]
    shared = set(named[0]) & set(named[1])
    if shared:
        raise ValueError(
            f"Features and labels must have distinct keys. Found overlapping keys: {shared}"
        )
    kinds = [{name: _kind(tensor) for name, tensor in each.items()} for each in named]

    def supervised_input_receiver_fn() -> receivers.SupervisedInputReceiver:
        added = [
            {name: _placeholder(kind, default_batch_size) for name, kind in each.items()}
            for each in kinds
        ]
        inner_features, inner_labels = (
            placeholders if isinstance(given, dict) else next(iter(placeholders.values()))
            for given, placeholders in zip((features, labels), added, strict=True)
        )
        return receivers.SupervisedInputReceiver(
            inner_features, inner_labels, {**added[0], **added[1]}
        )

    return supervised_input_receiver_fn


_Kind = tuple[dtypes.DType, tensor_shape.TensorShape, str]


def _kind(tensor: graphs.Tensor) -> _Kind:
    """Return the dtype, the shape and the name of a feature."""
    return tensor.dtype.base_dtype, tensor.get_shape(), tensor.op.name


def _placeholder(kind: _Kind, batch_size: int | None) -> Any:
    dtype, shape, name = kind
    batched = tensor_shape.TensorShape([batch_size]).concatenate(shape[1:])
    return creation_ops.placeholder(dtype, batched, name=name)
