"""Summaries are protocol buffers that TensorBoard reads."""

from typing import Any

import interpreter
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto import summary_pb2

from capstan import errors
from capstan.core import tensor_proto
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def parsed(tensor: Any) -> Any:
    return summary_pb2.Summary.FromString(interpreter.Interpreter().run(tensor).item())


def test_scalar_summaries_keep_their_tags_when_merged() -> None:
    single = raw.ScalarSummary(b"loss", np.float64(0.5))
    pair = raw.ScalarSummary(np.array([b"a", b"b"], object), np.array([1, 2], np.int32))
    found = parsed(raw.MergeSummary([single, pair]))
    assert [(value.tag, value.simple_value) for value in found.value] == [
        *(("loss", 0.5), ("a", 1.0), ("b", 2.0))
    ]
    with pytest.raises(errors.InvalidArgumentError, match="Duplicate tag loss found"):
        parsed(raw.MergeSummary([single, single]))
    with pytest.raises(errors.InvalidArgumentError, match="Could not parse"):
        parsed(raw.MergeSummary([np.array(b"\xff", object)]))


numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)


@pytest.mark.e2e
@given(values=st.lists(numbers, max_size=20))
def test_each_bucket_counts_the_values_below_its_limit(values: list[float]) -> None:
    with graphs.Graph().as_default():
        array = np.array(values, np.float64)
        found = parsed(raw.HistogramSummary(b"h", array)).value[0].histo
    limits, counts = list(found.bucket_limit), list(found.bucket)
    assert limits == sorted(set(limits))
    assert (found.num, sum(counts)) == (len(values), len(values))
    for limit, below, count in zip(limits, [-np.inf, *limits], counts, strict=False):
        assert count == sum(below <= value < limit for value in values)
    if values:
        assert (found.min, found.max) == (min(values), max(values))
        np.testing.assert_allclose([found.sum, found.sum_squares], [array.sum(), (array**2).sum()])


@pytest.mark.parametrize("value, word", [(np.nan, "Nan"), (-np.inf, "Infinity")])
def test_a_histogram_of_values_that_are_not_finite_is_refused(value: float, word: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=f"{word} in summary histogram for: h"):
        parsed(raw.HistogramSummary(b"t", np.float32([1.0, value]), name="h"))


def test_a_tensor_summary_keeps_its_plugin_name() -> None:
    metadata = summary_pb2.SummaryMetadata(
        plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="text")
    )
    text = np.array([b"hello"], object)
    (value,) = parsed(raw.TensorSummaryV2(b"t", text, metadata.SerializeToString())).value
    assert (value.tag, value.metadata.plugin_data.plugin_name) == ("t", "text")
    assert tensor_proto.ndarray(value.tensor).tolist() == [b"hello"]
