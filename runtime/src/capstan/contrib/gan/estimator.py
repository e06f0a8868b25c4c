"""`tf.contrib.gan.estimator`: estimators that train GANs
(contrib/gan/python/estimator/python/{gan_estimator,stargan_estimator}_impl.py).
"""

import enum
import functools
import inspect
from collections.abc import Callable
from typing import Any

from capstan.api import scope_block
from capstan.api.absent import absent
from capstan.contrib.framework import variables as variables_of
from capstan.contrib.gan import heads, model_summaries, models, training, tuples
from capstan.contrib.gan.heads import GANHead as GANHead
from capstan.contrib.gan.heads import gan_head as gan_head
from capstan.core import public
from capstan.estimator import estimator, estimator_spec, mode_keys
from capstan.framework import graph as graphs

_ModeKeys = mode_keys.ModeKeys


class SummaryType(enum.IntEnum):
    """What the summaries of a model show."""

    NONE = 0
    VARIABLES = 1
    IMAGES = 2
    IMAGE_COMPARISON = 3


_OF_MODELS = {
    SummaryType.VARIABLES: model_summaries.add_gan_model_summaries,
    SummaryType.IMAGES: model_summaries.add_gan_model_image_summaries,
    SummaryType.IMAGE_COMPARISON: model_summaries.add_image_comparison_summaries,
}
_OF_STARGANS = {
    SummaryType.VARIABLES: model_summaries.add_gan_model_summaries,
    SummaryType.IMAGES: model_summaries.add_stargan_image_summaries,
}


def _in_mode(function: Any, mode: str) -> Any:
    """Return a network with its argument `mode`, if it has one."""
    has_mode = "mode" in inspect.signature(function).parameters
    return functools.partial(function, mode=mode) if has_mode else function


def _show(model: Any, kinds: Any, table: dict[SummaryType, Any]) -> None:
    if kinds:
        with graphs.get_default_graph().name_scope(None):
            for kind in kinds if isinstance(kinds, (tuple, list)) else [kinds]:
                table[kind](model)


def _spec(
    mode: str,
    model: Any,
    loss_fn: Callable[[Any], tuples.GANLoss],
    optimizers: tuple[Any, Any],
    get_hooks_fn: Any,
    get_eval_metric_ops_fn: Any,
    is_chief: bool = True,
) -> Any:
    """Return the EstimatorSpec of a model that predicts, is evaluated or trains."""
    if mode == _ModeKeys.PREDICT:
        return estimator_spec.EstimatorSpec(mode, predictions=model.generated_data)
    loss = loss_fn(model)
    total = loss.generator_loss + loss.discriminator_loss
    if mode == _ModeKeys.EVAL:
        measured = heads.metrics_of(model, loss, get_eval_metric_ops_fn, None)
        return estimator_spec.EstimatorSpec(
            mode, predictions=model.generated_data, loss=total, eval_metric_ops=measured
        )
    made = [optimizer() if callable(optimizer) else optimizer for optimizer in optimizers]
    train_ops = training.gan_train_ops(model, loss, made[0], made[1], is_chief=is_chief)
    hooks = (get_hooks_fn or training.get_sequential_train_hooks())(train_ops)
    return estimator_spec.EstimatorSpec(
        mode, loss=total, train_op=train_ops.global_step_inc_op, training_hooks=hooks
    )


def _generating(
    generator_fn: Any, mode: str, *inputs: Any
) -> tuple[Any, list[Any], dict[str, Any]]:
    """Apply a generator alone. Return its data, its inputs, and the fields about its network."""
    function = _in_mode(generator_fn, mode)
    with scope_block.variable_scope("Generator") as scope:
        tensors = [models.converted(each) for each in inputs]
        generated = function(*tensors)
    fields = {
        "generator_variables": variables_of.get_trainable_variables(scope),
        "generator_scope": scope,
        "generator_fn": function,
    }
    return generated, tensors, fields


