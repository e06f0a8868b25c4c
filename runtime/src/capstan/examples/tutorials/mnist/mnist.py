"""The model of TensorFlow's tutorial on MNIST (examples/tutorials/mnist/mnist.py).

The model has two hidden layers. Its graph is built by four functions, in this order:

    logits = mnist.inference(images, 128, 32)
    loss = mnist.loss(logits, labels)
    train_op = mnist.training(loss, learning_rate=0.01)
    correct_count = mnist.evaluation(logits, labels)
"""

import math
from typing import Any

from capstan.api import (
    creation_ops,
    losses,
    math_ops,
    nn,
    random_ops,
    reduce_ops,
    summary_ops,
    variables,
)
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import gradient_descent

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def inference(images: Any, hidden1_units: int, hidden2_units: int) -> Any:
    """Return the logits of `images`, a float32 tensor of shape [batch, classes].

    `images` is a float32 tensor of shape [batch, 784]. The variables are called `weights` and
    `biases`, in the name scopes `hidden1`, `hidden2` and `softmax_linear`.
    """
    hidden1 = raw.Relu(_linear("hidden1", images, IMAGE_PIXELS, hidden1_units))
    hidden2 = raw.Relu(_linear("hidden2", hidden1, hidden1_units, hidden2_units))
    return _linear("softmax_linear", hidden2, hidden2_units, NUM_CLASSES)


def _linear(scope: str, inputs: Any, input_size: int, output_size: int) -> Any:
    with graphs.get_default_graph().name_scope(scope):
        initial_weights = random_ops.truncated_normal(
            [input_size, output_size], stddev=1.0 / math.sqrt(input_size)
        )
        weights = variables.Variable(initial_weights, name="weights")
        biases = variables.Variable(creation_ops.zeros([output_size]), name="biases")
        return math_ops.matmul(inputs, weights) + biases


def loss(logits: Any, labels: Any) -> Any:
    """Return the mean cross entropy of `logits`. `labels` are integers of shape [batch]."""
    return losses.sparse_softmax_cross_entropy(
        labels=math_ops.cast(labels, dtypes.int64), logits=logits
    )


def training(loss: Any, learning_rate: Any) -> Any:
    """Return an operation that takes one step of gradient descent.

    The loss gets a summary. The steps are counted in a new variable, `global_step`.
    """
    summary_ops.scalar("loss", loss)
    global_step = variables.Variable(0, name="global_step", trainable=False)
    optimizer = gradient_descent.GradientDescentOptimizer(learning_rate)
    return optimizer.minimize(loss, global_step=global_step)


def evaluation(logits: Any, labels: Any) -> Any:
    """Return how many examples of the batch are classified correctly, an int32 scalar."""
    is_correct = nn.in_top_k(logits, labels, 1)
    return reduce_ops.reduce_sum(math_ops.cast(is_correct, dtypes.int32))
