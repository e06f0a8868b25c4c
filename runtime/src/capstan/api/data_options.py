"""`tf.data.Options` and its groups. They tune how TensorFlow runs a dataset, not its elements.

Sources: tensorflow/python/data/util/options.py, data/experimental/ops/*_options.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self


@dataclass(frozen=True, slots=True)
class _Option:
    """The type of an option, and the function that makes its default value."""

    kind: type
    default: Callable[[], Any] = lambda: None


class _Group:
    """A set of options with their types. Groups of a type are equal if their options are.

    An option that was not set has its default value. Setting an option raises TypeError if the
    value has another type, and AttributeError if there is no such option.
    """

    _options: ClassVar[dict[str, _Option]]

    def __init__(self) -> None:
        for name, option in self._options.items():
            self.__dict__[name] = option.default()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._options:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        kind = self._options[name].kind
        if not isinstance(value, kind):
            raise TypeError(
                f'Property "{name}" must be of type {kind}, got: {value!r} (type: {type(value)})'
            )
        self.__dict__[name] = value

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return vars(self) == vars(other)

    def __hash__(self) -> int:
        raise TypeError(f"{type(self).__name__} can change, so it has no hash")

    def merge(self, options: Self) -> Self:
        """Return new options with the values that `self` or `options` sets.

        Raises:
            TypeError: the types differ.
            ValueError: an option has two values, and neither is its default.
        """
        if type(options) is not type(self):
            raise TypeError(f"Cannot merge options of type {type(self)} with {type(options)}.")
        merged = type(self)()
        for name, option in self._options.items():
            values = [vars(self)[name], vars(options)[name]]
            if isinstance(values[0], _Group):
                merged.__dict__[name] = values[0].merge(values[1])
                continue
            chosen = [value for value in values if value != option.default()]
            if len(chosen) == 2 and chosen[0] != chosen[1]:
                raise ValueError(
                    f"Cannot merge incompatible values ({chosen[0]!r} and {chosen[1]!r}) of "
                    f"option: {name}"
                )
            if chosen:
                merged.__dict__[name] = chosen[0]
        return merged


class DistributeOptions(_Group):
    """`auto_shard` says whether the dataset is divided among workers."""

    _options: ClassVar = {"auto_shard": _Option(bool, lambda: True), "num_devices": _Option(int)}


class MapVectorizationOptions(_Group):
    """Whether functions of `map` get whole batches."""

    _options: ClassVar = {"enabled": _Option(bool), "use_choose_fastest": _Option(bool)}


class OptimizationOptions(_Group):
    """The changes that TensorFlow makes to the graph of a dataset."""

    _options: ClassVar = {
        **dict.fromkeys(
            (
                *("apply_default_optimizations", "autotune", "autotune_buffers"),
                *("filter_fusion", "filter_with_random_uniform_fusion", "hoist_random_uniform"),
                *("map_and_batch_fusion", "map_and_filter_fusion", "map_fusion"),
                *("map_parallelization", "noop_elimination", "parallel_batch"),
                "shuffle_and_repeat_fusion",
            ),
            _Option(bool),
        ),
        "autotune_algorithm": _Option(int),
        "autotune_cpu_budget": _Option(int),
        "map_vectorization": _Option(MapVectorizationOptions, MapVectorizationOptions),
    }


class StatsOptions(_Group):
    """What TensorFlow measures of a dataset, and the prefixes of the names of its summaries."""

    _options: ClassVar = {
        "aggregator": _Option(object),
        "counter_prefix": _Option(str, str),
        "latency_all_edges": _Option(bool),
        "prefix": _Option(str, str),
    }


class ThreadingOptions(_Group):
    """The number of threads of a dataset."""

    _options: ClassVar = {
        "max_intra_op_parallelism": _Option(int),
        "private_threadpool_size": _Option(int),
    }


class Options(_Group):
    """Options that tune how TensorFlow runs a dataset.

    Capstan accepts them and ignores them, except for the aggregator of `experimental_stats` and its
    prefix.
    """

    _options: ClassVar = {
        "experimental_deterministic": _Option(bool),
        "experimental_distribute": _Option(DistributeOptions, DistributeOptions),
        "experimental_optimization": _Option(OptimizationOptions, OptimizationOptions),
        "experimental_slack": _Option(bool),
        "experimental_stateful_whitelist": _Option(list),
        "experimental_stats": _Option(StatsOptions, StatsOptions),
        "experimental_threading": _Option(ThreadingOptions, ThreadingOptions),
    }
