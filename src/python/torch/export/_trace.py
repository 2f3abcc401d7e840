"""How a module becomes an `ExportedProgram`: fake tensors for its tensors, a trace of its `forward`, and the graph put in order."""

import inspect
import operator
import re
from dataclasses import dataclass

import torch
from torch import _native_aot, _native_fake
from torch.fx._native_graph import python_graph
from torch.fx.experimental.symbolic_shapes import ShapeEnv, is_symbolic
from torch.utils._pytree import tree_flatten, tree_unflatten

from ._attributes import Attributes
from ._constraints import bounds_of, check_constraints, guards, range_constraints
from ._grad_mode import extract_regions, name_inputs
from ._lines import library_line
from ._module_calls import NO_STACK, ModuleCalls
from .dynamic_shapes import Attribute, Dim, _user_error, combined_arguments, spread, with_paths
from .graph_signature import (
    ConstantArgument, ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, SymIntArgument, TensorArgument,
)  # fmt: skip

_PREFIXES = {InputKind.PARAMETER: "p_", InputKind.BUFFER: "b_", InputKind.CONSTANT_TENSOR: "c_", InputKind.USER_INPUT: ""}


class Inputs:
    """The inputs of a graph: the module's state, the constants it reads, and what the caller gives."""

    def __init__(self, mod, args, kwargs, dynamic_shapes):
        combined = combined_arguments(mod, args, kwargs)
        self.args, self.kwargs = args, {name: kwargs[name] for name in sorted(kwargs, key=_place(combined))}
        self.names = _argument_names(mod, args, self.kwargs)
        self.leaves, self.in_spec = tree_flatten((self.args, self.kwargs))
        given = with_paths(combined)
        # What `**kwargs` takes is named as if it were an argument of its own.
        several = _name_of(mod, inspect.Parameter.VAR_KEYWORD)
        self.paths = [path[1:] if path[0] == several else path for path, _ in given]
        sources = [source(path) for path, _ in given]
        self.several = _name_of(mod, inspect.Parameter.VAR_POSITIONAL)
        if len(given) != len(self.leaves):
            raise NotImplementedError("torch.export takes tuples, lists, named tuples and dicts of tensors in the playground")
        self.shapes = spread(combined, dynamic_shapes)
        self.parameters = dict(mod.named_parameters(remove_duplicate=False))
        self.buffers = dict(mod.named_buffers(remove_duplicate=False))
        self.state = {**self.parameters, **self.buffers}
        kept = mod.state_dict(keep_vars=True)
        self.persistent = {name: name in kept for name in self.buffers}
        self.constants = {}
        self.shape_env = ShapeEnv()
        self._roots, self._known = {}, {}
        said = [dim for shape in self.shapes for dim in shape or () if isinstance(dim, Dim)]
        # Dimensions that are sizes themselves: what is calculated from them is related to them once all is traced.
        self._said = {dim.__name__ for dim in said if dim._root is dim}
        self.fakes = [self._fakify(t, None, name) for name, t in self.state.items()]
        self.tensors = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        self.user_fakes = {i: self._fakify(self.leaves[i], self.shapes[i], sources[i]) for i in self.tensors}
        # The symbols that each input was given, before any turned out to be another's.
        self.first_symbols = [[str(size) for size in fake.shape] for fake in self.user_fakes.values()]

    def _fakify(self, t, shape, place):
        if id(t) not in self._known:
            sizes = [None] * t.dim() if shape is None else [self._size(t, d, dim) for d, dim in enumerate(shape)]
            self._known[id(t)] = _native_fake.fakify(t, self.shape_env._symbols, sizes, place)
        return self._known[id(t)]

    def _size(self, t, d, dim):
        """What `fakify` is told of a dimension."""
        if dim is None or isinstance(dim, int) or dim is Dim.STATIC:
            return None
        if not isinstance(dim, Dim):
            return [dim.min, dim.max]
        _check_example(t.shape[d], dim)
        if dim._root is dim or dim._root.__name__ in self._said:
            return [dim.min, dim.max]
        value, rest = divmod(t.shape[d] - dim._summand, dim._factor)
        if rest:
            raise _user_error(f"Expected input size {t.shape[d]} to be of the form {dim.__name__}, where {dim._root.__name__} is an integer", False)
        root = dim._root
        if root.__name__ not in self._roots:
            self._roots[root.__name__] = self.shape_env._symbols.root(root.__name__, value, max(root.min, 2), root.max)
        return self._roots[root.__name__] * dim._factor + dim._summand


