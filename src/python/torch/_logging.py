"""What PyTorch logs of its compiler. A run's report has it all, whatever is asked for here; nothing is written to stderr on top of it."""

_NAMES = set(
    """all dynamo aot autograd compiled_autograd inductor dynamic torch distributed c10d ddp fsdp onnx export modules bytecode aot_graphs
    aot_joint_graph aot_graphs_effects ddp_graphs graph graph_code graph_sizes graph_breaks guards recompiles recompiles_verbose trace_source
    trace_call trace_bytecode output_code kernel_code schedule perf_hints pre_grad_graphs post_grad_graphs ir_pre_fusion ir_post_fusion
    fusion overlap cudagraphs sym_node fake_tensor autotuning verbose_guards""".split()
)


def set_logs(**logs):
    """Says what is logged; the report of a run always has it."""
    for name in logs:
        if name not in _NAMES:
            raise TypeError(f"set_logs() got an unexpected keyword argument '{name}'")
