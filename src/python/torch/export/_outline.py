"""A flat graph cut along the calls of modules.

Nodes are gone through in order, each with the stack of modules that it was made in. A frame is one call that is under way: its nodes go into a
graph of its own; a deeper stack opens a frame within it, another one ends it. A value that a frame needs and does not make becomes an input
of its graph, and of the graphs around it as far as it is not known there; a value that is read behind it becomes an output. Where the
call's signature was kept, inputs and outputs are those of the signature instead, taken out of trees and put back into them."""

import copy
import operator
from dataclasses import dataclass

import torch
from torch.fx._pytree import tree_flatten_spec
from torch.fx.graph import Graph
from torch.utils._pytree import tree_unflatten

from ._module_calls import NO_STACK
from .graph_signature import ConstantArgument

# What a frame whose signature is kept may compute again, because such calls are made once in a program.
_COMPUTED_AGAIN = ("aten.sym_size.int", "aten.item.default", "aten.unbind.int", "aten.sum.dim_IntList", "aten.view.default", "aten.diff.default")


def expose_writes(graph, signature):
    """Turns outputs that are new values of buffers and inputs into writes."""
    inputs = {node.name: node for node in graph.find_nodes(op="placeholder")}
    buffers = {path: name for name, path in signature.inputs_to_buffers.items()}
    written = {name: buffers[path] for name, path in signature.buffers_to_mutate.items()}
    written.update(signature.user_inputs_to_mutate)
    output = graph.output_node()
    values = output.args[0]
    for value in values[: len(written)]:
        with graph.inserting_after(value):
            write = graph.call_function(torch.ops.aten.copy_.default, (inputs[written[value.name]], value))
        write.meta.update(value.meta)
        value.replace_all_uses_with(write, lambda user: user is not write)
    output.args = (tuple(output.args[0][len(written) :]),)


def _is_below(outer, inner):
    return len(outer) < len(inner) and inner[: len(outer)] == outer


def stacks_that_nest(graph):
    """Cuts stacks off where a module is not below the one that calls it."""
    for node in graph.nodes:
        stack = node.meta.get("nn_module_stack")
        if not stack:
            continue
        paths = [path.split("@")[0] for path, _ in stack.values()]
        count = 1
        while count < len(paths) and _is_below(paths[count - 1], paths[count]):
            count += 1
        if count < len(paths):
            node.meta["nn_module_stack"] = dict(list(stack.items())[:count])


def _accessor(above, path):
    """The path of a module below another."""
    if above == "":
        return path
    outer, inner = above.split("."), path.split(".")
    if inner[: len(outer)] != outer:
        raise RuntimeError(
            f"Child module '{path}' is not a descendant of parent module '{above}'.This is currently unsupported."
            "Please try to make child module attach to parent module directly."
        )
    return ".".join(inner[len(outer) :])


@dataclass
class Call:
    """A call of a module: where it is, and the graph that it became."""

    parent: torch.nn.Module
    parent_path: str
    node: torch.fx.Node
    path: str
    name: str
    module: torch.nn.Module

    @property
    def accessor(self):
        """Its path below the module that calls it."""
        return _accessor(self.parent_path, self.name)

    def accessor_from(self, path):
        """Its path below another module."""
        return _accessor(path, self.name)


class Outline:
    """All frames of a graph. `calls`: by the module, its calls. `attributes`: by the module, the graphs that its operators name."""

    def __init__(self, flat, root):
        self.flat, self.root = flat, root
        self.nodes, self.at = list(flat.nodes), 0
        self.seen, self.calls, self.attributes, self.modules = {}, {}, {}, {}
        # By the module, the values that writes to buffers gave and another module reads.
        self.written = {}
        self.signatures = {entry.fqn: entry.signature for entry in root.module_call_graph if entry.signature}
        frame = _Frame(self, None, [("", None, 0)], root)
        while self.nodes[self.at].op == "placeholder":
            frame.copy(self.nodes[self.at])
            self.at += 1
        frame.run()
        frame.copy(flat.output_node())
        self._write()

    def _write(self):
        for calls in self.calls.values():
            for call in calls:
                graph = call.module.graph
                for node in [n for n in graph.nodes if n.name in self.written.get(call.path, ())]:
                    with graph.inserting_after(node):
                        write = graph.call_function(torch.ops.aten.copy_.default, (node.args[0], node))
                    write.meta = copy.copy(node.meta)

    def stack(self, node, around):
        """The modules that a node was made in: of each its path, its class and the number of its call."""
        stack = node.meta.get("nn_module_stack", {})
        if not stack:
            raise RuntimeError(f"Unable to find nn_module_stack for node {node}")
        if len(stack) == 1 and NO_STACK in stack:
            return around
        number = lambda key: int(key.split("@")[-1]) if "@" in key else 0
        return [(path, ty if path else None, number(key)) for key, (path, ty) in stack.items()]


