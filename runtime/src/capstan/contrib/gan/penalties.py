"""What is added to the losses of GANs (contrib/gan/python/losses/python/losses_impl.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import (
    array_ops,
    clip_ops,
    known_values,
    loss_reduction,
    losses,
    random_ops,
    reduce_ops,
    scope_block,
    variable_scope,
)
from capstan.api.scoped import scoped
from capstan.contrib.framework import variables as variables_of
from capstan.contrib.gan.output_losses import log
from capstan.framework import collections, convert, gradients
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import summary

__all__ = [
    "combine_adversarial_loss",
    "cycle_consistency_loss",
    "mutual_information_penalty",
    "wasserstein_gradient_penalty",
]

_LOSSES = collections.GraphKeys.LOSSES
_MEAN = loss_reduction.Reduction.SUM_BY_NONZERO_WEIGHTS


def wasserstein_gradient_penalty(
    real_data: Any,
    generated_data: Any,
    generator_inputs: Any,
    discriminator_fn: Any,
    discriminator_scope: Any,
    epsilon: float = 1e-10,
    target: Any = 1.0,
    one_sided: bool = False,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Return the mean of (|gradient| / target - 1)^2 (Gulrajani and others, 2017).

    The gradient is that of the discriminator at random points between real and generated data.
    With `one_sided`, only norms above the target count (Petzka and others, 2017). `epsilon` keeps
    the gradient of a norm of 0 finite.

    Raises:
        ValueError: the rank of the data is unknown.
    """
    with scoped(scope, "wasserstein_gradient_penalty", (real_data, generated_data)) as inner:
        real, generated = map(convert.convert_to_tensor, (real_data, generated_data))
        for name, data in (("real_data", real), ("generated_data", generated)):
            if data.shape.ndims is None:
                raise ValueError(f"`{name}` can't have unknown rank.")
        differences = generated - real
        size = differences.shape.as_list()[0]
        batch = array_ops.shape(differences)[0] if size is None else size
        share = random_ops.random_uniform([batch] + [1] * (differences.shape.ndims - 1))
        between = real + share * differences
        # The updates of the discriminator belong to its own scope.
        with (
            graphs.get_default_graph().name_scope(None),
            scope_block.variable_scope(
                discriminator_scope, "gpenalty_dscope", reuse=variable_scope.AUTO_REUSE
            ),
        ):
            outputs = discriminator_fn(between, generator_inputs)
        judged = outputs[0] if isinstance(outputs, tuple) else outputs
        slope = gradients.gradients(judged, between)[0]
        squares = reduce_ops.reduce_sum(raw.Square(slope), list(range(1, slope.shape.ndims)))
        if size is not None:
            squares.set_shape([size, *squares.shape.as_list()[1:]])
        excess = raw.Sqrt(squares + epsilon) / target - 1.0
        if one_sided:
            excess = raw.Maximum(0.0, excess)
        penalty = loss_reduction.compute_weighted_loss(
            raw.Square(excess), weights, inner, loss_collection, reduction
        )
        log(add_summaries, gradient_penalty_loss=penalty)
    return penalty


