"""A pytest plugin that gives each task a strict device. The placer prefers it to a CPU.

    ../.venv/bin/python -m pytest -p tests.strict_everywhere tests/train    # in runtime/

Nodes without a device then run on the strict device, if it has a kernel for them.
"""

from collections.abc import Sequence

from capstan.hardware import device, factories


def pytest_configure() -> None:
    # pytest loads this plugin before it finds the modules beside it.
    import strict

    def create(task: str, count: int | None) -> Sequence[device.Device]:
        return [strict.Strict(f"{task}/device:GPU:0")] if count != 0 else []

    factories.register("GPU", create)
