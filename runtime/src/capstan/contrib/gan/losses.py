"""`tf.contrib.gan.losses`: losses of models
(contrib/gan/python/losses/python/tuple_losses_impl.py).

The losses are those of `tf.contrib.gan.losses.wargs`, which take tensors. Here the first argument
is a model, whose fields give the arguments of the same names. The other arguments have keywords.
"""

import inspect
from collections.abc import Callable
from typing import Any

from capstan.api.absent import absent
from capstan.contrib.gan import output_losses, penalties, tuples
from capstan.core import alias, public

_Loss = Callable[..., Any]


def _named(loss: _Loss, loss_fn: _Loss) -> _Loss:
    """Give a loss of models the name and the text of the loss that it computes."""
    loss.__name__, loss.__doc__ = loss_fn.__name__, loss_fn.__doc__
    return loss


def _of_model(loss_fn: _Loss) -> _Loss:
    """Return `loss_fn` as a function of a model, whose fields are arguments of the loss.

    An argument that is None has its default, as in TensorFlow. The function raises ValueError if
    an argument is missing, or if a field of the model is given again.
    """
    parameters = inspect.signature(loss_fn).parameters

    def loss(gan_model: Any, **kwargs: Any) -> Any:
        again = {*gan_model._fields} & {*kwargs}
        arguments = dict(kwargs)
        for name, parameter in parameters.items():
            value = getattr(gan_model, name) if name in gan_model._fields else kwargs.get(name)
            required = parameter.default is parameter.empty
            if required and name not in gan_model._fields and name not in kwargs:
                raise ValueError(f"`{name}` must be supplied to {loss_fn.__name__} loss function.")
            arguments[name] = parameter.default if value is None and not required else value
        if again:
            raise ValueError(
                "The following args are present in both the tuple and keyword args for "
                f"{loss_fn.__name__}: {again}"
            )
        return loss_fn(**arguments)

    return _named(loss, loss_fn)


wasserstein_generator_loss = _of_model(output_losses.wasserstein_generator_loss)
wasserstein_discriminator_loss = _of_model(output_losses.wasserstein_discriminator_loss)
wasserstein_gradient_penalty = _of_model(penalties.wasserstein_gradient_penalty)
acgan_discriminator_loss = _of_model(output_losses.acgan_discriminator_loss)
acgan_generator_loss = _of_model(output_losses.acgan_generator_loss)
minimax_discriminator_loss = _of_model(output_losses.minimax_discriminator_loss)
minimax_generator_loss = _of_model(output_losses.minimax_generator_loss)
modified_discriminator_loss = _of_model(output_losses.modified_discriminator_loss)
modified_generator_loss = _of_model(output_losses.modified_generator_loss)
least_squares_generator_loss = _of_model(output_losses.least_squares_generator_loss)
least_squares_discriminator_loss = _of_model(output_losses.least_squares_discriminator_loss)
mutual_information_penalty = _of_model(penalties.mutual_information_penalty)


def combine_adversarial_loss(
    gan_loss: tuples.GANLoss,
    gan_model: Any,
    non_adversarial_loss: Any,
    weight_factor: Any = None,
    gradient_ratio: Any = None,
    gradient_ratio_epsilon: float = 1e-6,
    scalar_summaries: bool = True,
    gradient_summaries: bool = True,
) -> tuples.GANLoss:
    """Return `gan_loss` with another loss in that of the generator.

    The other loss has the coefficient 1. The generator's own loss has the coefficient
    `weight_factor`, or that which follows from `gradient_ratio`.

    Raises:
        ValueError: a loss is no scalar, or not exactly one of `weight_factor` and
            `gradient_ratio` is given.
    """
    combined = penalties.combine_adversarial_loss(
        non_adversarial_loss, gan_loss.generator_loss, weight_factor, gradient_ratio,
        gradient_ratio_epsilon, gan_model.generator_variables, scalar_summaries,
        gradient_summaries,
    )  # fmt: skip
    return gan_loss._replace(generator_loss=combined)


def cycle_consistency_loss(
    cyclegan_model: Any, scope: str | None = None, add_summaries: bool = False
) -> Any:
    """Return the mean absolute difference of data and what came back from both generators.

    Raises:
        ValueError: `cyclegan_model` is no CycleGANModel.
    """
    if not isinstance(cyclegan_model, tuples.CycleGANModel):
        raise ValueError(  # noqa: TRY004 - TensorFlow's error
            f"`cyclegan_model` must be a `CycleGANModel`. Instead, was {type(cyclegan_model)}."
        )
    return penalties.cycle_consistency_loss(
        cyclegan_model.model_x2y.generator_inputs, cyclegan_model.reconstructed_x,
        cyclegan_model.model_y2x.generator_inputs, cyclegan_model.reconstructed_y, scope,
        add_summaries,
    )  # fmt: skip


def stargan_generator_loss_wrapper(loss_fn: _Loss) -> _Loss:
    """Return a loss of the outputs for generated data as a function of a StarGANModel."""

    def loss(stargan_model: Any, **kwargs: Any) -> Any:
        return loss_fn(stargan_model.discriminator_generated_data_source_predication, **kwargs)

    return _named(loss, loss_fn)


def stargan_discriminator_loss_wrapper(loss_fn: _Loss) -> _Loss:
    """Return a loss of the outputs for real and generated data, of a StarGANModel."""

    def loss(stargan_model: Any, **kwargs: Any) -> Any:
        return loss_fn(
            stargan_model.discriminator_input_data_source_predication,
            stargan_model.discriminator_generated_data_source_predication,
            **kwargs,
        )

    return _named(loss, loss_fn)


def stargan_gradient_penalty_wrapper(loss_fn: _Loss) -> _Loss:
    """Return a gradient penalty as a function of a StarGANModel.

    The discriminator gets the number of domains in place of the inputs of the generator.
    """

    def loss(stargan_model: Any, **kwargs: Any) -> Any:
        return loss_fn(
            real_data=stargan_model.input_data,
            generated_data=stargan_model.generated_data,
            generator_inputs=stargan_model.input_data_domain_label.shape.as_list()[-1],
            discriminator_fn=stargan_model.discriminator_fn,
            discriminator_scope=stargan_model.discriminator_scope,
            **kwargs,
        )

    return _named(loss, loss_fn)


_WITH_ARGUMENTS: alias.Homes = (
    "capstan.contrib.gan.output_losses",
    "capstan.contrib.gan.penalties",
)
alias.grow(__name__, {"wargs": _WITH_ARGUMENTS})


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.gan.losses", name)


def __dir__() -> list[str]:
    return sorted({*public.names(globals()), "wargs"})
