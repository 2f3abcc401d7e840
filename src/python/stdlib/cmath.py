"""Functions of complex numbers."""

import math

e, pi, tau, inf, nan = math.e, math.pi, math.tau, math.inf, math.nan
infj, nanj = complex(0.0, inf), complex(0.0, nan)


def phase(z):
    z = complex(z)
    return math.atan2(z.imag, z.real)


def polar(z):
    return abs(complex(z)), phase(z)


def rect(r, phi):
    return complex(r * math.cos(phi), r * math.sin(phi))


def exp(z):
    z = complex(z)
    return rect(math.exp(z.real), z.imag)


def log(z, base=None):
    z = complex(z)
    if z == 0:
        raise ValueError("math domain error")
    result = complex(math.log(abs(z)), phase(z))
    return result if base is None else result / log(base)


def log10(z):
    return log(z) / math.log(10)


def sqrt(z):
    z = complex(z)
    if z == 0:
        return complex(0.0, z.imag)
    a = math.sqrt((abs(z) + abs(z.real)) / 2)
    b = abs(z.imag) / (2 * a)
    real, imag = (a, b) if z.real >= 0 else (b, a)
    return complex(real, math.copysign(imag, z.imag))


def cosh(z):
    z = complex(z)
    return complex(math.cosh(z.real) * math.cos(z.imag), math.sinh(z.real) * math.sin(z.imag))


def sinh(z):
    z = complex(z)
    return complex(math.sinh(z.real) * math.cos(z.imag), math.cosh(z.real) * math.sin(z.imag))


def tanh(z):
    return sinh(z) / cosh(z)


def cos(z):
    return cosh(complex(z) * 1j)


def sin(z):
    return sinh(complex(z) * 1j) * -1j


def tan(z):
    return sin(z) / cos(z)


def isnan(z):
    z = complex(z)
    return math.isnan(z.real) or math.isnan(z.imag)


def isinf(z):
    z = complex(z)
    return math.isinf(z.real) or math.isinf(z.imag)


def isfinite(z):
    z = complex(z)
    return math.isfinite(z.real) and math.isfinite(z.imag)


def isclose(a, b, *, rel_tol=1e-9, abs_tol=0.0):
    return a == b or abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)
