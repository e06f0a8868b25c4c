"""Capstan: TensorFlow 1's distributed runtime, with TensorFlow's names.

    import capstan as tf

A script for TensorFlow 1 runs unchanged if it uses only the names that this package has. This
module only exports names. Each module of `capstan.api` lists its public names in `__all__`. Parts
that take long to load (sessions, servers, training, protocol buffers) are imported at their first
use.
"""

# ruff: noqa: F403 - each module lists its exports in `__all__`; they are not repeated here
import importlib
from typing import TYPE_CHECKING, Any

from capstan import errors as errors
from capstan.api import operator_dispatch as _operator_dispatch
from capstan.api import ragged_dispatch as _ragged_dispatch
from capstan.api.absent import absent as _absent
from capstan.api.accumulators import *
from capstan.api.arrangement_ops import *
from capstan.api.array_ops import *
from capstan.api.batching import *
from capstan.api.block_ops import *
from capstan.api.broadcast_ops import *
from capstan.api.check_ops import *
from capstan.api.check_ranks import *
from capstan.api.check_types import *
from capstan.api.clip_ops import *
from capstan.api.complex_ops import *
from capstan.api.cond_ops import *
from capstan.api.control_flow_bodies import *
from capstan.api.control_flow_ops import *
from capstan.api.counting_ops import *
from capstan.api.creation_ops import *
from capstan.api.critical_section import *
from capstan.api.custom_gradient import *
from capstan.api.data_flow_ops import *
from capstan.api.einsum_ops import *
from capstan.api.example_ops import *
from capstan.api.framework import *
from capstan.api.functional_ops import *
from capstan.api.gather_ops import *
from capstan.api.hessians import *
from capstan.api.histogram_ops import *
from capstan.api.importer import *
from capstan.api.input_ops import *
from capstan.api.io_ops import *
from capstan.api.linear_algebra_ops import *
from capstan.api.load_library import *
from capstan.api.logic_ops import *
from capstan.api.math_functions import *
from capstan.api.math_ops import *
from capstan.api.matrix_functions import *
from capstan.api.matrix_ops import *
from capstan.api.nd_ops import *
from capstan.api.nn_morphology import *
from capstan.api.nn_space_to_batch import *
from capstan.api.nn_volumes import *
from capstan.api.ordering_ops import *
from capstan.api.parsing_ops import *
from capstan.api.quantization_ops import *
from capstan.api.ragged.spec import *
from capstan.api.ragged.tensor import *
from capstan.api.random_ops import *
from capstan.api.reduce_ops import *
from capstan.api.row_hashes import *
from capstan.api.script_ops import *
from capstan.api.segment_ops import *
from capstan.api.sequence_example_ops import *
from capstan.api.session_ops import *
from capstan.api.sparse_arithmetic_ops import *
from capstan.api.sparse_layout_ops import *
from capstan.api.sparse_math_ops import *
from capstan.api.sparse_ops import *
from capstan.api.sparse_reduce_ops import *
from capstan.api.sparse_string_ops import *
from capstan.api.special_ops import *
from capstan.api.spectral_ops import *
from capstan.api.state_ops import *
from capstan.api.string_ops import *
from capstan.api.switch_case_ops import *
from capstan.api.template import *
from capstan.api.tensor_array_ops import *
from capstan.api.tensor_products import *
from capstan.api.type_spec import *
from capstan.api.while_ops import *
from capstan.core import finder as _finder
from capstan.core import public as _public
from capstan.core import release as _release

