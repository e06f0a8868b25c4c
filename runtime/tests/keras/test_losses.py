"""The losses of `tf.keras.losses` are those that NumPy computes."""

from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.python.keras import losses as python_losses

pytestmark = pytest.mark.e2e
losses = tf.keras.losses

RANDOM = np.random.RandomState(5)
TRUE = RANDOM.uniform(0.1, 0.9, (3, 4)).astype(np.float32)
GUESS = RANDOM.uniform(0.1, 0.9, (3, 4)).astype(np.float32)
BITS = RANDOM.randint(0, 2, (3, 4)).astype(np.float32)
HOT = np.eye(4, dtype=np.float32)[[2, 0, 3]]
CLASSES = np.array([2, 0, 3])


def value(tensor: Any) -> Any:
    with tf.Session() as session:
        return session.run(tensor)


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def binary(labels: Any, shares: Any) -> Any:
    return -(labels * np.log(shares) + (1 - labels) * np.log(1 - shares)).mean(-1)


def unit(x: Any) -> Any:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


ERROR = np.abs(TRUE - GUESS)
CASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "MeanSquaredError": (losses.mean_squared_error, TRUE, GUESS, (ERROR**2).mean(-1)),
    "MeanAbsoluteError": (losses.mean_absolute_error, TRUE, GUESS, ERROR.mean(-1)),
    "MeanAbsolutePercentageError": (
        losses.mean_absolute_percentage_error, TRUE, GUESS, 100 * (ERROR / TRUE).mean(-1),
    ),
    "MeanSquaredLogarithmicError": (
        losses.mean_squared_logarithmic_error, TRUE, GUESS,
        ((np.log1p(TRUE) - np.log1p(GUESS)) ** 2).mean(-1),
    ),
    "Hinge": (losses.hinge, BITS, GUESS, np.maximum(1 - (2 * BITS - 1) * GUESS, 0).mean(-1)),
    "SquaredHinge": (
        losses.squared_hinge, 2 * BITS - 1, GUESS,
        (np.maximum(1 - (2 * BITS - 1) * GUESS, 0) ** 2).mean(-1),
    ),
    "CategoricalHinge": (
        losses.categorical_hinge, HOT, GUESS,
        np.maximum(0, ((1 - HOT) * GUESS).max(-1) - (HOT * GUESS).sum(-1) + 1),
    ),
    "LogCosh": (losses.logcosh, TRUE, 9 * GUESS, np.log(np.cosh(TRUE - 9 * GUESS)).mean(-1)),
    "Poisson": (losses.poisson, TRUE, GUESS, (GUESS - TRUE * np.log(GUESS)).mean(-1)),
    "KLDivergence": (
        losses.kullback_leibler_divergence, TRUE, GUESS, (TRUE * np.log(TRUE / GUESS)).sum(-1),
    ),
    "CosineSimilarity": (
        losses.cosine_similarity, TRUE, GUESS, (unit(TRUE) * unit(GUESS)).sum(-1),
    ),
    "BinaryCrossentropy": (losses.binary_crossentropy, BITS, GUESS, binary(BITS, GUESS)),
    "CategoricalCrossentropy": (
        losses.categorical_crossentropy, HOT, GUESS,
        -np.log((HOT * GUESS).sum(-1) / GUESS.sum(-1)),
    ),
    "SparseCategoricalCrossentropy": (
        losses.sparse_categorical_crossentropy, CLASSES, softmax(GUESS),
        -np.log(softmax(GUESS)[np.arange(3), CLASSES]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_loss_is_that_of_numpy(name: str) -> None:
    function, labels, predictions, expected = CASES[name]
    np.testing.assert_allclose(value(function(labels, predictions)), expected, rtol=1e-5)
    made = getattr(losses, name)()
    assert made.get_config() == type(made).from_config(made.get_config()).get_config()
    np.testing.assert_allclose(value(made(labels, predictions)), expected.mean(), rtol=1e-5)
    weights = np.array([[1.0], [0.0], [3.0]])
    weighted = value(made(labels, predictions, sample_weight=weights))
    np.testing.assert_allclose(weighted, (expected * weights[:, 0]).mean(), rtol=1e-5)
    every = value(getattr(losses, name)(reduction="none")(labels, predictions))
    np.testing.assert_allclose(every, expected, rtol=1e-5)
    total = value(getattr(losses, name)(reduction="sum")(labels, predictions))
    np.testing.assert_allclose(total, expected.sum(), rtol=1e-5)


def test_huber_is_a_line_beyond_delta() -> None:
    error = np.abs(TRUE - 5 * GUESS)
    expected = np.where(error <= 0.5, error**2 / 2, 0.5 * (error - 0.25)).mean()
    np.testing.assert_allclose(value(losses.Huber(0.5)(TRUE, 5 * GUESS)), expected, rtol=1e-5)


def test_cross_entropies_take_logits_and_the_inputs_of_a_softmax() -> None:
    logits = 40 * (GUESS - 0.5)
    hot = -np.log(softmax(logits.astype(np.float64))[np.arange(3), CLASSES])
    bits = binary(BITS, sigmoid(logits.astype(np.float64)))
    for made, options in (
        (tf.constant(logits), {"from_logits": True}),
        (tf.nn.softmax(logits), {}),
    ):
        for labels, kind in (
            (HOT, losses.categorical_crossentropy),
            (CLASSES, losses.sparse_categorical_crossentropy),
            (CLASSES[:, None], losses.sparse_categorical_crossentropy),
        ):
            np.testing.assert_allclose(
                value(kind(labels, made, **options)), hot, rtol=1e-4, atol=1e-6
            )
    for made, options in (
        (tf.constant(logits), {"from_logits": True}),
        (tf.sigmoid(tf.constant(logits)), {}),
    ):
        found = value(losses.binary_crossentropy(BITS, made, **options))
        np.testing.assert_allclose(found, bits, rtol=1e-4, atol=1e-6)


def test_label_smoothing_moves_the_labels() -> None:
    smooth = losses.BinaryCrossentropy(label_smoothing=0.2)(BITS, GUESS)
    expected = binary(BITS * 0.8 + 0.1, GUESS).mean()
    np.testing.assert_allclose(value(smooth), expected, rtol=1e-5)
    smooth = losses.CategoricalCrossentropy(label_smoothing=0.2)(HOT, GUESS)
    shares = GUESS / GUESS.sum(-1, keepdims=True)
    expected = -((HOT * 0.8 + 0.05) * np.log(shares)).sum(-1).mean()
    np.testing.assert_allclose(value(smooth), expected, rtol=1e-5)


def test_a_column_of_predictions_fits_a_vector_of_labels() -> None:
    found = losses.MeanSquaredError()(TRUE[:, 0], GUESS[:, :1])
    np.testing.assert_allclose(value(found), ((TRUE - GUESS)[:, 0] ** 2).mean(), rtol=1e-5)


def test_a_loss_is_found_by_its_name() -> None:
    assert losses.get("mse") is losses.mean_squared_error
    assert isinstance(losses.get("Hinge"), losses.Hinge)
    assert losses.get(None) is None
    copy = losses.get(losses.serialize(losses.Huber(2.0)))
    assert copy.get_config() == losses.Huber(2.0).get_config()
    with pytest.raises(ValueError, match="Unknown loss function: hunge"):
        losses.get("hunge")
    with pytest.raises(ValueError, match="Invalid Reduction Key"):
        losses.Hinge(reduction="mean")


def test_label_smoothing_may_be_a_tensor() -> None:
    share = tf.placeholder_with_default(0.1, [])
    labels, predictions = [[0.0, 1.0]], [[0.2, 0.8]]
    for loss in (tf.keras.losses.binary_crossentropy, tf.keras.losses.categorical_crossentropy):
        pair = tf.constant(labels), tf.constant(predictions)
        results = [loss(*pair, label_smoothing=each) for each in (share, 0.1)]
        with tf.Session() as session:
            found, expected = session.run(results)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            np.testing.assert_allclose(
                session.run(results[0], {share: 0.0}), session.run(loss(*pair)), rtol=1e-6
            )


def test_a_wrapper_makes_a_loss_of_a_function() -> None:
    def scaled(labels: Any, guesses: Any, factor: float = 1.0) -> Any:
        return tf.abs(labels - guesses)[:, 0] * factor

    found = python_losses.LossFunctionWrapper(scaled, losses.Reduction.SUM, "own", factor=2.0)
    expected = 2 * np.abs(TRUE - GUESS)[:, 0].sum()
    np.testing.assert_allclose(value(found(tf.constant(TRUE), tf.constant(GUESS))), expected, 1e-5)
    assert found.get_config() == {"reduction": "sum", "name": "own", "factor": 2.0}
    assert isinstance(losses.MeanSquaredError(), python_losses.LossFunctionWrapper)
