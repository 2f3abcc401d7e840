"""Parameters, buffers and constants of an unflattened program: put back where they were in the module that was exported, and read there by the
graphs that had them as inputs. Tensors that were shared are shared again."""

import re

import torch

from .graph_signature import InputKind


def _identity(tensor):
    """Tells tensors apart that do not share all of their memory."""
    return tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes(), tuple(tensor.stride()), tuple(tensor.size()), tensor.storage_offset()


def _put(root, path, put):
    """Does something with the module at a path, and with those of its further calls (`b@1`)."""
    *on_the_way, name = path.split(".")
    holders = [root]
    for item in on_the_way:
        below = []
        for holder in holders:
            if not hasattr(holder, item):
                setattr(holder, item, torch.nn.Module())
            below += [child for key, child in holder._modules.items() if re.fullmatch(re.escape(item) + r"(@\d+)?", key) and child not in below]
        holders = below
    for holder in holders:
        put(holder, name)


def assign_state(root, program):
    """Puts all state into modules. Gives the paths that inputs of the graph stand for, by their names, and the paths of state that it reads."""
    signature, state, constants = program.graph_signature, program.state_dict, program.constants
    known = {}

    def shared(tensor, make):
        key = _identity(tensor)
        if key not in known:
            known[key] = make(tensor)
        return known[key]

    copied = lambda p: torch.nn.Parameter(p.detach().clone(), requires_grad=p.requires_grad)
    assigned, buffers = set(), set()
    for path in signature.parameters:
        parameter = shared(state[path], copied)
        _put(root, path, lambda holder, name: holder.register_parameter(name, parameter))
        assigned.add(path)
    left_out = set(signature.non_persistent_buffers)
    for path in signature.buffers:
        tensor = (constants if path in left_out else state)[path]
        buffers.add(_identity(tensor))
        buffer, persistent = shared(tensor, lambda t: t.clone()), path not in left_out
        _put(root, path, lambda holder, name: holder.register_buffer(name, buffer, persistent=persistent))
        assigned.add(path)
    # What the graph does not read.
    for path, tensor in state.items():
        if path in assigned:
            continue
        if _identity(tensor) in buffers or not isinstance(tensor, torch.nn.Parameter):
            buffer = shared(tensor, lambda t: t)
            _put(root, path, lambda holder, name: holder.register_buffer(name, buffer))
        else:
            parameter = shared(tensor, lambda t: t)
            _put(root, path, lambda holder, name: holder.register_parameter(name, parameter))
    for path, constant in constants.items():
        value = shared(constant, lambda t: t.clone())
        _put(root, path, lambda holder, name: setattr(holder, name, value))
    return _paths(program)


def _paths(program):
    signature, state, constants = program.graph_signature, program.state_dict, program.constants
    names, read = {}, set()
    for spec in signature.input_specs:
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
            is_constant = spec.kind is InputKind.CONSTANT_TENSOR or spec.kind is InputKind.BUFFER and not spec.persistent
            tensor = (constants if is_constant else state)[spec.target]
            names.setdefault(_identity(tensor), []).append((spec.arg.name, spec.target))
            read.add(spec.target)
    for path, tensor in [*constants.items(), *state.items()]:
        known = names.get(_identity(tensor))
        if known and path not in read:
            known.append((known[0][0], path))
    by_name = {}
    for same in names.values():
        by_name.update((name, [path for _, path in same]) for name, _ in same)
    return by_name, read


def read_state_in_place(module, paths, scope, removed):
    """Lets graphs read state off their modules in place of taking it as inputs. `removed`: by the module, the inputs that are gone."""
    if id(module) in removed:
        return
    removed[id(module)] = set()
    for name, child in module._modules.items():
        if child is not None:
            read_state_in_place(child, paths, [*scope, name], removed)
    graph = getattr(module, "graph", None)
    if graph is None or not len(graph.nodes):
        return
    inputs = graph.find_nodes(op="placeholder")
    for call in graph.find_nodes(op="call_module"):
        gone = removed.get(id(module.get_submodule(call.target)), ())
        call.args = tuple(arg for arg in call.args if getattr(arg, "name", None) not in gone)
    plain = [item.split("@")[0] for item in scope]
    # New reads go behind the inputs, the last first.
    for node in inputs:
        path = next((path.split(".") for path in paths.get(node.name, ()) if path.split(".")[: len(scope)] == plain), None)
        if path is None:
            continue
        if node.users:
            with graph.inserting_after(inputs[-1]):
                read = graph.create_node("get_attr", ".".join(path[len(scope) :]))
            read._written = node._written
            node.replace_all_uses_with(read, propagate_meta=True)
        removed[id(module)].add(node.name)
    for node in inputs:
        if node.name in removed[id(module)]:
            graph.erase_node(node)
    if hasattr(module, "finalize") and scope:
        module.finalize()


__all__ = ["assign_state", "read_state_in_place"]
