"""Settings of AOTAutograd that are obeyed: tangents, views, donated buffers, when backwards are compiled, logs, random numbers."""

import torch
import torch._functorch.config as config
from torch._dynamo.backends.common import aot_autograd
from functorch.compile import aot_function, make_boxed_func, min_cut_rematerialization_partition, nop

order = []


def compiler(name):
    def compile(gm, inputs):
        strides = [tuple(i.stride()) for i in inputs if isinstance(i, torch.Tensor)]
        order.append((name, len(gm.graph.nodes), strides))
        return make_boxed_func(gm.forward)

    return compile


backend = aot_autograd(
    fw_compiler=compiler("forward"), bw_compiler=compiler("backward"), partition_fn=min_cut_rematerialization_partition
)


def ran(f, *inputs, then=lambda out: out.sum().backward()):
    torch._dynamo.reset()
    order.clear()
    try:
        out = torch.compile(f, backend=backend)(*inputs)
        order.append("called")
        then(out)
        order.append("done")
    except Exception as e:
        order.append(f"{type(e).__name__}: {str(e)[:60]}")
        return None
    finally:
        print(order)
    return out


def f(x):
    return (x.sin() * x.cos()).t()


x = torch.ones(2, 3, requires_grad=True)
ran(f, x)
with config.patch(guess_tangent_strides_as_outputs=False):
    ran(f, x)
with config.patch(force_non_lazy_backward_lowering=True):
    ran(f, x)


def saves(x):
    return (x @ x.t()).tanh().sum(0)


for donated in (True, False):
    torch._dynamo.reset()
    with config.patch(donated_buffer=donated):
        g = torch.compile(saves, backend=backend)
        g(x).sum().backward()
        try:
            g(x).sum().backward(retain_graph=True)
            print("kept")
        except RuntimeError as e:
            print(str(e)[:60])


def views(x):
    y = x * 2
    return y.view(-1), y.t(), x[0]


for replays in (True, False):
    with config.patch(view_replay_for_aliased_outputs=replays):
        flat, turned, row = ran(views, x, then=lambda out: out[0].sum().backward())
        print(flat.grad_fn.name().split("Backward")[0], row._base is x, turned.shape, row.grad_fn.name(), row.tolist())
        with torch.no_grad():
            flat, turned, row = torch.compile(views, backend="aot_eager")(x.detach())
            flat.add_(1)
            print(turned.tolist())

with config.patch(functionalize_rng_ops=True):
    ran(lambda x: torch.nn.functional.dropout(x, 0.5), x)
    try:
        aot_function(lambda x: x.sin(), fw_compiler=nop)(x)
    except RuntimeError as e:
        print(e)

# What makes a difference for other programs than this one.
for name in ("fake_tensor_propagate_real_tensors", "selective_decompose", "unlift_effect_tokens", "enable_complex_wrapper",
             "disable_guess_zero_tangent_for_mutated_input_subclass", "is_non_builtin_to_include"):
    with config.patch({name: True}):
        ran(f, x)
with config.patch(debug_partitioner=True):
    ran(f, x)
