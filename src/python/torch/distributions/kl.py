"""Kullback-Leibler divergences between distributions."""

import math

import torch
from torch import _native_compile
from torch.distributions.continuous import Dirichlet, Exponential, Gamma, Laplace, MultivariateNormal, Normal, Uniform, Beta
from torch.distributions.discrete import Bernoulli, Categorical, OneHotCategorical, Poisson
from torch.distributions.distribution import _sum_rightmost
from torch.distributions.independent import Independent

_REGISTRY = {}
_FOUND = {}


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
    function = _FOUND.get(key)
    if function is not None:
        return function(p, q)
    # PyTorch's search for the rule is none that its capture can follow: what is captured ends before it, the first time.
    if not _native_compile._is_compiling():
        function = _FOUND[key] = _find(*key)
        return function(p, q)
    _native_compile._graph_break("builtin", "min", "generator", "LocalGeneratorObjectVariable")
    with _native_compile._suspended():
        function = _FOUND[key] = _find(*key)
        result = function(p, q)
    return _native_compile._returned(result)


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
    trace = torch.linalg.solve_triangular(other, own, upper=False).pow(2).sum((-2, -1))
    away = torch.linalg.solve_triangular(other, (q.loc - p.loc).unsqueeze(-1), upper=False)
    return volume + 0.5 * (trace + away.squeeze(-1).pow(2).sum(-1) - size)


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