def _check_example(size, dim):
    """Raises where the example's own size is none that a named dimension allows."""
    from torch.fx.experimental.symbolic_shapes import ConstraintViolationError, int_oo

    least = max(dim.min, 2)
    if size >= 2 and not least <= size <= (size if dim.max is None else dim.max):
        raise ConstraintViolationError(f"{size} not in range [{least}, {int_oo if dim.max is None else dim.max}]")


def _name_of(mod, kind):
    """The parameter of a module's `forward` that takes several arguments."""
    return next((name for name, one in inspect.signature(mod.forward).parameters.items() if one.kind is kind), None)


def _argument_names(mod, args, kwargs):
    """What each argument is called: those that `*args` takes are numbered."""
    several = _name_of(mod, inspect.Parameter.VAR_POSITIONAL)
    names = []
    for name, value in inspect.signature(mod.forward).bind_partial(*args).arguments.items():
        names += [f"{name}_{i}" for i in range(len(value))] if name == several else [name]
    return names + list(kwargs)


def _place(combined):
    order = {name: i for i, name in enumerate(combined)}
    return lambda name: order.get(name, len(order))


def source(path):
    """Where an input is found, as guards say it."""
    return f"L['{path[0]}']" + "".join(f".{key}" if isinstance(key, Attribute) else f"[{key!r}]" for key in path[1:])


def trace(mod, args, kwargs, dynamic_shapes, preserved=(), strict=False):
    """The program of a module's `forward`, for inputs like these. `preserved`: the modules whose signatures are kept."""
    from torch._dynamo.exc import UserError

    from .exported_program import ExportedProgram

    if not isinstance(args, tuple):
        raise UserError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    if hasattr(dynamic_shapes, "dynamic_shapes"):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(mod, args, kwargs)
    inputs = Inputs(mod, args, kwargs or {}, dynamic_shapes)
    count, result = len(inputs.state), {}
    calls = inputs.calls = ModuleCalls(mod, preserved)
    attributes = Attributes(mod)

    def flat_function(values):
        state, given = dict(zip(inputs.state, values)), iter(values[count:])
        leaves = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in inputs.leaves]
        args, kwargs = tree_unflatten(leaves, inputs.in_spec)
        with _Swapped(mod, state) as swapped, calls:
            leaves, result["spec"] = tree_flatten(mod(*args, **kwargs))
            # A buffer that was given another tensor is written to at the end.
            for name, value in swapped.assigned():
                state[name].copy_(value)
            result["written"] = [name for name, _ in swapped.assigned()]
        return leaves

    fakes = [*inputs.fakes, *inputs.user_fakes.values()]
    names = [f"arg{i}_1" for i in range(len(fakes))]
    try:
        # Programs are exported for any device: what one backend has of its own is left out.
        with torch.backends.cudnn.flags(enabled=False):
            native, constants = _native_aot._export(flat_function, names, fakes, count, inputs.shape_env._symbols)
    finally:
        attributes.put_back(strict)
    check_constraints(inputs)
    _place_library_calls(native, mod, calls)
    paths = {id(value): name for name, value in attributes.tensors()}
    lifted = (f"lifted_tensor_{i}" for i in range(len(constants)))
    inputs.constants = {paths.get(id(t)) or next(lifted): t for t in constants}
    graph, regions, signature, named = ordered(native, inputs, [], result["written"])
    transient = {name: t for name, t in inputs.buffers.items() if not inputs.persistent[name]}
    # Dynamo finds other constants later than buffers.
    constants = {**transient, **inputs.constants} if strict else {**inputs.constants, **transient}
    state_dict = {**inputs.parameters, **{name: t for name, t in inputs.buffers.items() if inputs.persistent[name]}}
    program = ExportedProgram(
        graph, regions, signature, state_dict, range_constraints(inputs), constants, inputs,
        Traced(native, result["written"], None, {node.name: name for name, node in named.items()}), result["spec"], calls.signatures(named),
    )  # fmt: skip
    # A script that compares sizes of the program's values later on adds nothing to what a call is checked for.
    program._checked = list(guards(inputs, program.range_constraints))
    return program


