"""Losses of the outputs of a discriminator (contrib/gan/python/losses/python/losses_impl.py).

The functions take tensors. Those of `tf.contrib.gan.losses` take models.

`weights` are scalars, or can be broadcast to the outputs. A loss is a float32 tensor in
`loss_collection`, a scalar unless `reduction` is NONE. With `add_summaries`, its parts have
summaries.
"""

from typing import Any

from capstan.api import creation_ops, loss_reduction, losses, math_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import collections, convert
from capstan.framework.raw import raw
from capstan.train import summary

__all__ = [
    "acgan_discriminator_loss",
    "acgan_generator_loss",
    "least_squares_discriminator_loss",
    "least_squares_generator_loss",
    "minimax_discriminator_loss",
    "minimax_generator_loss",
    "modified_discriminator_loss",
    "modified_generator_loss",
    "wasserstein_discriminator_loss",
    "wasserstein_generator_loss",
]

_LOSSES = collections.GraphKeys.LOSSES
_MEAN = loss_reduction.Reduction.SUM_BY_NONZERO_WEIGHTS


def _float(value: Any) -> Any:
    return math_ops.cast(convert.convert_to_tensor(value), dtypes.float32)


def log(add_summaries: bool, **values: Any) -> None:
    """Add a summary for each value, under its name, if `add_summaries` is true."""
    if add_summaries:
        for name, value in values.items():
            summary.scalar(name, value)