if TYPE_CHECKING:
    from tensorboard.compat.proto.config_pb2 import ConfigProto as ConfigProto
    from tensorboard.compat.proto.config_pb2 import RunMetadata as RunMetadata
    from tensorboard.compat.proto.config_pb2 import RunOptions as RunOptions
    from tensorboard.compat.proto.graph_pb2 import GraphDef as GraphDef

    from capstan import compat as compat
    from capstan import contrib as contrib
    from capstan import estimator as estimator
    from capstan import keras as keras
    from capstan import python as python
    from capstan import train as train
    from capstan.api import app as app
    from capstan.api import autograph as autograph
    from capstan.api import bitwise as bitwise
    from capstan.api import config as config
    from capstan.api import data as data
    from capstan.api import distribute as distribute
    from capstan.api import distributions as distributions
    from capstan.api import feature_column as feature_column
    from capstan.api import flags as flags
    from capstan.api import gfile as gfile
    from capstan.api import graph_util as graph_util
    from capstan.api import image as image
    from capstan.api import io as io
    from capstan.api import layers as layers
    from capstan.api import logging as logging
    from capstan.api import lookup as lookup
    from capstan.api import losses as losses
    from capstan.api import metrics as metrics
    from capstan.api import nn as nn
    from capstan.api import profiler as profiler
    from capstan.api import python_io as python_io
    from capstan.api import queue as queue
    from capstan.api import ragged as ragged
    from capstan.api import raw_ops as raw_ops
    from capstan.api import resource_loader as resource_loader
    from capstan.api import sets as sets
    from capstan.api import sysconfig as sysconfig
    from capstan.api import test as test
    from capstan.api import version as version
    from capstan.client.interactive_session import InteractiveSession as InteractiveSession
    from capstan.client.session import Session as Session
    from capstan.train import saved_model as saved_model
    from capstan.train import summary as summary

_finder.install()
globals().update(_ragged_dispatch.overrides(globals()))
globals().update(_operator_dispatch.overrides(globals()))

__version__ = _release.TENSORFLOW