@dataclass
class Traced:
    """What a program is taken apart from: the compiler's graph, the buffers that were assigned to, of each input whether the graph gives its
    new value, and the names that values have there."""

    native: object
    written: list
    mutated: list | None
    names: dict


def _place_library_calls(native, mod, calls):
    """Says of calls in PyTorch's own modules where those make them."""
    graph, _ = python_graph(native)
    made = {}
    for node in graph.nodes:
        if node.op == "call_function":
            numbers = tuple(node.meta.get("nn_module_stack") or ())
            name = str(node.args[0].target if node.target is operator.getitem else node.target).split(".")[1:2]
            made.setdefault((numbers[-1:], name[0] if name else ""), []).append(node)
    for (number, name), nodes in made.items():
        module = mod.get_submodule(calls.calls[int(number[0])][1] if number else "")
        for i, node in enumerate(nodes):
            found = library_line(module, name, i, len(nodes))
            if found is not None:
                native.set_source(node.name, *found)


def _tell_modules(graph, calls):
    """Says of every call in which modules it was made, as exported programs do."""
    for node in graph.nodes:
        told = node.meta.get("nn_module_stack")
        if told is not None:
            node.meta["nn_module_stack"] = calls.stack(node)
        if node.meta.get("stack_trace"):
            node.meta["stack_trace"] = calls.frames(told or (), _without_marks(node.meta["stack_trace"]))
    for node in graph.nodes:
        if node.op in ("placeholder", "output") or "nn_module_stack" in node.meta:
            continue
        # A graph is read where it is called.
        caller = next(iter(node.users), None) if node.op == "get_attr" else None
        stack = caller.meta.get("nn_module_stack") if caller is not None else None
        node.meta["nn_module_stack"] = dict(stack or {NO_STACK: (NO_STACK, NO_STACK)})


def _without_marks(text):
    """A frame without what marks a part of its line."""
    return "\n".join(line for line in text.rstrip("\n").split("\n") if not re.fullmatch(r"[ ~^]*", line))


def last_calls(graph, target, these):
    """The last calls of an operator, one for each of these."""
    calls = graph.find_nodes(op="call_function", target=target)
    return calls[len(calls) - len(these) :]


class _Swapped:
    """While it lasts, a module has other parameters and buffers, and what is assigned to buffers is taken note of."""

    def __init__(self, mod, state):
        self._places = [(mod.get_submodule(name.rpartition(".")[0]), name) for name in state]
        self._state, self._before = state, {}

    def __enter__(self):
        for module, name in self._places:
            attribute = name.rpartition(".")[2]
            for kind in ("_parameters", "_buffers"):
                held = module.__dict__[kind]
                if attribute in held:
                    if (id(module), kind) not in self._before:
                        self._before[id(module), kind] = (module, kind, held)
                        module.__dict__[kind] = held = _Watched(held)
                    dict.__setitem__(held, attribute, self._state[name])
        return self

    def __exit__(self, *_):
        for module, kind, held in self._before.values():
            module.__dict__[kind] = held

    def assigned(self):
        """The buffers that were assigned to, in order, with what they were given last."""
        found = []
        for module, name in self._places:
            attribute = name.rpartition(".")[2]
            held = module.__dict__["_buffers"]
            if attribute in getattr(held, "assigned", ()):
                found.append((name, held[attribute]))
        return found


