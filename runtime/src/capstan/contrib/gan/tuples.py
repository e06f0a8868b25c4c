"""What the steps of `tf.contrib.gan` hand to each other: models, losses and training operations
(contrib/gan/python/namedtuples.py).

Functions of the package make the tuples. A program may also build one itself.
"""

from typing import Any, NamedTuple


class GANModel(NamedTuple):
    """A generator, and a discriminator that has judged real and generated data.

    The functions are those that made the outputs, and the scopes are those of their variables, so
    that a loss can apply the discriminator once more.
    """

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any


class InfoGANModel(NamedTuple):
    """A GANModel whose discriminator also predicts the distribution of a part of the noise.

    `structured_generator_inputs` is that noise, and `predicted_distributions` has a distribution
    for each of its tensors. `discriminator_and_aux_fn` returns the outputs and the distributions,
    `discriminator_fn` only the outputs.
    """

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any
    structured_generator_inputs: Any
    predicted_distributions: Any
    discriminator_and_aux_fn: Any


class ACGANModel(NamedTuple):
    """A GANModel whose discriminator also classifies the data."""

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any
    one_hot_labels: Any
    discriminator_real_classification_logits: Any
    discriminator_gen_classification_logits: Any


class CycleGANModel(NamedTuple):
    """Two GANModels, one from x to y and one back, and the data that went both ways."""

    model_x2y: Any
    model_y2x: Any
    reconstructed_x: Any
    reconstructed_y: Any


class StarGANModel(NamedTuple):
    """A generator that moves data to other domains, and a discriminator that names the domain.

    The data have been moved to random domains, and from there back to their own.
    """

    input_data: Any
    input_data_domain_label: Any
    generated_data: Any
    generated_data_domain_target: Any
    reconstructed_data: Any
    discriminator_input_data_source_predication: Any
    discriminator_generated_data_source_predication: Any
    discriminator_input_data_domain_predication: Any
    discriminator_generated_data_domain_predication: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any


class GANLoss(NamedTuple):
    """The losses of the two networks of a model, scalars."""

    generator_loss: Any
    discriminator_loss: Any


class CycleGANLoss(NamedTuple):
    """The GANLosses of the two models of a CycleGANModel."""

    loss_x2y: Any
    loss_y2x: Any


class GANTrainOps(NamedTuple):
    """The operations that train a network by one step, and the one that counts the global step.

    `train_hooks` has the hooks that the optimizers need.
    """

    generator_train_op: Any
    discriminator_train_op: Any
    global_step_inc_op: Any
    train_hooks: Any = ()


class GANTrainSteps(NamedTuple):
    """How many steps each network makes in one step of the training."""

    generator_train_steps: int
    discriminator_train_steps: int
