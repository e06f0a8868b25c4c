"""Two batches of each distribution of `tf.distributions`, for tests."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Family:
    """Parameters that make two distributions of the batch shape (2, 3), and values of one."""

    parameters: dict[str, Any]
    others: dict[str, Any]
    values: Any
    has_divergence: bool = True

    def make(self, tf: Any, name: str, dtype: Any, given: dict[str, Any], **options: Any) -> Any:
        tensors = {key: tf.constant(value, dtype) for key, value in given.items()}
        return getattr(tf.distributions, name)(**tensors, **options), tensors


COLUMN = np.array([[0.7], [2.4]])
ROW = np.array([1.3, 3.1, 0.4])
GRID = np.array([[0.2, 0.5, 0.9], [0.35, 0.05, 0.6]])
SIGNED = np.array([[-1.5, 0.0, 2.2], [0.4, -7.0, 1.0]])
CLASSES = np.array([[[0.2, 0.5, 0.3]], [[0.6, 0.1, 0.3]]]) * np.ones((2, 3, 1))
LOGITS = np.random.default_rng(5).normal(size=(2, 3, 4))
COUNTS = np.array([[2.0, 1.0, 2.0], [0.0, 5.0, 0.0]])[:, None, :] * np.ones((2, 3, 1))
ONES = np.ones((2, 3))
SCALED = {"loc": ROW - 1, "scale": COLUMN}
OTHER_SCALED = {"loc": COLUMN, "scale": ROW}

FAMILIES = {
    "Bernoulli": Family({"logits": SIGNED}, {"probs": GRID}, np.array([[1, 0, 1], [0, 0, 1]])),
    # TensorFlow's Betainc does not broadcast.
    "Beta": Family(
        {"concentration1": COLUMN * ONES, "concentration0": ROW * ONES},
        {"concentration1": ROW * ONES, "concentration0": GRID},
        GRID,
    ),
    "Categorical": Family(
        {"logits": LOGITS}, {"probs": CLASSES[..., [0, 1, 2, 2]] / 1.3}, COUNTS[..., 0] % 3
    ),
    "Dirichlet": Family(
        {"concentration": CLASSES * 7}, {"concentration": CLASSES[::-1] + ROW}, CLASSES[::-1]
    ),
    "DirichletMultinomial": Family(
        {"total_count": 5.0, "concentration": CLASSES * 4},
        {"total_count": 5.0, "concentration": CLASSES + 1},
        COUNTS,
        has_divergence=False,
    ),
    "Exponential": Family({"rate": GRID}, {"rate": GRID + 1}, GRID * 3),
    "Gamma": Family(
        {"concentration": COLUMN, "rate": ROW}, {"concentration": ROW, "rate": COLUMN}, GRID * 3
    ),
    "Laplace": Family(SCALED, OTHER_SCALED, SIGNED, has_divergence=False),
    "Multinomial": Family(
        {"total_count": 5.0, "logits": LOGITS[..., :3]},
        {"total_count": 5.0, "probs": CLASSES},
        COUNTS,
        has_divergence=False,
    ),
    "Normal": Family(SCALED, OTHER_SCALED, SIGNED),
    "StudentT": Family(
        {"df": ROW * ONES + 0.5, "loc": 1 - ROW * ONES, "scale": COLUMN * ONES},
        {"df": 3 * ONES, "loc": COLUMN * ONES, "scale": ROW * ONES},
        SIGNED,
        has_divergence=False,
    ),
    "Uniform": Family(
        {"low": ROW - 3, "high": COLUMN + 1}, {"low": -1.0, "high": ROW}, SIGNED,
        has_divergence=False,
    ),
}  # fmt: skip
NAMES = sorted(FAMILIES)