class _Watched(dict):
    """A module's tensors by name; notes what is assigned."""

    def __init__(self, held):
        super().__init__(held)
        self.assigned = {}

    def __setitem__(self, name, value):
        self.assigned[name] = None
        super().__setitem__(name, value)


def ordered(native, inputs, mutated, written=()):
    """The graph with inputs and values named as PyTorch names them, the modules it calls, and what inputs and outputs are. `mutated`
    says of every input whether the graph gives its new value, ahead of the results. `written` are the buffers that were assigned to:
    the last calls write to them. Also gives nodes by the names that the compiler's graph has for them."""
    graph, parts = python_graph(native)
    named = {node.name: node for node in graph.nodes}
    bodies = {name: part for name, part in parts.items() if isinstance(part, torch.nn.Module)}
    placeholders = graph.find_nodes(op="placeholder")
    if mutated:
        for node in last_calls(graph, torch.ops.aten.copy.default, written):
            node.replace_all_uses_with(node.args[1])
            graph.erase_node(node)
    else:
        buffers = dict(zip(inputs.state, placeholders))
        for name, node in zip(written, last_calls(graph, torch.ops.aten.copy_.default, written)):
            node.name = graph._names.create("copy__default")
            node.args = (buffers[name], node.args[1])
            node.meta["stack_trace"] = node.args[1].meta.get("stack_trace")
    lifted = len(inputs.state) + len(inputs.constants)
    _read_sizes_of_inputs(graph, placeholders, lifted, getattr(inputs, "first_symbols", ()), bool(mutated))
    specs = _lifted_specs(placeholders[:lifted], inputs)
    users = iter(placeholders[lifted:])
    following = next((n for n in graph.nodes if n.op != "placeholder"), None)
    for i, leaf in enumerate(inputs.leaves):
        if i in inputs.user_fakes:
            node = next(users)
            following.prepend(node)
            specs.append(InputSpec(InputKind.USER_INPUT, TensorArgument(node.name), None))
        else:
            with graph.inserting_before(following):
                node = graph.placeholder("_".join(map(str, inputs.paths[i])))
            node.meta["val"] = leaf
            specs.append(InputSpec(InputKind.USER_INPUT, ConstantArgument(node.name, leaf), None))
    regions = extract_regions(graph)
    _check_unknown(graph, inputs)
    outputs = list(graph.output_node().args[0])
    for part in (graph, *(part.graph for part in (*regions.values(), *bodies.values()) if hasattr(part, "graph"))):
        _tell_modules(part, inputs.calls)
    _Names(graph, specs, inputs).rename()
    name_inputs(graph, regions)
    _name_inputs_of_bodies(graph, bodies)
    graph.output_node().args = (tuple(outputs),)
    written = [i for i, is_mutated in enumerate(mutated) if is_mutated]
    new_values = [(value, _mutation(value, i, inputs, specs)) for value, i in zip(outputs, written)]
    if mutated:
        specs, new_values = _as_attributes(graph, inputs, specs, new_values)
        graph.output_node().args = ((*(value for value, _ in new_values), *outputs[len(written) :]),)
    output_specs = [spec for _, spec in new_values] + [_output(value) for value in outputs[len(written) :]]
    return graph, {**regions, **bodies}, ExportGraphSignature(specs, output_specs), named


