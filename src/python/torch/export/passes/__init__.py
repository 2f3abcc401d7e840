"""What is done to exported programs as a whole."""

import torch
from torch.utils._pytree import tree_map, tree_map_only

__all__ = ["move_to_device_pass"]


def move_to_device_pass(ep, location):
    """The program on another device: `location` names it, or is a dict from devices to others."""

    def target(device):
        return location.get(str(device), str(device)) if isinstance(location, dict) else str(location)

    def moved(tensor):
        return tensor.to(target(tensor.device))

    for name, value in ep.state_dict.items():
        is_parameter = isinstance(value, torch.nn.Parameter)
        ep.state_dict[name] = torch.nn.Parameter(moved(value), value.requires_grad) if is_parameter else moved(value)
    for name, value in ep.constants.items():
        if isinstance(value, torch.Tensor):
            ep.constants[name] = moved(value)
    if ep.example_inputs is not None:
        inputs = ep._inputs
        inputs.args, inputs.kwargs = (tree_map_only(torch.Tensor, moved, given) for given in ep.example_inputs)
    for module in ep.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                if "device" in node.kwargs:
                    node.kwargs = {**node.kwargs, "device": target(node.kwargs["device"])}
                if node.op == "call_function" and node.target is torch.ops.aten.to.device:
                    node.update_arg(1, target(node.args[1]))
                node.meta["val"] = tree_map(lambda value: moved(value) if isinstance(value, torch.Tensor) else value, node.meta.get("val"))
    ep.graph_module.recompile()
    ep.validate()
    return ep
