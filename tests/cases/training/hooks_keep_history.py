import torch
from torch.autograd.graph import saved_tensors_hooks, save_on_cpu
from torch.testing._internal.logging_tensor import capture_logs_with_logging_tensor_mode

hooks = {
    "same": (lambda t: t, lambda t: t),
    "detached": (lambda t: t.detach(), lambda t: t),
    "copied": (lambda t: t.detach().clone(), lambda t: t),
    "list": (lambda t: (t.tolist(), t.dtype), lambda p: torch.tensor(p[0], dtype=p[1])),
}
for name, (pack, unpack) in hooks.items():
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    with saved_tensors_hooks(pack, unpack):
        y = (x * x).exp().sin()
        s = x.sigmoid() * y
    (g,) = torch.autograd.grad(s.sum(), x, create_graph=True)
    print(name, g, g.requires_grad)
    (h,) = torch.autograd.grad(g.sum(), x)
    print(h)
    x.grad = None
    with saved_tensors_hooks(pack, unpack):
        z = (x * x).exp().sigmoid().sum()
    with capture_logs_with_logging_tensor_mode() as log:
        z.backward()
    print([line.split(" = ")[1].split("(")[0] for line in log])
    with saved_tensors_hooks(pack, unpack):
        z = (x * x).exp()
    print(z.grad_fn._saved_result.requires_grad, z.grad_fn._saved_result.grad_fn is z.grad_fn)
    m = z.grad_fn.next_functions[0][0]
    print(m._saved_self.requires_grad, m._saved_self.is_leaf, m._saved_self is x)
with save_on_cpu():
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    y = (x**3).sum()
(g,) = torch.autograd.grad(y, x, create_graph=True)
print(torch.autograd.grad(g.sum(), x))
x = torch.tensor([0.5, 1.0], requires_grad=True)
with saved_tensors_hooks(lambda t: t.add_(1), lambda t: t):
    try:
        y = x * x
    except RuntimeError as e:
        print(e)
with saved_tensors_hooks(lambda t: t, lambda t: None):
    y = x * x
try:
    y.sum().backward()
except TypeError as e:
    print(e)
w = torch.ones(2, 3, requires_grad=True)
print(w.sum(-1).grad_fn._saved_dim, w.sum(-1).grad_fn._saved_keepdim, w.sum(0).grad_fn._saved_self_sym_sizes)
print(w.transpose(0, -1).grad_fn._saved_dim0, w.transpose(0, -1).grad_fn._saved_dim1)
print(w.pow(2.5).grad_fn._saved_exponent, (w @ w.t()).grad_fn._saved_mat2_sym_sizes, (w @ w.t()).grad_fn._saved_self is w)
n = torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2, requires_grad=True), padding=1).grad_fn
print(n._saved_padding, n._saved_groups, n._saved_transposed, n._saved_weight.shape, n._saved_input.shape)
g = torch.nn.functional.gelu(w).grad_fn
print(g._saved_approximate, torch.clamp(w, min=0.5).grad_fn._saved_min, torch.clamp(w, min=0.5).grad_fn._saved_max)
y = w.exp().sum()
e = y.grad_fn.next_functions[0][0]
y.backward()
try:
    e._saved_result
except RuntimeError as err:
    print(str(err)[:60])
try:
    e._saved_nothing
except AttributeError as err:
    print(err)
c = torch.cat([w, w], 1).grad_fn
print(c._saved_dim)