def _as_attributes(graph, inputs, specs, new_values):
    """Inputs of a program that was taken apart, and new values of them, in the order in which its tensors are attributes of
    `ExportedProgram.module()`: those of a module ahead of its children's, children in the order in which parameters, then buffers, then
    constants made them."""
    order = attribute_order(inputs)
    lifted = {spec.target: spec for spec in specs if spec.kind is not InputKind.USER_INPUT}
    users = [spec for spec in specs if spec.kind is InputKind.USER_INPUT]
    nodes = {node.name: node for node in graph.find_nodes(op="placeholder")}
    first = nodes[users[0].arg.name] if users else next(node for node in graph.nodes if node.op != "placeholder")
    for target in order:
        first.prepend(nodes[lifted[target].arg.name])
    places = {target: i for i, target in enumerate(order)}
    new_values = sorted(new_values, key=lambda one: places.get(one[1].target, len(order)))
    return [lifted[target] for target in order] + users, new_values


def attribute_order(inputs):
    """The order of an unlifted program's tensors."""
    tree = ({}, [])
    for target in [*inputs.parameters, *inputs.buffers, *inputs.constants]:
        *path, _ = target.split(".")
        below = tree
        for name in path:
            below = below[0].setdefault(name, ({}, []))
        if target not in inputs.parameters:
            below[1].append(target)

    def walk(below):
        children, own = below
        yield from own
        for child in children.values():
            yield from walk(child)

    return [*inputs.parameters, *walk(tree)]


def _name_inputs_of_bodies(graph, bodies):
    """Gives the inputs of graphs that operators take the names of what they are given."""
    for call in graph.nodes:
        if not isinstance(call.target, torch._ops.HigherOrderOperator) or torch._ops.script_operator(call.target.__name__):
            continue
        flat = [arg for args in call.args for arg in (args if isinstance(args, (list, tuple)) else [args])]
        parts = [arg.target for arg in flat if getattr(arg, "op", "") == "get_attr" and arg.target in bodies]
        given = [arg.name for args in call.args if isinstance(args, (list, tuple)) for arg in args]
        for name in parts:
            body, used = bodies[name], set()
            for node, wanted in zip(body.graph.find_nodes(op="placeholder"), given):
                count = next(i for i in range(len(given) + 1) if (f"{wanted}_{i}" if i else wanted) not in used)
                node.name = node.target = f"{wanted}_{count}" if count else wanted
                used.add(node.name)
            body.recompile()
            inner = {name: child for name, child in body.named_children() if hasattr(child, "graph")}
            _name_inputs_of_bodies(body.graph, inner)


def _lifted_specs(nodes, inputs):
    specs = []
    state = [*((InputKind.PARAMETER, name) for name in inputs.parameters), *((InputKind.BUFFER, name) for name in inputs.buffers)]
    for node, (kind, target) in zip(nodes, [*state, *((InputKind.CONSTANT_TENSOR, name) for name in inputs.constants)]):
        persistent = inputs.persistent[target] if kind is InputKind.BUFFER else None
        if kind is InputKind.PARAMETER:
            value = node.meta["val"]
            value.requires_grad_(inputs.parameters[target].requires_grad)
        specs.append(InputSpec(kind, TensorArgument(node.name), target, persistent))
    return specs


def _output(value):
    if not isinstance(value, torch.fx.Node):
        return OutputSpec(OutputKind.USER_OUTPUT, ConstantArgument("", value), None)
    is_number = is_symbolic(value.meta.get("val"))
    return OutputSpec(OutputKind.USER_OUTPUT, (SymIntArgument if is_number else TensorArgument)(value.name), None)


def _mutation(node, i, inputs, specs):
    """An output that is an input's new value. Inputs are counted without those that are part of the program."""
    tensors = [spec for spec in specs if isinstance(spec.arg, TensorArgument)]
    spec = tensors[i]
    kinds = {InputKind.BUFFER: OutputKind.BUFFER_MUTATION, InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION}
    kind = kinds.get(spec.kind, OutputKind.USER_INPUT_MUTATION)
    target = spec.arg.name if kind is OutputKind.USER_INPUT_MUTATION else spec.target
    return OutputSpec(kind, TensorArgument(node.name), target)


