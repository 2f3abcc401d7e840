"""`torch.distributions`."""

_PARTS = {
    "distribution": "Distribution ExponentialFamily",
    "continuous": (
        "Normal LogNormal HalfNormal Uniform Laplace Exponential Gamma Chi2 Beta Dirichlet Cauchy StudentT Gumbel "
        "MultivariateNormal"
    ),
    "derived": (
        "HalfCauchy Kumaraswamy LogisticNormal Pareto Weibull InverseGamma NegativeBinomial LogitRelaxedBernoulli "
        "RelaxedBernoulli ExpRelaxedCategorical RelaxedOneHotCategorical OneHotCategoricalStraightThrough"
    ),
    "discrete": "Bernoulli Binomial Geometric Poisson Categorical OneHotCategorical Multinomial",
    "independent": "Independent",
    "kl": "kl_divergence register_kl",
    "transforms": (
        "AbsTransform AffineTransform ComposeTransform ExpTransform IndependentTransform PowerTransform ReshapeTransform "
        "SigmoidTransform SoftmaxTransform SoftplusTransform StickBreakingTransform TanhTransform "
        "Transform identity_transform"
    ),
    "transformed_distribution": "TransformedDistribution MixtureSameFamily",
}
_HOME = {name: part for part, names in _PARTS.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name in _PARTS or name == "constraints":
        return __import__(f"torch.distributions.{name}", fromlist=["_"])
    part = _HOME.get(name)
    if part is None:
        from torch._absent import attribute_error

        raise attribute_error("torch.distributions", name)
    value = getattr(__import__(f"torch.distributions.{part}", fromlist=[name]), name)
    globals()[name] = value
    return value