class _Frame:
    """One call of a module that is being cut out."""

    def __init__(self, outline, parent, stack, root=None):
        from .unflatten import InterpreterModule

        self.outline, self.parent, self.stack = outline, parent, stack
        self.path, self.ty, number = stack[-1]
        self.name = f"{self.path}@{number}" if number else self.path
        self.values, self.inputs = {}, {}
        self.call = None
        self.module = root or outline.modules.get(self.path) or InterpreterModule(Graph(), ty=self.ty)
        self.graph = self.module.graph
        self.signature = outline.signatures.get(self.name) if parent else None
        if parent:
            self._enter(InterpreterModule)
        if self.signature is not None:
            self._take_signature()

    def _enter(self, make):
        accessor, holder, below = _accessor(self.parent.path, self.name), self.parent.module, self.parent.path
        *on_the_way, last = accessor.split(".")
        for name in on_the_way:
            below = f"{below}.{name}" if below else name
            if getattr(holder, name, None) is None:
                # A module that was not called itself, such as a list.
                setattr(holder, name, self.outline.modules.setdefault(below, make(Graph(), ty=self.ty)))
            holder = getattr(holder, name)
        holder.add_module(last, self.module)
        self.call = self.parent.graph.create_node("call_module", accessor)
        calls = self.outline.calls.setdefault(self.path, [])
        if calls:
            self.module._modules = calls[0].module._modules
        calls.append(Call(self.parent.module, self.parent.path, self.call, self.path, self.name, self.module))

    # Trees of a signature that is kept

    def _spec(self, frame, spec):
        number = 0
        while hasattr(frame.module, f"_spec_{number}"):
            number += 1
        setattr(frame.module, f"_spec_{number}", spec)
        return frame.graph.get_attr(f"_spec_{number}")

    def _take_signature(self):
        signature, outer = self.signature, self.parent
        args, kwargs = signature.in_spec.children()
        places = [self.graph.placeholder(f"_positional_arg_{i}") for i in range(args.num_children)]
        named = {name: self.graph.placeholder(name) for name in kwargs.context}
        spec = self._spec(self, signature.in_spec)
        leaves = self.graph.call_function(tree_flatten_spec, ((tuple(places), named), spec))
        for i, arg in enumerate(signature.inputs):
            is_value = not isinstance(arg, ConstantArgument)
            leaf = self.graph.create_node("call_function", operator.getitem, (leaves, i), name=arg.name if is_value else f"_constant_{i}")
            if is_value and arg.name in self.outline.seen:
                leaf.meta = copy.copy(self.outline.seen[arg.name].meta)
                self.inputs[self.outline.seen[arg.name]] = leaf
        with outer.graph.inserting_before(self.call):
            given = []
            for arg in signature.inputs:
                if isinstance(arg, ConstantArgument):
                    given.append(arg.value)
                else:
                    seen = self.outline.seen.get(arg.name)
                    given.append(None if seen is None else outer.value(seen))
            spec = self._spec(outer, signature.in_spec)
            trees = outer.graph.call_function(tree_unflatten, (given, spec))
            item = lambda of, key: outer.graph.call_function(operator.getitem, (of, key))
            args_node, kwargs_node = item(trees, 0), item(trees, 1)
            places = tuple(item(args_node, i) for i in range(args.num_children))
            named = {name: item(kwargs_node, name) for name in kwargs.context}
        self.call.args, self.call.kwargs = places, named

    # Values

    def copy(self, node):
        """Copies a node of the flat graph into this one."""
        self.values[node] = self.graph.node_copy(node, self.value)
        self.outline.seen[node.name] = node

    def value(self, node):
        """What stands here for a node of the flat graph."""
        found = self.values.get(node) or self.inputs.get(node)
        if found is not None:
            return found
        # The outermost frame has a signature, too.
        keeps = self.path in self.outline.signatures
        if node.op == "placeholder" or not keeps:
            return self._as_input(node)
        target = node.target
        if node.op == "call_function" and (str(target) in _COMPUTED_AGAIN or getattr(target, "__module__", "") == "_operator"):
            made = self.graph.call_function(target, _mapped(node.args, self.value), _mapped(node.kwargs, self.value))
            made.meta = copy.copy(node.meta)
            made._written = node._written
            self.values[node] = made
            return made
        # What a write gave: it is made where it was, and read off the buffer here.
        if node.op != "call_function":
            raise AssertionError(f"expected node.op to be 'call_function', got {node.op!r}")
        if not (isinstance(target, torch._ops.OpOverload) and target._schema.is_mutable):
            path, _ = list(node.meta["nn_module_stack"].values())[-1]
            self.outline.written.setdefault(path, set()).add(node.name)
        return self.value(node.args[0])

    def _as_input(self, node):
        if self.path == "":
            raise AssertionError(f"Cannot add placeholder {node} to root module")
        with self.graph.inserting_before(None):
            made = self.graph.create_node("placeholder", node.name, type_expr=node.type)
        made.meta, made._written = copy.copy(node.meta), node._written
        self.inputs[node] = made
        with self.parent.graph.inserting_before(self.call):
            self.call.insert_arg(0, self.parent.value(node))
        return made

    # The walk

    def run(self):
        """Goes through the nodes of this call and of those within it."""
        outline, depth = self.outline, len(self.stack)
        while True:
            node = outline.nodes[outline.at]
            if node.op == "output":
                if self.parent:
                    self.finish()
                return
            stack = outline.stack(node, self.stack)
            if stack[:depth] != self.stack:
                self.finish()
                return
            if _is_below(self.stack, stack):
                _Frame(outline, self, [*self.stack, stack[depth]]).run()
                continue
            if node.op == "get_attr":
                outline.attributes.setdefault(self.name, set()).add(node.target)
            self.copy(node)
            outline.at += 1

    def finish(self):
        """Ends the graph with what is read of it."""
        self.outline.modules.pop(self.path, None)
        seen, outer = self.outline.seen, self.parent
        if self.signature is not None:
            values = [seen.get(arg.name) for arg in self.signature.outputs]
            given = tuple(None if node is None else self._given(node) for node in values)
            spec = self._spec(self, self.signature.out_spec)
            output = self.graph.call_function(tree_unflatten, (given, spec))
            spec = self._spec(outer, self.signature.out_spec)
            result = outer.graph.call_function(tree_flatten_spec, (self.call, spec))
        else:
            values = [node for node in self.values if any(user.name not in seen for user in node.users)]
            output = [self.values[node] for node in values]
            result = self.call
            output = output[0] if len(output) == 1 else output
        self.graph.output(output)
        is_one = isinstance(output, torch.fx.Node)
        result.meta["val"] = output.meta.get("val") if is_one else [node.meta.get("val") for node in output]
        if is_one:
            result._written = output._written
        self._lift_annotation()
        if len(values) == 1 and self.signature is None:
            outer.values[values[0]] = result
            return
        for i, node in enumerate(values):
            if node is not None:
                item = outer.graph.call_function(operator.getitem, (result, i))
                item.meta["val"], item._written = node.meta.get("val"), node._written
                outer.values[node] = item

    def _given(self, node):
        found = self.values.get(node) or self.inputs.get(node)
        if found is None:
            raise RuntimeError(f"Could not find output node {node}. Graph: {self.graph}")
        return found

    def _lift_annotation(self):
        """What all nodes are annotated with, their call is."""
        told = [node.meta.get("custom", {}) for node in self.values.values()]
        if told and told[0] and all(each == told[0] for each in told):
            self.call.meta["custom"] = told[0]
            for node in self.values.values():
                del node.meta["custom"]


def _mapped(args, fn):
    return torch.fx.map_arg(args, fn)


__all__ = ["Call", "Outline", "expose_writes", "stacks_that_nest"]
