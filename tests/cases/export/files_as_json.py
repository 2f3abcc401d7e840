"""What is in a file of an exported program: the names of its records, and what its JSON says, but for places in PyTorch."""
import io
import json
import zipfile

import torch
from torch.export import Dim


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 4)
        self.register_buffer("seen", torch.zeros(4))
        self.register_buffer("mask", torch.tensor([True, False, True, True]), persistent=False)
        self.k = torch.tensor([1, 2, 3, 4])

    def forward(self, x, options, *, power=2):
        y = self.fc(x)
        self.seen.add_(y.detach().sum(0))
        first, rest = torch.split(y, [1, 3], dim=1)
        chosen = torch.where(self.mask, y, float("-inf")).to(torch.float64)
        return {"chosen": chosen ** power, "rest": (rest + options["bias"], y.new_zeros(x.shape[0] * 2, 2)), "rows": x.shape[0] + 1, "k": self.k}


def without(told, keys):
    if isinstance(told, dict):
        return {key: without(value, keys) for key, value in told.items() if key not in keys}
    return [without(item, keys) for item in told] if isinstance(told, list) else told


torch.manual_seed(0)
args = (torch.randn(5, 3), {"bias": torch.ones(3)})
sizes = {"x": {0: Dim("rows", min=3, max=50)}, "options": {"bias": None}, "power": None}
ep = torch.export.export(Model(), args, {"power": 3}, dynamic_shapes=sizes)
for program in (ep, ep.run_decompositions()):
    file = io.BytesIO()
    torch.export.save(program, file, extra_files={"more.txt": "words"})
    with zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if not name.endswith("serialization_id")]
        print(names)
        for name in names:
            if name.endswith("_config.json"):
                print(json.dumps(json.loads(archive.read(name)), indent=1))
        told = json.loads(archive.read("archive/models/model.json"))
        module = told["graph_module"]
        for node in module["graph"]["nodes"]:
            print(node["name"], list(node["metadata"].get("nn_module_stack", "").split(";")))
            print(json.dumps(without(node, ("metadata", "name"))))
        for key in ("inputs", "outputs", "tensor_values", "sym_int_values", "sym_bool_values", "is_single_tensor_return"):
            print(key, json.dumps(module["graph"][key]))
        print(json.dumps(module["signature"]))
        print(json.dumps(module["module_call_graph"]))
        print(json.dumps({key: value for key, value in told.items() if key not in ("graph_module", "torch_version")}))
        print([len(archive.read(name)) for name in names if "weight_" in name or "tensor_" in name], archive.read("archive/extra/more.txt"))
