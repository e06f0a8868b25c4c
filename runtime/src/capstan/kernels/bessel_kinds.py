"""Kernels of Bessel functions of order 0 and 1: J, Y, and K with and without its exponential.

They compute in float64, to within 1e-12. Near 0, the functions are Chebyshev series in x * x, to
which those of the second kind add a logarithm. Far from 0, J and Y are waves, whose amplitudes are
series in 64 / (x * x), and K is a series in 4 / x. The coefficients were fitted at Chebyshev nodes.
"""

import math
from typing import Any, Final

import numpy as np

from capstan.kernels.bessel import i0e, i1e, series
from capstan.kernels.in_float64 import in_float64
from capstan.kernels.registry import Kernel, register

_NEAR: Final = 8.0
_NEAR_K: Final = 2.0
_J0_NEAR: Final = (
    0.1577279714748901, -0.008723442352852129, 0.2651786132033367, -0.37009499387264966,
    0.15806710233209711, -0.034893769411408745, 0.004819180069467371, -0.00046062616620602936,
    3.246032882065959e-05, -1.7619469074820236e-06, 7.60816354135381e-08, -2.6792531845384368e-09,
    7.848622986096467e-11, -1.9431884085358215e-12, 4.033193532235499e-14, -1.12050286744576e-16,
    -9.539694137519865e-16, 6.363222705953444e-16, -1.0464558746286017e-15, 7.329527931090154e-16,
    -9.416336023672623e-16,
)  # fmt: skip
_J1_NEAR: Final = (
    0.0810448463256581, -0.14897514506765208, 0.16099926235720968, -0.08268049176681788,
    0.02221363965496598, -0.0036469406007692126, 0.000405033772835392, -3.255554866848226e-05,
    1.9858774048546623e-06, -9.521984738735117e-08, 3.687133530978616e-09, -1.1780242702101544e-10,
    3.1598458417726582e-12, -7.18956787108764e-14, 1.0081955846306688e-15, 3.6442042799038703e-16,
    -4.586094878341648e-16, 4.408767589686241e-16, -4.882162382702226e-16, 4.1299268531773763e-16,
    -4.388207904045034e-16,
)  # fmt: skip
_Y0_NEAR: Final = (
    -0.033146113203284866, -0.2744743055297454, 0.17903431407718262, 0.2615673462550468,
    -0.17730201278114355, 0.047196689595763223, -0.007287962479551961, 0.0007531135932577667,
    -5.63207914105982e-05, 3.20653253760089e-06, -1.4407233261291172e-07, 5.248794896145698e-09,
    -1.5837550663926007e-10, 4.02618370741613e-12, -8.734165654097389e-14, 1.5964595900396927e-15,
)  # fmt: skip
_Y1_NEAR: Final = (
    0.0025380132357417868, -0.01608717304766875, -0.09591204536083077, 0.08445197259652348,
    -0.028328123944594365, 0.005289897544167092, -0.0006414551451325851, 5.5059828733351796e-05,
    -3.538080018624646e-06, 1.7707804549930477e-07, -7.110549941285399e-09, 2.344337252616583e-10,
    -6.465009597625929e-12, 1.513074645000369e-13, -2.842890532037843e-15,
)  # fmt: skip
_P0: Final = (
    0.9994603493475187, -0.0005365220468132145, 3.0751847874010898e-06, -5.17059453756559e-08,
    1.6306462302965073e-09, -7.864098306193188e-11, 5.1675636576124e-12, -4.303947162306841e-13,
    4.193570351090406e-14, -5.25414550696072e-15, -8.490737006430376e-16, -8.395309278238477e-17,
    -2.0225620216633123e-15, -4.3403078520116294e-17, -2.4257356813143754e-15,
    -2.706286422942081e-17, -2.607749199535721e-15,
)  # fmt: skip
_Q0: Final = (
    -0.12444683684269554, 0.0005470815954081399, -5.931598728377475e-06, 1.437796573939442e-07,
    -5.8175324748049324e-09, 3.376096951864566e-10, -2.5654090563669322e-11, 2.4048077909259313e-12,
    -2.664394838418309e-13, 3.3811288674036494e-14, -4.856117870134567e-15,
)  # fmt: skip
_P1: Final = (
    1.000903040860014, 0.0008989898330858862, -3.987284300693272e-06, 6.177633957020619e-08,
    -1.871890972091381e-09, 8.816890732336195e-11, -5.705575456109448e-12, 4.699005129503928e-13,
    -4.806603056215764e-14, 5.2212461801365314e-15, -2.3086426732737628e-15, 1.0971606579184724e-16,
    -2.169640797480678e-15, -5.50269550977897e-17, -2.5176861948406454e-15, -9.930496328760975e-17,
    -2.7029055803451886e-15,
)  # fmt: skip
_Q1: Final = (
    0.37422229655628186, -0.0007702178839312297, 7.3108922048169555e-06, -1.6767824977293162e-07,
    6.583353628653167e-09, -3.7490803044691246e-10, 2.8120246153363087e-11, -2.6107954613904676e-12,
    2.8702604670057983e-13, -3.646876571050855e-14, 4.427771115380579e-15,
)  # fmt: skip
_K0_NEAR: Final = (
    -0.26766369661695144, 0.3442898999246286, 0.03597993651536147, 0.0012646154114468711,
    2.286212103117505e-05, 2.534791078360613e-07, 1.9045164730184885e-09, 1.034939717020142e-11,
    4.2858327964952454e-14, -3.0524546308106267e-16, 2.8897275194733863e-16, -5.657623035384287e-16,
    4.3770989422080637e-16, -7.201312591079571e-16, 5.915366676572568e-16, -8.886735196004085e-16,
)  # fmt: skip
_K1_NEAR: Final = (
    -0.06409034516866403, -0.10916919599319806, -0.006636878452820649, -0.0001682279238177941,
    -2.389559183578904e-06, -2.1853566272292226e-08, -1.3982532240989573e-10,
    -6.591921468777266e-13, -4.778004072482307e-15, 2.4019756324392644e-15,
)  # fmt: skip
_K0_FAR: Final = (
    1.220151541032978, -0.03144810131196445, 0.0015698838857300336, -0.00012849549581620302,
    1.3949813718763459e-05, -1.8317555227314439e-06, 2.7668136374247756e-07, -4.660489894693658e-08,
    8.574033938556611e-09, -1.6975344640430337e-09, 3.5773936781944363e-10, -7.957486262723975e-11,
    1.8558452069681326e-11, -4.514617230894525e-12, 1.1390181587298504e-12, -2.978327526770444e-13,
    7.876753004653493e-14, -2.2257535566381998e-14, 3.743170916649077e-15, -1.838120160411545e-15,
    -2.873880047487309e-15, -3.0051308338391357e-17, -2.763648262800499e-15, 8.431357477090896e-17,
    -2.85273613727054e-15, 8.189357629648558e-18, -3.095084961196108e-15,
)  # fmt: skip
_K1_FAR: Final = (
    1.3603130952422213, 0.1039237365768172, -0.002857816859622706, 0.00019521551847141732,
    -1.9361979741841502e-05, 2.406484947772946e-06, -3.501960604963492e-07, 5.741084124980426e-08,
    -1.0345762717585728e-08, 2.015049671496642e-09, -4.190358809896134e-10, 9.218306807932574e-11,
    -2.130090597827199e-11, 5.1394955087276916e-12, -1.2909210842075763e-12, 3.3461193466236083e-13,
    -9.142489171337229e-14, 2.4561982280785154e-14, -9.999627141802894e-15, 1.774632663330595e-15,
    -4.487341734469374e-15, -3.547985783618607e-17, -3.1256104053067066e-15, -1.191425897384815e-16,
    -3.184343226396628e-15, -2.583956254725777e-16, -3.425436129692408e-15,
)  # fmt: skip