def _read_sizes_of_inputs(graph, placeholders, lifted, first_symbols, is_retraced):
    """Reads every symbol off the input that was given it, in front of all calls, in place of what computes it elsewhere."""
    known = {}
    first = next((n for n in graph.nodes if n.op != "placeholder"), None)
    # A symbol that turned out to be another's is read as well, though nobody needs it.
    read, given = set(), {}
    sizes = []
    for i, node in enumerate(placeholders):
        own = first_symbols[i - lifted] if 0 <= i - lifted < len(first_symbols) else ()
        for d, size in enumerate(getattr(node.meta.get("val"), "shape", ())):
            if is_symbolic(size) and re.fullmatch(r"[su]\d+", str(size)):
                sizes.append((node, d, size, own[d] if d < len(own) else str(size)))
    if is_retraced:
        extra = len({symbol for *_, symbol in sizes}) - len({str(size) for _, _, size, _ in sizes})
        for _ in range(extra):
            graph._names.create("sym_size_int")
    with graph.inserting_before(first):
        for node, d, size, symbol in sizes:
            if symbol in given:
                continue
            made = graph.call_function(torch.ops.aten.sym_size.int, (node, d))
            made.meta["val"], made._written = size, str(size)
            given[symbol] = made
            if symbol == str(size) or str(size) not in known:
                known[str(size)] = made
            read.add(made)
    for node in list(graph.nodes):
        value = node.meta.get("val")
        if node in read or node.op != "call_function" or type(value) is not torch.SymInt:
            continue
        before = known.setdefault(str(value), node)
        if before is not node:
            node.replace_all_uses_with(before)
    for node in reversed(list(graph.nodes)):
        if node.op == "call_function" and not node.users and (is_symbolic(node.meta.get("val")) or node in read):
            graph.erase_node(node)


def _stated(graph):
    """The checks of what the script stated of numbers that only a run knows, each with what is computed for it alone, and the calls that
    read the numbers in it."""
    for check in list(graph.nodes):
        if check.target is not torch.ops.aten._assert_scalar.default:
            continue
        computed, read, todo = [check], [], [check.args[0]]
        while todo:
            node = todo.pop()
            if node.op == "call_function" and getattr(node.target, "__module__", None) == "_operator":
                computed.insert(0, node)
                todo += [arg for arg in node.args if isinstance(arg, torch.fx.Node) and arg not in computed]
            else:
                read.append(node)
        yield check, computed, read


def _check_unknown(graph, inputs):
    """Checks numbers that only a run knows where they are read off: their ranges, then what else the script said of them with
    `torch._check`."""
    _read_unknown_sizes(graph)
    stated = list(_stated(graph))
    for _, computed, _ in stated:
        for made in computed:
            graph._names.used.discard(made.name)
            graph._names.counts.pop(re.sub(r"_\d+$", "", made.name), None)
    # What the script itself computed and compared took the names of its operators.
    for name in inputs.shape_env._symbols.stated():
        graph._names.create(name)
    checks, placed = [], set()
    # What is moved below reads these, and they stay where they are.
    order = {node: i for i, node in enumerate(graph.nodes)}
    for node in list(graph.nodes):
        size = node.meta.get("val")
        if node.target not in (torch.ops.aten.item.default, torch.ops.aten.sym_size.int) or not re.fullmatch(r"u\d+", str(size)):
            continue
        lower, upper = bounds_of(inputs, size)
        last = node
        for bound, function, sign in ((lower, operator.ge, ">="), (upper, operator.le, "<=")):
            if bound is None:
                continue
            with graph.inserting_after(last):
                condition = graph.call_function(function, (node, bound))
                condition._written = f"{size!s} {sign} {bound}"
                last = _check(graph, condition, node.meta.get("stack_trace"))
                checks.append(last)
        for check, computed, read in stated:
            if node in read and all(order[other] <= order[node] for other in read):
                # Two checks may share what is computed for them.
                new = [made for made in computed if made not in placed]
                placed.update(new)
                for made in new:
                    last.append(made)
                    last = made
                    made.meta["stack_trace"] = node.meta.get("stack_trace")
                for made in new[:-1]:
                    made.name = graph._names.create(made.target.__name__)
                condition, text = check.args
                check.args = (condition, _failed(text, condition))
                checks.append(check)
    for check in checks:
        check.name = graph._names.create("_assert_scalar_default")


