"""Kernels of Dawson's, Fresnel's and Spence's functions, and of the exponential integral.

They compute in float64, to within 1e-12, by Chebyshev series of parts of their range. The
coefficients were fitted at Chebyshev nodes.
"""

import math
from typing import Any, Final

import numpy as np

from capstan.kernels.bessel import series
from capstan.kernels.in_float64 import in_float64
from capstan.kernels.registry import Kernel, register

_DAWSON_NEAR: Final = (
    0.44104069538121093, -0.39123921020678876, 0.12750248104023804, -0.032265394234431075,
    0.006621382082397788, -0.0011383378087072267, 0.00016802488828168973, -2.1701676931384917e-05,
    2.489630282846308e-06, -2.5676879600848713e-07, 2.404478511078189e-08, -2.0614003143348825e-09,
    1.6293077192079452e-10, -1.1943616346828336e-11, 8.15850075669243e-13, -5.185010127344148e-14,
    2.409363031666368e-15, 4.360311395100413e-16, -9.32945477144688e-16, 7.207496248574605e-16,
    -9.000416899229344e-16, 7.457072593828042e-16, -1.18767003400425e-15, 1.0032297573326516e-15,
    -1.553416893326328e-15, 1.1093276834762653e-15, -1.4531386846505072e-15, 1.0753047198183976e-15,
    -1.4155343563970746e-15, 1.1276821770285361e-15, -1.4627636020010883e-15,
)  # fmt: skip
_DAWSON_MIDDLE: Final = (
    0.19604460186538486, -0.08177527699483822, 0.018564634891476892, -0.004178417948757687,
    0.0007665890201944439, -5.7509459689638935e-05, -2.8103881375778867e-05, 1.4644863766615051e-05,
    -3.583497051013338e-06, 3.9632709292891847e-07, 5.1385853414921886e-08, -3.054598983856411e-08,
    5.458520400559743e-09, -1.2068900457361682e-10, -1.6145218341337847e-10, 3.592634051139214e-11,
    -1.8186039750210335e-12, -7.064211231626393e-13, 1.6632307249702995e-13, -7.97964230043945e-15,
    -3.3738960802436474e-15, 8.091885750500915e-16, -5.614688299552771e-16, 1.8628489004865783e-16,
    -5.277187222180411e-16, 2.1121160460616745e-16, -5.335426092331019e-16, 2.733075153086835e-16,
    -7.694722185165478e-16, 3.101102906628439e-16, -7.892884024163795e-16, 3.177426294985388e-16,
    -8.293972589405227e-16, 3.698680631268309e-16, -1.0750357301665818e-15, 4.284059371277843e-16,
    -1.1047908543412144e-15,
)  # fmt: skip
_DAWSON_OUTER: Final = (
    1.0177440781893616, -0.01247669550547917, 0.0034287006070828495, -0.0008609183288190255,
    0.00020812424268692068, -4.9698424611118534e-05, 1.1912841837617398e-05,
    -2.9014686427153473e-06, 7.250576796481752e-07, -1.870502811217286e-07, 4.978721593545408e-08,
    -1.3521550764380208e-08, 3.657854971803565e-09, -9.476951922772731e-10, 2.2037481748000202e-10,
    -3.964917256595659e-11, 2.076278395701984e-12, 2.4982491537155133e-12, -1.5490152848022909e-12,
    5.994785920022282e-13, -1.7635748616495193e-13, 3.819042525186944e-14, -5.3921605794853325e-15,
)  # fmt: skip
_DAWSON_FAR: Final = (
    1.0039772640396836, 0.0040013389200481255, 2.4321937279943206e-05, 2.5066950885603206e-07,
    3.6817646074046335e-09, 7.082102256561305e-11, 1.6972527423734394e-12, 4.9049544499539715e-14,
)  # fmt: skip
_EI_NEAR: Final = (
    2.259365618004834, 1.6148409342792187, 0.4329443540662264, 0.09121785089582016,
    0.015809105943589707, 0.0023276878223089954, 0.00029801939393361355, 3.376423058812668e-05,
    3.431289609790582e-06, 3.1619532039441073e-07, 2.665626309096492e-08, 2.0710679510707416e-09,
    1.4922257261256657e-10, 1.0029886922850673e-11, 6.279385345246303e-13, 4.228852460114065e-14,
)  # fmt: skip
_EI_MIDDLE: Final = (
    1.2954695566677188, -0.1295367105022027, 0.015619178993026594, 0.0010810561826905,
    -0.0010131141268411596, 0.00026966786425214844, -4.711058963894449e-05, 5.954379044183665e-06,
    -5.079532365087761e-07, 1.1438367941541642e-08, 5.9570062064819e-09, -1.556132269394843e-09,
    2.674729643623682e-10, -3.8959168488236175e-11, 5.2474257952917905e-12, -6.859845505305698e-13,
    9.053293782230499e-14, -1.2023363100590209e-14,
)  # fmt: skip
_EI_OUTER: Final = (
    1.1144740847193884, -0.051929691963960176, 0.012049019720018386, -0.0027244246826503486,
    0.0005618347057276796, -9.730739774112107e-05, 1.1985603421458262e-05, -2.393643632536565e-07,
    -4.0488589034940674e-07, 1.5090854886396193e-07, -3.684576670878588e-08, 7.173380019842654e-09,
    -1.1734139816978005e-09, 1.6283180885396155e-10, -1.8659852498923666e-11,
    1.5663011695346822e-12, -3.325678692777835e-14, -2.224681597154447e-14, 7.267777754137835e-15,
)  # fmt: skip
_EI_BEYOND: Final = (
    1.0524597378764822, 0.019448841121303625, 0.00041840082108685094, 1.677968671792405e-05,
    1.1315621294298074e-06, 8.709401380088824e-08, 4.0806252715750667e-10, -1.6960061206213683e-09,
    -2.3468745219143135e-10, 1.731660557200919e-11, 6.39186284565308e-12, -2.8521675943245883e-13,
    -1.5520680041677763e-13, 1.2062667511901204e-14, 3.908498071622333e-15,
)  # fmt: skip
_COSINE_NEAR: Final = (
    0.5282931311708557, -0.3767622025016183, 0.08537377549656908, -0.00901025997206257,
    0.0005393127720407462, -2.0750449345928853e-05, 5.564687019713507e-07, -1.099981276135461e-08,
    1.6696487750361134e-10, -2.007645297603172e-12, 1.94048461513636e-14,
)  # fmt: skip
_SINE_NEAR: Final = (
    0.3142743195347835, -0.18188587850106122, 0.02542455774287627, -0.0019214582098450545,
    8.966525954744117e-05, -2.830802868140746e-06, 6.442546950914948e-08, -1.106823471816723e-09,
    1.4862212694388066e-11, -1.6023745042955195e-13, 1.3007805374407947e-15,
)  # fmt: skip
_F: Final = (
    0.981897388025642, -0.01681576173888658, 0.001111110113195642, -0.00014194845868744214,
    2.5733884626100873e-05, -5.825182199413783e-06, 1.540760365314314e-06, -4.5787487961708317e-07,
    1.4905494160807797e-07, -5.223622857203526e-08, 1.946130256499117e-08, -7.636065494974073e-09,
    3.1327399778234165e-09, -1.336159448317084e-09, 5.897603767353545e-10, -2.6837609554041636e-10,
    1.2551652906997716e-10, -6.017514801860377e-11, 2.950425208807004e-11, -1.4768849226014012e-11,
    7.532103972787427e-12, -3.910593175447271e-12, 2.061087859523754e-12, -1.10479367589828e-12,
    5.971997090396584e-13, -3.298400978869429e-13, 1.8076221523195332e-13, -1.0231958649529265e-13,
    5.419679042468547e-14,
)  # fmt: skip
_G: Final = (
    0.2935271288428726, -0.02198316435189535, 0.0023042103384417014, -0.00038186608958503245,
    8.26504326095803e-05, -2.137246689734495e-05, 6.2859049479751175e-06, -2.0399317452260515e-06,
    7.158896658917307e-07, -2.678613833840074e-07, 1.0575472118744759e-07, -4.3711692874634054e-08,
    1.8799303094516677e-08, -8.37166554179894e-09, 3.844918260120431e-09, -1.8153005371292263e-09,
    8.786363804983325e-10, -4.349754839470765e-10, 2.198121147466461e-10, -1.1319385035026043e-10,
    5.930883651578302e-11, -3.157603390227615e-11, 1.705943182416272e-11, -9.34133236712807e-12,
    5.176584967133082e-12, -2.8985702726913587e-12, 1.6342178506491682e-12, -9.244773405584745e-13,
)  # fmt: skip
_SPENCE: Final = (
    1.0149416064096541, -0.13148012838765874, 0.015313452518102498, -0.0022721889436561993,
    0.0003851619930079764, -7.103404374201568e-05, 1.3885622487042418e-05, -2.832395458274653e-06,
    5.968314733969633e-07, -1.2902312426340295e-07, 2.8475308443624613e-08, -6.392641632892205e-09,
    1.4558228816012373e-09, -3.35603186817751e-10, 7.817984969082567e-11, -1.8379434175314247e-11,
    4.354280377121481e-12, -1.0393406565497337e-12, 2.47941452315562e-13, -6.017766929927905e-14,
    1.327343253231286e-14, -3.4484064349546695e-15, -1.196175774918717e-15, 1.4325458382260084e-16,
    -2.7433252802028063e-15, 3.1516008440972187e-16, -2.4639788417487347e-15,
    1.3251049003590579e-16, -2.2956547057571784e-15, 3.1516008440972187e-16,
    -2.5660477327223377e-15,
)  # fmt: skip
_TERMS: Final = 31
"""The terms of the asymptotic series of the exponential integral, from 32 on."""
_EDGE: Final = 1.6
"""From here on, Fresnel's functions are waves around 1/2."""
_FLAT: Final = 36974.0
"""From here on, TensorFlow leaves out the waves."""


