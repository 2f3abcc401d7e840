"""What tests of partitions read, without running a program: joint graphs as the partitioners got them, and what became of them."""


# Entries of `torch._functorch.config` that decide what is saved; the budget is recorded apart.
SETTINGS = [
    "cse",
    "treat_parameters_as_free_to_save",
    "recompute_views",
    "aggressive_recomputation",
    "max_dist_from_bw",
    "activation_memory_budget_solver",
    "activation_memory_budget_runtime_estimator",
    "ban_recompute_used_far_apart",
    "ban_recompute_long_fusible_chains",
    "ban_recompute_materialized_backward",
    "ban_recompute_not_in_allowlist",
    "ban_recompute_reductions",
]


def settings():
    """The entries that a program changed, by name."""
    import torch._functorch.config as config

    defaults = config._config
    changed = {name: getattr(config, name) for name in SETTINGS if getattr(config, name) != defaults[name].default}
    return {name: value if isinstance(value, (bool, int, float, str)) else "a function" for name, value in changed.items()}


class Partitions:
    """Hooks in the partitioners; `categorized` adds to a compilation what its last partition was."""

    def __init__(self):
        self.last, self.captured = None, []

    def install(self, observer):
        import torch
        import torch._functorch._aot_autograd.graph_compile as graph_compile
        import torch._functorch.config as config
        import torch._functorch.partitioners as partitioners

        from .observe import readable, replace

        split, default = partitioners.min_cut_rematerialization_partition, partitioners.default_partition
        minimum_cut, solve = partitioners.minimum_cut, partitioners.solve_min_cut
        is_marked = lambda node: partitioners._has_tag_is_backward(node) or partitioners._has_tag_must_be_in_backward(node)
        is_mutable = lambda node: getattr(getattr(node.target, "_schema", None), "is_mutable", False)
        # What a custom function's backward calls is not marked: the default partitioner goes by the forward's marks. Writes to inputs at
        # the end of the graph are the forward's unless they are marked.
        is_no_forward = lambda node: is_marked(node) or (
            node.op == "call_function" and not partitioners._has_tag_is_forward(node) and not is_mutable(node)
        )
        of_region = lambda node: "_region_activation_memory_budget" in node.meta.get("custom", {})

        def begin(kind, joint, num_fwd_outputs, static):
            # A loop's body or a condition's branch is split inside of its graph's partition.
            names = lambda wanted: [node.name for node in joint.graph.nodes if wanted(node)]
            self.last = {
                "partitioner": kind,
                "budget": config.activation_memory_budget,
                "settings": settings() | ({"region_budgets": "on nodes"} if names(of_region) else {}),
                "joint": readable(joint),
                "num_fwd_outputs": num_fwd_outputs,
                "static_inputs": list(static or []),
                "is_backward": names(is_no_forward if kind == "default" else is_marked),
                "no_version_check": names(lambda node: node.meta.get("saved_tensor_with_no_vc_check", False)),
            }

        def min_cut_rematerialization_partition(joint, inputs, *args, num_fwd_outputs, static_lifetime_input_indices=None, **options):
            begin("min_cut", joint, num_fwd_outputs, static_lifetime_input_indices)
            options["static_lifetime_input_indices"] = static_lifetime_input_indices
            return split(joint, inputs, *args, num_fwd_outputs=num_fwd_outputs, **options)

        def default_partition(joint, inputs, *args, num_fwd_outputs, static_lifetime_input_indices=None, **options):
            if self.last is None or self.last["joint"] != readable(joint):
                begin("default", joint, num_fwd_outputs, static_lifetime_input_indices)
            options["static_lifetime_input_indices"] = static_lifetime_input_indices
            return default(joint, inputs, *args, num_fwd_outputs=num_fwd_outputs, **options)

        # Backends hold the default partitioner as the default of an argument, where no name is to be replaced.
        partition_joint = graph_compile._partition_joint_graph_into_fw_bw

        def _partition_joint_graph_into_fw_bw(*args):
            return partition_joint(*(default_partition if arg is default else arg for arg in args))

        def first_cut(network, source, sink):
            value, (reachable, rest) = minimum_cut(network, source, sink)
            if self.last is not None and "cut" not in self.last:
                edges = [(a, b, data) for a, b, data in network.edges(data=True) if data.get("reason") != "data dependency"]
                capacity = lambda data: "inf" if data.get("capacity") == float("inf") else data.get("capacity")
                inside = lambda a, b: a.endswith("_in") and b == a[:-3] + "_out"
                self.last["cut"] = {
                    "value": value,
                    "capacities": {a[:-3]: capacity(data) for a, b, data in edges if inside(a, b)},
                    "reasons": {b[:-3]: data["reason"] for a, b, data in edges if a == "source" and data.get("reason")},
                }
            return value, (reachable, rest)

        def solve_min_cut(*args, **options):
            saved, banned = solve(*args, **options)
            if self.last is not None and "banned" not in self.last:
                self.last["banned"] = sorted(node.name for node in banned)
            return saved, banned

        for old, new in [
            (split, min_cut_rematerialization_partition),
            (default, default_partition),
            (partition_joint, _partition_joint_graph_into_fw_bw),
            (minimum_cut, first_cut),
            (solve, solve_min_cut),
        ]:
            replace(old, new)
        self.capture(torch)

    def capture(self, torch):
        """Keeps the text of every graph that Dynamo gives to a backend."""
        from torch._dynamo.output_graph import OutputGraph

        from .observe import readable

        call, captured = OutputGraph.call_user_compiler, self.captured

        def call_user_compiler(graph, module, *args, **options):
            captured.append(readable(module))
            return call(graph, module, *args, **options)

        OutputGraph.call_user_compiler = call_user_compiler

    def categorized(self, compilation, forward, backward, saved, metadata):
        from torch._functorch._aot_autograd.schemas import MutationType

        calls = lambda module: [n.name for n in module.graph.nodes if n.op == "call_function"]
        in_forward = set(calls(forward))
        partition = self.last or {}
        replayed = [
            i
            for i, info in enumerate(metadata.input_info)
            if info.requires_grad and info.mutates_data and info.mutation_type == MutationType.MUTATED_OUT_GRAPH
        ]
        compilation["partition"] = partition | {"replayed_mutations": replayed}
        compilation["recomputed"] = [name for name in calls(backward) if name in in_forward]
        compilation["trained_inputs"] = [i for i, info in enumerate(metadata.input_info) if info.requires_grad and info.is_leaf]
        compilation["hints"] = hints()
        self.last = None

    def written(self, compilations, program, backend, items):
        """The record of a program's compilations: graphs as printed, and what was decided for each partition."""
        kept = ("joint", "inference", "forward", "backward", "saved", "recomputed", "trained_inputs", "hints", "partition")
        made = [{kind: c[kind] for kind in kept if c.get(kind) is not None} for c in compilations]
        return {"program": program, "backend": backend, "stdout": items["stdout"], "captured": self.captured, "compilations": made}


def hints():
    """What symbols stood for when the graph was made."""
    import torch

    context = torch._guards.TracingContext.try_get()
    env = context and context.fake_mode and context.fake_mode.shape_env
    return {str(symbol): int(value) for symbol, value in env.backed_var_to_val.items() if value.is_integer} if env else {}
