"""Kernels of the modified Bessel functions of order 0 and 1, times exp(-|x|).

They compute in float64, to within a relative error of 1e-13. For |x| up to 8, I0 and I1 / x are
Chebyshev series in |x| / 4 - 1. Beyond, the functions times the root of |x| are Chebyshev series in
16 / |x| - 1. The coefficients were fitted at Chebyshev nodes.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from capstan.kernels.in_float64 import in_float64
from capstan.kernels.registry import Kernel, register

_LIMIT: Final = 8.0
_NEAR_0: Final = (
    0.338397637204738, -0.3046826723431984, 0.17162090152220877, -0.09490109704804763,
    0.049305284239670726, -0.02373741480589947, 0.01054646039459497, -0.004324309995050604,
    0.001639475616941414, -0.0005763755745386845, 0.00018850288509610267,
    -5.754195010112698e-05, 1.6448448071324346e-05, -4.416738359000075e-06,
    1.117387539923647e-06, -2.6707938605945767e-07, 6.046995115749354e-08,
    -1.3000250828224376e-08, 2.659824733480016e-09, -5.189803348975325e-10,
    9.67591562428538e-11, -1.726913056998569e-11, 2.9562860096429434e-12,
    -4.865314500485901e-13, 7.793765632868599e-14, -1.2593101165033919e-14,
    2.9500211797182733e-15, -1.2371056560108887e-15,
)  # fmt: skip
_FAR_0: Final = (
    0.4022452055070544, 0.0033691164782556856, 6.889758346905705e-05, 2.891370520838784e-06,
    2.0489185880291465e-07, 2.2666689902343478e-08, 3.396231913556051e-09,
    4.940602001587043e-10, 1.1889071975176857e-11, -3.1499182891655174e-11,
    -1.3216022099032018e-11, -1.79413891151133e-12, 7.176296594006241e-13,
    3.8531215255469914e-13, 1.5157507772071515e-14, -4.14992114746345e-14,
    -9.727534171684779e-15, 3.811765717879704e-15, 1.405776536844705e-15,
    -3.3306690738754696e-16, -1.0370032379099687e-15, 3.700743415417188e-17,
    -8.714094260990161e-16, 0.0,
)  # fmt: skip
_NEAR_1: Final = (
    0.12629359322181682, -0.17641651835783406, 0.10264365868984712, -0.052945981208095,
    0.024726449030626534, -0.010564084894626216, 0.0041564229443129, -0.001513572450631275,
    0.0005122859561686177, -0.00016176081582598305, 4.781565107563256e-05,
    -1.3273163656211753e-05, 3.470251308388247e-06, -8.568720267875569e-07,
    2.0032947572230192e-07, -4.445059165192333e-08, 9.381537812475876e-09,
    -1.8872501696330447e-09, 3.625594923490587e-10, -6.663534803306805e-11,
    1.1736687019084764e-11, -1.984468145366236e-12, 3.229321572056116e-13,
    -5.095130666583308e-14, 8.152209066533293e-15, -1.6336138790913017e-15,
    7.057846370831352e-16, -5.789020056974031e-16,
)  # fmt: skip
_FAR_1: Final = (
    0.38928811750914005, -0.009761097491361469, -0.00011058893876272475, -3.882564808888507e-06,
    -2.5122362391504356e-07, -2.6314688458354645e-08, -3.83538048542853e-09,
    -5.589743552284846e-10, -1.8975019183224234e-11, 3.252601428934317e-11,
    1.4125561542214596e-11, 2.0356401749429174e-12, -7.20201676074339e-13,
    -4.08330776598594e-13, -2.1239665119280698e-14, 4.272508273099144e-14,
    1.0244554047670699e-14, -3.788636071533347e-15, -2.2244937373609255e-15,
    3.515706244646329e-16, -4.325243866768839e-16, -2.7755575615628914e-17,
    -9.691321819123762e-16, 7.401486830834377e-17,
)  # fmt: skip


def series(coefficients: Sequence[float], t: Any) -> Any:
    """Return a Chebyshev series by Clenshaw's recurrence."""
    last, total = np.zeros_like(t), np.zeros_like(t)
    for coefficient in coefficients[:0:-1]:
        last, total = total, 2 * t * total - last + coefficient
    return t * total - last + coefficients[0]


def _scaled(near: Sequence[float], far: Sequence[float], x: Any) -> Any:
    """Return the function of |x|. That of order 1 is divided by |x| up to the limit."""
    size = np.abs(x)
    small, large = np.minimum(size, _LIMIT), np.maximum(size, _LIMIT)
    beyond = series(far, 2 * _LIMIT / large - 1) / np.sqrt(large)
    return np.where(size <= _LIMIT, series(near, small * (2 / _LIMIT) - 1), beyond)


def i0e(x: Any) -> Any:
    """Return I0(x) * exp(-|x|) of float64 numbers."""
    return _scaled(_NEAR_0, _FAR_0, x)


def i1e(x: Any) -> Any:
    """Return I1(x) * exp(-|x|) of float64 numbers. Its sign is that of x."""
    factor = np.where(np.abs(x) <= _LIMIT, x, np.sign(x))
    return _scaled(_NEAR_1, _FAR_1, x) * factor


def i0(x: Any) -> Any:
    """Return I0 of float64 numbers."""
    return i0e(x) * np.exp(np.abs(x))


def i1(x: Any) -> Any:
    """Return I1 of float64 numbers. Its sign is that of x."""
    return i1e(x) * np.exp(np.abs(x))


register(Kernel("BesselI0", in_float64(i0)))
register(Kernel("BesselI1", in_float64(i1)))
register(Kernel("BesselI0e", in_float64(i0e)))
register(Kernel("BesselI1e", in_float64(i1e)))
