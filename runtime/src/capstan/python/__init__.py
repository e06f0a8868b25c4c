"""`tf.python`: the modules of TensorFlow 1 that scripts import by their full path.

For example, `from tensorflow.python.client import timeline` becomes
`from capstan.python.client import timeline`. The modules are aliases: a name is looked up in the
modules that the table names for it, and nothing is imported before.
"""

from typing import Any

from capstan.core import alias
from capstan.python import (
    framework_modules,
    keras_modules,
    lookups,
    ops_modules,
    pipeline_modules,
    training_modules,
)

_TF = "capstan"
_TRAIN = ("capstan.train", _TF)
_COORDINATOR = "should_run_distribute_coordinator"
_UNION = {"UnionClusterResolver": "capstan.api.cluster_resolver.UnionResolver"}
_DEBUGGER = ("capstan.train.debugger", "capstan.train.debugger.dumped")
_PACKAGES = {
    "data": pipeline_modules.TABLE,
    "estimator": training_modules.ESTIMATORS,
    "feature_column": keras_modules.FEATURE_COLUMNS,
    "framework": framework_modules.FRAMEWORK,
    "layers": keras_modules.LAYERS,
    "ops": ops_modules.OPS,
    "saved_model": training_modules.SAVED_MODELS,
    "tpu": training_modules.TPUS,
    "training": training_modules.TRAINING,
}

alias.grow(
    __name__,
    {
        **{
            f"{package}.{name}": homes
            for package, table in _PACKAGES.items()
            for name, homes in table.items()
        },
        **keras_modules.KERAS,
        "client.device_lib": ("capstan.client.device_lib",),
        "client.session": (
            {
                "BaseSession": "capstan.client.session.Session",
                "SessionInterface": "capstan.client.session.Session",
            },
            *("capstan.client.session", "capstan.client.expansions", _TF),
        ),
        "client.timeline": ("capstan.client.timeline",),
        "distribute.all_reduce": (
            "capstan.contrib.reductions",
            "capstan.contrib.hybrid_reductions",
        ),
        "distribute.cluster_resolver": (_UNION, "capstan.api.cluster_resolver"),
        "distribute.cluster_resolver.cluster_resolver": (_UNION, "capstan.api.cluster_resolver"),
        **{
            f"distribute.cluster_resolver.{name}_cluster_resolver": (
                "capstan.contrib.cluster_resolver",
            )
            for name in ("slurm", "tfconfig", "tpu")
        },
        "distribute.central_storage_strategy": ("capstan.api.central_storage_strategy",),
        "distribute.cross_device_ops": (
            "capstan.api.cross_device_ops",
            "capstan.api.all_reduce_ops",
            "capstan.api.collective_all_reduce",
        ),
        "distribute.collective_all_reduce_strategy": (
            "capstan.api.collective_all_reduce_strategy",
        ),
        "distribute.cross_device_utils": ("capstan.api.collective_all_reduce",),
        "distribute.multi_worker_util": ("capstan.api.multi_worker",),
        "distribute.distribute_config": ("capstan.estimator.distribute_config",),
        "distribute.distribute_lib": (
            *("capstan.api.distribution_strategy", "capstan.api.distribution_extended"),
            *("capstan.api.distribution_replica", "capstan.api.distribution_inputs"),
        ),
        "distribute.parameter_server_strategy": ("capstan.api.parameter_server_strategy",),
        "distribute.distribution_strategy_context": ("capstan.api.distribution_strategy",),
        "distribute.estimator_training": (
            {_COORDINATOR: f"capstan.estimator.training.{_COORDINATOR}"},
        ),
        "distribute.mirrored_strategy": ("capstan.api.mirrored_strategy",),
        "distribute.one_device_strategy": ("capstan.api.one_device_strategy",),
        "distribute.reduce_util": ("capstan.api.distribution_replica",),
        "distribute.summary_op_util": ("capstan.api.summary_scopes",),
        "distribute.values": (
            "capstan.api.distributed_values",
            "capstan.api.distributed_variables",
            "capstan.api.sync_on_read_variables",
        ),
        "autograph": (
            "capstan.api.autograph",
            "capstan.api.autograph.experimental",
            "capstan.api.autograph.legacy",
        ),
        **dict.fromkeys(
            (
                *("debug", "debug.debug_data", "debug.lib.debug_data", "debug.lib.debug_utils"),
                *("debug.wrappers.dumping_wrapper", "debug.wrappers.framework"),
                *("debug.wrappers.hooks", "debug.wrappers.local_cli_wrapper"),
            ),
            _DEBUGGER,
        ),
        "autograph.impl.api": ("capstan.api.autograph", "capstan.api.autograph.experimental"),
        "autograph.lang.directives": ("capstan.api.autograph.experimental",),
        "eager.backprop": ("capstan.api.gradient_tape", "capstan.framework.gradient_sums"),
        "eager.context": ("capstan.api.eager_context",),
        "eager.def_function": ("capstan.api.def_function",),
        "eager.function": ("capstan.api.def_function",),
        "eager.wrap_function": ("capstan.api.traced.wrapped",),
        "tf2": ({"enabled": "capstan.api.behavior.executing_eagerly"},),
        "compat.compat": ("capstan.api.compat",),
        "compat.v2_compat": ("capstan.api.behavior",),
        "module.module": ("capstan.api.module",),
        "platform.app": ("capstan.api.app",),
        "profiler.model_analyzer": ("capstan.api.profiler.model_analyzer",),
        "profiler.option_builder": ("capstan.api.profiler.option_builder",),
        "profiler.tfprof_logger": ("capstan.api.profiler.op_log",),
        "platform.benchmark": ("capstan.api.benchmark",),
        "platform.flags": ("capstan.api.flags",),
        "platform.gfile": ({"OpenFast": "capstan.api.gfile.FastGFile"}, "capstan.api.gfile"),
        "platform.resource_loader": ("capstan.api.resource_loader",),
        "platform.googletest": ("capstan.api.test", "unittest"),
        "platform.sysconfig": ("capstan.api.sysconfig",),
        "platform.test": ("capstan.api.test",),
        "platform.tf_logging": (lookups.logger, "capstan.api.logging"),
        "summary.summary": ("capstan.train.summary",),
        "summary.summary_iterator": _TRAIN,
        "summary.writer.event_file_writer": ("capstan.resources.event_file",),
        "summary.writer.writer": ("capstan.train.summary_writer",),
        "summary.writer.writer_cache": ("capstan.train.summary_writer",),
        "util.compat": ({"collections_abc": "collections.abc"}, "capstan.api.compat"),
        "util.all_util": ("capstan.api.all_util",),
        "util.decorator_utils": ("capstan.api.deprecation",),
        "util.deprecation": ("capstan.api.deprecation",),
        "util.function_utils": ("capstan.api.callables",),
        "util.lazy_loader": ("capstan.api.lazy_loader",),
        "util.object_identity": ("capstan.api.identity_sets",),
        "util.nest": (
            {"_is_attrs": "capstan.framework.nest.is_attrs"},
            *("capstan.api.nest", "capstan.api.nest_paths", "capstan.api.nest_shallow"),
        ),
        "util.tf_contextlib": ("contextlib",),
        "util.tf_decorator": ("capstan.api.decorators",),
        "util.tf_export": ("capstan.api.tf_export",),
        "util.tf_inspect": ("capstan.api.argument_specs", "inspect"),
        "pywrap_tensorflow": (
            "capstan.api.c_functions",
            "capstan.train.checkpoint_reader",
            "capstan.resources.events_writer",
        ),
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
