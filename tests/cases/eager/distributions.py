"""Distributions of less common use: samples, densities, moments and gradients through samples."""

import torch
from torch import distributions as D

torch.manual_seed(0)
rate, shape = torch.tensor([0.5, 2.0]), torch.tensor([1.5, 3.0])
cases = [
    D.HalfCauchy(rate),
    D.Weibull(rate, shape),
    D.Pareto(rate, shape),
    D.InverseGamma(shape, rate),
    D.Kumaraswamy(shape, rate + 1),
    D.LogisticNormal(torch.zeros(3), torch.ones(3)),
    D.NegativeBinomial(torch.tensor([3.0, 5.0]), probs=torch.tensor([0.3, 0.6])),
    D.NegativeBinomial(4, logits=torch.tensor([0.2, -0.3])),
    D.RelaxedBernoulli(torch.tensor(0.5), probs=torch.tensor([0.2, 0.7])),
    D.RelaxedOneHotCategorical(torch.tensor(0.7), logits=torch.tensor([[0.1, 0.5, -1.0], [1.0, 2.0, 0.0]])),
    D.OneHotCategoricalStraightThrough(probs=torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]])),
]
for case in cases:
    sample = case.sample((2,))
    print(case, case.batch_shape, case.event_shape, case.has_rsample)
    print(sample, case.log_prob(sample))
    for name in ("mean", "variance", "mode", "entropy"):
        try:
            found = getattr(case, name)
            print(name, found() if callable(found) else found)
        except NotImplementedError:
            print(name, "is not known")
    print(case.expand((3, *case.batch_shape)).sample().shape)
for case in cases[:4]:
    print(case.cdf(torch.tensor([2.5, 3.0])))

logits = torch.tensor([0.5, -0.2, 0.1], requires_grad=True)
for case in (D.RelaxedOneHotCategorical(torch.tensor(0.5), logits=logits), D.OneHotCategoricalStraightThrough(logits=logits)):
    (grad,) = torch.autograd.grad((case.rsample() * torch.arange(3.0)).sum(), logits)
    print(grad)
for call in (lambda: D.NegativeBinomial(3), lambda: D.Weibull(-1.0, 2.0), lambda: D.Pareto(1.0, 2.0).log_prob(torch.tensor(0.5))):
    try:
        print(call())
    except ValueError as error:
        print(str(error).split("\n")[0])
