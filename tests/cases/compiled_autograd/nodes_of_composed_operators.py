"""Per operator the calls of the graph that compiled autograd captures of its gradients, and whether those are as in eager mode: operators that PyTorch has nodes for, or takes apart, otherwise."""
import torch
from torch._dynamo import compiled_autograd

CALL = "torch__dynamo_compiled_autograd_ops_"


def t(*sizes, dtype=torch.float32, scale=1.0, shift=0.0):
    count = torch.Size(sizes).numel()
    values = torch.arange(1, count + 1, dtype=torch.float64).mul(2.3).sin() * scale + shift
    if dtype.is_complex:
        values = torch.complex(values, values.cos())
    return values.reshape(sizes).to(dtype).requires_grad_()


def leaf(values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype).requires_grad_()


def compiler(graph):
    for line in graph.print_readable(print_output=False).split("\n"):
        if CALL in line and "validate_outputs" not in line:
            print("   ", line.split(CALL)[1].split(";")[0])
    return torch.compile(graph, backend="eager")


def leaves(out):
    if isinstance(out, torch.Tensor):
        return [out] if out.requires_grad else []
    return [leaf for part in out for leaf in leaves(part)] if isinstance(out, (tuple, list)) else []


def gradients(outs, inputs):
    ones = [torch.arange(1, out.numel() + 1).cos().reshape(out.shape).to(out.dtype) for out in outs]
    return torch.autograd.grad(outs, inputs, ones, retain_graph=True, allow_unused=True)


def op(name, call, *inputs):
    print(name)
    torch._dynamo.reset()
    inputs = [x for x in inputs if x.requires_grad]
    try:
        outs = leaves(call())
    except Exception as error:
        return print("   ", type(error).__name__)
    eager = gradients(outs, inputs)
    try:
        with compiled_autograd._enable(compiler):
            compiled = gradients(outs, inputs)
    except Exception as error:
        return print("   ", type(error).__name__)
    for i, (a, b) in enumerate(zip(eager, compiled)):
        if (a is None) != (b is None) or a is not None and not torch.allclose(a.resolve_conj(), b.resolve_conj(), rtol=1e-4, atol=1e-6, equal_nan=True):
            print("    gradient", i, "differs:", a, b)


x0 = leaf(-8.48)
op("chalf", lambda: x0.chalf(), x0)
x0 = t(5, scale=8)
op("gradient", lambda: torch.gradient(x0, dim=None, spacing=None, edge_order=1), x0)
x0 = t(5, 5, scale=8)
op("linalg.cond", lambda: torch.linalg.cond(x0), x0)
x0 = leaf([[2.07, 0.03, 1.09, 0.99, -0.35], [0.03, 2.23, -2.05, 0.677, -1.56], [1.09, -2.05, 5.72, 0.0735, 2.17], [0.99, 0.677, 0.0735, 7.07, -3.14], [-0.35, -1.56, 2.17, -3.14, 4.41]])
op("linalg.matrix_sqrth", lambda: torch.linalg.matrix_sqrth(x0), x0)
x0 = t(2, 5, 3)
op("linalg.polar", lambda: torch.linalg.polar(x0), x0)
x0 = leaf(-8.48)
op("linalg.vander", lambda: torch.linalg.vander(x0, N=2), x0)
x0 = t(20, 5, scale=9)
op("narrow_copy", lambda: torch.narrow_copy(x0, 1, 2, 3), x0)
x0, x1 = t(1, 1, 1, 1, 10, scale=8), t(1, 1, 1, 1, 4, scale=2.1, shift=3.5)
op("nn.functional.conv3d", lambda: torch.nn.functional.conv3d(x0, x1, None, padding='valid'), x0, x1)
x0 = t(2, 3, 4, 4, scale=9)
op("nn.functional.interpolate__bicubic", lambda: torch.nn.functional.interpolate(x0, (3, 3), scale_factor=None, mode='bicubic', align_corners=True), x0)
x0 = t(2, 3, 4, 4, scale=9)
op("nn.functional.interpolate__bilinear", lambda: torch.nn.functional.interpolate(x0, (3, 3), scale_factor=None, mode='bilinear', align_corners=True), x0)
x0 = t(2, 3, 4, scale=8)
op("nn.functional.interpolate__linear", lambda: torch.nn.functional.interpolate(x0, (3,), scale_factor=None, mode='linear', align_corners=True), x0)
x0 = t(2, 3, 4, scale=8)
op("nn.functional.interpolate__nearest-exact", lambda: torch.nn.functional.interpolate(x0, (3,), scale_factor=None, mode='nearest-exact', align_corners=None), x0)
x0 = t(2, 3, 4, scale=8)
op("nn.functional.interpolate__nearest", lambda: torch.nn.functional.interpolate(x0, (3,), scale_factor=None, mode='nearest', align_corners=None), x0)
x0 = t(2, 3, 4, 3, 5, scale=9)
op("nn.functional.interpolate__trilinear", lambda: torch.nn.functional.interpolate(x0, (3, 2, 4), scale_factor=None, mode='trilinear', align_corners=True), x0)
x0, x1 = leaf(-3.77), torch.tensor(0, dtype=torch.int64)
op("nn.functional.multi_margin_loss", lambda: torch.nn.functional.multi_margin_loss(x0, x1), x0, x1)
x0, x1 = leaf(5.16), torch.tensor(0, dtype=torch.int64)
op("nn.functional.multilabel_margin_loss", lambda: torch.nn.functional.multilabel_margin_loss(x0, x1), x0, x1)
x0 = t(5, 5, scale=8)
op("nn.functional.pdist", lambda: torch.nn.functional.pdist(x0, p=1.0), x0)
x0 = t(5, scale=8)
op("nn.functional.rrelu", lambda: torch.nn.functional.rrelu(x0), x0)
x0 = t(2, 3, 4, 4, scale=9)
op("nn.functional.upsample_bilinear", lambda: torch.nn.functional.upsample_bilinear(x0, size=(3, 3)), x0)
x0 = t(2, 3, 4, scale=8)
op("nn.functional.upsample_nearest", lambda: torch.nn.functional.upsample_nearest(x0, size=(3,)), x0)
x0 = t(20, scale=8)
op("special.ndtr", lambda: torch.special.ndtr(x0), x0)
x0 = t(10, scale=8)
op("stft", lambda: torch.stft(x0, n_fft=7, center=False, return_complex=True), x0)
x0, x1 = t(5, 1, scale=6), t(5, 5, scale=1)
op("triangular_solve", lambda: torch.triangular_solve(x0, x1), x0, x1)
