"""The options of a profile, as a dictionary (python/profiler/option_builder.py)."""

import copy
from collections.abc import Sequence
from typing import Any

TRAINABLE_VARIABLES = "_trainable_variables"
"""The type that the profiler gives to the nodes of trainable variables."""

Options = dict[str, Any]


def _options(**changes: Any) -> Options:
    """Return the options that show every node, with changes."""
    return {
        "max_depth": 10000,
        "min_bytes": 0,
        "min_micros": 0,
        "min_params": 0,
        "min_float_ops": 0,
        "min_occurrence": 0,
        "order_by": "name",
        "account_type_regexes": [".*"],
        "start_name_regexes": [".*"],
        "trim_name_regexes": [],
        "show_name_regexes": [".*"],
        "hide_name_regexes": [],
        "account_displayed_op_only": True,
        "select": ["micros"],
        "step": -1,
        "output": "stdout",
    } | changes


class ProfileOptionBuilder:
    """Builds the options of `tf.profiler.profile` and of the methods of `tf.profiler.Profiler`.

    Each method returns the builder, so that calls can be chained. Regular expressions have RE2's
    syntax and match whole names.

        builder = tf.profiler.ProfileOptionBuilder
        options = builder(builder.time_and_memory()).with_file_output("/tmp/times").build()
    """

    def __init__(self, options: Options | None = None) -> None:
        """Start with a copy of `options`. Without them, a profile shows the times of all nodes."""
        if options is None:
            self._options = _options(max_depth=100, account_displayed_op_only=False)
        else:
            self._options = copy.deepcopy(options)

    @staticmethod
    def trainable_variables_parameter() -> Options:
        """Return the options that show the trainable variables and their numbers of elements."""
        return _options(account_type_regexes=[TRAINABLE_VARIABLES], select=["params"])

    @staticmethod
    def float_operation() -> Options:
        """Return the options that show the floating-point operations of each node.

        The profiler knows them for the ops with a registered statistic "flops", and where the
        graph or the metadata of a run tell the shapes.
        """
        return _options(min_float_ops=1, order_by="float_ops", select=["float_ops"])

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> Options:
        """Return the options that show the time and the requested memory of each node.

        A node is shown only if it reaches every minimum.
        """
        return _options(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
            order_by="micros",
            select=["micros", "bytes"],
        )

    def build(self) -> Options:
        """Return a copy of the options."""
        return copy.deepcopy(self._options)

    def _with(self, **changes: Any) -> "ProfileOptionBuilder":
        self._options |= changes
        return self

    def with_max_depth(self, max_depth: int) -> "ProfileOptionBuilder":
        """Show no node deeper than `max_depth`: levels of scopes, inputs or calls, or op types."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self,
        min_bytes: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> "ProfileOptionBuilder":
        """Show the nodes that request, hold at once, keep and output as many bytes."""
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> "ProfileOptionBuilder":
        """Show the nodes that take as many microseconds: in all, on accelerators and on CPUs."""
        return self._with(
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
        )

    def with_min_parameters(self, min_params: int) -> "ProfileOptionBuilder":
        """Show the nodes with as many elements of variables."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> "ProfileOptionBuilder":
        """Show the nodes that run as often."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> "ProfileOptionBuilder":
        """Show the nodes with as many floating-point operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> "ProfileOptionBuilder":
        """Count only nodes with a type that matches one of the expressions.

        The types of a node are its op, its device in lower case, and those of the op log.
        """
        return self._with(account_type_regexes=copy.copy(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Sequence[str] | None = None,
        show_name_regexes: Sequence[str] | None = None,
        hide_name_regexes: Sequence[str] | None = None,
        trim_name_regexes: Sequence[str] | None = None,
    ) -> "ProfileOptionBuilder":
        """Choose nodes by name: where to start, which to show, to hide, and to show nothing below.

        None leaves an option as it is.
        """
        given = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._with(**{key: copy.copy(v) for key, v in given.items() if v is not None})

    def account_displayed_op_only(self, is_true: bool) -> "ProfileOptionBuilder":
        """Choose whether the totals of a node leave out the nodes that are not shown."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> "ProfileOptionBuilder":
        """Print nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> "ProfileOptionBuilder":
        """Print the profile."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> "ProfileOptionBuilder":
        """Write the text of the profile to a file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> "ProfileOptionBuilder":
        """Write a timeline in Chrome's format to the file `<timeline_file>_<step>`."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> "ProfileOptionBuilder":
        """Write a file for `pprof`, compressed with gzip. Only the view "code" can."""
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> "ProfileOptionBuilder":
        """Sort the nodes by "name", or by "micros", "bytes", "params", "float_ops" and so on."""
        return self._with(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> "ProfileOptionBuilder":
        """Choose what to show of each node, such as "micros", "params" and "device"."""
        return self._with(select=copy.copy(attributes))

    def with_step(self, step: int) -> "ProfileOptionBuilder":
        """Choose the step of `Profiler.add_step` to show. -1 shows averages over all steps."""
        return self._with(step=step)
