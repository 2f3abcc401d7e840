"""Kullback-Leibler divergences between distributions."""

import math
import sys

import torch
from torch import _native_compile
from torch.distributions.continuous import Beta, Dirichlet, Exponential, Gamma, HalfNormal, Laplace, LogNormal, MultivariateNormal, Normal, Uniform, _squared_distance
from torch.distributions.discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from torch.distributions.distribution import _sum_rightmost
from torch.distributions.independent import Independent
from torch.distributions.transformed_distribution import TransformedDistribution

_REGISTRY = {}
_FOUND = {}
_SEARCHES = {}


def register_kl(type_p, type_q):
    """Says how the divergence between two types is computed."""

    def decorate(function):
        _REGISTRY[type_p, type_q] = function
        _FOUND.clear()
        return function

    return decorate


def _find(type_p, type_q):
    for base_p in type_p.__mro__:
        for base_q in type_q.__mro__:
            function = _REGISTRY.get((base_p, base_q))
            if function is not None:
                return function
    raise NotImplementedError(f"No KL(p || q) is implemented for p type {type_p.__name__} and q type {type_q.__name__}")


def kl_divergence(p, q):
    """The divergence of p from q; of the nearest base types that have one."""
    key = type(p), type(q)
    if _native_compile._is_compiling():
        # PyTorch's search for the rule is none that its capture can follow: what is captured ends before a call that has to search,
        # and as long as that code is compiled.
        frame = sys._getframe(1)
        if _SEARCHES.setdefault((frame.f_code, frame.f_lasti, key), key not in _FOUND):
            _native_compile._graph_break("builtin", "min", "generator", "LocalGeneratorObjectVariable")
            with _native_compile._suspended():
                result = _found(key)(p, q)
            return _native_compile._returned(result)
    return _found(key)(p, q)


def _found(key):
    if key not in _FOUND:
        _FOUND[key] = _find(*key)
    return _FOUND[key]


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    shift = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + shift - 1 - ratio.log())


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    softplus = torch.nn.functional.softplus
    first = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    first[q.probs == 0] = math.inf
    first[p.probs == 0] = 0
    second = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    second[q.probs == 1] = math.inf
    second[p.probs == 1] = 0
    return first + second


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms[(q.probs == 0).expand_as(terms)] = math.inf
    terms[(p.probs == 0).expand_as(terms)] = 0
    return terms.sum(-1)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    # Of a tensor with more trials than the other has, there is none.
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    result = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    more = p.total_count > q.total_count
    result[more] = math.inf
    return result


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
@register_kl(LogNormal, LogNormal)
def _kl_of_normals(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_one_hot(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    first = total_p.lgamma() - total_q.lgamma()
    second = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    difference = p.concentration - q.concentration
    third = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return first - second + (difference * third).sum(-1)


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    return _kl_dirichlet_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    return (
        q.concentration * (p.rate / q.rate).log()
        + torch.lgamma(q.concentration)
        - torch.lgamma(p.concentration)
        + (p.concentration - q.concentration) * torch.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio = p.scale / q.scale
    away = (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * torch.exp(-away / p.scale) - 1


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = math.inf
    return result


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    own, other = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    volume = q._half_log_determinant() - p._half_log_determinant()
    size = p.event_shape[0]
    batch = tuple(torch.broadcast_shapes(own.shape[:-2], other.shape[:-2]))
    own, other = own.expand(batch + (size, size)), other.expand(batch + (size, size))
    solved = torch.linalg.solve_triangular(other, own, upper=False)
    trace = solved.reshape(-1, size * size).pow(2).sum(-1).reshape(batch)
    away = _squared_distance(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return volume + 0.5 * (trace + away - size)


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p, q):
    euler, ratio = 0.57721566490153286060, q.rate / p.rate
    first = -q.concentration * torch.log(ratio)
    return first + ratio + q.concentration.lgamma() + q.concentration * euler - (1 + euler)


@register_kl(Beta, Normal)
def _kl_beta_normal(p, q):
    total = p.concentration1 + p.concentration0
    mean, variance = p.concentration1 / total, q.scale.pow(2)
    square = (mean * (1 - mean) / (total + 1) + mean.pow(2)) * 0.5
    return -p.entropy() + 0.5 * (variance * 2 * math.pi).log() + (square - q.loc * mean + q.loc.pow(2) * 0.5) / variance


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p, q):
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    away = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -(0.5 * torch.log(2 * ratio / math.pi)) + ratio + away / variance - 1


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    away = p.loc - q.loc
    scaled = away / p.scale
    first = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * scaled.pow(2))
    second = away * torch.erf(math.sqrt(0.5) * scaled)
    return -torch.log(p.scale / q.scale) + (first + second) / q.scale - (0.5 * (1 + math.log(0.5 * math.pi)))


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p, q):
    width = p.high - p.low
    first = (math.sqrt(math.pi * 2) * q.scale / width).log()
    return first + (width.pow(2) / 12 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)) / (2 * q.scale.pow(2))


def _infinite(p, q):
    parameter = next(iter(p.arg_constraints))
    return torch.full_like(getattr(p, parameter), math.inf)


for _p, _all in (
    (Normal, (Beta, Exponential, Gamma, Uniform)),
    (Laplace, (Beta, Exponential, Gamma, Uniform)),
    (Exponential, (Beta, Uniform)),
    (Gamma, (Beta, Uniform)),
    (Poisson, (Bernoulli, Binomial)),
):
    for _q in _all:
        register_kl(_p, _q)(_infinite)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)
