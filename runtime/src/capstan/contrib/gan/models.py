"""Functions that apply generators and discriminators (contrib/gan/python/train.py).

A generator is a function of its inputs: a tensor, or a list or dictionary of tensors. A
discriminator is a function of data and of the inputs of the generator, its condition. Both have
scopes, in which the variables of the discriminator are reused for the second data.
"""

from typing import Any

from capstan.api import array_ops, creation_ops, random_ops, scope_block
from capstan.contrib.framework import variables as variables_of
from capstan.contrib.gan import tuples
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs

_GENERATOR = "Generator"
_DISCRIMINATOR = "Discriminator"


def converted(values: Any) -> Any:
    """Return the tensors of a value, or of the values of a list or a dictionary."""
    if isinstance(values, (list, tuple)):
        return [convert.convert_to_tensor(each) for each in values]
    if isinstance(values, dict):
        return {key: convert.convert_to_tensor(each) for key, each in values.items()}
    return convert.convert_to_tensor(values)


def _check_shapes(generated: Any, real: Any) -> None:
    if not generated.shape.is_compatible_with(real.shape):
        raise ValueError(
            f"Generator output shape ({generated.shape}) must be the same shape as real data "
            f"({real.shape})."
        )


def gan_model(
    generator_fn: Any,
    discriminator_fn: Any,
    real_data: Any,
    generator_inputs: Any,
    generator_scope: Any = _GENERATOR,
    discriminator_scope: Any = _DISCRIMINATOR,
    check_shapes: bool = True,
) -> tuples.GANModel:
    """Generate data, and let the discriminator judge generated and real data.

    Raises:
        ValueError: `check_shapes` is true, and generated and real data differ in shape.
    """
    with scope_block.variable_scope(generator_scope) as of_generator:
        inputs = converted(generator_inputs)
        generated = generator_fn(inputs)
    with scope_block.variable_scope(discriminator_scope) as of_discriminator:
        on_generated = discriminator_fn(generated, inputs)
    with scope_block.variable_scope(of_discriminator, reuse=True):
        real = converted(real_data)
        on_real = discriminator_fn(real, inputs)
    if check_shapes:
        _check_shapes(generated, real)
    return tuples.GANModel(
        inputs, generated, variables_of.get_trainable_variables(of_generator), of_generator,
        generator_fn, real, on_real, on_generated,
        variables_of.get_trainable_variables(of_discriminator), of_discriminator, discriminator_fn,
    )  # fmt: skip


def infogan_model(
    generator_fn: Any,
    discriminator_fn: Any,
    real_data: Any,
    unstructured_generator_inputs: Any,
    structured_generator_inputs: Any,
    generator_scope: Any = _GENERATOR,
    discriminator_scope: Any = _DISCRIMINATOR,
) -> tuples.InfoGANModel:
    """Generate data from two lists of noise. The discriminator predicts the second list.

    The discriminator returns its outputs, and a list with a distribution for each tensor of
    `structured_generator_inputs`.

    Raises:
        ValueError: the distributions are no list of that length, or generated and real data differ
            in shape.
    """
    with scope_block.variable_scope(generator_scope) as of_generator:
        structured = converted(structured_generator_inputs)
        inputs = converted(unstructured_generator_inputs) + structured
        generated = generator_fn(inputs)
    with scope_block.variable_scope(discriminator_scope) as of_discriminator:
        on_generated, distributions = discriminator_fn(generated, inputs)
    _check_distributions(distributions, structured)
    with scope_block.variable_scope(of_discriminator, reuse=True):
        real = convert.convert_to_tensor(real_data)
        on_real, _ = discriminator_fn(real, inputs)
    _check_shapes(generated, real)
    return tuples.InfoGANModel(
        inputs, generated, variables_of.get_trainable_variables(of_generator), of_generator,
        generator_fn, real, on_real, on_generated,
        variables_of.get_trainable_variables(of_discriminator), of_discriminator,
        lambda data, condition: discriminator_fn(data, condition)[0], structured, distributions,
        discriminator_fn,
    )  # fmt: skip


def _check_distributions(distributions: Any, noise: Any) -> None:
    if not isinstance(distributions, (tuple, list)):
        raise ValueError(  # noqa: TRY004 - TensorFlow's error
            f"`predicted_distributions` must be a list. Instead, found {type(distributions)}."
        )
    if len(distributions) != len(noise):
        raise ValueError(
            f"Length of `predicted_distributions` {len(distributions)} must be the same as the "
            f"length of structured noise {len(noise)}."
        )


