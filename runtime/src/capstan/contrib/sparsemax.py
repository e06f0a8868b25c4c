"""`tf.contrib.sparsemax`: a softmax that gives most classes the probability 0 (contrib/sparsemax).

See Martins and Astudillo, "From Softmax to Sparsemax" (2016).
"""

from typing import Any

import numpy as np

from capstan.api import creation_ops, gather_ops, math_ops, reduce_ops
from capstan.api.absent import absent
from capstan.api.scoped import scoped
from capstan.contrib import package_aliases
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = ["sparsemax", "sparsemax_loss"]


def sparsemax(logits: Any, name: str | None = None) -> Any:
    """Return the nearest probabilities to each row of `logits`, a matrix.

    A row that holds NaN or infinity, or only negative infinities, gives NaN.
    """
    with scoped(name, "sparsemax", (logits,)):
        z = convert.convert_to_tensor(logits, name="logits")
        kind = z.dtype.base_dtype
        count = raw.Shape(z)[1]
        falling = raw.TopKV2(z, count).values
        sums = raw.Cumsum(falling, 1)
        places = math_ops.cast(raw.Range(1, count + 1, 1), kind)
        support = raw.Greater(1 + places * falling, sums)
        size = reduce_ops.reduce_sum(math_ops.cast(support, kind), 1, keepdims=True)
        # The support has the largest classes. Others may be minus infinity.
        inside = reduce_ops.reduce_sum(
            gather_ops.where(support, falling, creation_ops.zeros_like(z)), 1, keepdims=True
        )
        shares = raw.Relu(z - (inside - 1) / size)
        is_wrong = raw.LogicalOr(raw.Equal(size, 0), raw.IsNan(sums[:, -1:]))
        return raw.SelectV2(is_wrong, raw.Cast(np.nan, DstT=kind), shares)


def sparsemax_loss(logits: Any, sparsemax: Any, labels: Any, name: str | None = None) -> Any:
    """Return the loss of each row, given the probabilities `sparsemax` of its logits.

    Labels are probabilities. The loss is 0 where they are those of `sparsemax`.
    """
    with scoped(name, "sparsemax_loss", (logits, sparsemax, labels)):
        z = convert.convert_to_tensor(logits, name="logits")
        shares = convert.convert_to_tensor(sparsemax, z.dtype.base_dtype, "sparsemax")
        wanted = convert.convert_to_tensor(labels, z.dtype.base_dtype, "labels")
        zeros = creation_ops.zeros_like(shares)
        has_share = raw.LogicalOr(raw.Greater(shares, 0), raw.IsNan(shares))
        found = gather_ops.where(has_share, shares * (z - 0.5 * shares), zeros)
        is_excluded = raw.LogicalAnd(raw.Equal(wanted, 0), raw.IsInf(z))
        missed = gather_ops.where(is_excluded, zeros, wanted * (0.5 * wanted - z))
        return reduce_ops.reduce_sum(found + missed, 1)


package_aliases.grow(__name__)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.sparsemax", name)


def __dir__() -> list[str]:
    return sorted(__all__)
