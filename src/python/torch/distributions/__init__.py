"""`torch.distributions`; what PyTorch has in a module each is also found there (`torch.distributions.normal.Normal`)."""

import sys
import types

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
    "tails": "VonMises FisherSnedecor GeneralizedPareto ContinuousBernoulli",
    "matrices": "LowRankMultivariateNormal LKJCholesky Wishart",
    "independent": "Independent",
    "kl": "kl_divergence register_kl",
    "transforms": (
        "AbsTransform AffineTransform ComposeTransform ExpTransform IndependentTransform PowerTransform ReshapeTransform "
        "SigmoidTransform SoftmaxTransform SoftplusTransform StickBreakingTransform TanhTransform "
        "Transform identity_transform"
    ),
    "matrix_transforms": (
        "CatTransform CorrCholeskyTransform CumulativeDistributionTransform LowerCholeskyTransform PositiveDefiniteTransform "
        "StackTransform"
    ),
    "constraint_registry": "biject_to transform_to",
    "transformed_distribution": "TransformedDistribution MixtureSameFamily",
}
_HOME = {name: part for part, names in _PARTS.items() for name in names.split()}

__all__ = sorted(_HOME)

# The modules that hold one distribution each, by names that are not the distribution's in small letters.
_MODULES = {
    "exp_family": "ExponentialFamily",
    "half_cauchy": "HalfCauchy",
    "half_normal": "HalfNormal",
    "inverse_gamma": "InverseGamma",
    "lkj_cholesky": "LKJCholesky",
    "log_normal": "LogNormal",
    "logistic_normal": "LogisticNormal",
    "lowrank_multivariate_normal": "LowRankMultivariateNormal",
    "mixture_same_family": "MixtureSameFamily",
    "multivariate_normal": "MultivariateNormal",
    "negative_binomial": "NegativeBinomial",
    "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "relaxed_bernoulli": "RelaxedBernoulli LogitRelaxedBernoulli",
    "relaxed_categorical": "RelaxedOneHotCategorical ExpRelaxedCategorical",
    "studentT": "StudentT",
    "von_mises": "VonMises",
    "continuous_bernoulli": "ContinuousBernoulli",
    "generalized_pareto": "GeneralizedPareto",
}
_SMALL = (
    "Bernoulli Beta Binomial Categorical Cauchy Chi2 Dirichlet Exponential FisherSnedecor Gamma Geometric Gumbel Kumaraswamy "
    "Laplace Multinomial Normal Pareto Poisson Uniform Weibull Wishart"
)
_MODULES.update({name.lower(): name for name in _SMALL.split()})


def _module(name, holds):
    def read(attribute):
        if attribute in holds:
            return getattr(sys.modules[__name__], attribute)
        raise AttributeError(f"module '{__name__}.{name}' has no attribute '{attribute}'")

    module = types.ModuleType(f"{__name__}.{name}")
    module.__getattr__, module.__all__ = read, holds
    return module


for _name, _holds in _MODULES.items():
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = _module(_name, _holds.split())


def __getattr__(name):
    if name in _PARTS or name in ("constraints", "utils"):
        return __import__(f"torch.distributions.{name}", fromlist=["_"])
    part = _HOME.get(name)
    if part is None:
        from torch._absent import attribute_error

        raise attribute_error("torch.distributions", name)
    value = getattr(__import__(f"torch.distributions.{part}", fromlist=[name]), name)
    home = next((module for module, holds in _MODULES.items() if name in holds.split()), None)
    if home is not None:
        value.__module__ = f"{__name__}.{home}"  # errors name a distribution with it
    globals()[name] = value
    return value
