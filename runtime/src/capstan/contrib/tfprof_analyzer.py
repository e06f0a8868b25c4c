"""`tf.contrib.tfprof.model_analyzer`: the profiler under the names of before TensorFlow 1.5.

The options are dictionaries. A name of options gives a new dictionary each time, since programs
change what they get.
"""

from collections.abc import Mapping
from typing import Any

from capstan.api.profiler import model_analyzer, option_builder
from capstan.api.profiler.model_analyzer import ALL_ADVICE as ALL_ADVICE
from capstan.api.profiler.model_analyzer import Profiler as Profiler
from capstan.api.profiler.model_analyzer import profile as profile
from capstan.api.profiler.option_builder import Options

_BUILDER = option_builder.ProfileOptionBuilder
_NAMED = {
    "FLOAT_OPS_OPTIONS": _BUILDER.float_operation,
    "PRINT_ALL_TIMING_MEMORY": _BUILDER.time_and_memory,
    "TRAINABLE_VARS_PARAMS_STAT_OPTIONS": _BUILDER.trainable_variables_parameter,
}


def print_model_analysis(
    graph: Any,
    run_meta: Any = None,
    op_log: Any = None,
    tfprof_cmd: str = "scope",
    tfprof_options: Mapping[str, Any] | int = 0,
) -> Any:
    """Show a view of a graph, and return it as a message, as `tf.profiler.profile` does.

    Options that are missing show every node.

    Raises:
        InvalidArgumentError: there is no such view, or the options have an unknown output.
    """
    options: Options | int = 0
    if tfprof_options and not isinstance(tfprof_options, int):
        options = {**_BUILDER.trainable_variables_parameter(), "account_type_regexes": [".*"]}
        options |= tfprof_options
    return model_analyzer.profile(graph, run_meta, op_log, tfprof_cmd, options)


def advise(graph: Any, run_meta: Any = None, tfprof_options: Any = 0) -> Any:
    """Print what makes a step slow, and return an AdviceProto, as `tf.profiler.advise` does."""
    return model_analyzer.advise(graph, run_meta, tfprof_options)


def __getattr__(name: str) -> Any:
    if name in _NAMED:
        return _NAMED[name]()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_NAMED, "ALL_ADVICE", "Profiler", "advise", "print_model_analysis", "profile"])
