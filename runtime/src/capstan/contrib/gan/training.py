"""Operations and hooks that train the two networks in turn (contrib/gan/python/train.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api import init_ops, variable_scope
from capstan.contrib import train_ops as operations
from capstan.contrib.gan import tuples
from capstan.contrib.slim import learning
from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.train import hook, steps, sync_replicas

_KEYS = collections.GraphKeys
_ONE_EACH = tuples.GANTrainSteps(1, 1)
_HooksFn = Callable[[tuples.GANTrainOps], list[hook.SessionRunHook]]


def gan_train_ops(
    model: Any,
    loss: Any,
    generator_optimizer: Any,
    discriminator_optimizer: Any,
    check_for_unused_update_ops: bool = True,
    is_chief: bool = True,
    **kwargs: Any,
) -> tuples.GANTrainOps:
    """Return operations that train a network by one step each, and one that counts the step.

    An operation of UPDATE_OPS, or of `update_ops` in `kwargs`, runs with the network in whose scope
    it is. The other `kwargs` are those of `tf.contrib.training.create_train_op`. The hooks of a
    SyncReplicasOptimizer are in `train_hooks`. For a CycleGANModel, the operations are pairs.

    Raises:
        ValueError: an update operation is in neither scope, and `check_for_unused_update_ops` is
            true.
    """
    if isinstance(model, tuples.CycleGANModel):
        return _cyclegan_train_ops(
            model, loss, generator_optimizer, discriminator_optimizer,
            check_for_unused_update_ops=check_for_unused_update_ops, is_chief=is_chief, **kwargs,
        )  # fmt: skip
    global_step = steps.get_or_create_global_step()
    counted = global_step.assign_add(1)
    scopes = (model.generator_scope.name, model.discriminator_scope.name)
    updates = _updates(kwargs.pop("update_ops", None), scopes, check_for_unused_update_ops)
    hooks: list[Any] = []
    trained = []
    for name, optimizer, its_loss, variables, its_updates in (
        ("generator", generator_optimizer, loss.generator_loss, model.generator_variables,
         updates[0]),
        ("discriminator", discriminator_optimizer, loss.discriminator_loss,
         model.discriminator_variables, updates[1]),
    ):  # fmt: skip
        step = None
        if isinstance(optimizer, sync_replicas.SyncReplicasOptimizer):
            # The optimizer must have a step of its own: the global step counts once for both.
            step = variable_scope.get_variable(
                f"dummy_global_step_{name}", [], global_step.dtype.base_dtype,
                init_ops.zeros_initializer(), trainable=False, collections=[_KEYS.GLOBAL_VARIABLES],
            )  # fmt: skip
            its_updates.append(step.assign(global_step))
            hooks.append(optimizer.make_session_run_hook(is_chief))
        with graphs.get_default_graph().name_scope(f"{name}_train"):
            trained.append(
                operations.create_train_op(
                    its_loss, optimizer, step, its_updates, variables, **kwargs
                )
            )
    return tuples.GANTrainOps(trained[0], trained[1], counted, hooks)


def _cyclegan_train_ops(
    model: Any, loss: Any, *optimizers: Any, **kwargs: Any
) -> tuples.GANTrainOps:
    graph = graphs.get_default_graph()
    with graph.name_scope("cyclegan_x2y_train"):
        x2y = gan_train_ops(model.model_x2y, loss.loss_x2y, *optimizers, **kwargs)
    with graph.name_scope("cyclegan_y2x_train"):
        y2x = gan_train_ops(model.model_y2x, loss.loss_y2x, *optimizers, **kwargs)
    return tuples.GANTrainOps(
        (x2y.generator_train_op, y2x.generator_train_op),
        (x2y.discriminator_train_op, y2x.discriminator_train_op),
        steps.get_or_create_global_step().assign_add(1),
    )


def _updates(
    given: Any, scopes: tuple[str, str], check_for_unused: bool
) -> tuple[list[Any], list[Any]]:
    """Return the update operations in each of the two scopes."""
    graph = graphs.get_default_graph()
    wanted = graph.get_collection(_KEYS.UPDATE_OPS) if given is None else list(given)
    generator, discriminator = (
        [op for op in graph.get_collection(_KEYS.UPDATE_OPS, scope) if op in wanted]
        for scope in scopes
    )
    unused = [op for op in wanted if op not in generator and op not in discriminator]
    if unused and check_for_unused:
        raise ValueError(f"There are unused update ops: {unused}")
    return list(dict.fromkeys(generator)), list(dict.fromkeys(discriminator))


class RunTrainOpsHook(hook.SessionRunHook):
    """Runs operations a number of times before each step of a session."""

    def __init__(self, train_ops: Any, train_steps: int) -> None:
        self._train_ops = train_ops if isinstance(train_ops, (list, tuple)) else [train_ops]
        self._train_steps = train_steps

    def before_run(self, run_context: Any) -> None:
        for _ in range(self._train_steps):
            run_context.session.run(self._train_ops)


def get_sequential_train_hooks(train_steps: tuples.GANTrainSteps = _ONE_EACH) -> _HooksFn:
    """Return a function that makes the hooks: first the generator trains, then the other."""

    def hooks(train_ops: tuples.GANTrainOps) -> list[hook.SessionRunHook]:
        return [
            RunTrainOpsHook(train_ops.generator_train_op, train_steps.generator_train_steps),
            RunTrainOpsHook(
                train_ops.discriminator_train_op, train_steps.discriminator_train_steps
            ),
            *train_ops.train_hooks,
        ]

    return hooks


def get_joint_train_hooks(train_steps: tuples.GANTrainSteps = _ONE_EACH) -> _HooksFn:
    """Return a function that makes hooks that train both networks at once, as far as they can.

    What is left of the steps of a network follows. The optimizers should lock, since each network
    reads the variables that the other changes.
    """
    generator_steps, discriminator_steps = train_steps
    both = min(generator_steps, discriminator_steps)

    def hooks(train_ops: tuples.GANTrainOps) -> list[hook.SessionRunHook]:
        generator, discriminator, *_ = train_ops
        return [
            RunTrainOpsHook([generator, discriminator], both),
            RunTrainOpsHook(generator, generator_steps - both),
            RunTrainOpsHook(discriminator, discriminator_steps - both),
            *train_ops.train_hooks,
        ]

    return hooks


def gan_train(
    train_ops: tuples.GANTrainOps,
    logdir: str | None,
    get_hooks_fn: _HooksFn | None = None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: Any = None,
) -> Any:
    """Train until a hook stops the session, and return the last global step.

    The arguments are those of `tf.contrib.training.train`. By default the
    networks train in turn, one step each. Blocks.
    """
    made = get_hooks_fn or get_sequential_train_hooks()
    return operations.train(
        train_ops.global_step_inc_op, logdir, master, is_chief, scaffold,
        [*(hooks or ()), *made(train_ops)], chief_only_hooks, save_checkpoint_secs,
        save_summaries_steps, config,
    )  # fmt: skip


def get_sequential_train_steps(train_steps: tuples.GANTrainSteps = _ONE_EACH) -> Any:
    """Return a `train_step_fn` for `tf.contrib.slim.learning.train` of GANTrainOps.

    It returns the sum of all losses, and whether the training is to stop.
    """

    def step(
        sess: Any, train_ops: tuples.GANTrainOps, global_step: Any, train_step_kwargs: Any
    ) -> tuple[Any, Any]:
        kwargs = dict(train_step_kwargs)
        # Only the counted step decides whether to stop.
        should_stop = kwargs.pop("should_stop", None)
        total = 0
        for op, count in (
            (train_ops.generator_train_op, train_steps.generator_train_steps),
            (train_ops.discriminator_train_op, train_steps.discriminator_train_steps),
        ):
            for _ in range(count):
                loss, _ = learning.train_step(sess, op, global_step, kwargs)
                total += loss
        sess.run(train_ops.global_step_inc_op)
        return total, False if should_stop is None else sess.run(should_stop)

    return step
