"""The arguments of `Model.compile`, for each output of the model
(python/keras/engine/training.py, training_utils.py).
"""

import collections
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capstan.api import logging
from capstan.keras import loss_classes, losses, metrics
from capstan.keras.metrics import functions, means

MEAN_LOSS = "sum_over_batch_size"
"""The reduction of the total loss of a model."""

_ACCURACY = {"accuracy": "acc", "acc": "acc"}
_CROSSENTROPY = {"crossentropy": "ce", "ce": "ce"}


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """What `compile` was called with. Lists have an entry for each output of the model.

    The entries of `metrics` and `weighted_metrics` are lists of names, functions and objects.
    """

    optimizer: Any
    loss: Any
    loss_weights: Any
    metrics: Any
    weighted_metrics: Any
    sample_weight_mode: Any = None
    target_tensors: Any = None
    strategy: Any = None
    """The strategy in whose scope the model was compiled, or None."""

    def check(self, names: Sequence[str] | None) -> None:
        """Check the arguments, against the names of the outputs if they are known.

        Raises:
            ValueError: a name is unknown, or the arguments do not fit the outputs.
            TypeError: the metrics are not a list and no dictionary.
        """
        for each in _leaves(self.loss):
            losses.get(each)
        for each in (*_leaves(self.metrics), *_leaves(self.weighted_metrics)):
            if not isinstance(each, str) or each not in (*_ACCURACY, *_CROSSENTROPY):
                metrics.get(each)
        if names is not None:
            self.losses(names)
            _warn_of_missing(self.loss, names)
            self.weights(names)
            metrics_per_output(self.metrics, names)
            metrics_per_output(self.weighted_metrics, names)
            self.is_temporal(names)
            self.tensors(names)

    def copied(self, optimizer: Any, *, has_metrics: bool) -> "Compiled":
        """Return the arguments for another graph, with metrics of their own or without any."""
        plain, weighted = (
            _copied(given) if has_metrics else None
            for given in (self.metrics, self.weighted_metrics)
        )
        return Compiled(optimizer, self.loss, self.loss_weights, plain, weighted)

    def losses(self, names: Sequence[str]) -> list[Any]:
        """Return the loss of each output, None for an output without one.

        Raises:
            ValueError: the losses do not fit the outputs.
        """
        given = per_output(self.loss, names, "loss")
        return [None if each is None else as_loss(each) for each in given]

    def with_loss(self, names: Sequence[str]) -> list[str]:
        """Return the names of the outputs that have a loss, and so targets."""
        found = self.losses(names)
        return [name for name, loss in zip(names, found, strict=True) if loss is not None]

    def weights(self, names: Sequence[str]) -> list[float]:
        """Return the weight of the loss of each output."""
        found = per_output(self.loss_weights, names, "loss_weights")
        return [1.0 if each is None else each for each in found]

    def is_temporal(self, names: Sequence[str]) -> list[bool]:
        """Return for each output whether its weights are those of steps, and not of examples.

        Raises:
            ValueError: `sample_weight_mode` is neither None nor "temporal", or does not fit.
        """
        found = per_output(self.sample_weight_mode, names, "sample_weight_mode")
        for mode in found:
            if mode not in (None, "temporal"):
                raise ValueError(
                    f'"sample_weight_mode" should be None or "temporal". Found: {mode}'
                )
        return [mode == "temporal" for mode in found]

    def tensors(self, names: Sequence[str]) -> list[Any]:
        """Return the targets that `compile` was given, None for an output without such a tensor.

        Raises:
            ValueError: they do not fit the outputs.
            TypeError: they are neither tensors, nor a list or a dictionary of them.
        """
        if isinstance(self.target_tensors, set | frozenset | str):
            raise TypeError(
                "Expected `target_tensors` to be a list, a tuple, a dictionary or a single tensor, "
                f"but got: {self.target_tensors!r}"
            )
        is_one = not isinstance(self.target_tensors, Mapping | list | tuple | None)
        given = [self.target_tensors] if is_one else self.target_tensors
        return per_output(given, names, "target_tensors")

    def all_metrics(self, names: Sequence[str]) -> list[list[tuple[Any, bool]]]:
        """Return the metrics of each output, and whether they use the weights of examples.

        Several outputs for which one list holds get Metrics of their own.
        """
        plain, weighted = (
            _own(metrics_per_output(given, names))
            for given in (self.metrics, self.weighted_metrics)
        )
        return [
            [*((each, False) for each in some), *((each, True) for each in others)]
            for some, others in zip(plain, weighted, strict=True)
        ]


def _warn_of_missing(loss: Any, names: Sequence[str]) -> None:
    for name in names if isinstance(loss, Mapping) else ():
        if name not in loss:
            logging.warning(
                "Output %s missing from loss dictionary. We assume this was done on purpose. The "
                "fit and evaluate APIs will not be expecting any data to be passed to %s.",
                name,
                name,
            )


