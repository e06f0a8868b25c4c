"""Summaries of models (contrib/gan/python/eval/python/summaries_impl.py)."""

from typing import Any

from capstan.api import (
    array_ops,
    creation_ops,
    functional_ops,
    loss_reduction,
    math_ops,
    scope_block,
)
from capstan.contrib.gan import images, tuples
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import summary

__all__ = [
    "add_cyclegan_image_summaries",
    "add_gan_model_image_summaries",
    "add_gan_model_summaries",
    "add_image_comparison_summaries",
    "add_regularization_loss_summaries",
    "add_stargan_image_summaries",
]


def _check_images(*batches: Any) -> None:
    for batch in batches:
        batch.shape.assert_has_rank(4)
        batch.shape[1:].assert_is_fully_defined()


def add_gan_model_image_summaries(
    gan_model: Any, grid_size: int = 4, model_summaries: bool = True
) -> None:
    """Show real and generated images in squares of `grid_size` columns.

    With `model_summaries`, the variables have histograms.

    Raises:
        ValueError: the model is a CycleGANModel, its data are no images of known size, or a batch
            is too small.
    """
    if isinstance(gan_model, tuples.CycleGANModel):
        raise ValueError(  # noqa: TRY004 - TensorFlow's error
            "`add_gan_model_image_summaries` does not take CycleGANModels. Please use "
            "`add_cyclegan_image_summaries` instead."
        )
    _check_images(gan_model.real_data, gan_model.generated_data)
    for name in ("real_data", "generated_data"):
        data = getattr(gan_model, name)
        _, height, width, channels = data.shape.as_list()
        grid = images.image_grid(
            data[: grid_size**2], (grid_size, grid_size), (height, width), channels
        )
        summary.image(name, grid, max_outputs=1)
    if model_summaries:
        add_gan_model_summaries(gan_model)


def _show(tiles: list[Any], columns: int) -> None:
    summary.image("image_comparison", images.image_reshaper(tiles, columns), max_outputs=1)


def add_cyclegan_image_summaries(cyclegan_model: Any) -> None:
    """Show the first image of both kinds, what it became, and what came back.

    Raises:
        ValueError: the model is no CycleGANModel, or its data are no images of known size.
    """
    if not isinstance(cyclegan_model, tuples.CycleGANModel):
        raise ValueError(  # noqa: TRY004 - TensorFlow's error
            f"`cyclegan_model` was not a CycleGANModel. Instead, was {type(cyclegan_model)}"
        )
    ways = {
        "x2y": (cyclegan_model.model_x2y, cyclegan_model.reconstructed_x),
        "y2x": (cyclegan_model.model_y2x, cyclegan_model.reconstructed_y),
    }
    for model, back in ways.values():
        _check_images(model.generator_inputs, model.generated_data, back)
    for name, (model, back) in ways.items():
        with graphs.get_default_graph().name_scope(f"{name}_image_comparison_summaries"):
            batches = (model.generator_inputs, model.generated_data, back)
            _show([tile for batch in batches for tile in array_ops.unstack(batch[:1])], 3)


def add_image_comparison_summaries(
    gan_model: Any, num_comparisons: int = 2, display_diffs: bool = False
) -> None:
    """Show inputs of the generator, what it made of them, and real images, in rows.

    With `display_diffs`, a row shows the absolute differences of generated and real images.

    Raises:
        ValueError: the data are no images of known size, or differ in shape.
    """
    batches = (gan_model.generator_inputs, gan_model.generated_data, gan_model.real_data)
    _check_images(*batches)
    gan_model.generated_data.shape.assert_is_compatible_with(gan_model.generator_inputs.shape)
    gan_model.real_data.shape.assert_is_compatible_with(gan_model.generated_data.shape)
    rows = [array_ops.unstack(batch[:num_comparisons]) for batch in batches]
    if display_diffs:
        _, generated, real = rows
        rows.append(
            [
                raw.Abs(math_ops.cast(one, dtypes.float32) - math_ops.cast(other, dtypes.float32))
                for one, other in zip(generated, real, strict=True)
            ]
        )
    _show([tile for row in rows for tile in row], num_comparisons)


def add_stargan_image_summaries(
    stargan_model: Any, num_images: int = 2, display_diffs: bool = False
) -> None:
    """Show images, and each of them in all domains.

    With `display_diffs`, a second row shows the differences from the image.

    Raises:
        ValueError: the data are no images of known size, or the number of domains is unknown.
    """
    _check_images(stargan_model.input_data)
    labels = stargan_model.input_data_domain_label
    labels.shape.assert_has_rank(2)
    labels.shape[1:].assert_is_fully_defined()
    domains = labels.shape.as_list()[-1]

    def shown(image: Any) -> Any:
        copies = array_ops.tile(array_ops.expand_dims(image, 0), [domains, 1, 1, 1])
        targets = creation_ops.one_hot(list(range(domains)), domains)
        with scope_block.variable_scope(stargan_model.generator_scope, reuse=True):
            generated = stargan_model.generator_fn(copies, targets)
            tiles = [image, *array_ops.unstack(generated, domains)]
            if display_diffs:
                tiles += [
                    creation_ops.zeros_like(image),
                    *array_ops.unstack(generated - copies, domains),
                ]
            return array_ops.squeeze(images.image_reshaper(tiles, domains + 1), [0])

    summary.image(
        "stargan_image_generation",
        functional_ops.map_fn(
            shown, stargan_model.input_data[:num_images], parallel_iterations=num_images,
            back_prop=False, swap_memory=True,
        ),
        max_outputs=num_images,
    )  # fmt: skip


def _in_both(model: Any, add: Any, name: str) -> None:
    graph = graphs.get_default_graph()
    with graph.name_scope(f"cyclegan_x2y_{name}"):
        add(model.model_x2y)
    with graph.name_scope(f"cyclegan_y2x_{name}"):
        add(model.model_y2x)


def add_gan_model_summaries(gan_model: Any) -> None:
    """Add a histogram of each variable of both networks."""
    if isinstance(gan_model, tuples.CycleGANModel):
        _in_both(gan_model, add_gan_model_summaries, "summaries")
        return
    for network in ("generator", "discriminator"):
        with graphs.get_default_graph().name_scope(f"{network}_variables"):
            for variable in getattr(gan_model, f"{network}_variables"):
                summary.histogram(variable.name, variable)


def add_regularization_loss_summaries(gan_model: Any) -> None:
    """Add a scalar for the regularization of each network that has a scope."""
    if isinstance(gan_model, tuples.CycleGANModel):
        _in_both(gan_model, add_regularization_loss_summaries, "regularization_loss_summaries")
        return
    for network in ("generator", "discriminator"):
        scope = getattr(gan_model, f"{network}_scope")
        if scope:
            loss = loss_reduction.get_regularization_loss(scope.name)
            summary.scalar(f"{network}_regularization_loss", loss)
