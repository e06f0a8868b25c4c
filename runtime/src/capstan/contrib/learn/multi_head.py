"""Several heads on one model (contrib/learn/python/learn/estimators/head.py)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.api import array_ops, control_flow_ops, math_ops, scope_block
from capstan.contrib.learn import model_fn, single_head
from capstan.contrib.learn.mode_keys import ModeKeys
from capstan.estimator.canned import head as core
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.train import summary


class LossOnlyHead(single_head.Head):
    """A head without logits, for a loss such as a penalty of weights."""

    def __init__(self, loss_fn: Callable[[], Any], head_name: str | None) -> None:
        self._loss_fn = loss_fn
        self.head_name = head_name or "loss_only_head"

    @property
    def logits_dimension(self) -> int:
        return 0

    def create_model_fn_ops(
        self, features: Any, mode: str, labels: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None, logits: Any = None,
        logits_input: Any = None, scope: Any = None,
    ) -> model_fn.ModelFnOps:  # fmt: skip
        ModeKeys.validate(mode)
        if mode == ModeKeys.INFER:
            return model_fn.ModelFnOps(mode, {}, eval_metric_ops={})
        with scope_block.variable_scope(scope, self.head_name):
            losses = self._loss_fn()
            losses = losses if isinstance(losses, list) else [losses]
            loss = math_ops.add_n([convert.convert_to_tensor(each) for each in losses])
            with graphs.get_default_graph().name_scope(""):
                name = core.key_of(single_head.LOSS, self.head_name)
                summary.scalar(name, array_ops.identity(loss))
            train_op = None
            if mode == ModeKeys.TRAIN:
                train_op = single_head.trained(loss, train_op_fn)
        return model_fn.ModelFnOps(mode, {}, loss, train_op, {})


class MultiHead(single_head.Head):
    """Heads with names, whose losses are added up.

    `logits` are those of all heads side by side, or a dictionary by the names of heads. The key of
    a prediction is a tuple of the name of the head and the name of the prediction.
    """

    def __init__(self, heads: Sequence[Any], loss_weights: Sequence[float] | None) -> None:
        if loss_weights and len(loss_weights) != len(heads):
            raise ValueError("heads and loss_weights must have same size")
        if not all(head.head_name for head in heads):
            raise ValueError("Members of MultiHead must have names.")
        self._heads, self._loss_weights = list(heads), loss_weights

    @property
    def logits_dimension(self) -> int:
        return sum(head.logits_dimension for head in self._heads)

    def create_model_fn_ops(
        self, features: Any, mode: str, labels: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None, logits: Any = None,
        logits_input: Any = None, scope: Any = None,
    ) -> model_fn.ModelFnOps:  # fmt: skip
        ModeKeys.validate(mode)
        given = self._arguments(logits, logits_input)
        parts = [
            head.create_model_fn_ops(features, mode, labels, no_op_train_fn, scope=scope, **more)
            for head, more in zip(self._heads, given, strict=True)
        ]
        if mode == ModeKeys.INFER:
            return self._inferred(parts)
        loss = self._merged([part.loss for part in parts])
        metrics = {
            name: metric for part in parts for name, metric in (part.eval_metric_ops or {}).items()
        }
        if mode == ModeKeys.EVAL:
            return model_fn.ModelFnOps(
                mode, self._predictions(parts), loss, eval_metric_ops=metrics
            )
        if train_op_fn is None:
            raise ValueError("train_op_fn can not be None in TRAIN mode.")
        train_op = control_flow_ops.group(train_op_fn(loss), *(part.train_op for part in parts))
        return model_fn.ModelFnOps(mode, None, loss, train_op, metrics)

    def _arguments(self, logits: Any, logits_input: Any) -> list[dict[str, Any]]:
        """Return the logits of each head, or their input."""
        if logits is None:
            return [{"logits_input": logits_input} for _ in self._heads]
        if isinstance(logits, Mapping):
            return [{"logits": logits.get(head.head_name)} for head in self._heads]
        sizes = [head.logits_dimension for head in self._heads]
        parts = array_ops.split(logits, sizes, 1)
        return [{"logits": part} for part in parts]

    def _merged(self, losses: Sequence[Any]) -> Any:
        if not self._loss_weights:
            return math_ops.add_n(list(losses))
        pairs = zip(losses, self._loss_weights, strict=True)
        return math_ops.add_n([math_ops.multiply(loss, weight) for loss, weight in pairs])

    def _predictions(self, parts: Sequence[Any]) -> dict[Any, Any]:
        return {
            (head.head_name, key): value
            for head, part in zip(self._heads, parts, strict=True)
            for key, value in part.predictions.items()
        }

    def _inferred(self, parts: Sequence[Any]) -> model_fn.ModelFnOps:
        alternatives: dict[Any, Any] = {}
        for part in parts:
            alternatives |= part.output_alternatives or {}
        return model_fn.ModelFnOps(
            ModeKeys.INFER, self._predictions(parts), output_alternatives=alternatives
        )


def no_op_train_fn(loss: Any) -> Any:
    """Return an operation that does nothing, for programs that train the loss themselves."""
    return control_flow_ops.no_op()
