import torch
from torch._dynamo.source import LocalSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    GuardOnDataDependentSymNode,
    ShapeEnv,
    StatelessSymbolicContext,
    free_symbols,
    guard_int,
    guard_or_false,
    guard_or_true,
    has_free_symbols,
    is_symbolic,
    statically_known_true,
)

env = ShapeEnv()
mode = FakeTensorMode(shape_env=env, allow_non_fake_inputs=True)
x = mode.from_tensor(torch.randn(4, 6))
y = mode.from_tensor(torch.randn(6, 4, 1), static_shapes=False)
context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC, DimDynamic.STATIC])
z = mode.from_tensor(torch.randn(5, 6), symbolic_context=context)
w = mode.from_tensor(torch.randn(5, 6), source=LocalSource("w"))
print(x, x.stride(), y, z, w.shape, type(x.shape[0]))
print(statically_known_true(x.shape[0] > 1), statically_known_true(x.shape[0] > 3), len(env.guards))
if x.shape[0] > 3:
    print([str(g.expr) for g in env.guards])
print((x @ y.view(6, -1)).shape, x.reshape(-1).shape, (x.shape[0] + 1) * 2 // 2)
print(env.format_guards())
assert x.shape[0] * 2 == 8
print([str(g.expr) for g in env.guards], x.shape)
a = x.sum().item()
n = (x > 0).sum().item()
print(a, type(a), n, type(n))
u = env.create_unbacked_symint()
print(u, u + 1, u.node.expr, u.node.hint)
try:
    if u > 3:
        print("decided")
except GuardOnDataDependentSymNode:
    print("undecided")
torch._check(u > 5)
print(bool(u > 3), statically_known_true(u > 4), statically_known_true(u > 10), guard_or_false(u == 7), guard_or_true(u == 7))
print(has_free_symbols(x.shape[0]), is_symbolic(u), free_symbols(y.shape), guard_int(y.shape[0]))
print(x[x > 0].shape, torch.unique(x).shape)
with mode:
    print(torch.cat([z, z]).shape, torch.zeros(u, 3).shape)
