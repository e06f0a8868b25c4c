"""The base of the classes of `tf.keras.losses` (python/keras/losses.py)."""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from capstan.api import (
    distribution_strategy,
    loss_reduction,
    loss_scaling,
    math_ops,
    metric_state,
    reduce_ops,
)
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class Reduction:
    """The ways to reduce the weighted losses to one loss. `AUTO` is the mean of all losses."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Return the names of all reductions."""
        return (cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE)

    @classmethod
    def validate(cls, key: str) -> None:
        """Raise ValueError if `key` is not a reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}. Use one of {', '.join(cls.all())}")


_MEANS: Final = (Reduction.AUTO, Reduction.SUM_OVER_BATCH_SIZE)


def _mean(losses: Any) -> Any:
    """Return the mean of losses, or 0 if there are none, as in a replica without examples."""
    dtype = losses.dtype
    if dtype.is_integer:
        losses = math_ops.cast(losses, dtypes.float32)
    count = math_ops.cast(raw.Size(losses), losses.dtype)
    return math_ops.cast(raw.DivNoNan(reduce_ops.reduce_sum(losses), count, name="value"), dtype)


class Loss:
    """A function of labels and predictions. Override `call`, which returns a loss per example."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = None) -> None:
        """Raises ValueError if the reduction is unknown."""
        Reduction.validate(reduction)
        self.reduction = reduction
        self.name = name

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Return the reduced loss: a scalar, or the losses themselves for `Reduction.NONE`.

        `sample_weight` multiplies the losses. Its shape is that of the losses, or has one last axis
        less, or one of size 1 more.

        Raises:
            ValueError: the shapes do not fit, or the reduction is a mean in the scope of a
                strategy, where only the program knows the size of the whole batch.
        """
        if distribution_strategy.has_strategy() and self.reduction in _MEANS:
            raise ValueError(
                "Please use `tf.keras.losses.Reduction.SUM` or `tf.keras.losses.Reduction.NONE` "
                "for loss reduction when losses are used with `tf.distribute.Strategy` outside of "
                f"`fit`, `evaluate` and `train_on_batch`, and not {self.reduction!r}. Divide the "
                "sum of the losses by the size of the whole batch, such as "
                "`tf.reduce_sum(losses) / global_batch_size`."
            )
        return self.reduced(y_true, y_pred, sample_weight)

    def reduced(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Return the reduced loss, as a call does, also in the scope of a strategy."""
        scope = (self.name or type(self).__name__).replace("<lambda>", "lambda")
        loss_scaling.note(self.reduction)
        with graphs.get_default_graph().name_scope(scope):
            losses = self.call(y_true, y_pred)
            if sample_weight is not None:
                losses = losses * math_ops.cast(
                    metric_state.as_wide(sample_weight, losses), losses.dtype
                )
            if self.reduction == Reduction.NONE:
                return losses
            if self.reduction == Reduction.SUM:
                return reduce_ops.reduce_sum(losses)
            return _mean(losses)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return the losses of the examples. Raises NotImplementedError."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal loss. They are values that JSON can hold."""
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Return the loss with these arguments."""
        return cls(**config)


class LossFunctionWrapper(Loss):
    """A loss that is the function `fn` of labels, predictions and `kwargs`."""

    def __init__(
        self,
        fn: Callable[..., Any],
        reduction: str = Reduction.AUTO,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(reduction, name)
        self.fn = fn
        self._fn_kwargs = kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments behind `fn`. They are values that JSON can hold."""
        return {**super().get_config(), **self._fn_kwargs}


class BuiltInLoss(LossFunctionWrapper):
    """A loss whose class has a `function` of labels, predictions and options."""

    function: ClassVar[Callable[..., Any]]

    def __init__(
        self, reduction: str = Reduction.AUTO, name: str | None = None, **options: Any
    ) -> None:
        """The name of the function is the default name."""
        super().__init__(self.function, reduction, name or self.function.__name__, **options)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return the losses. A last axis of size 1 that only one argument has is left out."""
        labels, predictions = (convert.convert_to_tensor(each) for each in (y_true, y_pred))
        predictions = loss_reduction.without_last_one(predictions, labels, 0)
        labels = loss_reduction.without_last_one(labels, predictions, 0)
        return super().call(labels, predictions)