def _square(x: Any, limit: float) -> Any:
    """Return x * x, scaled to [-1, 1] for x from 0 to the limit."""
    return x * x * (2 / (limit * limit)) - 1


def _wave(x: Any, order: int, turn: float) -> Any:
    """Return J for x from 8 on if `turn` is 0, and Y if it is a quarter of a turn."""
    z = _NEAR / x
    t = 2 * z * z - 1
    in_phase, out_of_phase = (_P0, _Q0) if order == 0 else (_P1, _Q1)
    angle = x - (order / 2 + 0.25) * math.pi - turn
    wave = series(in_phase, t) * np.cos(angle) - series(out_of_phase, t) / x * np.sin(angle)
    return np.sqrt(2 / (math.pi * x)) * wave


def j0(x: Any) -> Any:
    size = np.abs(x)
    small, large = np.minimum(size, _NEAR), np.maximum(size, _NEAR)
    near = series(_J0_NEAR, _square(small, _NEAR))
    return np.where(size <= _NEAR, near, _wave(large, 0, 0.0))


def j1(x: Any) -> Any:
    size = np.abs(x)
    small, large = np.minimum(size, _NEAR), np.maximum(size, _NEAR)
    near = small * series(_J1_NEAR, _square(small, _NEAR))
    found = np.where(size <= _NEAR, near, _wave(large, 1, 0.0))
    return np.where(x < 0, -found, found)


