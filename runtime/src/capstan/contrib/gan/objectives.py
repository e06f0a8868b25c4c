"""The losses of whole models, with penalties and regularization (contrib/gan/python/train.py)."""

from typing import Any

from capstan.api import (
    array_ops,
    check_ops,
    loss_reduction,
    reduce_ops,
    scope_block,
)
from capstan.api import losses as losses_of_tf
from capstan.api.scoped import scoped
from capstan.contrib.gan import losses, output_losses, penalties, tuples
from capstan.framework import graph as graphs
from capstan.train import summary

_STARGAN_GENERATOR = losses.stargan_generator_loss_wrapper(output_losses.wasserstein_generator_loss)
_STARGAN_DISCRIMINATOR = losses.stargan_discriminator_loss_wrapper(
    output_losses.wasserstein_discriminator_loss
)


def _checked_weight(weight: Any, name: str) -> Any:
    """Return the weight of a penalty: None, a number, or a tensor that is checked when it runs."""
    if isinstance(weight, graphs.Tensor):
        weight.shape.assert_is_compatible_with([])
        with graphs.get_default_graph().control_dependencies(
            [check_ops.assert_greater_equal(weight, 0.0)]
        ):
            return array_ops.identity(weight)
    if weight is not None and weight < 0:
        raise ValueError(f"`{name}` must be greater than 0. Instead, was {weight}")
    return weight


def _is_used(weight: Any) -> bool:
    return weight is not None and (isinstance(weight, graphs.Tensor) or weight > 0)


def _check_kind(model: Any, weights: tuple[Any, ...], kind: type, names: str) -> None:
    if any(map(_is_used, weights)) and not isinstance(model, kind):
        article = "an" if kind.__name__[0] in "AI" else "a"
        raise ValueError(
            f"When {names} is provided, `model` must be {article} `{kind.__name__}`. Instead, was "
            f"{type(model)}."
        )


def _pooled(model: Any, tensor_pool_fn: Any) -> Any:
    """Return the model with data from a pool, which the discriminator has judged."""
    pooled: dict[str, Any] = {}
    if isinstance(model, tuples.InfoGANModel):
        inputs, data, structured = tensor_pool_fn(
            (model.generator_inputs, model.generated_data, model.structured_generator_inputs)
        )
        pooled["structured_generator_inputs"] = structured
        judge, outputs = model.discriminator_and_aux_fn, "predicted_distributions"
    elif isinstance(model, (tuples.GANModel, tuples.ACGANModel)):
        inputs, data = tensor_pool_fn((model.generator_inputs, model.generated_data))
        judge, outputs = model.discriminator_fn, "discriminator_gen_classification_logits"
    else:
        raise ValueError(f"Tensor pool does not support `model`: {type(model)}.")  # noqa: TRY004 - TensorFlow's error
    with scope_block.variable_scope(model.discriminator_scope, reuse=True):
        judged = judge(data, inputs)
    if not isinstance(model, tuples.GANModel):
        judged, pooled[outputs] = judged
    return model._replace(
        generator_inputs=inputs, generated_data=data, discriminator_gen_outputs=judged, **pooled
    )


def gan_loss(
    model: Any,
    generator_loss_fn: Any = losses.wasserstein_generator_loss,
    discriminator_loss_fn: Any = losses.wasserstein_discriminator_loss,
    gradient_penalty_weight: Any = None,
    gradient_penalty_epsilon: float = 1e-10,
    gradient_penalty_target: Any = 1.0,
    gradient_penalty_one_sided: bool = False,
    mutual_information_penalty_weight: Any = None,
    aux_cond_generator_weight: Any = None,
    aux_cond_discriminator_weight: Any = None,
    tensor_pool_fn: Any = None,
    add_summaries: bool = True,
) -> tuples.GANLoss:
    """Return the losses of both networks, with penalties and the regularization of their scopes.

    A penalty counts if its weight is a number above 0 or a tensor: the gradient penalty for the
    discriminator, the mutual information for both networks of an InfoGANModel, the classes for
    the networks of an ACGANModel. The discriminator judges what `tensor_pool_fn` returns for the
    inputs and data of the generator, for example `tf.contrib.gan.features.tensor_pool`.

    Raises:
        ValueError: a weight is negative, or is for another kind of model.
    """
    penalty_weight = _checked_weight(gradient_penalty_weight, "gradient_penalty_weight")
    information = _checked_weight(mutual_information_penalty_weight, "infogan_weight")
    of_generator = _checked_weight(aux_cond_generator_weight, "aux_cond_generator_weight")
    of_discriminator = _checked_weight(
        aux_cond_discriminator_weight, "aux_cond_discriminator_weight"
    )
    _check_kind(model, (information,), tuples.InfoGANModel, "`mutual_information_penalty_weight`")
    _check_kind(
        model, (of_generator, of_discriminator), tuples.ACGANModel,
        "`aux_cond_generator_weight` or `aux_cond_discriminator_weight`",
    )  # fmt: skip
    pooled = _pooled(model, tensor_pool_fn) if tensor_pool_fn else model
    generator = generator_loss_fn(model, add_summaries=add_summaries)
    discriminator = discriminator_loss_fn(pooled, add_summaries=add_summaries)
    if _is_used(penalty_weight):
        discriminator += penalty_weight * losses.wasserstein_gradient_penalty(
            pooled, epsilon=gradient_penalty_epsilon, target=gradient_penalty_target,
            one_sided=gradient_penalty_one_sided, add_summaries=add_summaries,
        )  # fmt: skip
    if _is_used(information):
        penalty = losses.mutual_information_penalty(model, add_summaries=add_summaries)
        generator += information * penalty
        if tensor_pool_fn is not None:
            penalty = losses.mutual_information_penalty(pooled, add_summaries=add_summaries)
        discriminator += information * penalty
    if _is_used(of_generator):
        generator += of_generator * losses.acgan_generator_loss(model, add_summaries=add_summaries)
    if _is_used(of_discriminator):
        discriminator += of_discriminator * losses.acgan_discriminator_loss(
            pooled, add_summaries=add_summaries
        )
    return tuples.GANLoss(
        generator + _regularization(model.generator_scope),
        discriminator + _regularization(model.discriminator_scope),
    )


