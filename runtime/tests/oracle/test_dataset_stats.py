"""A dataset measures the bytes of its elements as in TensorFlow."""

from typing import Any

import genuine

import capstan

pytestmark = genuine.MARKS


def observed(tf: Any, dataset: Any, op: str, tag: str) -> Any:
    kinds = kinds_of(tf, dataset)
    variant = getattr(tf.raw_ops, f"{op}Dataset")(
        input_dataset=dataset._variant_tensor, tag=tag, **kinds
    )
    return tf.data.experimental.from_variant(variant, dataset.element_spec)


def kinds_of(tf: Any, dataset: Any) -> dict[str, Any]:
    types, shapes = tf.data.get_output_types(dataset), tf.data.get_output_shapes(dataset)
    if not isinstance(types, tuple):
        types, shapes = (types,), (shapes,)
    return {"output_types": list(types), "output_shapes": list(shapes)}


def measured(tf: Any) -> dict[str, Any]:
    """Return the histogram of each tag, after one pass."""
    with tf.Graph().as_default(), tf.Session() as session:
        aggregator = tf.raw_ops.StatsAggregatorHandle(container="", shared_name="")
        words = tf.data.Dataset.from_tensor_slices(["", "a", "bcd"])
        words = observed(tf, words, "BytesProducedStats", "words")
        inner = tf.data.Dataset.range(3).flat_map(
            lambda x: observed(tf, tf.data.Dataset.range(2), "BytesProducedStats", "inner")
        )
        pairs = tf.data.Dataset.zip((words, inner.batch(2)))
        pairs = observed(tf, pairs, "BytesProducedStats", "pairs")
        pairs = observed(tf, pairs, "LatencyStats", "time")
        kinds = kinds_of(tf, pairs)
        whole = tf.raw_ops.SetStatsAggregatorDataset(
            input_dataset=pairs._variant_tensor, stats_aggregator=aggregator, tag="all",
            counter_prefix="", **kinds,
        )  # fmt: skip
        iterator = tf.raw_ops.IteratorV2(shared_name="measured", container="", **kinds)
        session.run(tf.raw_ops.MakeIterator(dataset=whole, iterator=iterator))
        following = tf.raw_ops.IteratorGetNext(iterator=iterator, **kinds)
        for _ in range(3):
            session.run(following)
        text = session.run(tf.raw_ops.StatsAggregatorSummary(iterator=aggregator))
    summary = capstan.Summary.FromString(text)
    return {value.tag: value.histo for value in summary.value}


def test_the_bytes_of_elements_are_those_of_tensorflow(v1: Any) -> None:
    ours, theirs = measured(capstan), measured(v1)
    assert ours["all::time"].num == theirs["all::time"].num == 3
    for tag in ("all::words", "all::inner", "all::pairs"):
        assert ours[tag] == theirs[tag], tag
