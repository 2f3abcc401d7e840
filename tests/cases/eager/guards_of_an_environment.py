import torch
from torch.fx.experimental.symbolic_shapes import *
from torch.fx.experimental.symbolic_shapes import ShapeEnv, DimDynamic, StatelessSymbolicContext, ConstraintViolationError, StrictMinMaxConstraint, RelaxedUnspecConstraint
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._dynamo.source import ConstantSource, LocalSource, TensorPropertySource, TensorProperty
from torch.utils._sympy.value_ranges import ValueRanges

env = ShapeEnv()
mode = FakeTensorMode(shape_env=env)
x = torch.randn(4, 6)
y = torch.randn(6, 3)
D, S, K = DimDynamic.DYNAMIC, DimDynamic.STATIC, DimDynamic.DUCK
fx = mode.from_tensor(x, source=LocalSource("x"), symbolic_context=StatelessSymbolicContext(dynamic_sizes=[D, D]))
fy = mode.from_tensor(y, source=LocalSource("y"), symbolic_context=StatelessSymbolicContext(dynamic_sizes=[D, S]))
print(fx.shape, fy.shape)
with mode:
    z = torch.relu(fx @ fy)
    w = z.flatten()
    print(z.shape, w.shape, w.numel(), z.stride())
    if z.shape[0] + fy.shape[0] > 9:
        w = w * 2
print([str(g.expr) for g in env.guards])
print(env.format_guards())
print(env.produce_guards([fx, fy], [LocalSource("x"), LocalSource("y")]))
print(env.produce_guards_expression([fx, fy]))
code = env.produce_guards_expression([fx.shape[0], fx.shape[1]])
print(code)
print(env.evaluate_guards_for_args([fx, fy], [torch.randn(5, 6), torch.randn(6, 3)]))
print(env.evaluate_guards_for_args([fx, fy], [torch.randn(5, 6), torch.randn(7, 3)]))
print(env.evaluate_guards_for_args([fx, fy], [torch.randn(2, 6), torch.randn(6, 3)]))
print({str(k): v for k, v in env.bind_symbols([fx, fy], [torch.randn(9, 6), torch.randn(6, 3)]).items()})
print(env.get_nontrivial_guards() if hasattr(env, "get_nontrivial_guards") else None)
print(env.get_pruned_guards([]) if hasattr(env, "get_pruned_guards") else None)
print(env.num_symbols if hasattr(env, "num_symbols") else "")
env2 = ShapeEnv(assume_static_by_default=True)
m2 = FakeTensorMode(shape_env=env2)
print(m2.from_tensor(x).shape)
env3 = ShapeEnv(duck_shape=False)
m3 = FakeTensorMode(shape_env=env3)
print(m3.from_tensor(torch.ones(3, 3)).shape, FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(3, 3, 1)).shape)
c = StatelessSymbolicContext(dynamic_sizes=[D, S], constraint_sizes=[StrictMinMaxConstraint(vr=ValueRanges(2, 8), warn_only=False), None])
env5 = ShapeEnv(); m5 = FakeTensorMode(shape_env=env5)
f5 = m5.from_tensor(x, symbolic_context=c, source=LocalSource("x"))
print(f5.shape, {str(k): str(v) for k, v in env5.var_to_range.items()})
bool(f5.shape[0] > 3)
try:
    env5.produce_guards([f5], [LocalSource("x")], input_contexts=[c])
except ConstraintViolationError as e:
    print(type(e).__name__, str(e)[:300])
