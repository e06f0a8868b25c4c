"""The inputs of an exported model: placeholders, and the features that are made of them.

Source: tensorflow/python/estimator/export/export.py.
"""

from typing import Any, Final, NamedTuple, Self

from capstan.framework import graph as graphs
from capstan.framework import sparse_tensor

_DEFAULT_NAMES: Final = {
    "feature": "feature",
    "label": "label",
    "receiver_tensor": "input",
    "receiver_tensors_alternative": "input",
}
"""The name of a tensor that is given without a dictionary."""


class _Receiver(NamedTuple):
    features: Any
    receiver_tensors: Any
    receiver_tensors_alternatives: Any = None


class ServingInputReceiver(_Receiver):
    """The features of a model as a dictionary, and the tensors that clients feed.

    `features` and `receiver_tensors` are a Tensor, a SparseTensor or a dictionary of them. A single
    tensor becomes a dictionary with the key `feature` or `input`.
    `receiver_tensors_alternatives` names further groups of tensors that clients may feed instead.

    Raises:
        ValueError: an argument is missing, a key has the wrong type, or a value is not a tensor.
    """

    __slots__ = ()

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> Self:
        features = named_tensors(features, "feature")
        receiver_tensors = named_tensors(receiver_tensors, "receiver_tensor")
        alternatives = _alternatives(receiver_tensors_alternatives)
        return super().__new__(cls, features, receiver_tensors, alternatives)


class TensorServingInputReceiver(_Receiver):
    """Like ServingInputReceiver, for a model whose `features` are a single tensor.

    Raises:
        ValueError: an argument is missing, a key has the wrong type, or a value is not a tensor.
    """

    __slots__ = ()

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> Self:
        if features is None:
            raise ValueError("features must be defined.")
        check_tensor(features, None)
        receiver_tensors = named_tensors(receiver_tensors, "receiver_tensor")
        alternatives = _alternatives(receiver_tensors_alternatives)
        return super().__new__(cls, features, receiver_tensors, alternatives)


class UnsupervisedInputReceiver(ServingInputReceiver):
    """The inputs of an exported graph for training or evaluation without labels."""

    __slots__ = ()

    def __new__(cls, features: Any, receiver_tensors: Any) -> Self:
        return super().__new__(cls, features, receiver_tensors, None)


class _SupervisedReceiver(NamedTuple):
    features: Any
    labels: Any
    receiver_tensors: Any


class SupervisedInputReceiver(_SupervisedReceiver):
    """The inputs of an exported graph for training or evaluation.

    `features` and `labels` are a tensor or a dictionary of tensors and stay as they are.

    Raises:
        ValueError: an argument is missing, a key has the wrong type, or a value is not a tensor.
    """

    __slots__ = ()

    def __new__(cls, features: Any, labels: Any, receiver_tensors: Any) -> Self:
        named_tensors(features, "feature")
        named_tensors(labels, "label")
        return super().__new__(
            cls, features, labels, named_tensors(receiver_tensors, "receiver_tensor")
        )


def named_tensors(tensors: Any, field: str) -> dict[str, Any]:
    """Return the tensors of a field as a dictionary.

    Raises:
        ValueError: `tensors` is None, a key is neither a string nor, for features and labels, an
            int, or a value is not a tensor.
    """
    if tensors is None:
        raise ValueError(f"{field}s must be defined.")
    named = tensors if isinstance(tensors, dict) else {_DEFAULT_NAMES[field]: tensors}
    for name, tensor in named.items():
        _check_key(name, field)
        check_tensor(tensor, name, field)
    return named


def _check_key(name: Any, field: str) -> None:
    numbered = field in ("feature", "label")
    if not isinstance(name, (str, int) if numbered else str):
        allowed = "strings or ints" if numbered else "strings"
        raise ValueError(f"{field} keys must be {allowed}: {name}.")


def check_tensor(tensor: Any, name: str | None, field: str = "feature") -> None:
    """Check that a feature is a Tensor or a SparseTensor.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(tensor, graphs.Tensor | sparse_tensor.SparseTensor):
        label = f"{field} {name}" if name else field
        raise ValueError(f"{label} must be a Tensor or SparseTensor.")


def _alternatives(given: Any) -> Any:
    if given is None:
        return None
    if not isinstance(given, dict):
        raise ValueError(f"receiver_tensors_alternatives must be a dict: {given}.")
    return {
        name: named_tensors(tensors, "receiver_tensors_alternative")
        for name, tensors in given.items()
    }
