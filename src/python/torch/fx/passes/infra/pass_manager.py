"""`PassManager`: passes one after another, in an order that constraints allow."""

import inspect
from functools import wraps

from torch.fx.graph_module import GraphModule
from torch.fx.passes.infra.pass_base import PassResult
from torch.nn import Module

__all__ = ["pass_result_wrapper", "this_before_that_pass_constraint", "PassManager"]


def _name(fn):
    return fn.__name__ if inspect.isfunction(fn) else type(fn).__name__


def pass_result_wrapper(fn):
    """A pass that gives a module, or nothing, as one that gives a `PassResult`."""
    if fn is None:
        return None

    @wraps(fn)
    def wrapped_fn(gm):
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        if isinstance(result, PassResult):
            return result
        return PassResult(result, True) if isinstance(result, Module) else None

    if not inspect.isfunction(fn):
        wrapped_fn.__name__ = type(fn).__name__
    return wrapped_fn


def this_before_that_pass_constraint(this, that):
    """The constraint that one pass runs before another."""
    return lambda a, b: a != that or b != this


def _ordered(passes, constraints):
    """The passes in an order that the constraints allow, first come first served."""
    if not constraints:
        return passes
    behind = {a: [b for b in passes if a != b for allowed in constraints if not allowed(b, a)] for a in passes}
    waits = {a: sum(found.count(a) for found in behind.values()) for a in passes}
    ready, order = [a for a in passes if not waits[a]], []
    while ready:
        first = ready.pop(0)
        order.append(first)
        for other in behind[first]:
            waits[other] -= 1
            if waits[other] == 0:
                ready.append(other)
    if len(order) != len(passes):
        raise RuntimeError(f"Circular dependency detected within the following passes: {[a for a in passes if waits[a]]}")
    return order


class PassManager:
    """Passes that are run on a module until nothing changes, or `steps` times."""

    _validated = False
    steps = 1

    def __init__(self, passes=None, constraints=None, steps=None, run_checks_after_each_pass=False, suppress_check_failures=False):
        self.passes, self.constraints = passes or [], constraints or []
        if steps:
            self.steps = steps
        self.run_checks_after_each_pass, self.suppress_check_failures = run_checks_after_each_pass, suppress_check_failures

    def add_pass(self, _pass):
        """One more pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        """One more constraint: whether a pass may run before another."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self):
        """Raises where the passes are in an order that is not allowed."""
        if self._validated:
            return
        for constraint in self.constraints:
            for i, a in enumerate(self.passes):
                for j, b in enumerate(self.passes[i + 1 :]):
                    if not constraint(a, b):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index {i} and {b} at index {j} in pass list."
                        )
        self._validated = True

    def solve_constraints(self):
        """Puts the passes into an order that is allowed."""
        self.passes = _ordered(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check):
        """What is asked of the module ahead of the passes, and behind each where that is wished."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check

    def check(self, module):
        """Nothing, until `add_checks`."""

    def __call__(self, module):
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        has_changed = False
        for _ in range(self.steps):
            changed = False
            for i, fn in enumerate(self.passes):
                try:
                    result = fn(module)
                    if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                        raise TypeError(f"The result of the pass {_name(fn)} should be type PassResult.Please wrap it with pass_result_wrapper()")
                    module, changed = result.graph_module, changed or result.modified
                    if isinstance(module, GraphModule):
                        module.recompile()
                    if self.run_checks_after_each_pass:
                        self.check(module)
                except Exception as error:
                    before = [_name(one) for one in self.passes[:i]]
                    raise Exception(f"An error occurred when running the '{_name(fn)}' pass after the following passes: {before}") from error
            has_changed = has_changed or changed
            if not changed:
                break
        return PassResult(module, has_changed)
