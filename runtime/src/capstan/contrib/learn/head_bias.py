"""The centered bias of a head: a variable that learns the mean logits by itself.

Source: contrib/learn/python/learn/estimators/head.py.
"""

from typing import Any, Final

from capstan.api import array_ops, creation_ops, reduce_ops, variables
from capstan.api.scoped import scoped
from capstan.contrib.learn import head_losses
from capstan.estimator.canned import head
from capstan.train import adagrad, summary

_RATE: Final = 0.1


def variable(dimension: int, head_name: str | None) -> Any:
    """Return the new variable `centered_bias_weight`, with a summary for each logit."""
    bias = variables.Variable(
        creation_ops.zeros([dimension]), trainable=True, name="centered_bias_weight"
    )
    for index in range(dimension):
        summary.scalar(head.key_of(f"centered_bias/bias_{index}", head_name), bias[index])
    return bias


def step(bias: Any, labels: Any, logits: Any, weights: Any, loss: head_losses.Loss) -> Any:
    """Return an operation that trains the bias alone, with Adagrad."""
    with scoped(None, "centered_bias_step", (logits,)) as name:
        count = array_ops.shape(logits)[0]
        constant = array_ops.tile(array_ops.expand_dims(bias, 0), [count, 1])
        trained, reported = loss(labels, constant, weights)
        both = reduce_ops.reduce_mean(array_ops.stack([trained, reported]), name="training_loss")
        return adagrad.AdagradOptimizer(_RATE).minimize(both, var_list=(bias,), name=name)
