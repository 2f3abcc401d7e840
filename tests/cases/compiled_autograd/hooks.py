import torch
import torch._dynamo.compiled_autograd as ca


def show(gm):
    text = gm.print_readable(print_output=False)
    print("\n".join(line for line in text.split("\n") if line.strip() and not line.strip().startswith("#")))
    return gm


def leaves():
    return torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, -1.0], requires_grad=True)


def gradient_hooks(compiler):
    a, b = leaves()
    h = a * b
    h.register_hook(lambda g: g + 1)
    h.register_hook(lambda g: None)
    a.register_hook(lambda g: g * 2)
    with ca._enable(compiler):
        (h * a).sum().backward()
    print(a.grad, b.grad)


def node_hooks(compiler):
    a, b = leaves()
    h = a * b
    h.grad_fn.register_prehook(lambda grads: (grads[0] * 3,))
    h.grad_fn.register_hook(lambda gives, given: (gives[0], gives[1] - given[0]))
    with ca._enable(compiler):
        h.sin().sum().backward()
    print(a.grad, b.grad)


def halve(p):
    p.grad.mul_(0.5)


def accumulation_hooks(compiler):
    a, b = leaves()
    seen = []
    a.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    b.register_post_accumulate_grad_hook(halve)
    with ca._enable(compiler):
        (a * b).sum().backward()
        (a + b).sum().backward()
    print(seen, a.grad, b.grad)


def retained(compiler):
    a, b = leaves()
    h = a * b
    h.retain_grad()
    with ca._enable(compiler):
        (h * h).sum().backward()
    print(h.grad, a.grad)


def saved_tensors(compiler):
    a, b = leaves()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (t.detach().clone(),), lambda packed: packed[0] * 1):
        h = a.sin() * b
    with ca._enable(compiler):
        h.sum().backward()
    print(a.grad, b.grad)


for case in (gradient_hooks, node_hooks, accumulation_hooks, retained, saved_tensors):
    try:
        print(case.__name__)
        case(show)
        case(torch.compile(backend="eager"))
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0])
