import torch
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext
from torch._functorch.aot_autograd import get_aot_compilation_context, get_aot_graph_name, get_graph_being_compiled, set_model_name
from functorch.compile import aot_function, make_boxed_func


def show(gm, inputs):
    meta = TracingContext.get().fw_metadata
    print(get_aot_graph_name(), TracingContext.get().aot_graph_name)
    print([(i.mutation_type.name, i.mutates_data, i.mutates_metadata, i.is_leaf, i.requires_grad) for i in meta.input_info])
    print([(o.output_type.name, o.base_idx, o.requires_grad, o.raw_type.__name__) for o in meta.output_info])
    print(meta.mutated_inp_runtime_indices, meta.mutated_graph_handled_indices, meta.static_input_indices, meta.num_forward_returns)
    print(meta.num_intermediate_bases, meta.num_outputs_aliased, meta.num_unsafe_view_outputs, meta.grad_enabled_mutation)
    return make_boxed_func(gm.forward)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 2)
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x, cache):
        self.steps.add_(1)
        cache.copy_(x.detach())
        x = self.lin(x)
        return x.t(), x.view(-1), cache[0]


torch.manual_seed(0)
net = Net()
compiled = torch.compile(net, backend=aot_autograd(fw_compiler=show, bw_compiler=show))
out = compiled(torch.ones(4, 3), torch.zeros(4, 3))
(out[0].sum() + out[1].sum()).backward()
print(net.lin.weight.grad.sum().item(), net.steps.item(), TracingContext.try_get())


def name(gm, inputs):
    print(get_graph_being_compiled(), get_aot_compilation_context(), TracingContext.try_get())
    return gm.forward


x = torch.ones(3, requires_grad=True)
f = aot_function(lambda t: t.sin(), fw_compiler=name)
f(x).sum().backward()
set_model_name("mine")
aot_function(lambda t: t.cos(), fw_compiler=name)(x.detach())
print(get_aot_graph_name())
try:
    TracingContext.get()
except RuntimeError as e:
    print(e)
set_model_name("model")
