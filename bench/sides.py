"""The two sides of a comparison, seen from one of their processes: the module `tf`, and settings.

Both sides run the same script text. TensorFlow is measured at its best: where more than one setting
is reasonable a row names them all, each is measured, and the ratio is against the fastest.
"""

import importlib
import os
from dataclasses import dataclass
from typing import Any

CAPSTAN = "capstan"
TENSORFLOW = "tensorflow"


@dataclass(frozen=True, slots=True)
class Setting:
    """How a side is set up; the defaults are TensorFlow's own.

    `caller_thread` runs local steps in the thread of `Session.run`, without TensorFlow's pool.
    `resource` makes resource variables in place of TensorFlow 1's reference variables.
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
    """The ConfigProto of a session in process; None is the default."""
    return tf.ConfigProto(inter_op_parallelism_threads=-1) if setting.caller_thread else None


def task_config(tf: Any) -> Any:
    """The ConfigProto of a task: one compute thread, since the tasks of a row share the cores.

    Grappler is off: it gains nothing on these graphs, and it could see through those that only
    move bytes.
    """
    config = tf.ConfigProto(intra_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config
