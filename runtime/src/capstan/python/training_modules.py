"""The modules of TensorFlow's training, estimators and SavedModels: where Capstan has their names.

TensorFlow has them in `tensorflow.python.training`, `.estimator` and `.saved_model`.
"""

from capstan.core import alias
from capstan.python import lookups

_TRAIN = ("capstan.train", "capstan")
_TRAINING = (
    *("adadelta", "adagrad", "adagrad_da", "adam", "basic_loops", "basic_session_run_hooks"),
    "warm_starting_util",
    *("coordinator", "device_setter", "evaluation", "ftrl", "gradient_descent", "input"),
    *("learning_rate_decay", "momentum", "moving_averages", "optimizer"),
    *("proximal_adagrad", "proximal_gradient_descent", "queue_runner", "queue_runner_impl"),
    *("rmsprop", "server_lib", "session_manager", "session_run_hook"),
    *("summary_io", "supervisor", "sync_replicas_optimizer", "training", "training_ops"),
)
_TRACKING: dict[str, alias.Homes] = {
    "base": ("capstan.api.trackable",),
    "data_structures": ("capstan.contrib.checkpoint",),
    "tracking": ({"AutoTrackable": "capstan.api.trackable.Trackable"},),
    "util": (
        {"CheckpointV1": "capstan.train.object_checkpoint.Checkpoint"},
        *("capstan.train.object_checkpoint", "capstan.contrib.checkpoint"),
    ),
}

TRAINING: dict[str, alias.Homes] = {
    **dict.fromkeys(_TRAINING, (*_TRAIN, lookups.op)),
    "optimizer": (
        {"_deduplicate_indexed_slices": "capstan.train.updates.without_repeats"},
        *(*_TRAIN, lookups.op),
    ),
    "experimental.loss_scale": ("capstan.train.loss_scale",),
    "experimental.loss_scale_optimizer": ("capstan.train.loss_scale_optimizer",),
    "experimental.mixed_precision": ("capstan.train.experimental",),
    "input": (lookups.hidden("capstan.train.input_structure"), *_TRAIN, lookups.op),
    "checkpoint_ops": (
        *("capstan.train.remapped_matrices", lookups.hidden("capstan.train.remapped_matrices")),
    ),
    "checkpoint_utils": ("capstan.train.initial_checkpoint", *_TRAIN),
    "checkpoint_management": (
        {
            "update_checkpoint_state_internal": (
                "capstan.train.checkpoint_state.update_checkpoint_state"
            ),
        },
        *("capstan.train.checkpoint_state", *_TRAIN),
    ),
    "device_setter": (
        {"_RoundRobinStrategy": "capstan.train.ps_strategy.RoundRobinStrategy"},
        *(*_TRAIN, lookups.op),
    ),
    "distribution_strategy_context": ("capstan.api.distribution_strategy",),
    "monitored_session": (
        *(lookups.session_layer, "capstan.train.training_session"),
        *_TRAIN,
    ),
    "evaluation": (
        {"_StopAfterNEvalsHook": "capstan.train.evaluation.StopAfterNEvalsHook"},
        *(lookups.hidden("capstan.train.evaluation"), *_TRAIN),
    ),
    "moving_averages": ("capstan.train.moving_averages", *_TRAIN),
    "summary_io": (
        {"SummaryWriterCache": "capstan.train.summary_writer.FileWriterCache"},
        *_TRAIN,
    ),
    "session_manager": (lookups.hidden("capstan.train.readiness"), *_TRAIN),
    "slot_creator": ("capstan.train.slot_creator",),
    "checkpoint_state_pb2": ("capstan.core.checkpoint_messages",),
    "saveable_object": ("capstan.train.saveable_object",),
    "saver": (
        {"_get_saver_or_default": "capstan.train.scaffold.saver_or_default"},
        *("capstan.train.saver_builder", *_TRAIN),
    ),
    **{
        f"{package}.{name}": homes
        for package in ("tracking", "checkpointable")
        for name, homes in _TRACKING.items()
    },
    "training_util": (
        {
            "GLOBAL_STEP_READ_KEY": "capstan.train.step_reads.KEY",
            "_get_global_step_read": "capstan.train.step_reads.global_step_read",
            "_get_or_create_global_step_read": (
                "capstan.train.step_reads.get_or_create_global_step_read"
            ),
            "_increment_global_step": "capstan.train.step_reads.increment_global_step",
        },
        *(*_TRAIN, lookups.op),
    ),
    "saving.saveable_object": ("capstan.train.saveable_object",),
    "saving.saveable_object_util": ("capstan.train.saveable_object",),
}
"""The homes of each module, by its path below `tensorflow.python.training`."""

