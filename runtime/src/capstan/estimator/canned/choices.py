"""The optimizer and the head that the arguments of a canned Estimator stand for.

Source: tensorflow/python/estimator/canned/{optimizers,head}.py.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from capstan import train
from capstan.estimator.canned import heads

_OPTIMIZERS: Final[Mapping[str, Callable[..., Any]]] = {
    "Adagrad": train.AdagradOptimizer,
    "Adam": train.AdamOptimizer,
    "Ftrl": train.FtrlOptimizer,
    "RMSProp": train.RMSPropOptimizer,
    "SGD": train.GradientDescentOptimizer,
}


def get_optimizer_instance(opt: Any, learning_rate: float | None = None) -> Any:
    """Return the optimizer `opt`: an Optimizer, a function that returns one, or a name.

    The names are Adagrad, Adam, Ftrl, RMSProp and SGD, and need a `learning_rate`.

    Raises:
        ValueError: the name is unknown or has no learning rate, or there is no Optimizer.
    """
    if isinstance(opt, str):
        if opt not in _OPTIMIZERS:
            raise ValueError(
                f"Unsupported optimizer name: {opt}. Supported names are: {tuple(_OPTIMIZERS)}"
            )
        if not learning_rate:
            raise ValueError("learning_rate must be specified when opt is string.")
        return _OPTIMIZERS[opt](learning_rate=learning_rate)
    made = opt() if callable(opt) else opt
    if not isinstance(made, train.Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {made}")
    return made


def classification_head(
    n_classes: int,
    weight_column: Any,
    label_vocabulary: Sequence[str] | None,
    loss_reduction: str,
) -> heads.Head:
    """Return the head of a classifier: a binary one for two classes.

    Raises:
        ValueError: there are fewer than two classes, or the vocabulary has another size.
    """
    if n_classes == 2:
        return heads.BinaryClassHead(
            weight_column=weight_column,
            label_vocabulary=label_vocabulary,
            loss_reduction=loss_reduction,
        )
    return heads.MultiClassHead(
        n_classes,
        weight_column=weight_column,
        label_vocabulary=label_vocabulary,
        loss_reduction=loss_reduction,
    )
