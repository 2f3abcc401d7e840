# What is asked of CUDA graphs on a machine without a driver raises what the runtime says, or needs none.
import torch


def tried(what, *args):
    try:
        print(what.__name__, what(*args))
    except Exception as e:
        print(what.__name__, type(e).__name__, isinstance(e, RuntimeError), str(e).splitlines()[0])


cuda = torch.cuda
for what in (cuda.is_current_stream_capturing, cuda.CUDAGraph, cuda.Stream, cuda.is_initialized, cuda.is_bf16_supported):
    tried(what)
first, second = cuda.graph_pool_handle(), cuda.graph_pool_handle()
print(first[0] == second[0], second[1] - first[1])
tried(cuda.graph, None)
tried(cuda.make_graphed_callables, torch.sin, (torch.ones(1),))
tried(cuda.reset_peak_memory_stats)
event = cuda.Event()
print(event, event.query(), event.synchronize())
with cuda.stream(None):
    print("no stream")
print(issubclass(torch.AcceleratorError, RuntimeError), issubclass(torch.OutOfMemoryError, RuntimeError), cuda.OutOfMemoryError is torch.OutOfMemoryError)
try:
    cuda.CUDAGraph()
except torch.AcceleratorError as e:
    print(e)

from torch._inductor import cudagraph_mark_step_begin
from torch._inductor.cudagraph_trees import mark_step_begin

cudagraph_mark_step_begin()
mark_step_begin()