class GANEstimator(estimator.Estimator):
    """An estimator of a generator and a discriminator.

    The features are the inputs of the generator, and the labels real data. Predictions are
    generated data, without labels. The networks may have an argument `mode`. The losses are
    functions of a GANModel and `add_summaries`, such as those of `tf.contrib.gan.losses`.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        generator_fn: Any = None,
        discriminator_fn: Any = None,
        generator_loss_fn: Any = None,
        discriminator_loss_fn: Any = None,
        generator_optimizer: Any = None,
        discriminator_optimizer: Any = None,
        get_hooks_fn: Any = None,
        get_eval_metric_ops_fn: Any = None,
        add_summaries: Any = None,
        use_loss_summaries: bool | None = True,
        config: Any = None,
        warm_start_from: Any = None,
        is_chief: bool = True,
    ) -> None:
        """Check the functions.

        An optimizer may also be a function that makes it. `get_hooks_fn` makes the hooks that train
        (by default one step for each network), `get_eval_metric_ops_fn` a dictionary of further
        metrics of a GANModel. `add_summaries` is a SummaryType or a list of them.

        Raises:
            ValueError: a loss is no function, or `use_loss_summaries` is not a bool or None.
            TypeError: `get_hooks_fn` is no function.
        """
        losses = {
            "generator_loss_fn": generator_loss_fn,
            "discriminator_loss_fn": discriminator_loss_fn,
        }
        heads.check(losses, use_loss_summaries, get_hooks_fn)

        def loss_fn(model: Any) -> tuples.GANLoss:
            return tuples.GANLoss(
                *(each(model, add_summaries=use_loss_summaries) for each in losses.values())
            )

        def model_fn(features: Any, labels: Any, mode: str) -> Any:
            if mode == _ModeKeys.PREDICT:
                model = _predicting(generator_fn, features, labels)
            else:
                model = models.gan_model(
                    _in_mode(generator_fn, mode), _in_mode(discriminator_fn, mode), labels,
                    features, check_shapes=False,
                )  # fmt: skip
                _show(model, add_summaries, _OF_MODELS)
            return _spec(
                mode, model, loss_fn, (generator_optimizer, discriminator_optimizer), get_hooks_fn,
                get_eval_metric_ops_fn, is_chief,
            )  # fmt: skip

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


def _predicting(generator_fn: Any, features: Any, labels: Any) -> tuples.GANModel:
    if labels is not None:
        raise ValueError(f"`labels` must be `None` when mode is `predict`. Instead, found {labels}")
    generated, inputs, fields = _generating(generator_fn, _ModeKeys.PREDICT, features)
    return tuples.GANModel(
        **dict.fromkeys(tuples.GANModel._fields) | fields
        | {"generator_inputs": inputs[0], "generated_data": generated}
    )  # fmt: skip


class StarGANEstimator(estimator.Estimator):
    """An estimator of a generator that moves images to other domains.

    The features are images, and the labels their domains, one-hot. For predictions, the features
    are a pair of images and wanted domains. `loss_fn` is a function of a StarGANModel, and returns
    a GANLoss, as `tf.contrib.gan.stargan_loss` does. The networks may have an argument `mode`.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        generator_fn: Any = None,
        discriminator_fn: Any = None,
        loss_fn: Any = None,
        generator_optimizer: Any = None,
        discriminator_optimizer: Any = None,
        get_hooks_fn: Any = None,
        get_eval_metric_ops_fn: Any = None,
        add_summaries: Any = None,
        use_loss_summaries: bool | None = True,
        config: Any = None,
    ) -> None:
        """Check the functions, as GANEstimator does.

        Raises:
            ValueError: the loss is no function, or `use_loss_summaries` is not a bool or None.
            TypeError: `get_hooks_fn` is no function.
        """
        heads.check({"loss_fn": loss_fn}, use_loss_summaries, get_hooks_fn)

        def model_fn(features: Any, labels: Any, mode: str) -> Any:
            if mode == _ModeKeys.PREDICT:
                generated, (data, wanted), fields = _generating(
                    generator_fn, mode, features[0], features[1]
                )
                model = tuples.StarGANModel(
                    **dict.fromkeys(tuples.StarGANModel._fields) | fields
                    | {"input_data": data, "generated_data": generated,
                       "generated_data_domain_target": wanted}
                )  # fmt: skip
            else:
                model = models.stargan_model(
                    _in_mode(generator_fn, mode), _in_mode(discriminator_fn, mode), features, labels
                )
                _show(model, add_summaries, _OF_STARGANS)
            return _spec(
                mode, model, loss_fn, (generator_optimizer, discriminator_optimizer), get_hooks_fn,
                get_eval_metric_ops_fn,
            )  # fmt: skip

        super().__init__(model_fn, model_dir, config)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.gan.estimator", name)


def __dir__() -> list[str]:
    return public.names(globals())
