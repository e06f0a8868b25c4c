"""`tf.nn`'s activation functions and `top_k` (python/ops/nn_ops.py, nn_impl.py)."""

from typing import Any

from capstan.api import plain
from capstan.api.custom_gradient import custom_gradient
from capstan.api.scoped import scoped
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["crelu", "elu", "relu6", "selu", "softplus", "softsign", "swish", "top_k"]

elu = plain.function("elu", "Elu", "Return x, or exp(x) - 1 for negative x.")
selu = plain.function("selu", "Selu", "Return a scaled `elu` that keeps mean 0 and variance 1.")
softplus = plain.function("softplus", "Softplus", "Return log(1 + exp(x)) element by element.")
softsign = plain.function("softsign", "Softsign", "Return x / (1 + |x|) element by element.")
relu6 = plain.function("relu6", "Relu6", "Return min(max(x, 0), 6) element by element.")


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Any:
    """Return relu(x) and relu(-x), joined along an axis."""
    with scoped(name, "CRelu", (features,)) as scope:
        return raw.Relu(raw.ConcatV2([features, raw.Neg(features)], axis, name=scope))


@custom_gradient
def swish(features: Any) -> Any:
    """Return x * sigmoid(x) element by element.

    Gradients compute sigmoid(x) again, so that it needs no memory until then. TensorFlow too takes
    no `name`.
    """

    def gradient(slope: Any) -> Any:
        with graphs.get_default_graph().control_dependencies([slope]):
            share = raw.Sigmoid(features)
        return slope * (share * (1.0 + features * (1.0 - share)))

    return features * raw.Sigmoid(features), gradient


def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> Any:
    """Return the `k` largest elements of each row, largest first, and their indices.

    The result is a namedtuple of `values` and `indices`.
    """
    return raw.TopKV2(input, k, sorted=sorted, name=name)
