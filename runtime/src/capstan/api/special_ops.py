"""TensorFlow 1's inverse, hyperbolic, error, gamma and zeta functions (python/ops/math_ops.py)."""

from capstan.api import plain

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "betainc", "cosh", "digamma", "erf",
    "erfc", "expm1", "igamma", "igammac", "lgamma", "polygamma", "rint", "sinh", "tan", "zeta",
]  # fmt: skip

acos = plain.function("acos", "Acos", "Return the angle whose cosine is x, in radians.")
acosh = plain.function("acosh", "Acosh", "Return the number whose hyperbolic cosine is x.")
asin = plain.function("asin", "Asin", "Return the angle whose sine is x, in radians.")
asinh = plain.function("asinh", "Asinh", "Return the number whose hyperbolic sine is x.")
atan = plain.function("atan", "Atan", "Return the angle whose tangent is x, in radians.")
atan2 = plain.function(
    "atan2", "Atan2", "Return the angle of the point (x, y), from -pi to pi radians."
)
atanh = plain.function("atanh", "Atanh", "Return the number whose hyperbolic tangent is x.")
betainc = plain.function(
    "betainc", "Betainc", "Return the share of the beta function of (a, b) that is below x."
)
cosh = plain.function("cosh", "Cosh", "Return the hyperbolic cosine of each element.")
digamma = plain.function("digamma", "Digamma", "Return the derivative of `lgamma`.")
erf = plain.of_values(
    plain.function("erf", "Erf", "Return the Gauss error function of each element.")
)
erfc = plain.function("erfc", "Erfc", "Return 1 - erf(x), exact also for large x.")
expm1 = plain.function("expm1", "Expm1", "Return exp(x) - 1, exact also for small x.")
igamma = plain.function(
    "igamma", "Igamma", "Return the share of the gamma function of `a` that is below x."
)
igammac = plain.function(
    "igammac",
    "Igammac",
    "Return 1 - igamma(a, x). The difference is exact also where it is small, if x >= a + 1.",
)
lgamma = plain.function(
    "lgamma", "Lgamma", "Return the logarithm of the absolute value of the gamma function."
)
polygamma = plain.function("polygamma", "Polygamma", "Return derivative number `a` of digamma.")
rint = plain.function("rint", "Rint", "Round floats to integers. Halves become even.")
sinh = plain.function("sinh", "Sinh", "Return the hyperbolic sine of each element.")
tan = plain.function("tan", "Tan", "Return the tangent of each element, in radians.")
zeta = plain.function(
    "zeta", "Zeta", "Return the sum of 1 / (q + k)**x over k = 0, 1, 2, ..., for x above 1."
)
