"""A graph of conditions runs through `PopulateValidator`: what it asserts is the source. The setting comes from the environment."""

import operator
import os

os.environ["TORCHDYNAMO_TRANSLATION_VALIDATION"] = "1"
os.environ["TORCHDYNAMO_TRANSLATION_VALIDATION_TIMEOUT"] = "5000"

import sympy
import torch
from torch.fx.experimental import _config
from torch.fx.experimental.validator import (
    PopulateValidator,
    TranslationValidator,
    ValidationException,
    translation_validation_enabled,
    translation_validation_timeout,
    z3str,
)

print(translation_validation_enabled(), translation_validation_timeout(), _config.translation_validation_no_bisect)
s0, s1 = (sympy.Symbol(name, positive=True, integer=True) for name in ("s0", "s1"))


def populated(target):
    graph, validator = torch.fx.Graph(), TranslationValidator()
    placeholders = []
    for symbol in (s0, s1):
        validator.add_var(symbol, int)
        node = graph.placeholder(symbol.name)
        node.meta["symbol"] = symbol
        placeholders.append(node)
    a, b = placeholders
    half = graph.call_function(operator.floordiv, (a, 2))
    graph.call_function(torch._assert, (graph.call_function(operator.gt, (half, 3)),))
    total = graph.call_function(operator.add, (graph.call_function(operator.mul, (b, 2)), a))
    graph.call_function(torch._assert, (graph.call_function(operator.eq, (graph.call_function(operator.mod, (total, 2)), 0)),))
    larger = graph.call_function(torch.sym_max, (a, b))
    graph.call_function(torch._assert, (graph.call_function(operator.not_, (graph.call_function(operator.eq, (larger, 5)),)),))
    graph.output(None)
    for condition in target:
        validator.add_target_expr(condition)
    with torch.fx.traceback.preserve_node_meta():
        PopulateValidator(graph, validator).run()
    print(*sorted(map(z3str, validator._source_exprs)), sep="\n")
    try:
        validator.validate()
        print("sound")
    except ValidationException as e:
        print(str(e).split("Failed Source Expressions:\n")[1])


populated([sympy.Ge(s0, 8), sympy.Eq(sympy.Mod(s0, 2), 0)])
populated([sympy.Eq(s0, 6), sympy.Eq(s1, 3)])


@torch.compile(backend="eager", dynamic=True)
def f(x):
    return x.sum() if x.shape[0] // 2 > 3 else x * 2


print(f(torch.ones(9)).item(), f(torch.ones(3)).shape)
