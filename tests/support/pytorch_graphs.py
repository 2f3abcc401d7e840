"""What PyTorch 2.15 prints for a script, and the graphs that AOTAutograd makes of it with its default partitioner."""

import contextlib
import io

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import default_partition


def bare(module):
    """A printed graph without comments, blank lines and the line of its class."""
    readable = module.print_readable(print_output=False, include_stride=True, include_device=True)
    lines = [line.strip() for line in readable.splitlines()]
    return [line for line in lines if line and not line.startswith(("#", "class "))]


def run(script):
    """What a script prints; its joint or inference graphs; the forward and backward of each joint graph."""
    traced, parts = [], []

    def partition(joint, inputs, **options):
        traced.append(bare(joint))
        forward, backward = default_partition(joint, inputs, **options)
        parts.append([bare(forward), bare(backward)])
        return forward, backward

    def inference(module, inputs):
        traced.append(bare(module))
        return module

    backend = aot_autograd(
        fw_compiler=lambda module, inputs: module,
        bw_compiler=lambda module, inputs: module,
        inference_compiler=inference,
        partition_fn=partition,
        keep_inference_input_mutations=True,
    )
    torch._dynamo.reset()
    out = io.StringIO()
    compile = torch.compile
    # What PyTorch itself compiles names its backend.
    torch.compile = lambda f, **given: compile(f, **(given or {"backend": backend}))
    try:
        with contextlib.redirect_stdout(out):
            exec(script, {"__name__": "__main__"})
    finally:
        torch.compile = compile
    return out.getvalue(), traced, parts