def acgan_model(
    generator_fn: Any,
    discriminator_fn: Any,
    real_data: Any,
    generator_inputs: Any,
    one_hot_labels: Any,
    generator_scope: Any = _GENERATOR,
    discriminator_scope: Any = _DISCRIMINATOR,
    check_shapes: bool = True,
) -> tuples.ACGANModel:
    """Generate data. The discriminator returns its outputs, and the logits of the classes.

    Raises:
        TypeError: the discriminator does not return a pair.
        ValueError: `check_shapes` is true, and generated and real data differ in shape.
    """
    graph = graphs.get_default_graph()
    with scope_block.variable_scope(generator_scope) as of_generator:
        inputs = converted(generator_inputs)
        generated = generator_fn(inputs)
    with (
        scope_block.variable_scope(discriminator_scope) as of_discriminator,
        graph.name_scope(f"{of_discriminator.name}/generated/"),
    ):
        on_generated, generated_classes = _pair(discriminator_fn(generated, inputs))
    with (
        scope_block.variable_scope(of_discriminator, reuse=True),
        graph.name_scope(f"{of_discriminator.name}/real/"),
    ):
        real = convert.convert_to_tensor(real_data)
        on_real, real_classes = _pair(discriminator_fn(real, inputs))
    if check_shapes:
        _check_shapes(generated, real)
    return tuples.ACGANModel(
        inputs, generated, variables_of.get_trainable_variables(of_generator), of_generator,
        generator_fn, real, on_real, on_generated,
        variables_of.get_trainable_variables(of_discriminator), of_discriminator, discriminator_fn,
        one_hot_labels, real_classes, generated_classes,
    )  # fmt: skip


def _pair(outputs: Any) -> tuple[Any, Any]:
    try:
        judged, classes = outputs
    except (TypeError, ValueError):
        raise TypeError(
            "A discriminator function for ACGAN must output a tuple consisting of "
            "(discrimination logits, classification logits)."
        ) from None
    return judged, classes


def cyclegan_model(
    generator_fn: Any,
    discriminator_fn: Any,
    data_x: Any,
    data_y: Any,
    generator_scope: Any = _GENERATOR,
    discriminator_scope: Any = _DISCRIMINATOR,
    model_x2y_scope: Any = "ModelX2Y",
    model_y2x_scope: Any = "ModelY2X",
    check_shapes: bool = True,
) -> tuples.CycleGANModel:
    """Make a model from x to y and one from y to x, and bring the data of both back.

    Raises:
        ValueError: `check_shapes` is true, and generated and real data differ in shape.
    """

    def model(scope: Any, given: Any, wanted: Any) -> tuples.GANModel:
        with scope_block.variable_scope(scope):
            return gan_model(
                generator_fn, discriminator_fn, wanted, given, generator_scope,
                discriminator_scope, check_shapes,
            )  # fmt: skip

    def back(by: tuples.GANModel, data: Any) -> Any:
        with scope_block.variable_scope(by.generator_scope, reuse=True):
            return by.generator_fn(data)

    x2y = model(model_x2y_scope, data_x, data_y)
    y2x = model(model_y2x_scope, data_y, data_x)
    reconstructed_x = back(y2x, x2y.generated_data)
    return tuples.CycleGANModel(x2y, y2x, reconstructed_x, back(x2y, y2x.generated_data))


def stargan_model(
    generator_fn: Any,
    discriminator_fn: Any,
    input_data: Any,
    input_data_domain_label: Any,
    generator_scope: Any = _GENERATOR,
    discriminator_scope: Any = _DISCRIMINATOR,
) -> tuples.StarGANModel:
    """Move images to random domains and back, and judge them.

    Images and labels may be lists, which are joined along axis 0. A label is a row of a matrix of
    known shape, with a column for each domain. The generator is a function of images and rows. The
    discriminator is a function of images and the number of domains, and returns its outputs and
    the logits of the domains.

    Raises:
        ValueError: the labels are no matrix of known shape.
    """
    data, labels = map(_joined, (input_data, input_data_domain_label))
    labels.shape.assert_has_rank(2)
    labels.shape.assert_is_fully_defined()
    batch, domains = labels.shape.as_list()
    with scope_block.variable_scope(generator_scope) as of_generator:
        indices = random_ops.random_uniform([batch], 0, domains, dtypes.int32)
        targets = creation_ops.one_hot(indices, domains)
        generated = generator_fn(data, targets)
    with scope_block.variable_scope(of_generator, reuse=True):
        reconstructed = generator_fn(generated, labels)
    with scope_block.variable_scope(discriminator_scope) as of_discriminator:
        generated_source, generated_domain = discriminator_fn(generated, domains)
    with scope_block.variable_scope(of_discriminator, reuse=True):
        source, domain = discriminator_fn(data, domains)
    return tuples.StarGANModel(
        data, labels, generated, targets, reconstructed, source, generated_source, domain,
        generated_domain, variables_of.get_trainable_variables(of_generator), of_generator,
        generator_fn, variables_of.get_trainable_variables(of_discriminator), of_discriminator,
        discriminator_fn,
    )  # fmt: skip


def _joined(values: Any) -> Any:
    tensors = converted(values)
    return array_ops.concat(tensors, 0) if isinstance(tensors, list) else tensors