_MODULES = {
    "app": "capstan.api.app",
    "autograph": "capstan.api.autograph",
    "bitwise": "capstan.api.bitwise",
    "compat": "capstan.compat",
    "config": "capstan.api.config",
    "contrib": "capstan.contrib",
    "data": "capstan.api.data",
    "distribute": "capstan.api.distribute",
    "distributions": "capstan.api.distributions",
    "estimator": "capstan.estimator",
    "feature_column": "capstan.api.feature_column",
    "flags": "capstan.api.flags",
    "gfile": "capstan.api.gfile",
    "graph_util": "capstan.api.graph_util",
    "image": "capstan.api.image",
    "io": "capstan.api.io",
    "keras": "capstan.keras",
    "layers": "capstan.api.layers",
    "logging": "capstan.api.logging",
    "lookup": "capstan.api.lookup",
    "losses": "capstan.api.losses",
    "metrics": "capstan.api.metrics",
    "nest": "capstan.api.nest",
    "nn": "capstan.api.nn",
    "profiler": "capstan.api.profiler",
    "python": "capstan.python",
    "python_io": "capstan.api.python_io",
    "pywrap_tensorflow": "capstan.python.pywrap_tensorflow",
    "queue": "capstan.api.queue",
    "ragged": "capstan.api.ragged",
    "raw_ops": "capstan.api.raw_ops",
    "resource_loader": "capstan.api.resource_loader",
    "saved_model": "capstan.train.saved_model",
    "sets": "capstan.api.sets",
    "summary": "capstan.train.summary",
    "sysconfig": "capstan.api.sysconfig",
    "test": "capstan.api.test",
    "tpu": "capstan.train.tpu",
    "train": "capstan.train",
    "version": "capstan.api.version",
}
_ATTRIBUTES = {
    "IndexedSlicesSpec": "capstan.api.indexed_slices_spec",
    "OptionalSpec": "capstan.api.data_optional",
    "GradientTape": "capstan.api.gradient_tape",
    "AttrValue": "tensorboard.compat.proto.attr_value_pb2",
    "COMPILER_VERSION": "capstan.api.version",
    "CXX11_ABI_FLAG": "capstan.api.sysconfig",
    "ConfigProto": "tensorboard.compat.proto.config_pb2",
    "Event": "tensorboard.compat.proto.event_pb2",
    "GIT_VERSION": "capstan.api.version",
    "GPUOptions": "tensorboard.compat.proto.config_pb2",
    "GRAPH_DEF_VERSION": "capstan.api.version",
    "GRAPH_DEF_VERSION_MIN_CONSUMER": "capstan.api.version",
    "GRAPH_DEF_VERSION_MIN_PRODUCER": "capstan.api.version",
    "GraphDef": "tensorboard.compat.proto.graph_pb2",
    "GraphOptions": "tensorboard.compat.proto.config_pb2",
    "HistogramProto": "tensorboard.compat.proto.summary_pb2",
    "InteractiveSession": "capstan.client.interactive_session",
    "LogMessage": "tensorboard.compat.proto.event_pb2",
    "MONOLITHIC_BUILD": "capstan.api.sysconfig",
    "MetaGraphDef": "tensorboard.compat.proto.meta_graph_pb2",
    "Module": "capstan.api.module",
    "NameAttrList": "tensorboard.compat.proto.attr_value_pb2",
    "NodeDef": "tensorboard.compat.proto.node_def_pb2",
    "OpError": "capstan.errors",
    "OptimizerOptions": "tensorboard.compat.proto.config_pb2",
    "RunMetadata": "tensorboard.compat.proto.config_pb2",
    "RunOptions": "tensorboard.compat.proto.config_pb2",
    "Session": "capstan.client.session",
    "SessionLog": "tensorboard.compat.proto.event_pb2",
    "Summary": "tensorboard.compat.proto.summary_pb2",
    "SummaryMetadata": "tensorboard.compat.proto.summary_pb2",
    "TensorInfo": "tensorboard.compat.proto.meta_graph_pb2",
    "VERSION": "capstan.api.version",
    "VariableAggregation": "capstan.api.variable_replicas",
    "VariableSynchronization": "capstan.api.variable_replicas",
    "__compiler_version__": "capstan.api.version",
    "__git_version__": "capstan.api.version",
    "all_variables": "capstan.api.old_names",
    "arg_max": "capstan.api.old_names",
    "arg_min": "capstan.api.old_names",
    "assert_variables_initialized": "capstan.api.old_names",
    "audio": "capstan.api.namespaces",
    "debugging": "capstan.api.namespaces",
    "disable_eager_execution": "capstan.api.behavior",
    "disable_tensor_equality": "capstan.api.behavior",
    "disable_v2_behavior": "capstan.api.behavior",
    "disable_v2_tensorshape": "capstan.api.behavior",
    "dtypes": "capstan.api.namespaces",
    "executing_eagerly": "capstan.api.behavior",
    "function": "capstan.api.def_function",
    "get_logger": "capstan.api.logging",
    "get_static_value": "capstan.api.known_values",
    "initialize_all_tables": "capstan.api.lookup.factories",
    "initialize_all_variables": "capstan.api.old_names",
    "initialize_local_variables": "capstan.api.old_names",
    "initialize_variables": "capstan.api.old_names",
    "initializers": "capstan.api.namespaces",
    "linalg": "capstan.api.namespaces",
    "manip": "capstan.api.namespaces",
    "make_ndarray": "capstan.api.tensor_messages",
    "make_tensor_proto": "capstan.api.tensor_messages",
    "math": "capstan.api.namespaces",
    "op_scope": "capstan.api.old_names",
    "print": "capstan.api.printing",
    "random": "capstan.api.namespaces",
    "sparse": "capstan.api.namespaces",
    "quantization": "capstan.api.namespaces",
    "signal": "capstan.api.namespaces",
    "spectral": "capstan.api.namespaces",
    "strings": "capstan.api.namespaces",
    "tables_initializer": "capstan.api.lookup.factories",
    "timestamp": "capstan.api.printing",
    "variable_op_scope": "capstan.api.old_names",
    "vectorized_map": "capstan.api.parallel_for",
    "wrap_function": "capstan.api.traced.wrapped",
}


def __getattr__(name: str) -> Any:
    """Import a name of `_MODULES` or `_ATTRIBUTES` at its first use and keep it in the module."""
    if name in _MODULES:
        value: Any = importlib.import_module(_MODULES[name])
    elif name in _ATTRIBUTES:
        value = getattr(importlib.import_module(_ATTRIBUTES[name]), name)
    else:
        raise _absent("tf", name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_public.names(globals()), *_MODULES, *_ATTRIBUTES, "errors"})
