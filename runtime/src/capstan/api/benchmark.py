"""`tf.test.Benchmark`: benchmarks beside the tests of a module (python/platform/benchmark.py).

`tf.test.main()` runs the benchmarks instead of the tests if the program has the argument
`--benchmarks=REGEX`. `all` matches every benchmark.
"""

import json
import re
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any, Final

FLAG: Final = "--benchmarks="


class Benchmark:
    """The base of classes whose methods `benchmark...` measure something and report it."""

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        """Print a result as one line of JSON. The default for `name` is the method's name.

        Times are seconds of one of `iters` iterations, and the throughput is MB/s. TensorFlow's
        file of results, which TEST_REPORT_FILE_PREFIX names, is not written.

        Raises:
            TypeError: `extras` is not a dictionary.
        """
        if not isinstance(extras, Mapping | None):
            raise TypeError("extras must be a dict")
        numbers = {
            "iters": iters,
            "cpu_time": cpu_time,
            "wall_time": wall_time,
            "throughput": throughput,
            "extras": extras or None,
        }
        entry: dict[str, Any] = {"name": f"{type(self).__name__}.{name or self._method()}"}
        entry |= {key: value for key, value in numbers.items() if value is not None}
        print(json.dumps(entry, default=str))  # noqa: T201, the output of a benchmark

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        name: str | None = None,
        extras: Mapping[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Run steps, report the median of their times, and return what was reported. Blocks.

        The first `burn_iters` steps are not measured. A step moves `mbs` megabytes.
        """
        seconds = []
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict=feed_dict)
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(op_or_tensor, feed_dict=feed_dict)
            seconds.append(time.perf_counter() - start)
        median = statistics.median(seconds)
        result: dict[str, Any] = {
            "iters": min_iters,
            "wall_time": median,
            "extras": dict(extras or {}),
            "name": name,
            "throughput": mbs / median,
        }
        self.report_benchmark(**result)
        return result

    def _method(self) -> str:
        """Return the name of the outermost method of this object that is being called."""
        found = ""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_locals.get("self") is self:
                found = frame.f_code.co_name
            frame = frame.f_back
        return found


def run_matching(pattern: str) -> None:
    """Run all benchmarks whose names, `module.Class.method`, match a regular expression.

    Raises:
        ValueError: no name matches.
    """
    count = 0
    for owner in _subclasses(Benchmark):
        for method in dir(owner):
            full_name = f"{owner.__module__}.{owner.__name__}.{method}"
            is_wanted = pattern == "all" or re.search(pattern, full_name)
            if method.startswith("benchmark") and is_wanted:
                getattr(owner(), method)()
                count += 1
    if not count:
        raise ValueError(f"No benchmarks matched the pattern: '{pattern}'")


def _subclasses(owner: type[Benchmark]) -> Iterator[type[Benchmark]]:
    for inner in owner.__subclasses__():
        yield inner
        yield from _subclasses(inner)
