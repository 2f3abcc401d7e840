"""Settings of Dynamo that are obeyed: limits, symbols of numbers and sizes, what is captured, what is left out."""

import logging
import warnings

import torch
import torch._dynamo.config as config

compiled = 0


def backend(gm, inputs):
    global compiled
    compiled += 1
    return gm.forward


def counted(f, *calls, **options):
    """How often calls compile, and what they come to."""
    global compiled
    torch._dynamo.reset()
    compiled = 0
    g = torch.compile(f, backend=backend, **options)
    try:
        results = [g(*call) for call in calls]
    except Exception as e:
        return compiled, type(e).__name__
    return compiled, [r.tolist() if isinstance(r, torch.Tensor) else r for r in results]


def scaled(x, n):
    return x * n


def first(x):
    return x[0] + x.shape[0]


sizes = [(torch.ones(n),) for n in (2, 3, 4, 5)]
print(counted(first, *sizes))
with config.patch(automatic_dynamic_shapes=False):
    print(counted(first, *sizes))
    with config.patch(recompile_limit=2):
        print(counted(first, *sizes))
        with config.patch(fail_on_recompile_limit_hit=True):
            print(counted(first, *sizes))
    with config.patch(accumulated_recompile_limit=3):
        print(counted(first, *sizes))
    with config.patch(error_on_recompile=True):
        print(counted(first, *sizes))
with config.patch(assume_static_by_default=False):
    print(counted(first, *sizes))
numbers = [(torch.ones(2), n) for n in (2, 3, 4)]
print(counted(scaled, *numbers))
with config.patch(specialize_int=True):
    print(counted(scaled, *numbers))
floats = [(torch.ones(2), n) for n in (2.5, 3.5, 4.5)]
print(counted(scaled, *floats))
with config.patch(specialize_float=True):
    print(counted(scaled, *floats))


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 1

    def forward(self, x):
        self.steps += 1
        return x + self.steps


for unspecialized in (False, True):
    with config.patch(allow_unspec_int_on_nn_module=unspecialized):
        module = Counting()
        print(counted(module, *[(torch.ones(2),)] * 4))


def item(x):
    return x + x.sum().item()


def found(x):
    return x.nonzero().sum() + 1


print(counted(item, (torch.ones(2),)), counted(found, (torch.ones(2),)))
with config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
    print(counted(item, (torch.ones(2),)), counted(found, (torch.ones(2),)))


def asserting(x):
    assert x.sum() > 0, "not positive"
    return x + 1


print(counted(asserting, (torch.ones(2),)), counted(asserting, (-torch.ones(2),)))
with config.patch(rewrite_assert_with_torch_assert=False):
    print(counted(asserting, (torch.ones(2),)), counted(asserting, (-torch.ones(2),)))


def failing(gm, inputs):
    raise ValueError("no")


for suppress in (False, True):
    torch._dynamo.reset()
    with config.patch(suppress_errors=suppress):
        try:
            print(torch.compile(lambda x: x + 1, backend=failing)(torch.ones(1)))
        except Exception as e:
            print(type(e).__name__, "TORCHDYNAMO_VERBOSE" in str(e))
with config.patch(suppress_errors=True, fail_on_recompile_limit_hit=True):
    try:
        torch.compile(lambda x: x + 1, backend="eager")
        print("compiled")
    except AssertionError as e:
        print(e)


def breaking(x):
    torch._dynamo.graph_break()
    return x


for verbose in (False, True):
    torch._dynamo.reset()
    with config.patch(verbose=verbose):
        try:
            torch.compile(breaking, fullgraph=True, backend="eager")(torch.ones(1))
        except Exception as e:
            print(type(e).__name__, "TORCHDYNAMO_VERBOSE" in str(e))

with config.patch(disable=True):
    print(counted(scaled, *numbers))
print(counted(scaled, *numbers[:1]))

# A dimension that is marked, and specialized.
marked = torch.ones(3, 2)
torch._dynamo.mark_dynamic(marked, 0)


def specializes(x):
    return x + 1 if x.shape[0] == 3 else x


print(counted(specializes, (marked,)))
with config.patch(allow_ignore_mark_dynamic=True):
    print(counted(specializes, (marked,)))

# Messages that are left out.
logger = logging.getLogger("script")
logger.addHandler(logging.NullHandler())
said = []
logger.addFilter(lambda record: said.append(record.getMessage()) or True)


def talks(x):
    y = x + 1
    logger.warning("y is there")
    return y * 2


def warns(x):
    y = x + 1
    warnings.warn("careful")
    return y * 2


print(counted(talks, (torch.ones(1),)), said)
said.clear()
with config.patch(ignore_logging_functions={logging.Logger.warning}):
    print(counted(talks, (torch.ones(1),), fullgraph=True), said)
with config.patch(ignore_logging_functions={logger.warning}):
    print(counted(talks, (torch.ones(1),), fullgraph=True), said)
with warnings.catch_warnings(record=True) as caught, config.patch(ignore_logger_methods={warnings.warn}):
    warnings.simplefilter("always")
    print(counted(warns, (torch.ones(1),), fullgraph=True), len(caught))


# A recurrent layer.
rnn = torch.nn.LSTM(2, 3)


def recurrent(x):
    return rnn(x)[0].sum() * 0 + 1


print(counted(recurrent, (torch.ones(4, 1, 2),)))
with config.patch(allow_rnn=True):
    print(counted(recurrent, (torch.ones(4, 1, 2),), fullgraph=True))


# Assertions of what was checked.
def checked(x, i):
    n = i.item()
    torch._check(n >= 2)
    return x + n


graphs = []


def show(gm, inputs):
    graphs.append(sorted({str(n.target) for n in gm.graph.nodes if n.op == "call_function" and "assert" in str(n.target)}))
    return gm.forward


for left_out in (False, True):
    torch._dynamo.reset()
    graphs.clear()
    with config.patch(do_not_emit_runtime_asserts=left_out, capture_scalar_outputs=True):
        torch.compile(checked, backend=show)(torch.ones(1), torch.tensor(3))
    print(graphs)
