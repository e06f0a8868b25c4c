"""`tf.contrib.slim.summaries`: the tags, the values and the collection of its summaries."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

summaries = tf.contrib.slim.summaries


def written() -> dict[str, Any]:
    """Return the values by tag that a step writes which merges all summaries."""
    with tf.Session() as session:
        message = tf.Summary.FromString(session.run(tf.summary.merge_all()))
    return {value.tag: value for value in message.value}


def test_a_scalar_is_named_after_its_operation_or_as_given() -> None:
    loss = tf.constant(2.5, name="loss")
    made = [
        summaries.add_scalar_summary(loss),
        summaries.add_scalar_summary(loss, "Total Loss"),
        summaries.add_scalar_summary(loss, "total", "train"),
        summaries.add_scalar_summary(loss, prefix="eval"),
    ]
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == made
    values = {tag: value.simple_value for tag, value in written().items()}
    assert values == dict.fromkeys(["loss_1", "Total_Loss", "train/total", "eval/loss"], 2.5)


def test_a_histogram_has_all_elements() -> None:
    summaries.add_histogram_summary(tf.constant([1.0, 2.0, 4.0], name="weights"), prefix="p")
    histogram = written()["p/weights"].histo
    assert (histogram.num, histogram.sum, histogram.max) == (3, 7, 4)


def test_images_are_written() -> None:
    images = tf.constant(np.zeros([1, 2, 3, 1], np.uint8), name="digits")
    summaries.add_image_summary(images, "shown", "p")
    image = written()["p/shown/image/0"].image
    assert (image.height, image.width, image.colorspace) == (2, 3, 1)


def test_the_fraction_of_zeros_is_a_scalar() -> None:
    summaries.add_zero_fraction_summary(tf.constant([[0, 1], [0, 0]], name="units"), prefix="p")
    ((tag, value),) = written().items()
    assert (tag, value.simple_value) == ("p/units/Fraction_of_Zero_Values", 0.75)


@pytest.mark.parametrize(
    "add, tensor, shown",
    [
        (summaries.add_scalar_summary, 2.5, "p/n[2.5]"),
        (summaries.add_zero_fraction_summary, [0.0, 1.0], "p/n/Fraction_of_Zero_Values[0.5]"),
        (summaries.add_image_summary, np.full([1, 1, 1, 1], 7, np.uint8), "p/n[[[[7]]]]"),
    ],
)
def test_a_printed_summary_is_in_the_collection_once_and_prints_its_tensor(
    add: Any, tensor: Any, shown: str, capfd: pytest.CaptureFixture[str]
) -> None:
    made = add(tf.constant(tensor), "n", "p", print_summary=True)
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [made]
    assert len(written()) == 1
    assert shown in capfd.readouterr().err


def test_a_list_of_tensors_gets_a_summary_for_each_one() -> None:
    first, second = tf.constant(0.0, name="a"), tf.constant(1.0, name="b")
    images = [tf.constant(np.zeros([1, 1, 1, 3], np.uint8), name="c")]
    made = [
        *summaries.add_scalar_summaries([first, second], "scalars"),
        *summaries.add_histogram_summaries((first, second), "histograms"),
        *summaries.add_zero_fraction_summaries([first, second], "zeros"),
        *summaries.add_image_summaries(images, "images"),
    ]
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == made
    values = written()
    assert sorted(values) == [
        *("histograms/a", "histograms/b", "images/c/image/0", "scalars/a", "scalars/b"),
        *("zeros/a/Fraction_of_Zero_Values", "zeros/b/Fraction_of_Zero_Values"),
    ]
    assert values["zeros/a/Fraction_of_Zero_Values"].simple_value == 1


def test_printed_scalars_of_a_list_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    summaries.add_scalar_summaries([tf.constant(3.5, name="a")], print_summary=True)
    written()
    assert "a[3.5]" in capfd.readouterr().err


def test_the_module_can_be_imported_by_its_path() -> None:
    from capstan.contrib.slim.python.slim import summaries as imported

    assert imported.add_scalar_summary is summaries.add_scalar_summary
