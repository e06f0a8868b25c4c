"""The rows of the kernel table."""

import pytest

from capstan.kernels import registry


def test_a_row_has_either_a_function_that_returns_at_once_or_one_that_starts() -> None:
    assert registry.Kernel("Now", lambda node: lambda: None).is_asynchronous is False
    row = registry.Kernel("Later", start=lambda node: lambda done, cancellation: done((), None))
    assert row.is_asynchronous is True
    with pytest.raises(ValueError, match="Neither needs either make or start"):
        registry.Kernel("Neither")
    with pytest.raises(ValueError, match="Both needs either make or start"):
        registry.Kernel("Both", lambda node: lambda: None, start=lambda node: lambda: None)