def _copied(given: Any) -> Any:
    """Return metrics in the same structure, with new objects in the place of Metrics."""
    if isinstance(given, Mapping):
        return {name: _copied(each) for name, each in given.items()}
    if isinstance(given, list | tuple):
        return [_copied(each) for each in given]
    if isinstance(given, metrics.Metric):
        return type(given).from_config(given.get_config())
    return given


def _own(found: list[list[Any]]) -> list[list[Any]]:
    """Return the metrics of each output, with copies of Metrics that occur at several outputs."""
    counts = collections.Counter(id(each) for part in found for each in part)
    return [[_copied(each) if counts[id(each)] > 1 else each for each in part] for part in found]


def _leaves(given: Any) -> list[Any]:
    """Return the losses or metrics in lists and dictionaries."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [each for value in given.values() for each in _leaves(value)]
    if isinstance(given, list | tuple):
        return [each for value in given for each in _leaves(value)]
    return [given]


def per_output(given: Any, names: Sequence[str], what: str) -> list[Any]:
    """Return an entry for each output: from a dictionary by name, a list, or one for all.

    Raises:
        ValueError: a name is unknown, or a list has another length.
    """
    if isinstance(given, Mapping):
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise ValueError(
                f"Unknown entries in {what} dictionary: {unknown}. Only expected following keys: "
                f"{list(names)}"
            )
        return [given.get(name) for name in names]
    if isinstance(given, list | tuple):
        if len(given) != len(names):
            raise ValueError(
                f"When passing a list as {what}, it should have one entry per model output. The "
                f"model has {len(names)} outputs, but you passed {what}={given}"
            )
        return list(given)
    return [given] * len(names)


def metrics_per_output(given: Any, names: Sequence[str]) -> list[list[Any]]:
    """Return the metrics of each output. A flat list holds for all outputs.

    Raises:
        TypeError: the metrics are not a list and no dictionary.
    """
    if given is None:
        return [[] for _ in names]
    if not isinstance(given, Mapping | list | tuple):
        raise TypeError(
            f"Type of `metrics` argument not understood. Expected a list or dictionary, found: "
            f"{given}"
        )
    if isinstance(given, Mapping):
        return [_listed(each) for each in per_output(given, names, "metrics")]
    if any(isinstance(each, list | tuple) for each in given):
        return [_listed(each) for each in per_output(list(given), names, "metrics")]
    return [list(given) for _ in names]


def _listed(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]


def no_loss() -> ValueError:
    """Return the error of a model without a loss, neither for an output nor from `add_loss`."""
    return ValueError(
        "The model cannot be compiled because it has no loss to optimize. Pass `loss` to compile, "
        "or call add_loss before"
    )


def as_loss(identifier: Any) -> Any:
    """Return the Loss for its name, a function or a Loss.

    Raises:
        ValueError: the name is unknown.
    """
    found = losses.get(identifier)
    if isinstance(found, type):
        found = found()
    if isinstance(found, losses.Loss):
        return found
    name = getattr(found, "__name__", type(found).__name__)
    return loss_classes.LossFunctionWrapper(found, name=name)


def as_metric(identifier: Any, loss: Any, sizes: Sequence[int | None] | None) -> Any:
    """Return the Metric for its name, a function or a Metric.

    The loss of the output and its shape choose the kind of accuracy and of cross entropy.

    Raises:
        ValueError: the name is unknown.
    """
    if isinstance(identifier, metrics.Metric):
        return identifier
    if identifier in _ACCURACY:
        return means.MeanMetricWrapper(_kind(loss, sizes, _ACCURACIES), _ACCURACY[identifier])
    if identifier in _CROSSENTROPY:
        return means.MeanMetricWrapper(_kind(loss, sizes, _ENTROPIES), _CROSSENTROPY[identifier])
    found = metrics.get(identifier)
    if isinstance(found, type):
        return found()
    if isinstance(found, metrics.Metric):
        return found
    return means.MeanMetricWrapper(found, getattr(found, "__name__", type(found).__name__))


_ACCURACIES = (
    functions.binary_accuracy,
    functions.sparse_categorical_accuracy,
    functions.categorical_accuracy,
)
_ENTROPIES = (
    losses.binary_crossentropy,
    losses.sparse_categorical_crossentropy,
    losses.categorical_crossentropy,
)


def _kind(loss: Any, sizes: Sequence[int | None] | None, kinds: Sequence[Any]) -> Any:
    """Return the function for one probability, for numbers of classes, or for one-hot classes."""
    binary, sparse, categorical = kinds
    function = getattr(loss, "fn", None)
    if (sizes and sizes[-1] == 1) or function is losses.binary_crossentropy:
        return binary
    if function is losses.sparse_categorical_crossentropy:
        return sparse
    return categorical
