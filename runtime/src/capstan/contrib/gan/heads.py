"""The head of a GANModel, and what estimators share with it
(contrib/gan/python/estimator/python/head_impl.py).
"""

import functools
from typing import Any

from capstan.api import metrics
from capstan.api.scoped import scoped
from capstan.contrib.gan import training, tuples
from capstan.estimator import estimator_spec, export_output, mode_keys
from capstan.framework import graph as graphs

_ModeKeys = mode_keys.ModeKeys


def check(loss_fns: dict[str, Any], use_loss_summaries: Any, get_hooks_fn: Any) -> None:
    """Check the arguments of estimators and heads. Raises ValueError or TypeError."""
    for name, loss_fn in loss_fns.items():
        if not callable(loss_fn):
            raise ValueError(f"{name} must be callable.")  # noqa: TRY004 - TensorFlow's error
    if use_loss_summaries not in (True, False, None):
        raise ValueError("use_loss_summaries must be True, False or None.")
    if get_hooks_fn is not None and not callable(get_hooks_fn):
        raise TypeError("get_hooks_fn must be callable.")


def metrics_of(model: Any, loss: tuples.GANLoss, get_more: Any, name: str | None) -> dict[str, Any]:
    """Return the means of both losses, and further metrics by a function of the model.

    Raises:
        TypeError: the function does not return a dictionary.
    """
    with scoped(None, "metrics", loss):
        measured = {
            f"{key}/{name}" if name else key: metrics.mean(value)
            for key, value in loss._asdict().items()
        }
        if get_more is not None:
            more = get_more(model)
            if not isinstance(more, dict):
                raise TypeError(f"get_eval_metric_ops_fn must return a dict, received: {more}")
            measured.update(more)
    return measured


class GANHead:
    """The losses, metrics and optimizers of a GANModel, which takes the place of the logits."""

    def __init__(
        self,
        generator_loss_fn: Any,
        discriminator_loss_fn: Any,
        generator_optimizer: Any,
        discriminator_optimizer: Any,
        use_loss_summaries: bool | None = True,
        get_hooks_fn: Any = None,
        get_eval_metric_ops_fn: Any = None,
        name: str | None = None,
    ) -> None:
        """Check the functions. With None for `use_loss_summaries`, the losses decide.

        Raises:
            TypeError: an argument has the wrong type.
            ValueError: `use_loss_summaries` is not a bool or None.
        """
        for loss_name, loss_fn in (
            ("generator_loss_fn", generator_loss_fn),
            ("discriminator_loss_fn", discriminator_loss_fn),
        ):
            if not callable(loss_fn):
                raise TypeError(f"{loss_name} must be callable.")
        check({}, use_loss_summaries, get_hooks_fn)
        if name is not None and not isinstance(name, str):
            raise TypeError("name must be string.")
        kwargs = {} if use_loss_summaries is None else {"add_summaries": use_loss_summaries}
        self._loss_fns = [
            functools.partial(loss_fn, **kwargs)
            for loss_fn in (generator_loss_fn, discriminator_loss_fn)
        ]
        self._optimizers = (generator_optimizer, discriminator_optimizer)
        self._get_hooks_fn = get_hooks_fn or training.get_sequential_train_hooks()
        self._get_eval_metric_ops_fn, self._name = get_eval_metric_ops_fn, name

    @property
    def name(self) -> str | None:
        """The name, which the keys of metrics end with."""
        return self._name

    @property
    def logits_dimension(self) -> None:
        """None: the logits are a model."""
        return None

    def create_loss(self, features: Any, mode: str, logits: Any, labels: Any) -> tuples.GANLoss:
        """Return the losses of the GANModel `logits`.

        Raises:
            ValueError: `logits` is no GANModel, or there are labels.
        """
        _check_logits(logits, labels)
        return tuples.GANLoss(*(loss_fn(logits) for loss_fn in self._loss_fns))

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        train_op_fn: Any = training.gan_train_ops,
    ) -> Any:
        """Return the EstimatorSpec of the GANModel `logits`.

        Raises:
            ValueError: `logits` is no GANModel, there are features or labels, `train_op_fn` is
                None, or the mode is unknown.
        """
        _check_logits(logits, labels)
        if features is not None:
            raise ValueError(f"`features` should be `None`. Instead, found: {features}")
        if mode not in (_ModeKeys.PREDICT, _ModeKeys.EVAL, _ModeKeys.TRAIN):
            raise ValueError(f"Mode not recognized: {mode}")
        data = logits.generated_data
        with graphs.get_default_graph().name_scope("GANHead"):
            if mode == _ModeKeys.PREDICT:
                outputs = {"predict": export_output.PredictOutput(data)}
                return estimator_spec.EstimatorSpec(mode, predictions=data, export_outputs=outputs)
            loss = self.create_loss(None, mode, logits, None)
            total = loss.generator_loss + loss.discriminator_loss
            if mode == _ModeKeys.EVAL:
                measured = metrics_of(logits, loss, self._get_eval_metric_ops_fn, self._name)
                return estimator_spec.EstimatorSpec(
                    mode, predictions=data, loss=total, eval_metric_ops=measured
                )
            if train_op_fn is None:
                raise ValueError("train_op_fn can not be None.")
            train_ops = train_op_fn(logits, loss, *self._optimizers)
            return estimator_spec.EstimatorSpec(
                mode, loss=total, train_op=train_ops.global_step_inc_op,
                training_hooks=self._get_hooks_fn(train_ops),
            )  # fmt: skip


def _check_logits(logits: Any, labels: Any) -> None:
    where = "`GANHead`'s `create_estimator_spec` input"
    if labels is not None:
        raise ValueError(f"{where} `labels` must be `None`. Instead, found: {labels}")
    if not isinstance(logits, tuples.GANModel):
        raise ValueError(  # noqa: TRY004 - TensorFlow's error
            f"{where} `logits` must be an instance of a `GANModel`. Instead, found: {logits}"
        )


gan_head = GANHead