def wasserstein_generator_loss(
    discriminator_gen_outputs: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Return the mean of the negative outputs (Arjovsky and others, 2017)."""
    values = (discriminator_gen_outputs, weights)
    with scoped(scope, "generator_wasserstein_loss", values) as inner:
        loss = loss_reduction.compute_weighted_loss(
            raw.Neg(_float(discriminator_gen_outputs)), weights, inner, loss_collection, reduction
        )
        log(add_summaries, generator_wass_loss=loss)
    return loss


def wasserstein_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Return the mean output for generated data less that for real data.

    Raises:
        ValueError: the shapes of the outputs differ.
    """
    values = (
        *(discriminator_real_outputs, discriminator_gen_outputs),
        *(real_weights, generated_weights),
    )
    with scoped(scope, "discriminator_wasserstein_loss", values) as inner:
        real, generated = _float(discriminator_real_outputs), _float(discriminator_gen_outputs)
        real.shape.assert_is_compatible_with(generated.shape)
        on_generated, on_real = (
            loss_reduction.compute_weighted_loss(outputs, weights, inner, None, reduction)
            for outputs, weights in ((generated, generated_weights), (real, real_weights))
        )
        loss = on_generated - on_real
        loss_reduction.add_loss(loss, loss_collection)
        log(
            add_summaries,
            discriminator_gen_wass_loss=on_generated,
            discriminator_real_wass_loss=on_real,
            discriminator_wass_loss=loss,
        )
    return loss


def acgan_discriminator_loss(
    discriminator_real_classification_logits: Any,
    discriminator_gen_classification_logits: Any,
    one_hot_labels: Any,
    label_smoothing: float = 0.0,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Return the softmax cross-entropy of the classes of generated and of real data.

    Only the labels of real data are smoothed (Odena and others, 2016).
    """
    real, generated = (
        discriminator_real_classification_logits,
        discriminator_gen_classification_logits,
    )
    with scoped(scope, "acgan_discriminator_loss", (real, generated, one_hot_labels)) as inner:
        on_generated, on_real = (
            losses.softmax_cross_entropy(
                one_hot_labels, logits, weights, smoothing, inner, None, reduction
            )
            for logits, weights, smoothing in (
                (generated, generated_weights, 0),
                (real, real_weights, label_smoothing),
            )
        )
        loss = on_generated + on_real
        loss_reduction.add_loss(loss, loss_collection)
        log(
            add_summaries,
            discriminator_gen_ac_loss=on_generated,
            discriminator_real_ac_loss=on_real,
            discriminator_ac_loss=loss,
        )
    return loss


def acgan_generator_loss(
    discriminator_gen_classification_logits: Any,
    one_hot_labels: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Return the softmax cross-entropy of the classes of generated data."""
    logits = discriminator_gen_classification_logits
    with scoped(scope, "acgan_generator_loss", (logits, one_hot_labels)) as inner:
        loss = losses.softmax_cross_entropy(
            one_hot_labels, logits, weights, 0, inner, loss_collection, reduction
        )
        log(add_summaries, generator_ac_loss=loss)
    return loss


def minimax_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.25,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Return the sigmoid cross-entropy of real data with 1 and generated data with 0.

    Only the labels of real data are smoothed (Goodfellow and others, 2014).
    """
    real, generated = map(
        convert.convert_to_tensor, (discriminator_real_outputs, discriminator_gen_outputs)
    )
    values = (real, generated, real_weights, generated_weights, label_smoothing)
    with scoped(scope, "discriminator_minimax_loss", values) as inner:
        on_real = losses.sigmoid_cross_entropy(
            creation_ops.ones_like(real),
            real,
            real_weights,
            label_smoothing,
            inner,
            None,
            reduction,
        )
        on_generated = losses.sigmoid_cross_entropy(
            creation_ops.zeros_like(generated), generated, generated_weights, 0, inner, None,
            reduction,
        )  # fmt: skip
        loss = on_real + on_generated
        loss_reduction.add_loss(loss, loss_collection)
        log(
            add_summaries,
            discriminator_gen_minimax_loss=on_generated,
            discriminator_real_minimax_loss=on_real,
            discriminator_minimax_loss=loss,
        )
    return loss


def minimax_generator_loss(
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.0,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Return the negative loss of a discriminator that takes each real example for 1.

    As in TensorFlow, `loss_collection` gets the loss before its sign changes. Its gradients vanish
    when the discriminator is sure. Those of `modified_generator_loss` do not.
    """
    outputs = convert.convert_to_tensor(discriminator_gen_outputs)
    with scoped(scope, "generator_minimax_loss") as inner:
        loss = raw.Neg(
            minimax_discriminator_loss(
                creation_ops.ones_like(outputs),
                outputs,
                label_smoothing,
                weights,
                weights,
                inner,
                loss_collection,
                reduction,
            )
        )
    log(add_summaries, generator_minimax_loss=loss)
    return loss


def modified_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.25,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Return the loss of `minimax_discriminator_loss`, under its own name."""
    return minimax_discriminator_loss(
        discriminator_real_outputs, discriminator_gen_outputs, label_smoothing, real_weights,
        generated_weights, scope or "discriminator_modified_loss", loss_collection, reduction,
        add_summaries,
    )  # fmt: skip


def modified_generator_loss(
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.0,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Return the sigmoid cross-entropy of generated data with 1."""
    outputs = convert.convert_to_tensor(discriminator_gen_outputs)
    with scoped(scope, "generator_modified_loss", (outputs,)) as inner:
        loss = losses.sigmoid_cross_entropy(
            creation_ops.ones_like(outputs), outputs, weights, label_smoothing, inner,
            loss_collection, reduction,
        )  # fmt: skip
        log(add_summaries, generator_modified_loss=loss)
    return loss


def least_squares_generator_loss(
    discriminator_gen_outputs: Any,
    real_label: Any = 1,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Return half the mean squared difference of the outputs from `real_label` (Mao, 2016)."""
    values = (discriminator_gen_outputs, real_label)
    with scoped(scope, "lsq_generator_loss", values) as inner:
        squares = raw.SquaredDifference(_float(discriminator_gen_outputs), real_label) / 2.0
        loss = loss_reduction.compute_weighted_loss(
            squares, weights, inner, loss_collection, reduction
        )
    log(add_summaries, generator_lsq_loss=loss)
    return loss


def least_squares_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    real_label: Any = 1,
    fake_label: Any = 0,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Return half the mean squared differences of the outputs from their labels.

    Raises:
        ValueError: the shapes of the outputs differ.
    """
    values = (discriminator_gen_outputs, real_label)
    with scoped(scope, "lsq_discriminator_loss", values) as inner:
        real, generated = _float(discriminator_real_outputs), _float(discriminator_gen_outputs)
        real.shape.assert_is_compatible_with(generated.shape)
        on_real, on_generated = (
            loss_reduction.compute_weighted_loss(
                raw.SquaredDifference(outputs, label) / 2.0, weights, inner, None, reduction
            )
            for outputs, label, weights in (
                (real, real_label, real_weights),
                (generated, fake_label, generated_weights),
            )
        )
        loss = on_real + on_generated
        loss_reduction.add_loss(loss, loss_collection)
    log(
        add_summaries,
        discriminator_gen_lsq_loss=on_generated,
        discriminator_real_lsq_loss=on_real,
        discriminator_lsq_loss=loss,
    )
    return loss
