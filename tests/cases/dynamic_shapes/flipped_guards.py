"""Equalities that are installed as their opposites: validation finds that the guards allow other sizes than tracing asked for."""

import logging

import torch
import torch.fx.experimental._config as config
from torch.fx.experimental.validator import BisectValidationException, ValidationException

logging.disable(logging.CRITICAL)


def added(x, y):
    return x + y


def doubled(x, y):
    a = x.sum() + y.sum()
    return a if x.shape[0] * 2 == y.shape[0] else a * 2


def small(x, y):
    return x.sum() if x.shape[0] == 4 else y.sum()


def unequal(x, y):
    if x.shape[0] > 3:
        return x.sum() + y.sum()
    return y * 2


def section(text, title):
    return text.split(title + ":\n")[1].split("\n\n")[0].strip()


for function, sizes in ((added, (6, 6)), (doubled, (6, 12)), (small, (4, 5)), (unequal, (6, 5))):
    torch._dynamo.reset()
    with config.patch(
        translation_validation=True,
        translation_validation_no_bisect=True,
        use_duck_shape=False,
        inject_EVALUATE_EXPR_flip_equality_TESTING_ONLY=True,
    ):
        try:
            print(function.__name__, torch.compile(function, backend="eager", dynamic=True)(*map(torch.ones, sizes)).shape)
        except ValidationException as e:
            print(function.__name__, "|", e.msg, "|", section(str(e), "Failed Source Expressions"))
torch._dynamo.reset()
with config.patch(translation_validation=True, use_duck_shape=False, inject_EVALUATE_EXPR_flip_equality_TESTING_ONLY=True):
    try:
        torch.compile(added, backend="eager", dynamic=True)(torch.ones(6), torch.ones(6))
    except BisectValidationException as e:
        print(e.msg)
        print(section(str(e), "Failed Source Expressions"))
