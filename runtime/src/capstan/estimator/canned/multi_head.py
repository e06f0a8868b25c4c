"""`tf.estimator.MultiHead`: several heads on one model.

Source: tensorflow_estimator/python/estimator/head/multi_head.py.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.api import context, math_ops, metrics
from capstan.api.scoped import scoped
from capstan.estimator import estimator_spec, export_output, mode_keys
from capstan.estimator.canned import head as head_module
from capstan.estimator.canned.keys import MetricKeys
from capstan.framework import convert, grouping
from capstan.train.saved_model import constants

_MODES = mode_keys.ModeKeys
_DEFAULT = constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class MultiHead(head_module.Head):
    """A head whose loss is the sum of the losses of `heads`, each multiplied by its weight.

    Each head has a name. Logits are a dictionary by these names, or one tensor whose last axis is
    split among the heads. Labels are a dictionary by name. A prediction has the key (name of the
    head, name of the prediction). An export serves the first head by default.

    Raises:
        ValueError: there are no heads, a head has no name, or there are more or fewer weights.
    """

    def __init__(
        self, heads: Sequence[head_module.Head], head_weights: Sequence[float] | None = None
    ) -> None:
        if not heads:
            raise ValueError(f"Must specify heads. Given: {heads}")
        if head_weights and len(head_weights) != len(heads):
            raise ValueError(
                "heads and head_weights must have the same size. "
                f"Given len(heads): {len(heads)}. Given len(head_weights): {len(head_weights)}."
            )
        for head in heads:
            if head.name is None:
                raise ValueError(f"All given heads must have name specified. Given: {head}")
        self._heads = {str(head.name): head for head in heads}
        self._weights = tuple(head_weights or (1.0,) * len(heads))

    @property
    def name(self) -> str:
        return "_".join(self._heads)

    @property
    def logits_dimension(self) -> int:
        return sum(head.logits_dimension for head in self._heads.values())

    @property
    def loss_reduction(self) -> str:
        reductions = [head.loss_reduction for head in self._heads.values()]
        if len(set(reductions)) > 1:
            raise ValueError(
                f"The loss_reduction must be the same for different heads. Given: {reductions}"
            )
        return reductions[0]

    def loss(
        self,
        labels: Any,
        logits: Any,
        features: Mapping[str, Any] | None = None,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> Any:
        logits = self._logits_by_head(logits)
        self._check_labels(labels)
        losses = [
            head.loss(labels[name], logits[name], features, mode)
            for name, head in self._heads.items()
        ]
        return head_module.with_regularization(self._merged(losses), regularization_losses)

    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[Any, Any]:
        logits = self._logits_by_head(logits)
        return {
            (name, key): value
            for name, head in self._heads.items()
            for key, value in head.predictions(logits[name], keys).items()
        }

    def create_estimator_spec(
        self,
        features: Mapping[str, Any],
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        trainable_variables: Sequence[Any] | None = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        update_ops: Sequence[Any] | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> estimator_spec.EstimatorSpec:
        with scoped(self.name, "multi_head", ()):
            logits = self._logits_by_head(logits)
            if labels is not None:
                self._check_labels(labels)
            specs = {
                name: head.create_estimator_spec(
                    features,
                    mode,
                    logits[name],
                    labels[name] if labels else None,
                    train_op_fn=lambda _: grouping.no_op(),
                )
                for name, head in self._heads.items()
            }
            predictions = {
                (name, key): value
                for name, spec in specs.items()
                for key, value in spec.predictions.items()
            }
            if mode == _MODES.PREDICT:
                return estimator_spec.EstimatorSpec(
                    mode, predictions, export_outputs=_merged_exports(specs)
                )
            extra = math_ops.add_n(regularization_losses) if regularization_losses else None
            loss = head_module.with_regularization(
                self._merged([spec.loss for spec in specs.values()]), regularization_losses
            )
            if mode == _MODES.EVAL:
                return estimator_spec.EstimatorSpec(
                    mode, predictions, loss, eval_metric_ops=_merged_metrics(specs, extra)
                )
            train_op = head_module.train_op(
                loss, optimizer, trainable_variables, train_op_fn, update_ops
            )
        with context.name_scope(""):
            head_module.summarize(str, loss, None, extra)
        return estimator_spec.EstimatorSpec(mode, predictions, loss, train_op)

    def _merged(self, losses: Sequence[Any]) -> Any:
        with scoped(None, "merge_losses", tuple(losses)):
            return math_ops.add_n(
                [loss * weight for loss, weight in zip(losses, self._weights, strict=True)]
            )

    def _logits_by_head(self, logits: Any) -> Mapping[str, Any]:
        if not isinstance(logits, dict):
            return self._split(convert.convert_to_tensor(logits))
        missing = sorted(set(self._heads) - set(logits))
        if missing:
            raise ValueError(f"logits has missing values for head(s): {missing}")
        return logits

    def _split(self, logits: Any) -> Mapping[str, Any]:
        sizes = [head.logits_dimension for head in self._heads.values()]
        last = logits.shape.as_list()[-1] if logits.shape.ndims is not None else None
        if last not in (None, sum(sizes)):
            raise ValueError(
                f"Could not split logits of shape {logits.shape.as_list()} among the heads with "
                f"individual logits dimensions: {sizes}. The last dimension of the logits tensor "
                f"should equal {sum(sizes)} but is {last}."
            )
        parts, start = {}, 0
        with scoped(None, "split_logits", (logits,)):
            for name, size in zip(self._heads, sizes, strict=True):
                parts[name] = logits[..., start : start + size]
                start += size
        return parts

    def _check_labels(self, labels: Any) -> None:
        if not isinstance(labels, dict):
            raise ValueError(f"labels must be a dict. Given: {labels}")
        missing = sorted(set(self._heads) - set(labels))
        if missing:
            raise ValueError(f"labels has missing values for head(s): {missing}")


def _merged_exports(specs: Mapping[str, estimator_spec.EstimatorSpec]) -> dict[str, Any]:
    """Return the export outputs of all heads. The default output of the first head is the default.

    The signature `predict` has the predictions of all heads.
    """
    outputs = {_DEFAULT: next(iter(specs.values())).export_outputs[_DEFAULT]}
    predictions: dict[str, Any] = {}
    for name, spec in specs.items():
        for key, output in spec.export_outputs.items():
            outputs[name if key == _DEFAULT else f"{name}/{key}"] = output
            if key == "predict":
                predictions |= {f"{name}/{each}": tensor for each, tensor in output.outputs.items()}
    return {**outputs, "predict": export_output.PredictOutput(predictions)}


def _merged_metrics(
    specs: Mapping[str, estimator_spec.EstimatorSpec], regularization: Any
) -> dict[str, Any]:
    with scoped(None, "merge_eval", ()):
        found: dict[str, Any] = {}
        if regularization is not None:
            key = MetricKeys.LOSS_REGULARIZATION
            found[key] = metrics.mean(regularization, name=key)
        for name, spec in specs.items():
            key = f"{MetricKeys.LOSS}/{name}"
            found |= {key: metrics.mean(spec.loss, name=key), **spec.eval_metric_ops}
        return found
