"""Prints the sets of operators that PyTorch's partitioners go by, a name and its packets a line.

The sets of `torch._functorch.partitioners.get_default_op_list()`, the random operators that
`torch._functorch.compile_utils.fx_graph_cse` leaves alone, and, of every functional packet of `aten`, `prims` and `rngprims`, whether an
overload is tagged `nondeterministic_seeded` or returns what shares its argument's memory.
"""

import torch
import torch._inductor.inductor_prims
import torch._prims.rng_prims
from torch._functorch import compile_utils
from torch._functorch.partitioners import get_default_op_list

LISTS = ("recomputable_ops", "fusible_ops", "view_ops", "random_ops", "compute_intensive_ops")


def packets():
    for namespace in ("aten", "prims", "rngprims"):
        names = {n.split("::")[1].split(".")[0] for n in torch._C._dispatch_get_all_op_names() if n.startswith(namespace + "::")}
        for name in sorted(names):
            packet = getattr(getattr(torch.ops, namespace), name, None)
            overloads = [getattr(packet, o) for o in packet.overloads()] if packet is not None else []
            functional = [o for o in overloads if not o._schema.is_mutable]
            if functional:
                yield f"{namespace}.{name}", functional


def shares_memory(overload):
    arguments, returns = overload._schema.arguments, overload._schema.returns
    aliased = lambda values: any(v.alias_info is not None for v in values)
    return aliased(arguments) and aliased(returns)


def main():
    types = get_default_op_list()
    sets = {}
    for name in LISTS:
        members = getattr(types, name)
        sets[name] = {str(m) for m in members if isinstance(m, torch._ops.OpOverloadPacket)}
        python = {m.__name__.removeprefix("_") for m in members if not isinstance(m, torch._ops.OpOverloadPacket)}
        if name == "recomputable_ops":
            sets["recomputable_functions"] = {n for n in python if n.isidentifier()}
    known = dict(packets())
    for name in LISTS:
        sets[name] = {n for n in sets[name] if n in known}
    sets["never_merged"] = {str(p) for p in compile_utils.rand_ops}
    sets["nondeterministic_seeded"] = {n for n, all in known.items() if any(torch.Tag.nondeterministic_seeded in o.tags for o in all)}
    sets["aliasing"] = {n for n, all in known.items() if any(map(shares_memory, all))}
    print(f"# Written by tests/recorders/operators/op_sets.py from PyTorch {torch.__version__.split('+')[0]}.")
    for name, members in sets.items():
        print(name + ":", *sorted(members))


main()
