"""Programs that PyTorch wrote into files: printed, run, written again, decomposed, unflattened."""
import base64
import copy
import io

import torch
from exported_programs import FILES

for name, text in FILES.items():
    print("==", name)
    ep = torch.export.load(io.BytesIO(base64.b64decode("".join(text.split()))))
    print(ep)
    print(ep.call_spec)
    print(ep._guards_code, [v.dialect for v in ep.verifiers], [entry.fqn for entry in ep.module_call_graph])
    args, kwargs = copy.deepcopy(ep.example_inputs)
    module = ep.module()
    print(module(*args, **kwargs))
    for node in ep.graph.nodes:
        val = node.meta.get("val")
        if isinstance(val, (bool, torch.SymBool)):
            val = None
        print(node.name, node.target, type(val).__name__, getattr(val, "shape", val) if node.op != "output" else "", list(node.meta.get("nn_module_stack", {})))
    file = io.BytesIO()
    torch.export.save(ep, file)
    print(str(torch.export.load(file)) == str(ep))
    functional = ep.run_decompositions()
    print([spec.kind.name for spec in functional.graph_signature.output_specs])
    print([str(node.target) for node in functional.graph.nodes if node.op == "call_function" and "getitem" not in node.name][:8])
    flat = torch.export.unflatten(ep)
    print(sorted(name for name, _ in flat.named_modules()))

ep = torch.export.load(io.BytesIO(base64.b64decode("".join(FILES["guarded"].split()))))
for given in ((torch.ones(7), torch.ones(3)), (torch.ones(4), torch.ones(3, 1))):
    try:
        ep.module()(*given, scale=0.5)
    except AssertionError as error:
        print(error)
try:
    ep.module()(torch.ones(4), torch.ones(3))
except ValueError as error:
    print(error)
