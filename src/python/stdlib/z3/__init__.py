"""The part of z3 that scripts use with `torch.fx.experimental.validator`: integers, truths and reals, `simplify`, and a `Solver`. It solves
with the playground's own procedure for integers, which says `unknown` where z3 may know more; reals that are no integers are unknown, too."""

from z3._solver import CheckSatResult, Model, ModelRef, Solver, SolverFor, prove, sat, solve, unknown, unsat
from z3._simplify import simplify
from z3._terms import *
from z3._terms import Z3Exception


def get_version_string():
    """The version of z3 whose texts these are."""
    return "5.4.1"


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"z3.{name} is not available in the playground, which has integers, truths and reals of z3 and no other theory")
