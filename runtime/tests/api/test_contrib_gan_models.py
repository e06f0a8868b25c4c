"""`tf.contrib.gan` makes models, their losses, and operations that train both networks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capstan as tf

gan = tf.contrib.gan


def generator(inputs: Any) -> Any:
    return tf.get_variable("dummy_g", initializer=2.0) * inputs


def summing(inputs: Any) -> Any:
    return generator(inputs[0] + inputs[1])


def discriminator(data: Any, _: Any) -> Any:
    return tf.get_variable("dummy_d", initializer=3.0) * data


def classifying(data: Any, _: Any) -> Any:
    return discriminator(data, _), tf.ones([1, 2]) * tf.reduce_sum(data)


def predicting(data: Any, _: Any) -> Any:
    return discriminator(data, _), [tf.contrib.distributions.Normal(0.0, 1.0)]


def star_generator(images: Any, _: Any) -> Any:
    return generator(images)


def star_discriminator(images: Any, domains: int) -> Any:
    judged = discriminator(images, None)
    return tf.reduce_mean(judged, [1, 2, 3]), tf.zeros([2, domains])


def made(kind: str) -> Any:
    noise, real = tf.constant([[1.0, 2.0]]), tf.constant([[4.0, 8.0]])
    match kind:
        case "infogan":
            return gan.infogan_model(summing, predicting, real, [noise], [noise])
        case "acgan":
            return gan.acgan_model(generator, classifying, real, noise, tf.constant([[0.0, 1.0]]))
        case "cyclegan":
            return gan.cyclegan_model(generator, discriminator, noise, real)
        case "stargan":
            images, labels = tf.ones([2, 4, 4, 3]), tf.constant([[1.0, 0.0], [0.0, 1.0]])
            return gan.stargan_model(star_generator, star_discriminator, images, labels)
    return gan.gan_model(generator, discriminator, real, noise)


def run(*fetches: Any) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(fetches))


@pytest.mark.parametrize("kind", ["gan", "acgan", "stargan"])
def test_a_model_has_the_variables_of_both_networks_once(kind: str) -> None:
    model = made(kind)
    assert [each.op.name for each in model.generator_variables] == ["Generator/dummy_g"]
    assert [each.op.name for each in model.discriminator_variables] == ["Discriminator/dummy_d"]


def test_a_model_judges_generated_and_real_data() -> None:
    model = made("gan")
    on_generated, on_real = run(model.discriminator_gen_outputs, model.discriminator_real_outputs)
    assert on_generated.tolist() == [[6.0, 12.0]]
    assert on_real.tolist() == [[12.0, 24.0]]


def test_generated_data_must_have_the_shape_of_real_data_unless_it_is_not_checked() -> None:
    arguments = (generator, discriminator, tf.zeros([1, 3]), tf.zeros([1, 2]))
    with pytest.raises(ValueError, match="must be the same shape as real data"):
        gan.gan_model(*arguments)
    with tf.variable_scope("", reuse=tf.AUTO_REUSE):
        gan.gan_model(*arguments, check_shapes=False)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            lambda: gan.acgan_model(
                generator, lambda data, _: tf.zeros([3]), [1.0], [1.0], tf.ones([1, 1])
            ),
            TypeError,
            "must output a tuple",
        ),
        (
            lambda: gan.infogan_model(summing, lambda data, _: (data, []), [1.0], [[1.0]], [[1.0]]),
            ValueError,
            "Length of `predicted_distributions` 0",
        ),
        (
            lambda: gan.stargan_model(
                star_generator, star_discriminator, tf.ones([2, 1, 1, 3]), tf.ones([2])
            ),
            ValueError,
            "must have rank 2",
        ),
    ],
)
def test_a_network_with_the_wrong_outputs_is_refused(
    build: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message), tf.variable_scope("", reuse=tf.AUTO_REUSE):
        build()


def test_a_cycle_brings_the_data_of_both_kinds_back() -> None:
    model = made("cyclegan")
    x, y = run(model.reconstructed_x, model.reconstructed_y)
    assert x.tolist() == [[4.0, 8.0]]
    assert y.tolist() == [[16.0, 32.0]]
    assert [each.op.name for each in tf.trainable_variables()] == [
        f"{model}/{variable}"
        for model in ("ModelX2Y", "ModelY2X")
        for variable in ("Generator/dummy_g", "Discriminator/dummy_d")
    ]


def test_a_loss_has_the_regularization_of_its_scope() -> None:
    model = made("gan")
    without = gan.gan_loss(model)
    for scope, value in ((model.generator_scope, 3.0), (model.discriminator_scope, 2.0)):
        with tf.name_scope(f"{scope.name}/"):
            tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(value))
    found = run(without, gan.gan_loss(model))
    assert np.subtract(found[1], found[0]).tolist() == [3.0, 2.0]
    assert found[0] == (-9.0, 9.0 - 18.0)


@pytest.mark.parametrize(
    ("kind", "weight", "changed"),
    [
        ("gan", "gradient_penalty_weight", (False, True)),
        ("acgan", "aux_cond_generator_weight", (True, False)),
        ("acgan", "aux_cond_discriminator_weight", (False, True)),
        ("infogan", "mutual_information_penalty_weight", (True, True)),
    ],
)
def test_a_penalty_changes_the_losses_of_its_networks(
    kind: str, weight: str, changed: tuple[bool, bool]
) -> None:
    model = made(kind)
    plain, weighted, zero = run(
        gan.gan_loss(model), gan.gan_loss(model, **{weight: tf.constant(2.0)}),
        gan.gan_loss(model, **{weight: 0}),
    )  # fmt: skip
    assert tuple(np.not_equal(plain, weighted)) == changed
    assert plain == zero


def test_a_penalty_is_refused_if_it_is_negative_or_for_another_model() -> None:
    model = made("gan")
    with pytest.raises(ValueError, match="`gradient_penalty_weight` must be greater than 0"):
        gan.gan_loss(model, gradient_penalty_weight=-1.0)
    with pytest.raises(ValueError, match="`model` must be an `InfoGANModel`"):
        gan.gan_loss(model, mutual_information_penalty_weight=1.0)
    with pytest.raises(ValueError, match="`model` must be an `ACGANModel`"):
        gan.gan_loss(model, aux_cond_generator_weight=1.0)


def test_the_discriminator_judges_what_the_pool_returns() -> None:
    model = made("gan")
    loss = gan.gan_loss(model, tensor_pool_fn=lambda values: (values[0], tf.zeros([1, 2])))
    assert run(*loss) == [-9.0, -18.0]


def test_the_losses_of_a_cycle_have_the_consistency_for_both_generators() -> None:
    model = made("cyclegan")
    lighter, heavier = run(
        gan.cyclegan_loss(model, cycle_consistency_loss_weight=0.0), gan.cyclegan_loss(model)
    )
    consistency = (4.5 + 18) / 2
    assert heavier.loss_x2y.generator_loss == pytest.approx(
        lighter.loss_x2y.generator_loss + 10 * consistency
    )
    assert heavier.loss_y2x.discriminator_loss == lighter.loss_y2x.discriminator_loss


def test_the_loss_of_a_stargan_adds_up_sources_domains_and_what_came_back() -> None:
    loss = run(*gan.stargan_loss(made("stargan"), gradient_penalty_weight=None))
    # The images are 1, and become 2 and then 4. The logits of two domains are 0.
    assert loss == pytest.approx([-6 + 10 * 3 + np.log(2), 6 - 3 + np.log(2)], rel=1e-5)


@pytest.mark.parametrize("kind", ["gan", "cyclegan"])
def test_the_train_ops_change_the_network_that_they_are_for(kind: str) -> None:
    model = made(kind)
    loss = gan.cyclegan_loss(model) if kind == "cyclegan" else gan.gan_loss(model)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    ops = gan.gan_train_ops(model, loss, optimizer, optimizer)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for op, changed in ((ops.generator_train_op, "dummy_g"), (ops[1], "dummy_d")):
            before = session.run(tf.trainable_variables())
            session.run(op)
            after = session.run(tf.trainable_variables())
            for variable, old, new in zip(tf.trainable_variables(), before, after, strict=True):
                assert (old != new) == variable.op.name.endswith(changed)
        assert session.run(tf.train.get_global_step()) == 0
        session.run(ops.global_step_inc_op)
        assert session.run(tf.train.get_global_step()) == 1


def test_update_operations_run_with_the_network_of_their_scope() -> None:
    model = made("gan")
    counters = []
    for scope in ("Generator", "Discriminator"):
        counters.append(tf.Variable(0, trainable=False))
        with tf.name_scope(f"{scope}/"):
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(counters[-1], 1))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    ops = gan.gan_train_ops(model, gan.gan_loss(model), optimizer, optimizer)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(ops.generator_train_op)
        assert session.run(counters) == [1, 0]
    stray = tf.assign_add(counters[0], 1)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, stray)
    with pytest.raises(ValueError, match="There are unused update ops"):
        gan.gan_train_ops(model, gan.gan_loss(model), optimizer, optimizer)
    with tf.variable_scope("again"):
        gan.gan_train_ops(
            model, gan.gan_loss(model), optimizer, optimizer, check_for_unused_update_ops=False
        )


def test_a_synchronous_optimizer_gets_a_step_and_a_hook_of_its_own() -> None:
    model = made("gan")

    def optimizer() -> Any:
        return tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1)

    ops = gan.gan_train_ops(model, gan.gan_loss(model), optimizer(), optimizer())
    assert len(ops.train_hooks) == 2
    names = [each.op.name for each in tf.global_variables()]
    assert {"dummy_global_step_generator", "dummy_global_step_discriminator"} <= set(names)


class _Counted:
    """A stand-in for train ops that are counters."""

    def __init__(self) -> None:
        self.counters = [tf.Variable(0, trainable=False) for _ in range(2)]
        step = tf.train.get_or_create_global_step()
        self.ops = gan.GANTrainOps(
            *(tf.assign_add(each, 1) for each in self.counters), tf.assign_add(step, 1)
        )


@pytest.mark.parametrize(
    "hooks", [gan.get_sequential_train_hooks, gan.get_joint_train_hooks], ids=["in turn", "joint"]
)
def test_the_hooks_train_each_network_as_often_as_told(hooks: Any) -> None:
    counted = _Counted()
    final = tf.train.FinalOpsHook(counted.counters)
    with tf.train.MonitoredSession(
        hooks=[
            tf.train.StopAtStepHook(num_steps=2),
            *hooks(gan.GANTrainSteps(2, 3))(counted.ops),
            final,
        ]
    ) as session:
        while not session.should_stop():
            session.run(counted.ops.global_step_inc_op)
    assert final.final_ops_values == [4, 6]


def test_training_goes_on_to_the_step_of_a_hook(tmp_path: Path) -> None:
    model = made("gan")
    optimizer = tf.train.GradientDescentOptimizer(0.01)
    ops = gan.gan_train_ops(model, gan.gan_loss(model), optimizer, optimizer)
    hooks = [tf.train.StopAtStepHook(num_steps=3)]
    assert gan.gan_train(ops, str(tmp_path), hooks=hooks) == 3
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-3")


def test_a_supervised_training_gets_the_sum_of_the_losses() -> None:
    counted = _Counted()
    step = gan.get_sequential_train_steps(gan.GANTrainSteps(2, 1))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        kwargs = {"should_stop": tf.equal(tf.train.get_global_step(), 1)}
        total, stops = step(session, counted.ops, tf.train.get_global_step(), kwargs)
        assert (total, bool(stops)) == (1 + 2 + 1, True)
        assert "should_stop" in kwargs