_ESTIMATOR = "capstan.estimator"
ESTIMATORS: dict[str, alias.Homes] = {
    "estimator": (
        {"_load_global_step_from_checkpoint_dir": f"{_ESTIMATOR}.model.saved_step"},
        *(f"{_ESTIMATOR}.estimator", f"{_ESTIMATOR}.warm_starting", _ESTIMATOR),
    ),
    "canned.boosted_trees": (f"{_ESTIMATOR}.canned.boosted_trees",),
    "canned.kmeans": (f"{_ESTIMATOR}.canned.kmeans",),
    "canned.baseline": (f"{_ESTIMATOR}.canned.baseline",),
    "canned.dnn": (f"{_ESTIMATOR}.canned.dnn", f"{_ESTIMATOR}.logit_fns"),
    "canned.dnn_linear_combined": (f"{_ESTIMATOR}.canned.dnn_linear_combined",),
    "canned.head": (
        {
            "_Head": f"{_ESTIMATOR}.canned.model_head.ModelHead",
            "_regression_head_with_mean_squared_error_loss": (
                f"{_ESTIMATOR}.canned.summed_heads.regression_head"
            ),
        },
        lookups.hidden(f"{_ESTIMATOR}.canned.summed_heads"),
        f"{_ESTIMATOR}.canned.model_head",
    ),
    "canned.linear": (f"{_ESTIMATOR}.canned.linear", f"{_ESTIMATOR}.logit_fns"),
    "canned.metric_keys": (f"{_ESTIMATOR}.canned.keys",),
    "canned.optimizers": (f"{_ESTIMATOR}.canned.choices",),
    "canned.parsing_utils": (f"{_ESTIMATOR}.parse_specs",),
    "canned.prediction_keys": (f"{_ESTIMATOR}.canned.keys",),
    "canned.rnn": ("capstan.contrib.estimator",),
    "canned.saved_model_estimator": ("capstan.contrib.estimator",),
    "early_stopping": (f"{_ESTIMATOR}.early_stopping",),
    "estimator_lib": (_ESTIMATOR,),
    "export.export": (
        *(f"{_ESTIMATOR}.receivers", f"{_ESTIMATOR}.export", "capstan.contrib.estimator"),
    ),
    "export.export_lib": (f"{_ESTIMATOR}.export", "capstan.contrib.estimator"),
    "export.export_output": (f"{_ESTIMATOR}.export_output",),
    "exporter": (f"{_ESTIMATOR}.exporter",),
    "extenders": (f"{_ESTIMATOR}.extenders", "capstan.contrib.estimator"),
    "gc": (lookups.hidden(f"{_ESTIMATOR}.old_exports"), f"{_ESTIMATOR}.old_exports"),
    **{
        f"head.{name}": (_ESTIMATOR,)
        for name in (
            *("base_head", "binary_class_head", "multi_class_head", "multi_head"),
            *("multi_label_head", "regression_head"),
        )
    },
    "hooks.basic_session_run_hooks": _TRAIN,
    "hooks.hooks": ("capstan.contrib.estimator",),
    "hooks.session_run_hook": _TRAIN,
    **{f"inputs.{name}": (f"{_ESTIMATOR}.inputs",) for name in ("inputs", "numpy_io", "pandas_io")},
    "keras": (f"{_ESTIMATOR}.keras",),
    "mode_keys": (f"{_ESTIMATOR}.mode_keys",),
    "model_fn": tuple(
        f"{_ESTIMATOR}.{name}" for name in ("mode_keys", "estimator_spec", "logit_fns")
    ),
    "run_config": (f"{_ESTIMATOR}.run_config",),
    "util": (
        {
            "fn_args": f"{_ESTIMATOR}.arguments.names",
            "get_timestamped_dir": f"{_ESTIMATOR}.saving.timestamped_folder",
            "parse_input_fn_result": f"{_ESTIMATOR}.calls.parse_input",
        },
    ),
    "training": (lookups.executor, f"{_ESTIMATOR}.training", f"{_ESTIMATOR}.specs"),
}
"""The homes of each module, by its path below `tensorflow.python.estimator`."""

_SAVED_MODEL = "capstan.train.saved_model"
_SAVED_MODEL_BUILDER = {"_SavedModelBuilder": f"{_SAVED_MODEL}.operation_builder.OperationBuilder"}
SAVED_MODELS: dict[str, alias.Homes] = {
    **{
        name: (_SAVED_MODEL_BUILDER, f"{_SAVED_MODEL}.{name.removesuffix('_impl')}")
        for part in ("builder", "loader", "main_op")
        for name in (part, f"{part}_impl")
    },
    "constants": (f"{_SAVED_MODEL}.constants",),
    "saved_model": (_SAVED_MODEL,),
    "model_utils.export_output": (f"{_ESTIMATOR}.export_output",),
    "model_utils.mode_keys": (f"{_ESTIMATOR}.mode_keys",),
    "signature_constants": (f"{_SAVED_MODEL}.constants",),
    "signature_def_utils": (f"{_SAVED_MODEL}.signatures",),
    "signature_def_utils_impl": (f"{_SAVED_MODEL}.signatures",),
    "simple_save": (f"{_SAVED_MODEL}.builder",),
    "tag_constants": (f"{_SAVED_MODEL}.constants",),
    "utils": (f"{_SAVED_MODEL}.tensor_infos",),
    "utils_impl": (f"{_SAVED_MODEL}.tensor_infos", f"{_SAVED_MODEL}.loader"),
}
"""The homes of each module, by its path below `tensorflow.python.saved_model`."""

TPUS: dict[str, alias.Homes] = {
    "async_checkpoint": ("capstan.train.async_checkpoint",),
    "bfloat16": ("capstan.api.bfloat16",),
    "ops.tpu_ops": ("capstan.api.tpu_replicas",),
    "tpu": ("capstan.api.tpu_replicas",),
    "tpu_config": (f"{_ESTIMATOR}.tpu.config",),
    "tpu_estimator": (f"{_ESTIMATOR}.tpu.estimator", f"{_ESTIMATOR}.tpu.spec"),
    "tpu_function": ("capstan.api.tpu_replicas",),
    "tpu_optimizer": ("capstan.train.cross_shard_optimizer",),
    "training_loop": ("capstan.api.tpu_replicas",),
}
"""The homes of each module, by its path below `tensorflow.python.tpu`."""
