"""What scripts ask of trees of CUDA graphs, of which none is recorded: where a step begins."""

from torch._inductor import cudagraph_mark_step_begin as mark_step_begin
