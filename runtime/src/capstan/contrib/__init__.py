"""`tf.contrib`: the names of TensorFlow 1's contrib that programs of Capstan use.

`tf.contrib.training` has the strategies for parameter servers, `tf.contrib.framework` the global
step and the readers of checkpoints, `tf.contrib.rnn` the cells of recurrent networks, and
`tf.contrib.testing` what tests of summaries need. The modules are aliases: nothing is imported
before a name is asked for.
"""

import importlib
from collections.abc import Callable
from typing import Any

from capstan.api.absent import absent
from capstan.core import alias


def _only(**homes: str) -> Callable[[str], Any]:
    """Return a function that finds each name in the module that `homes` gives for the name."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(name)
        return getattr(importlib.import_module(homes[name]), name)

    return find


_CHECKPOINTS = "capstan.train.checkpoint_reader"
_MESSAGES = "capstan.api.tensor_messages"
_STEPS = "capstan.train.steps"

alias.grow(
    __name__,
    {
        "framework": (
            _only(
                assert_global_step=_STEPS,
                create_global_step=_STEPS,
                get_global_step=_STEPS,
                get_or_create_global_step=_STEPS,
                init_from_checkpoint="capstan.train.initial_checkpoint",
                list_variables=_CHECKPOINTS,
                load_checkpoint=_CHECKPOINTS,
                load_variable=_CHECKPOINTS,
                nest="capstan",
            ),
        ),
        "layers": ("capstan.api.contrib_layers",),
        "rnn": ("capstan.api.rnn", _only(static_rnn="capstan.api.nn")),
        "lookup": ("capstan.contrib.lookup_tables",),
        "staging": ("capstan.api.staging",),
        "testing": (
            _only(
                FakeSummaryWriter="capstan.contrib.fake_summary_writer",
                latest_event_file="capstan.contrib.latest_events",
                latest_events="capstan.contrib.latest_events",
                latest_summaries="capstan.contrib.latest_events",
                simple_values_from_events="capstan.contrib.latest_events",
            ),
        ),
        "training": (
            _only(
                HParams="capstan.contrib.hparam",
                GreedyLoadBalancingStrategy="capstan.train.ps_strategy",
                RandomStrategy="capstan.train.ps_strategy",
                byte_size_load_fn="capstan.train.ps_strategy",
            ),
        ),
        "util": (
            _only(
                constant_value="capstan.framework.convert",
                make_ndarray=_MESSAGES,
                make_tensor_proto=_MESSAGES,
            ),
        ),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib", name)
