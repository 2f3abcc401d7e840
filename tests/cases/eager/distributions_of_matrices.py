"""Distributions of matrices, angles, ratios and tails; where PyTorch has a module for each distribution, it is found there."""

import warnings

import torch
from torch import distributions as D
from torch.distributions.categorical import Categorical
from torch.distributions.multivariate_normal import MultivariateNormal
from torch.distributions.normal import Normal
from torch.distributions.utils import broadcast_all, clamp_probs

warnings.simplefilter("ignore")
torch.manual_seed(0)
print(Normal is D.Normal, Categorical is D.Categorical, MultivariateNormal is D.MultivariateNormal)
print(broadcast_all(1.0, torch.ones(2)), clamp_probs(torch.tensor([0.0, 0.5, 1.0])))

rate, shape = torch.tensor([0.5, 2.0]), torch.tensor([1.5, 9.0])
full = torch.tensor([[2.0, 0.5], [0.5, 1.0]])
cases = [
    D.VonMises(rate, shape),
    D.VonMises(torch.tensor(0.0), torch.tensor(1e-6)),
    D.FisherSnedecor(shape, shape + 4),
    D.FisherSnedecor(3.0, 5.0),
    D.GeneralizedPareto(rate, shape, torch.tensor([0.2, -0.5])),
    D.GeneralizedPareto(0.0, 1.0, 0.0),
    D.ContinuousBernoulli(torch.tensor([0.2, 0.5, 0.9])),
    D.ContinuousBernoulli(logits=torch.tensor([0.2, -3.0])),
    D.LowRankMultivariateNormal(torch.zeros(3), torch.tensor([[1.0], [0.5], [-1.0]]), torch.tensor([0.5, 1.0, 2.0])),
    D.LKJCholesky(3, 0.5),
    D.LKJCholesky(2, torch.tensor([1.0, 4.0])),
    D.Wishart(torch.tensor(3.0), covariance_matrix=full),
    D.Wishart(torch.tensor([4.0, 5.0]), scale_tril=torch.linalg.cholesky(full)),
    D.Wishart(4, precision_matrix=full),
]
for case in cases:
    value = case.sample((2,))
    print(case, case.batch_shape, case.event_shape)
    print(value)
    print(case.log_prob(value))
    for name in ("mean", "mode", "variance"):
        try:
            print(name, getattr(case, name))
        except NotImplementedError:
            print(name, "is not there")
    try:
        print("entropy", case.entropy())
    except NotImplementedError:
        print("entropy is not there")
    wide = case.expand(torch.Size((2,)) + case.batch_shape)
    print(wide.batch_shape, wide.event_shape, wide.sample().shape)

for case in (cases[4], cases[6]):
    middle = torch.full_like(case.mean, 0.3)
    print(case.icdf(middle), case.cdf(case.icdf(middle)))
low = cases[8]
print(low.covariance_matrix, low.precision_matrix, low.scale_tril)
print(cases[11].covariance_matrix, cases[13].scale_tril, cases[11].precision_matrix)
loc = torch.zeros(2, requires_grad=True)
D.LowRankMultivariateNormal(loc, torch.ones(2, 1), torch.ones(2)).rsample().sum().backward()
print(loc.grad)
for make in (
    lambda: D.LKJCholesky(1),
    lambda: D.VonMises(0.0, -1.0),
    lambda: D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(3, 1), torch.ones(2)),
    lambda: D.ContinuousBernoulli(),
    lambda: D.Wishart(0.5, covariance_matrix=full),
    lambda: D.LKJCholesky(2).log_prob(full),
):
    try:
        make()
    except (ValueError, AssertionError) as error:
        print(type(error).__name__, str(error).split("\n")[0])
for wrong in (lambda: ~torch.ones(2), lambda: torch.tensor(["a"]), lambda: torch.argmax(torch.tensor([]))):
    try:
        wrong()
    except (TypeError, ValueError, IndexError) as error:
        print(type(error).__name__, error)
