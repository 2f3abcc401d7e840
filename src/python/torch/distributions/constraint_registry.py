"""`biject_to` and `transform_to`: from a set of values to a transform that maps unconstrained ones onto it."""

import functools
from numbers import Number

from torch.distributions import constraints, matrix_transforms, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Makers of transforms, by the class of the set."""

    def __init__(self):
        self._registry = {}

    def register(self, constraint, factory=None):
        """Registers a maker for a class of sets, or for the class of one; without a maker, a decorator that does."""
        if factory is None:
            return functools.partial(self.register, constraint)
        kind = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint):
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()
_BOTH = (biject_to, transform_to)


def _beyond(bound, sign):
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(bound, sign)])


def _between(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, Number) and low == 0 and isinstance(high, Number) and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _register_both(registry):
    """What is the same in both registries, but for the parts of a set, which are looked up in the same one."""
    registry.register(constraints.real, lambda constraint: transforms.identity_transform)
    registry.register(
        constraints.independent,
        lambda constraint: transforms.IndependentTransform(
            registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
        ),
    )
    for bounded in (constraints.greater_than, constraints.greater_than_eq):
        registry.register(bounded, lambda constraint: _beyond(constraint.lower_bound, 1))
    registry.register(constraints.less_than, lambda constraint: _beyond(constraint.upper_bound, -1))
    for bounded in (constraints.interval, constraints.half_open_interval):
        registry.register(bounded, _between)
    registry.register(constraints.corr_cholesky, lambda constraint: matrix_transforms.CorrCholeskyTransform())
    registry.register(
        constraints.cat,
        lambda constraint: matrix_transforms.CatTransform(
            [registry(one) for one in constraint.cseq], constraint.dim, constraint.lengths
        ),
    )
    registry.register(
        constraints.stack,
        lambda constraint: matrix_transforms.StackTransform([registry(one) for one in constraint.cseq], constraint.dim),
    )


for _registry in _BOTH:
    _register_both(_registry)
biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: matrix_transforms.LowerCholeskyTransform())
for _constraint in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_constraint, lambda constraint: matrix_transforms.PositiveDefiniteTransform())