def _read_unknown_sizes(graph):
    """Reads every size that values decide off the call that it comes from, right behind it."""
    known = set()
    for node in list(graph.nodes):
        value = node.meta.get("val")
        if type(value) is torch.SymInt:
            known.update((str(value), node._written))
        if node.op != "call_function" or not isinstance(value, torch.Tensor):
            continue
        for d, size in enumerate(value.shape):
            name = str(size)
            if not re.fullmatch(r"u\d+", name) or name in known:
                continue
            known.add(name)
            with graph.inserting_after(node):
                made = graph.call_function(torch.ops.aten.sym_size.int, (node, d))
            made.meta.update({"val": size, **{key: node.meta[key] for key in ("stack_trace", "nn_module_stack") if key in node.meta}})
            made._written = name
            for other in list(graph.nodes):
                if other is not made and other.op == "call_function" and type(other.meta.get("val")) is torch.SymInt and str(other.meta["val"]) == name:
                    other.replace_all_uses_with(made)
                    graph.erase_node(other)


def _failed(text, condition):
    return f"Runtime assertion failed for expression {text} on node '{condition.name}'"


def _check(graph, condition, place):
    """A check of a condition, right behind it."""
    with graph.inserting_after(condition):
        said = _failed(condition._written, condition)
        check = graph.create_node("call_function", torch.ops.aten._assert_scalar.default, (condition, said), name="_check")
    read = condition.args[0].meta
    for made in (condition, check):
        made.meta["stack_trace"] = place
        if "nn_module_stack" in read:
            made.meta["nn_module_stack"] = read["nn_module_stack"]
    return check


class _Names:
    """Names for a graph: inputs by where they come from, values by their operators, with a number where a name is taken."""

    def __init__(self, graph, specs, inputs):
        self.graph, self.specs, self.inputs = graph, specs, inputs
        self.used, self.next = set(), {}

    def rename(self):
        nodes = {node.name: node for node in self.graph.nodes}
        users = [spec for spec in self.specs if spec.kind is InputKind.USER_INPUT]
        for spec, path in zip(users, self.inputs.paths):
            wanted = "_".join(re.sub(r"[^a-zA-Z0-9]", "_", str(key)).lower() if i else str(key).lower() for i, key in enumerate(path))
            self._name(spec, nodes, wanted)
        for spec in self.specs:
            if spec.kind is not InputKind.USER_INPUT:
                self._name(spec, nodes, _PREFIXES[spec.kind] + re.sub(r"[^a-zA-Z0-9]", "_", spec.target).lower())
        for node in self.graph.nodes:
            if node.op not in ("placeholder", "output"):
                node.name = self._unique(node.name)
        self.graph._names.used = set(self.used)

    def _name(self, spec, nodes, wanted):
        node = nodes[spec.arg.name]
        node.name = node.target = spec.arg.name = self._unique(wanted)

    def _unique(self, wanted):
        base, number = re.match(r"^(.*?)(?:_(\d+))?$", wanted).groups()
        if wanted in self.used:
            count = self.next.get(base, 1)
            while f"{base}_{count}" in self.used:
                count += 1
            wanted, self.next[base] = f"{base}_{count}", count + 1
        elif number is not None:
            self.next[base] = max(self.next.get(base, 1), int(number) + 1)
        self.used.add(wanted)
        return wanted


__all__ = ["Inputs", "ordered", "source", "trace"]
