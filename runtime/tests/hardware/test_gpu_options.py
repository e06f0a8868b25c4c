"""What a task decides about its GPUs, without one."""

import re

import pytest

from capstan import errors
from capstan.core import config
from capstan.hardware import gpu_options


@pytest.mark.parametrize(
    ("listed", "count", "numbers"),
    [("", 0, []), ("", 3, [0, 1, 2]), ("2,0", 3, [2, 0]), ("1", 2, [1])],
)
def test_the_list_of_visible_gpus_chooses_and_orders_them(
    listed: str, count: int, numbers: list[int]
) -> None:
    assert gpu_options.visible(listed, count) == numbers


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("0,x", "Could not parse entry in 'visible_device_list': 'x'. visible_device_list = 0,x"),
        ("0,", "Could not parse entry in 'visible_device_list': ''. visible_device_list = 0,"),
        ("2", "'visible_device_list' listed an invalid GPU id '2' but visible device count is 2"),
        ("-1", "'visible_device_list' listed an invalid GPU id '-1' but visible device count is 2"),
        ("1,1", "visible_device_list contained a duplicate entry: 1,1"),
    ],
)
def test_a_wrong_list_is_refused_in_tensorflows_words(listed: str, message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError) as refused:
        gpu_options.visible(listed, 2)
    assert refused.value.message == message


@pytest.mark.parametrize(
    ("total", "free", "fraction", "limit"),
    [
        (16 << 30, 10 << 30, 0.5, 8 << 30),
        (1000, 1000, 1.0, 512),
        (2 << 30, 1 << 30, 0.0, (1 << 30) - (225 << 20)),
        (8 << 30, 4 << 30, 0.0, (4 << 30) - (300 << 20)),
        (80 << 30, 80 << 30, 0.0, 76 << 30),
        (8 << 30, 100 << 20, 0.0, 512),
        (1 << 30, 1 << 30, 1e-9, 512),
    ],
)
def test_the_memory_limit_is_tensorflows_in_units_of_the_pool(
    total: int, free: int, fraction: float, limit: int
) -> None:
    assert gpu_options.memory_limit(total, free, fraction) == limit


@pytest.mark.parametrize("fraction", [-0.1, 1.5, float("nan")])
def test_a_fraction_beyond_the_memory_of_the_gpu_is_refused(fraction: float) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="between 0 and 1"):
        gpu_options.memory_limit(1 << 30, 1 << 30, fraction)


@pytest.mark.parametrize(
    ("status", "driver", "part"),
    [
        (35, 0, "driver is missing"),
        (35, 12040, r"driver is too old: it supports CUDA 12\.4, and CuPy needs CUDA 13\.2"),
        (100, 13020, "finds no device"),
        (999, 13020, "CUDA cannot count the devices: cudaErrorUnknown"),
    ],
)
def test_a_refusal_names_the_part_that_does_not_fit(status: int, driver: int, part: str) -> None:
    refusal = gpu_options.refusal(status, "cudaErrorUnknown", driver, 13020)
    assert re.search(part, refusal)


@pytest.mark.parametrize(
    ("visible_devices", "hidden"),
    [(None, False), ("", True), ("-1", True), ("-1,0", True), ("0", False), ("1,-1", False)],
)
def test_cuda_visible_devices_can_hide_all_gpus(visible_devices: str | None, hidden: bool) -> None:
    assert gpu_options.hides_all(visible_devices) is hidden


@pytest.mark.parametrize(
    ("option", "forced", "grows"),
    [(False, None, False), (True, None, True), (False, "true", True), (True, "false", False)],
)
def test_the_environment_overrides_allow_growth(
    option: bool, forced: str | None, grows: bool
) -> None:
    assert gpu_options.grows(option, forced) is grows


def test_the_options_of_gpus_survive_the_way_through_a_config_proto() -> None:
    options = config.GpuOptions("1,0", 0.25, allow_growth=True)
    settings = config.SessionConfig(gpu_options=options)
    assert config.SessionConfig.from_proto(settings.to_proto()) == settings
