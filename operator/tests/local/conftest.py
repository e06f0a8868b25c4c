"""Real processes for the tests of local mode, which end with their test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    started = Bench(tmp_path)
    yield started
    started.close()
