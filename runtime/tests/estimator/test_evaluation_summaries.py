"""Tests of the line that reports the results of an evaluation."""

import pathlib

import numpy as np
import pytest

from capstan.estimator import evaluation_summaries


def test_the_results_are_logged_with_the_digits_of_their_type(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "capstan")
    results = {"loss": np.float32(0.1), "auc": np.float32(0.7), "global_step": np.int64(3)}
    evaluation_summaries.write(str(tmp_path), results, checkpoint_path=None)
    line = "Saving dict for global step 3: auc = 0.7, global_step = 3, loss = 0.1"
    assert caplog.messages == [line]