def dawson(x: Any) -> Any:
    """Return exp(-x * x) times the integral of exp(t * t) from 0 to x."""
    size = np.abs(x)
    near, far = np.minimum(size, 2.0), np.maximum(size, 8.0)
    middle, outer = np.clip(size, 2.0, 4.0), np.clip(size, 4.0, 8.0)
    found = _first(
        (size <= 2, near * series(_DAWSON_NEAR, near * near / 2 - 1)),
        (size <= 4, series(_DAWSON_MIDDLE, middle - 3)),
        (size <= 8, series(_DAWSON_OUTER, outer / 2 - 3) / (2 * outer)),
        otherwise=series(_DAWSON_FAR, 128 / (far * far) - 1) / (2 * far),
    )
    found = np.where(np.isnan(x), x, found)
    return np.where(x < 0, -found, found)


def _first(*cases: tuple[Any, Any], otherwise: Any) -> Any:
    """Return the values of the first case that holds, as `np.select`.

    `select` of CuPy takes only a number as its default.
    """
    for condition, values in reversed(cases):
        otherwise = np.where(condition, values, otherwise)
    return otherwise


def exponential_integral(x: Any) -> Any:
    """Return the integral of exp(t) / t up to x, which is NaN below 0."""
    near, far = np.minimum(x, 4.0), np.maximum(x, 32.0)
    middle, outer, beyond = (np.clip(x, low, 2 * low) for low in (4.0, 8.0, 16.0))
    total = np.ones_like(far)
    for number in range(_TERMS, 0, -1):
        total = 1 + total * number / far
    scaled = _first(
        (x <= 8, series(_EI_MIDDLE, middle / 2 - 3)),
        (x <= 16, series(_EI_OUTER, outer / 4 - 3)),
        (x <= 32, series(_EI_BEYOND, 64 / beyond - 3)),
        otherwise=total,
    )
    small = np.euler_gamma + np.log(near) + near * series(_EI_NEAR, near / 2 - 1)
    # The square of a half exponential overflows later than the exponential.
    half = np.exp(x / 2)
    found = np.where(x <= 4, small, half * (half / x * scaled))
    return np.where(x > 0, found, np.where(x == 0, -np.inf, np.nan))


