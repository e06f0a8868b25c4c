"""The two sides of a comparison: the module `tf` of each side, and the side's settings.

Both sides run the same script. If several settings of TensorFlow are reasonable, a row names and
measures all of them, and compares Capstan with the fastest.
"""

import importlib
import os
from dataclasses import dataclass
from typing import Any

CAPSTAN = "capstan"
TENSORFLOW = "tensorflow"


@dataclass(frozen=True, slots=True)
class Setting:
    """The setup of a side. The defaults are those of TensorFlow.

    With `caller_thread`, local steps run in the thread that calls `Session.run`, without
    TensorFlow's thread pool. With `resource`, variables are resource variables instead of
    TensorFlow 1's reference variables.
    """

    name: str
    side: str
    caller_thread: bool = False
    resource: bool = False


CAPSTAN_AS_IT_IS = Setting("capstan", CAPSTAN)
POOL = Setting("pool", TENSORFLOW)
CALLER = Setting("caller's thread", TENSORFLOW, caller_thread=True)
REFERENCE = Setting("reference variables", TENSORFLOW)
RESOURCE = Setting("resource variables", TENSORFLOW, resource=True)

SETTINGS = {s.name: s for s in (CAPSTAN_AS_IT_IS, POOL, CALLER, REFERENCE, RESOURCE)}


def load(setting: Setting) -> Any:
    """Import the side and return its `tf`, in graph mode."""
    if setting.side == CAPSTAN:
        return importlib.import_module("capstan")
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    tf = importlib.import_module("tensorflow").compat.v1
    tf.disable_eager_execution()
    if setting.resource:
        tf.enable_resource_variables()
    else:
        tf.disable_resource_variables()
    tf.logging.set_verbosity(tf.logging.ERROR)
    return tf


def local_config(tf: Any, setting: Setting) -> Any:
    """Return the ConfigProto of an in-process session, or None for the default."""
    return tf.ConfigProto(inter_op_parallelism_threads=-1) if setting.caller_thread else None


def task_config(tf: Any) -> Any:
    """Return the ConfigProto of a task. It has one compute thread, because tasks share the cores.

    Grappler is off. It does not speed these graphs up, and it could remove the operations of the
    graphs that only move bytes.
    """
    config = tf.ConfigProto(intra_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config