def y0(x: Any) -> Any:
    """Return Y0, which is infinite from 0 down."""
    small, large = np.minimum(x, _NEAR), np.maximum(x, _NEAR)
    near = series(_Y0_NEAR, _square(small, _NEAR)) + 2 / math.pi * np.log(small) * j0(small)
    return _above_zero(x, np.where(x <= _NEAR, near, _wave(large, 0, math.pi / 2)), -np.inf)


def y1(x: Any) -> Any:
    """Return Y1, which is infinite from 0 down."""
    small, large = np.minimum(x, _NEAR), np.maximum(x, _NEAR)
    smooth = small * series(_Y1_NEAR, _square(small, _NEAR))
    near = smooth + 2 / math.pi * (np.log(small) * j1(small) - 1 / small)
    return _above_zero(x, np.where(x <= _NEAR, near, _wave(large, 1, math.pi / 2)), -np.inf)


def k0e(x: Any) -> Any:
    """Return K0(x) * exp(x), which is infinite from 0 down."""
    small, large = np.minimum(x, _NEAR_K), np.maximum(x, _NEAR_K)
    smooth = series(_K0_NEAR, _square(small, _NEAR_K)) * np.exp(small)
    near = smooth - np.log(small / 2) * i0e(small) * np.exp(2 * small)
    far = series(_K0_FAR, 4 / large - 1) / np.sqrt(large)
    return _above_zero(x, np.where(x <= _NEAR_K, near, far), np.inf)


def k1e(x: Any) -> Any:
    """Return K1(x) * exp(x), which is infinite from 0 down."""
    small, large = np.minimum(x, _NEAR_K), np.maximum(x, _NEAR_K)
    smooth = (small * series(_K1_NEAR, _square(small, _NEAR_K)) + 1 / small) * np.exp(small)
    near = smooth + np.log(small / 2) * i1e(small) * np.exp(2 * small)
    far = series(_K1_FAR, 4 / large - 1) / np.sqrt(large)
    return _above_zero(x, np.where(x <= _NEAR_K, near, far), np.inf)


def _above_zero(x: Any, values: Any, below: float) -> Any:
    # As in TensorFlow, the function is infinite below 0 too.
    return np.where(x <= 0, below, values)


register(Kernel("BesselJ0", in_float64(j0)))
register(Kernel("BesselJ1", in_float64(j1)))
register(Kernel("BesselY0", in_float64(y0)))
register(Kernel("BesselY1", in_float64(y1)))
register(Kernel("BesselK0", in_float64(lambda x: k0e(x) * np.exp(-x))))
register(Kernel("BesselK0e", in_float64(k0e)))
register(Kernel("BesselK1", in_float64(lambda x: k1e(x) * np.exp(-x))))
register(Kernel("BesselK1e", in_float64(k1e)))