def mutual_information_penalty(
    structured_generator_inputs: Sequence[Any],
    predicted_distributions: Sequence[Any],
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Return the negative mean log-likelihood of noise by its predicted distributions.

    As in TensorFlow, `loss_collection` gets the mean before its sign changes (Chen, 2016).

    Raises:
        ValueError: `predicted_distributions` is no list of distributions, or its length is not
            that of `structured_generator_inputs`.
    """
    if not isinstance(predicted_distributions, (list, tuple)):
        raise ValueError(  # noqa: TRY004 - TensorFlow's error
            "`distributions` must be a list or tuple. Instead, found "
            f"{type(predicted_distributions)}."
        )
    for each in predicted_distributions:
        if not callable(getattr(each, "log_prob", None)):
            raise ValueError(  # noqa: TRY004 - TensorFlow's error
                f"`distributions` must be a list of `Distributions`. Instead, found {type(each)}."
            )
    if len(structured_generator_inputs) != len(predicted_distributions):
        raise ValueError(
            f"`structured_generator_inputs` length {len(structured_generator_inputs)} must be the "
            f"same as `predicted_distributions` length {len(predicted_distributions)}."
        )
    with scoped(scope, "mutual_information_loss") as inner:
        likelihoods = [
            reduce_ops.reduce_mean(each.log_prob(noise))
            for each, noise in zip(
                predicted_distributions, structured_generator_inputs, strict=True
            )
        ]
        loss = -1 * loss_reduction.compute_weighted_loss(
            convert.convert_to_tensor(likelihoods), weights, inner, loss_collection, reduction
        )
        log(add_summaries, mutual_information_penalty=loss)
    return loss


def _norm(tensors: Sequence[Any]) -> Any:
    """Return the L2 norm of all elements of the tensors that are not None.

    The tensors are divided by their largest element, so that no square overflows.
    """
    present = [tensor for tensor in tensors if tensor is not None]
    if not present:
        return 0.0
    largest = reduce_ops.reduce_max([reduce_ops.reduce_max(raw.Abs(each)) for each in present])
    return largest * clip_ops.global_norm([each / largest for each in present])


def combine_adversarial_loss(
    main_loss: Any,
    adversarial_loss: Any,
    weight_factor: Any = None,
    gradient_ratio: Any = None,
    gradient_ratio_epsilon: float = 1e-6,
    variables: Sequence[Any] | None = None,
    scalar_summaries: bool = True,
    gradient_summaries: bool = True,
    scope: str | None = None,
) -> Any:
    """Return `main_loss` plus the adversarial loss with a coefficient.

    The coefficient is `weight_factor`, or such that the norm of the gradient of the main loss is
    `gradient_ratio` times that of the adversarial loss. The gradients are those of `variables`, by
    default all trainable ones.

    Raises:
        ValueError: a loss is no scalar, or not exactly one of `weight_factor` and
            `gradient_ratio` is given.
    """
    for loss in (main_loss, adversarial_loss):
        loss.shape.assert_is_compatible_with([])
    if weight_factor is None and gradient_ratio is None:
        raise ValueError("`weight_factor` and `gradient_ratio` cannot both be `None.`")
    if weight_factor is not None and gradient_ratio is not None:
        raise ValueError("`weight_factor` and `gradient_ratio` cannot both be specified.")
    if variables is None:
        variables = variables_of.get_trainable_variables()
    given = gradient_ratio if weight_factor is None else weight_factor
    with scoped(scope, "adversarial_loss", (main_loss, adversarial_loss)):
        log(scalar_summaries, main_loss=main_loss, adversarial_loss=adversarial_loss)
        norms: list[Any] = []
        if gradient_summaries or gradient_ratio is not None:
            norms = [
                _norm(gradients.gradients(loss, variables))
                for loss in (main_loss, adversarial_loss)
            ]
        if gradient_summaries:
            summary.scalar("main_loss_gradients", norms[0])
            summary.scalar("adversarial_loss_gradients", norms[1])
        if known_values.constant_value(convert.convert_to_tensor(given)) == 0:
            return main_loss
        coefficient = weight_factor
        if gradient_ratio is not None:
            coefficient = norms[0] / (norms[1] + gradient_ratio_epsilon) / gradient_ratio
            summary.scalar("adversarial_coefficient", coefficient)
        return main_loss + raw.StopGradient(coefficient) * adversarial_loss


def cycle_consistency_loss(
    data_x: Any,
    reconstructed_data_x: Any,
    data_y: Any,
    reconstructed_data_y: Any,
    scope: str | None = None,
    add_summaries: bool = False,
) -> Any:
    """Return the mean absolute difference of data that went both ways, for x and for y.

    Half the sum of the two is the result (Zhu and others, 2017).
    """
    values = (data_x, reconstructed_data_x, data_y, reconstructed_data_y)
    with scoped(scope, "cycle_consistency_loss", values):
        of_x = losses.absolute_difference(data_x, reconstructed_data_x)
        of_y = losses.absolute_difference(data_y, reconstructed_data_y)
        loss = (of_x + of_y) / 2.0
        log(
            add_summaries,
            cycle_consistency_loss_x2x=of_x,
            cycle_consistency_loss_y2y=of_y,
            cycle_consistency_loss=loss,
        )
    return loss