def _fresnel(x: Any, *, is_sine: bool) -> Any:
    size = np.abs(x)
    near, far = np.minimum(size, _EDGE), np.clip(size, _EDGE, _FLAT)
    t = 2 * (near / _EDGE) ** 4 - 1
    small = near**3 * series(_SINE_NEAR, t) if is_sine else near * series(_COSINE_NEAR, t)
    angle, t = math.pi / 2 * far * far, 2 * (_EDGE / far) ** 4 - 1
    main, rest = series(_F, t), series(_G, t) / (far * far)
    cosine, sine = np.cos(angle), np.sin(angle)
    wave = -main * cosine - rest * sine if is_sine else main * sine - rest * cosine
    large = 0.5 + np.where(size < _FLAT, wave / (math.pi * far), 0.0)
    found = np.where(np.isnan(x), x, np.where(size <= _EDGE, small, large))
    return np.where(x < 0, -found, found)


def fresnel_cosine(x: Any) -> Any:
    """Return the integral of cos(pi / 2 * t * t) from 0 to x."""
    return _fresnel(x, is_sine=False)


def fresnel_sine(x: Any) -> Any:
    """Return the integral of sin(pi / 2 * t * t) from 0 to x."""
    return _fresnel(x, is_sine=True)


def spence(x: Any) -> Any:
    """Return the integral of log(t) / (1 - t) from 1 to x, which is NaN below 0."""
    low, high = np.clip(x, 0.0, 0.5), np.maximum(x, 1.5)
    middle = np.clip(x, 0.5, 1.5)
    # The other parts of the range are led back to the middle one by two identities.
    logarithms = np.log(low) * np.log1p(-low)
    below = math.pi**2 / 6 - np.where(low > 0, logarithms, 0.0) - _spence(1 - low)
    turned, logarithm = 1 / high, np.log(high)
    inner = np.clip(turned, 0.0, 0.5)
    product = np.where(inner > 0, np.log(inner) * np.log1p(-inner), 0.0)
    of_turned = np.where(
        turned <= 0.5,
        math.pi**2 / 6 - product - _spence(1 - inner),
        _spence(np.clip(turned, 0.5, 1.5)),
    )
    above = -0.5 * logarithm * logarithm - of_turned
    found = np.where(x < 0.5, below, np.where(x <= 1.5, _spence(middle), above))
    return np.where((x >= 0) & (x < np.inf), found, np.nan)


def _spence(x: Any) -> Any:
    return (1 - x) * series(_SPENCE, 2 * x - 2)


register(Kernel("Dawsn", in_float64(dawson)))
register(Kernel("Expint", in_float64(exponential_integral)))
register(Kernel("FresnelCos", in_float64(fresnel_cosine)))
register(Kernel("FresnelSin", in_float64(fresnel_sine)))
register(Kernel("Spence", in_float64(spence)))