def _regularization(scope: Any) -> Any:
    return loss_reduction.get_regularization_loss(scope.name) if scope else 0


def cyclegan_loss(
    model: Any,
    generator_loss_fn: Any = losses.least_squares_generator_loss,
    discriminator_loss_fn: Any = losses.least_squares_discriminator_loss,
    cycle_consistency_loss_fn: Any = losses.cycle_consistency_loss,
    cycle_consistency_loss_weight: Any = 10.0,
    **kwargs: Any,
) -> tuples.CycleGANLoss:
    """Return the losses of both models. The generators also have the loss of what came back.

    `kwargs` are those of `gan_loss`.

    Raises:
        ValueError: `model` is no CycleGANModel, or a weight is negative.
    """
    if not isinstance(model, tuples.CycleGANModel):
        raise ValueError(f"`model` must be a `CycleGANModel`. Instead, was {type(model)}.")  # noqa: TRY004 - TensorFlow's error
    consistency = cycle_consistency_loss_fn(model, add_summaries=kwargs.get("add_summaries", True))
    weight = _checked_weight(cycle_consistency_loss_weight, "cycle_consistency_loss_weight")
    added = weight * consistency

    def loss(part: Any) -> tuples.GANLoss:
        of_part = gan_loss(part, generator_loss_fn, discriminator_loss_fn, **kwargs)
        return of_part._replace(generator_loss=of_part.generator_loss + added)

    graph = graphs.get_default_graph()
    with graph.name_scope("cyclegan_loss_x2y"):
        x2y = loss(model.model_x2y)
    with graph.name_scope("cyclegan_loss_y2x"):
        y2x = loss(model.model_y2x)
    return tuples.CycleGANLoss(x2y, y2x)


def stargan_loss(
    model: Any,
    generator_loss_fn: Any = _STARGAN_GENERATOR,
    discriminator_loss_fn: Any = _STARGAN_DISCRIMINATOR,
    gradient_penalty_weight: Any = 10.0,
    gradient_penalty_epsilon: float = 1e-10,
    gradient_penalty_target: Any = 1.0,
    gradient_penalty_one_sided: bool = False,
    reconstruction_loss_fn: Any = losses_of_tf.absolute_difference,
    reconstruction_loss_weight: Any = 10.0,
    classification_loss_fn: Any = losses_of_tf.softmax_cross_entropy,
    classification_loss_weight: Any = 1.0,
    classification_one_hot: bool = True,
    add_summaries: bool = True,
) -> tuples.GANLoss:
    """Return the losses of a StarGANModel: sources, gradients, domains, and what came back.

    `classification_loss_fn` gets `onehot_labels` and `logits`. Without `classification_one_hot`,
    it returns a loss for each domain, and the losses of an image are added up.

    Raises:
        ValueError: the labels of the domains are no matrix with a known number of columns.
    """

    def of_domains(labels: Any, logits: Any, name: str) -> Any:
        with scoped(name, name, (labels, logits)):
            loss = classification_loss_fn(onehot_labels=labels, logits=logits)
            each = loss if classification_one_hot else reduce_ops.reduce_sum(loss, 1)
            mean = reduce_ops.reduce_mean(each)
            output_losses.log(add_summaries, **{name: mean})
        return mean * classification_loss_weight

    model.input_data_domain_label.shape.assert_has_rank(2)
    model.input_data_domain_label.shape[1:].assert_is_fully_defined()
    generator = generator_loss_fn(model, add_summaries=add_summaries)
    discriminator = discriminator_loss_fn(model, add_summaries=add_summaries)
    if _is_used(gradient_penalty_weight):
        penalty = losses.stargan_gradient_penalty_wrapper(penalties.wasserstein_gradient_penalty)
        discriminator += gradient_penalty_weight * penalty(
            model, epsilon=gradient_penalty_epsilon, target=gradient_penalty_target,
            one_sided=gradient_penalty_one_sided, add_summaries=add_summaries,
        )  # fmt: skip
    reconstruction = reconstruction_loss_fn(model.input_data, model.reconstructed_data)
    generator += reconstruction * reconstruction_loss_weight
    if add_summaries:
        summary.scalar("reconstruction_loss", reconstruction)
    generator += of_domains(
        model.generated_data_domain_target,
        model.discriminator_generated_data_domain_predication,
        "generator_classification_loss",
    )
    discriminator += of_domains(
        model.input_data_domain_label,
        model.discriminator_input_data_domain_predication,
        "discriminator_classification_loss",
    )
    return tuples.GANLoss(generator, discriminator)
