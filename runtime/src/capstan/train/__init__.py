"""`tf.train`: optimizers, checkpoints, and sessions that survive the loss of a task."""

import importlib
from typing import TYPE_CHECKING, Any

from capstan.api.absent import absent as _absent
from capstan.api.queue_saveable import make_saveable_from_queue
from capstan.core.cluster import ClusterSpec
from capstan.resources.event_file import summary_iterator
from capstan.train.adadelta import AdadeltaOptimizer
from capstan.train.adagrad import AdagradOptimizer
from capstan.train.adagrad_da import AdagradDAOptimizer
from capstan.train.adam import AdamOptimizer
from capstan.train.basic_loops import basic_train_loop
from capstan.train.checkpoint_manager import CheckpointManager
from capstan.train.checkpoint_reader import (
    CheckpointReader,
    NewCheckpointReader,
    list_variables,
    load_checkpoint,
    load_variable,
)
from capstan.train.checkpoint_state import (
    checkpoint_exists,
    generate_checkpoint_state_proto,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    remove_checkpoint,
    update_checkpoint_state,
)
from capstan.train.checkpointing import CheckpointSaverHook, CheckpointSaverListener
from capstan.train.coordinator import Coordinator, LooperThread
from capstan.train.cosine_decay import (
    cosine_decay,
    cosine_decay_restarts,
    linear_cosine_decay,
    noisy_linear_cosine_decay,
)
from capstan.train.device_setter import replica_device_setter
from capstan.train.ftrl import FtrlOptimizer
from capstan.train.gradient_descent import GradientDescentOptimizer
from capstan.train.hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from capstan.train.import_graph import import_meta_graph
from capstan.train.initial_checkpoint import checkpoints_iterator, init_from_checkpoint
from capstan.train.input_batches import (
    batch,
    batch_join,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    shuffle_batch,
    shuffle_batch_join,
)
from capstan.train.input_producers import (
    input_producer,
    limit_epochs,
    match_filenames_once,
    range_input_producer,
    slice_input_producer,
    string_input_producer,
)
from capstan.train.learning_rate_decay import (
    exponential_decay,
    inverse_time_decay,
    natural_exp_decay,
    piecewise_constant,
    piecewise_constant_decay,
    polynomial_decay,
)
from capstan.train.meta_graph import export_meta_graph, write_graph
from capstan.train.momentum import MomentumOptimizer
from capstan.train.monitored_session import MonitoredSession, SingularMonitoredSession
from capstan.train.moving_averages import ExponentialMovingAverage
from capstan.train.object_checkpoint import Checkpoint
from capstan.train.optimizer import Optimizer
from capstan.train.profiling import ProfilerHook
from capstan.train.progress import ProgressHook
from capstan.train.proximal import ProximalAdagradOptimizer, ProximalGradientDescentOptimizer
from capstan.train.queue_runner import QueueRunner, add_queue_runner, start_queue_runners
from capstan.train.reporting import FinalOpsHook, LoggingTensorHook, StepCounterHook
from capstan.train.rmsprop import RMSPropOptimizer
from capstan.train.saver import Saver
from capstan.train.scaffold import Scaffold
from capstan.train.sdca import sdca_fprint, sdca_optimizer, sdca_shrink_l1
from capstan.train.session_creator import (
    ChiefSessionCreator,
    SessionCreator,
    WorkerSessionCreator,
)
from capstan.train.session_manager import SessionManager
from capstan.train.staleness import StalenessAwareOptimizer
from capstan.train.steps import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from capstan.train.stopping import (
    FeedFnHook,
    GlobalStepWaiterHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    StopAtStepHook,
)
from capstan.train.summary_hooks import SummarySaverHook
from capstan.train.supervisor import Supervisor
from capstan.train.sync_replicas import SyncReplicasOptimizer
from capstan.train.timer import SecondOrStepTimer
from capstan.train.training_session import MonitoredTrainingSession
from capstan.train.vocabulary import VocabInfo
from capstan.train.warm_start import warm_start

if TYPE_CHECKING:
    from tensorboard.compat.proto.cluster_pb2 import ClusterDef, JobDef
    from tensorboard.compat.proto.saver_pb2 import SaverDef

    from capstan.core.example_messages import (
        BytesList,
        Example,
        Feature,
        FeatureList,
        FeatureLists,
        Features,
        FloatList,
        Int64List,
        SequenceExample,
    )
    from capstan.core.server_messages import ServerDef
    from capstan.services.server import Server

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointReader",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "ChiefSessionCreator",
    "ClusterDef",
    "ClusterSpec",
    "Coordinator",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FeedFnHook",
    "FinalOpsHook",
    "FloatList",
    "FtrlOptimizer",
    "GlobalStepWaiterHook",
    "GradientDescentOptimizer",
    "Int64List",
    "JobDef",
    "LoggingTensorHook",
    "LooperThread",
    "MomentumOptimizer",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "NewCheckpointReader",
    "Optimizer",
    "ProfilerHook",
    "ProgressHook",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "RMSPropOptimizer",
    "Saver",
    "SaverDef",
    "Scaffold",
    "SecondOrStepTimer",
    "SequenceExample",
    "Server",
    "ServerDef",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SingularMonitoredSession",
    "StalenessAwareOptimizer",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "Supervisor",
    "SyncReplicasOptimizer",
    "VocabInfo",
    "WorkerSessionCreator",
    "add_queue_runner",
    "assert_global_step",
    "basic_train_loop",
    "batch",
    "batch_join",
    "checkpoint_exists",
    "checkpoints_iterator",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "init_from_checkpoint",
    "input_producer",
    "inverse_time_decay",
    "latest_checkpoint",
    "limit_epochs",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "make_saveable_from_queue",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "range_input_producer",
    "remove_checkpoint",
    "replica_device_setter",
    "sdca_fprint",
    "sdca_optimizer",
    "sdca_shrink_l1",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "summary_iterator",
    "update_checkpoint_state",
    "warm_start",
    "write_graph",
]

# These names load gRPC or protocol buffers, so they are imported at their first use.
_LATE = {
    "BytesList": "capstan.core.example_messages",
    "ClusterDef": "tensorboard.compat.proto.cluster_pb2",
    "Example": "capstan.core.example_messages",
    "Feature": "capstan.core.example_messages",
    "FeatureList": "capstan.core.example_messages",
    "FeatureLists": "capstan.core.example_messages",
    "Features": "capstan.core.example_messages",
    "FloatList": "capstan.core.example_messages",
    "Int64List": "capstan.core.example_messages",
    "JobDef": "tensorboard.compat.proto.cluster_pb2",
    "SaverDef": "tensorboard.compat.proto.saver_pb2",
    "SequenceExample": "capstan.core.example_messages",
    "Server": "capstan.services.server",
    "ServerDef": "capstan.core.server_messages",
}


def __getattr__(name: str) -> Any:
    """Import a name of `_LATE` at its first use and keep it in the module."""
    if name == "experimental":
        return importlib.import_module("capstan.train.experimental")
    if name not in _LATE:
        raise _absent("tf.train", name)
    value = getattr(importlib.import_module(_LATE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
