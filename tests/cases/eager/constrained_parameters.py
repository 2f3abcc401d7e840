"""Sets of values and the transforms onto them: `biject_to`, `transform_to`, transforms of matrices and of parts."""
import torch
from torch.distributions import Beta, Dirichlet, Gamma, HalfNormal, LKJCholesky, MultivariateNormal, Normal, Poisson, TransformedDistribution, biject_to, constraints, transform_to
from torch.distributions.transforms import CatTransform, CorrCholeskyTransform, CumulativeDistributionTransform, ExpTransform, LowerCholeskyTransform, PositiveDefiniteTransform, StackTransform, identity_transform

torch.manual_seed(0)
for one in (constraints.real, constraints.positive, constraints.greater_than(2.0), constraints.greater_than_eq(1), constraints.less_than(-1.0), constraints.unit_interval, constraints.interval(-2.0, 3.0), constraints.half_open_interval(0.0, 4.0), constraints.simplex, constraints.independent(constraints.positive, 1), constraints.corr_cholesky):
    for registry in (biject_to, transform_to):
        t = registry(one)
        x = torch.randn(2, 3)
        y = t(x)
        print(one, t, tuple(y.shape), one.check(y).all().item(), torch.allclose(t(t.inv(y)), y, atol=1e-5), t.bijective)
        if t.bijective:
            print(t.log_abs_det_jacobian(x, y))
m = torch.randn(3, 3)
for one in (constraints.lower_cholesky, constraints.positive_definite, constraints.positive_semidefinite):
    y = transform_to(one)(m)
    print(one, transform_to(one), y, one.check(y), torch.allclose(transform_to(one)(transform_to(one).inv(y)), y, atol=1e-5))
for bad in (constraints.boolean, constraints.nonnegative_integer, constraints.one_hot, constraints.symmetric):
    try:
        transform_to(bad)
    except NotImplementedError as e:
        print(bad, e)
for d in (Normal(0.0, 1.0), Gamma(1.0, 2.0), Beta(2.0, 3.0), Dirichlet(torch.ones(3)), HalfNormal(1.0), Poisson(1.0), LKJCholesky(3, 1.0), MultivariateNormal(torch.zeros(2), torch.eye(2))):
    print(type(d).__name__, d.support, {k: str(v) for k, v in d.arg_constraints.items()})
loc, raw = torch.zeros(4, requires_grad=True), torch.zeros(4, requires_grad=True)
data = torch.tensor([0.5, 1.0, -1.0, 2.0])
opt = torch.optim.Adam([loc, raw], lr=0.1)
for _ in range(5):
    scale = transform_to(Normal.arg_constraints["scale"])(raw)
    loss = -Normal(loc, scale).log_prob(data).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss, loc, raw)
x = torch.randn(2, 4)
cat = CatTransform([ExpTransform(), identity_transform], dim=1, lengths=[3, 1])
print(cat(x), cat.inv(cat(x)) - x < 1e-6, cat.log_abs_det_jacobian(x, cat(x)), cat.domain.check(x), cat.codomain.event_dim)
stack = StackTransform([ExpTransform(), identity_transform], dim=0)
print(stack(x), stack.log_abs_det_jacobian(x, stack(x)), stack.codomain.check(stack(x)))
c = CorrCholeskyTransform()
v = torch.randn(6)
print(c(v), c.inv(c(v)), c.log_abs_det_jacobian(v, c(v)), c.forward_shape((6,)), c.inverse_shape((2, 4, 4)))
try:
    c(torch.randn(5))
except ValueError as e:
    print(e)
u = CumulativeDistributionTransform(Normal(0.0, 1.0))
print(u(x[0]), u.inv(u(x[0])), u.log_abs_det_jacobian(x[0], None), u.domain, u.codomain)
print(TransformedDistribution(Normal(torch.zeros(3), 1.0), [ExpTransform()]).support, LowerCholeskyTransform() == LowerCholeskyTransform(), PositiveDefiniteTransform().event_dim)


class Even(constraints.Constraint):
    is_discrete = True

    def check(self, value):
        return value % 2 == 0


@transform_to.register(Even)
def _(constraint):
    return ExpTransform()


print(Even().check(torch.arange(4)), Even(), transform_to(Even()))
try:
    MultivariateNormal(torch.zeros(2), torch.tensor([[1.0, 0.5], [0.0, 1.0]]))
except ValueError as e:
    print(str(e).splitlines()[0])
try:
    transform_to.register(3, None)(4)
except TypeError as e:
    print(e)
