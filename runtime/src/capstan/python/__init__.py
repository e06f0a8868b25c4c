"""`tf.python`: the modules of TensorFlow 1 that scripts import by their full path.

For example, `from tensorflow.python.client import timeline` becomes
`from capstan.python.client import timeline`. The modules are aliases: a name is looked up in the
modules that the table names for it, and nothing is imported before.
"""

from typing import Any

from capstan.core import alias
from capstan.python import lookups

_TF = "capstan"
_NODES = "capstan.api.control_flow_nodes"
_TRAIN = ("capstan.train", _TF)

_FRAMEWORK = {
    "constant_op": (_TF,),
    "device": ("capstan.core.devices", _TF),
    "dtypes": (lookups.ref_dtype, "capstan.core.dtypes", _TF),
    "errors": ("capstan.errors",),
    "errors_impl": ("capstan.errors",),
    "function": ("capstan.api.function", "capstan.api.function_body"),
    "graph_io": _TRAIN,
    "graph_util": ("capstan.api.graph_util",),
    "graph_util_impl": ("capstan.api.graph_util",),
    "importer": (_TF,),
    "indexed_slices": ("capstan.framework.indexed_slices", _TF),
    "meta_graph": ("capstan.train.meta_graph", "capstan.train.import_graph", *_TRAIN),
    "ops": (
        _TF,
        "capstan.framework.graph",
        "capstan.framework.registered_gradients",
        "capstan.framework.statistics",
    ),
    "random_seed": ("capstan.framework.random_seed", _TF),
    "sparse_tensor": (_TF,),
    "tensor_shape": ("capstan.core.tensor_shape", _TF),
    "tensor_spec": ("capstan.api.type_spec",),
    "type_spec": ("capstan.api.type_spec",),
    "tensor_util": (
        lookups.old_tensor_util,
        "capstan.api.known_values",
        "capstan.framework.convert",
        _TF,
    ),
    "smart_cond": ("capstan.api.smart_cond",),
    "test_util": (lookups.test_case, "capstan.api.test", "capstan.api.testing_modes"),
    "versions": (_TF,),
}
_OPS = (
    *("array_ops", "check_ops", "clip_ops", "control_flow_ops", "data_flow_ops"),
    *(
        "functional_ops",
        "gradients",
        "gradients_impl",
        "histogram_ops",
        "io_ops",
        "logging_ops",
    ),
    *("math_ops", "parsing_ops", "partitioned_variables", "random_ops", "resource_variable_ops"),
    *("session_ops", "sparse_ops", "standard_ops", "state_ops", "string_ops"),
    *("tensor_array_ops", "variable_scope", "variables"),
    *("custom_gradient", "linalg_ops", "manip_ops", "special_math_ops"),
)
_UNION = {"UnionClusterResolver": "capstan.api.cluster_resolver.UnionResolver"}
_GRADIENTS = (
    *("array", "control_flow", "data_flow", "image", "linalg", "logging", "manip", "math", "nn"),
    *("optional", "random", "sparse", "spectral", "state"),
)
"""Modules that programs import so that TensorFlow registers gradients. They have no names here."""
_DISTRIBUTIONS = "capstan.api.distributions"
_DISTRIBUTION_MODULES = (
    *("bernoulli", "beta", "categorical", "dirichlet", "dirichlet_multinomial", "distribution"),
    *("exponential", "gamma", "laplace", "multinomial", "normal", "student_t", "uniform"),
)
_RAGGED = "capstan.api.ragged"
_RAGGED_MODULES: dict[str, alias.Homes] = {
    "ragged_array_ops": (f"{_RAGGED}.arrays", f"{_RAGGED}.masking"),
    "ragged_batch_gather_ops": (f"{_RAGGED}.gather",),
    "ragged_concat_ops": (f"{_RAGGED}.joining",),
    "ragged_factory_ops": (f"{_RAGGED}.constants",),
    "ragged_functional_ops": (f"{_RAGGED}.mapping",),
    "ragged_gather_ops": (f"{_RAGGED}.gather",),
    "ragged_math_ops": (f"{_RAGGED}.segments", f"{_RAGGED}.ranges"),
    "ragged_squeeze_op": (f"{_RAGGED}.arrays",),
    "ragged_string_ops": (
        {"reduce_join": "capstan.reduce_join"},
        *("capstan.api.unicode_ops", "capstan.api.ngram_ops", "capstan.api.string_ops"),
    ),
    "ragged_tensor": (
        {"convert_to_tensor_or_ragged_tensor": f"{_RAGGED}.tensor.converted"},
        *(f"{_RAGGED}.tensor", f"{_RAGGED}.spec"),
    ),
    "ragged_tensor_shape": (f"{_RAGGED}.shape", f"{_RAGGED}.broadcast"),
    "ragged_tensor_value": (f"{_RAGGED}.value",),
    "ragged_where_op": (f"{_RAGGED}.choice",),
    "segment_id_ops": (f"{_RAGGED}.partition",),
}
"""The modules of `tensorflow.python.ops.ragged`."""
_NN = ("candidate_sampling_ops", "embedding_ops", "nn_impl", "rnn")
_LAYERS = ("base", "convolutional", "core", "layers", "normalization", "pooling")
_GENERATED = (
    *(
        "array",
        "bitwise",
        "boosted_trees",
        "clustering",
        "candidate_sampling",
        "control_flow",
        "ctc",
        "data_flow",
        "dataset",
        "functional",
        "image",
        "io",
        "linalg",
        "list",
        "logging",
        "lookup",
        "math",
        "nccl",
        "nn",
        "parsing",
    ),
    *("random", "resource_variable", "sdca", "set", "sparse", "spectral", "state", "string"),
)
_TRAINING = (
    *("adadelta", "adagrad", "adagrad_da", "adam", "basic_loops", "basic_session_run_hooks"),
    *("checkpoint_management", "checkpoint_utils", "warm_starting_util"),
    *("coordinator", "device_setter", "evaluation", "ftrl", "gradient_descent", "input"),
    *("learning_rate_decay", "momentum", "moving_averages", "optimizer"),
    *("proximal_adagrad", "proximal_gradient_descent", "queue_runner", "queue_runner_impl"),
    *("rmsprop", "server_lib", "session_manager", "session_run_hook"),
    *("summary_io", "supervisor", "sync_replicas_optimizer", "training", "training_ops"),
    *("training_util",),
)
_ESTIMATOR = "capstan.estimator"
_ESTIMATORS: dict[str, alias.Homes] = {
    "estimator": (f"{_ESTIMATOR}.estimator", f"{_ESTIMATOR}.warm_starting", _ESTIMATOR),
    "canned.boosted_trees": (f"{_ESTIMATOR}.canned.boosted_trees",),
    "canned.kmeans": (f"{_ESTIMATOR}.canned.kmeans",),
    "canned.baseline": (f"{_ESTIMATOR}.canned.baseline",),
    "canned.dnn": (f"{_ESTIMATOR}.canned.dnn",),
    "canned.dnn_linear_combined": (f"{_ESTIMATOR}.canned.dnn_linear_combined",),
    "canned.head": ({"_Head": f"{_ESTIMATOR}.canned.model_head.ModelHead"},),
    "canned.linear": (f"{_ESTIMATOR}.canned.linear",),
    "canned.metric_keys": (f"{_ESTIMATOR}.canned.keys",),
    "canned.optimizers": (f"{_ESTIMATOR}.canned.choices",),
    "canned.prediction_keys": (f"{_ESTIMATOR}.canned.keys",),
    "estimator_lib": (_ESTIMATOR,),
    "export.export": (f"{_ESTIMATOR}.receivers", f"{_ESTIMATOR}.export"),
    "export.export_lib": (f"{_ESTIMATOR}.export",),
    "export.export_output": (f"{_ESTIMATOR}.export_output",),
    "exporter": (f"{_ESTIMATOR}.exporter",),
    "gc": (lookups.hidden(f"{_ESTIMATOR}.old_exports"), f"{_ESTIMATOR}.old_exports"),
    **{f"inputs.{name}": (f"{_ESTIMATOR}.inputs",) for name in ("inputs", "numpy_io", "pandas_io")},
    "model_fn": (f"{_ESTIMATOR}.mode_keys", f"{_ESTIMATOR}.estimator_spec"),
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
_KERAS = "capstan.keras"
_KERAS_MODULES = (
    *(
        "activations",
        "backend",
        "constraints",
        "initializers",
        "layers",
        "losses",
        "metrics",
        "models",
    ),
    *("optimizers", "regularizers", "utils"),
)
_KERAS_OPTIMIZERS = (
    *("adadelta", "adagrad", "adam", "adamax", "ftrl", "gradient_descent", "nadam", "rmsprop"),
)
_SAVED_MODEL = "capstan.train.saved_model"
_SAVED_MODELS = {
    **{name: (f"{_SAVED_MODEL}.{name}",) for name in ("builder", "constants", "loader", "main_op")},
    **{f"{name}_impl": (f"{_SAVED_MODEL}.{name}",) for name in ("builder", "loader", "main_op")},
    "saved_model": (_SAVED_MODEL,),
    "signature_constants": (f"{_SAVED_MODEL}.constants",),
    "signature_def_utils": (f"{_SAVED_MODEL}.signatures",),
    "simple_save": (f"{_SAVED_MODEL}.builder",),
    "tag_constants": (f"{_SAVED_MODEL}.constants",),
    "utils": (f"{_SAVED_MODEL}.tensor_infos",),
    "utils_impl": (f"{_SAVED_MODEL}.tensor_infos", f"{_SAVED_MODEL}.loader"),
}

alias.grow(
    __name__,
    {
        **{f"framework.{name}": homes for name, homes in _FRAMEWORK.items()},
        **{f"ops.{name}": (_TF, lookups.op) for name in _OPS},
        "ops.control_flow_ops": (lookups.hidden(_NODES), _NODES, _TF, lookups.op),
        "ops.data_flow_ops": (
            _TF,
            "capstan.api.barriers",
            "capstan.api.record_input",
            "capstan.api.staging",
            lookups.op,
        ),
        "ops.boosted_trees_ops": ("capstan.api.boosted_trees", lookups.tree_op, lookups.op),
        "ops.ctc_ops": ("capstan.api.ctc_ops", lookups.op),
        "ops.random_ops": (_TF, "capstan.api.random_ops", lookups.op),
        "ops.sparse_ops": (
            _TF,
            "capstan.api.sparse_cross_ops",
            "capstan.api.sparse_string_ops",
            lookups.op,
        ),
        "ops.resources": ("capstan.api.resources",),
        "ops.sdca_ops": ("capstan.train.sdca", lookups.op),
        "ops.clustering_ops": ("capstan.api.clustering", lookups.op),
        "ops.script_ops": (lookups.python_functions, _TF, lookups.op),
        "ops.tensor_array_grad": (lookups.hidden("capstan.framework.ops.tensor_array"),),
        "ops.variable_scope": (
            *(
                lookups.partition_info,
                lookups.hidden("capstan.api.variable_store"),
                "capstan.api.variable_scope",
            ),
            {
                "_pure_variable_scope": "capstan.api.scope_block.pure_variable_scope",
                "variable": "capstan.api.variables.Variable",
            },
            *(_TF, lookups.op),
        ),
        "ops.variables": (
            *(lookups.new_variable, lookups.hidden("capstan.api.variable_collections"), _TF),
            *("capstan.api.partitioned_variables", lookups.op),
        ),
        **{f"ops.gen_{name}_ops": (lookups.op,) for name in _GENERATED},
        **{f"ops.{name}_grad": () for name in _GRADIENTS},
        **{
            f"ops.{name}": (
                *(_TF, "capstan.api.math_functions", "capstan.api.math_ops"),
                *("capstan.api.reduce_ops", lookups.op),
            )
            for name in ("math_ops", "special_math_ops")
        },
        **{f"ops.ragged.{name}": homes for name, homes in _RAGGED_MODULES.items()},
        "ops.bitwise_ops": ("capstan.api.bitwise", lookups.op),
        "ops.image_ops": ("capstan.api.image", lookups.op),
        "ops.linalg.linalg": ("capstan.linalg",),
        "ops.linalg.linalg_impl": ("capstan.linalg",),
        **{
            f"ops.distributions.{name}": (f"{_DISTRIBUTIONS}.{name}", _DISTRIBUTIONS)
            for name in _DISTRIBUTION_MODULES
        },
        "ops.distributions.distributions": (_DISTRIBUTIONS,),
        "ops.distributions.kullback_leibler": (f"{_DISTRIBUTIONS}.divergence",),
        "ops.list_ops": (lookups.op,),
        "ops.numerics": (_TF,),
        "ops.resource_variable_ops": (_TF, "capstan.api.resource_variables", lookups.op),
        "ops.spectral_ops": ("capstan.api.spectral_ops", lookups.op),
        "ops.template": ("capstan.api.template",),
        "ops.nccl_ops": ("capstan.contrib.nccl_ops",),
        "ops.gradient_checker": ("capstan.api.gradient_checker",),
        "ops.confusion_matrix": ("capstan.api.weight_shapes", _TF),
        "ops.weights_broadcast_ops": ("capstan.api.weight_shapes",),
        "ops.losses.losses": ("capstan.api.losses_ops",),
        "ops.lookup_ops": ("capstan.api.lookup", "capstan.api.lookup.factories", _TF),
        "ops.metrics": ("capstan.api.metrics",),
        "ops.metrics_impl": ("capstan.api.metrics",),
        "ops.nn": ("capstan.api.nn",),
        "ops.nn_ops": ("capstan.api.nn", lookups.op),
        **{f"ops.{name}": ("capstan.api.nn", _TF) for name in _NN},
        **{
            f"ops.{name}": (
                "capstan.api.init_ops",
                "capstan.api.scaled_initializers",
                _TF,
                lookups.op,
            )
            for name in ("init_ops", "init_ops_v2")
        },
        "ops.losses.losses_impl": ("capstan.api.losses",),
        "ops.losses.util": ("capstan.api.losses",),
        "ops.image_ops_impl": ("capstan.api.image", lookups.op),
        "ops.rnn_cell": ("capstan.api.rnn",),
        "ops.rnn_cell_impl": (
            {
                "LayerRNNCell": "capstan.api.rnn.cells.RNNCell",
                "_BIAS_VARIABLE_NAME": "capstan.api.rnn.own_loops.BIAS_VARIABLE_NAME",
                "_Linear": "capstan.api.rnn.own_loops.Linear",
                "_WEIGHTS_VARIABLE_NAME": "capstan.api.rnn.own_loops.WEIGHTS_VARIABLE_NAME",
            },
            lookups.hidden("capstan.api.rnn.own_loops"),
            *("capstan.api.rnn", "capstan.api.rnn.cells", "capstan.api.rnn.own_loops"),
        ),
        "ops.sets": ("capstan.api.sets",),
        "ops.summary_ops": ("capstan.api.summary_ops",),
        **{f"layers.{name}": ("capstan.api.layers",) for name in _LAYERS},
        "layers.utils": (
            *("capstan.api.layers.base", "capstan.api.smart_cond", "capstan.framework.convert"),
            "capstan.api.layers.lengths",
            "capstan.api.layers.base",
            "capstan.framework.convert",
        ),
        "data.ops.dataset_ops": ("capstan.api.data", "capstan.api.data_experimental"),
        "data.ops.iterator_ops": ("capstan.api.data",),
        "data.ops.readers": ("capstan.api.data",),
        "feature_column.feature_column": ("capstan.api.feature_column", lookups.old_column),
        "feature_column.feature_column_lib": ("capstan.api.feature_column",),
        "feature_column.feature_column_v2": ("capstan.api.feature_column", *lookups.COLUMNS),
        **{f"training.{name}": (*_TRAIN, lookups.op) for name in _TRAINING},
        "training.input": (lookups.hidden("capstan.train.input_structure"), *_TRAIN, lookups.op),
        "training.monitored_session": (
            lookups.session_layer,
            "capstan.train.training_session",
            *_TRAIN,
        ),
        "training.evaluation": (lookups.hidden("capstan.train.evaluation"), *_TRAIN),
        "training.moving_averages": ("capstan.train.moving_averages", *_TRAIN),
        "training.summary_io": (lookups.summary_writer_cache, *_TRAIN),
        "training.session_manager": (lookups.hidden("capstan.train.readiness"), *_TRAIN),
        "training.slot_creator": ("capstan.train.slot_creator",),
        "training.checkpoint_state_pb2": ("capstan.core.checkpoint_messages",),
        "training.saveable_object": ("capstan.train.saveable_object",),
        "training.saver": ("capstan.train.saver_builder", *_TRAIN),
        "training.saving.saveable_object": ("capstan.train.saveable_object",),
        "training.saving.saveable_object_util": ("capstan.train.saveable_object",),
        **{f"estimator.{name}": homes for name, homes in _ESTIMATORS.items()},
        **{f"saved_model.{name}": homes for name, homes in _SAVED_MODELS.items()},
        "client.device_lib": ("capstan.client.device_lib",),
        "client.session": ("capstan.client.session", _TF),
        "client.timeline": ("capstan.client.timeline",),
        "distribute.cluster_resolver": (_UNION, "capstan.api.cluster_resolver"),
        "distribute.cluster_resolver.cluster_resolver": (_UNION, "capstan.api.cluster_resolver"),
        "distribute.cross_device_ops": (
            "capstan.api.cross_device_ops",
            "capstan.api.all_reduce_ops",
        ),
        "distribute.distribution_strategy_context": ("capstan.api.distribution_strategy",),
        "distribute.estimator_training": (lookups.coordinator,),
        "distribute.mirrored_strategy": ("capstan.api.mirrored_strategy",),
        "distribute.one_device_strategy": ("capstan.api.one_device_strategy",),
        "distribute.reduce_util": ("capstan.api.distribution_replica",),
        "distribute.values": (
            "capstan.api.distributed_values",
            "capstan.api.distributed_variables",
        ),
        **{f"keras.{name}": (f"{_KERAS}.{name}",) for name in _KERAS_MODULES},
        "keras.engine.base_layer": (f"{_KERAS}.base_layer",),
        "keras.engine.input_layer": (f"{_KERAS}.inputs",),
        "keras.engine.network": ({"Network": f"{_KERAS}.network.Model"},),
        "keras.engine.sequential": (f"{_KERAS}.sequential",),
        **{f"keras.optimizer_v2.{name}": (f"{_KERAS}.optimizers",) for name in _KERAS_OPTIMIZERS},
        "keras.optimizer_v2.learning_rate_schedule": (f"{_KERAS}.optimizers.schedules",),
        "keras.optimizer_v2.optimizer_v2": ({"OptimizerV2": f"{_KERAS}.optimizers.Optimizer"},),
        "keras.engine.training": (f"{_KERAS}.network",),
        "eager.context": ("capstan.api.eager_context",),
        "compat.compat": ("capstan.api.compat",),
        "module.module": ("capstan.api.module",),
        "platform.app": ("capstan.api.app",),
        "profiler.model_analyzer": ("capstan.api.profiler.model_analyzer",),
        "profiler.option_builder": ("capstan.api.profiler.option_builder",),
        "profiler.tfprof_logger": ("capstan.api.profiler.op_log",),
        "platform.benchmark": ("capstan.api.benchmark",),
        "platform.flags": ("capstan.api.flags",),
        "platform.gfile": ("capstan.api.gfile",),
        "platform.resource_loader": ("capstan.api.resource_loader",),
        "platform.googletest": ("capstan.api.test", "unittest"),
        "platform.test": ("capstan.api.test",),
        "platform.tf_logging": (
            lookups.logger,
            "capstan.api.logging",
        ),
        "summary.summary": ("capstan.train.summary",),
        "summary.summary_iterator": _TRAIN,
        "summary.writer.event_file_writer": ("capstan.train.event_file",),
        "summary.writer.writer": ("capstan.train.summary_writer",),
        "summary.writer.writer_cache": ("capstan.train.summary_writer",),
        "tools.inspect_checkpoint": ("capstan.train.checkpoint_listing",),
        "util.compat": ("capstan.api.compat",),
        "util.decorator_utils": ("capstan.api.deprecation",),
        "util.deprecation": ("capstan.api.deprecation",),
        "util.function_utils": ("capstan.api.callables",),
        "util.nest": ("capstan.api.nest",),
        "util.tf_contextlib": ("contextlib",),
        "util.tf_export": ("capstan.api.tf_export",),
        "util.tf_inspect": ("capstan.api.argument_specs", "inspect"),
        "pywrap_tensorflow": ("capstan.train.checkpoint_reader",),
        "lib.io.file_io": (
            "capstan.api.file_contents",
            "capstan.api.file_io",
            "capstan.api.gfile",
        ),
        "lib.io.python_io": ("capstan.api.python_io",),
        "lib.io.tf_record": ("capstan.api.python_io",),
    },
)


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}: Capstan lacks this part of TensorFlow 1"
    )
