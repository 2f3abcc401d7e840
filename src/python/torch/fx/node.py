"""One step of a graph: what is called, on what, and who reads the result."""

import builtins
import operator
import types

import torch
from torch.fx.immutable_collections import immutable_dict, immutable_list

# Functions whose call matters though nobody reads the result.
_side_effectful_functions = {operator.setitem}
# Operators that raise, and give nothing that anybody could read.
_CHECKS = {
    "aten._assert_scalar.default", "aten._assert_async.msg", "aten._assert_async.default", "aten._assert_tensor_metadata.default",
    "aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default",
}  # fmt: skip


def has_side_effect(fn):
    """Registers a function whose calls are kept where nobody reads them."""
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a, fn):
    """The argument with `fn` applied to every leaf of its tuples, lists, dicts and slices."""
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        # What operators return with names is a tuple to a graph.
        return type(a)(*items) if hasattr(a, "_make") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict({name: map_aggregate(item, fn) for name, item in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a, fn):
    """The argument with `fn` applied to every node in it."""
    return map_aggregate(a, lambda leaf: fn(leaf) if isinstance(leaf, Node) else leaf)


def type_repr(obj):
    """A type as annotations write it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        return obj.__qualname__ if obj.__module__ == "builtins" else f"{obj.__module__}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    return obj.__name__ if isinstance(obj, types.FunctionType) else repr(obj)


def qualified_name(func):
    """A function by the dotted name that code calls it by: `torch.nn.functional.relu`, `operator.add`."""
    written = torch._native._written_name(func)
    if written is not None:
        return written
    name = func.__name__
    if getattr(builtins, name, None) is func:
        return name
    if func is getattr(torch.Tensor, name, None):
        return f"torch.Tensor.{name}"
    module = getattr(func, "__module__", None)
    if module is None:
        raise RuntimeError(f"cannot find module for {func}")
    if module == "torch._native":
        # PyTorch has what is private in its extension.
        module = "torch._C" if name.startswith("_") else "torch"
    return f"{module}.{name}"


def format_arg(arg):
    """An argument as `print(graph)` shows it."""
    if isinstance(arg, list):
        return f"[{', '.join(map(format_arg, arg))}]"
    if isinstance(arg, tuple):
        return f"({', '.join(map(format_arg, arg))}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{name}: {format_arg(item)}" for name, item in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node:
    """A call, an input, a look-up or the output of a graph. `op` is one of placeholder, get_attr, call_function,
    call_module, call_method, output; `users` are the nodes that read it, as keys of a dict in order."""

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.meta = {}
        # The symbolic sizes and strides of its value, or its symbolic number, as text.
        self._written = None
        # The node of a replayed graph that it was made by, by its name.
        self._from_node = None
        self.users = {}
        self._input_nodes = {}
        self._prev = self._next = self
        self._erased = False
        self._args = ()
        self._kwargs = {}
        self._set(args, kwargs)

    def _set(self, args, kwargs):
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._input_nodes = {}

        def seen(leaf):
            if isinstance(leaf, Node):
                self._input_nodes[leaf] = None
                leaf.users[self] = None
            return leaf

        self._args = map_aggregate(tuple(args), seen)
        self._kwargs = map_aggregate(dict(kwargs), seen)
        self.graph._changed()

    args = property(lambda self: self._args, lambda self, args: self._set(args, self._kwargs))
    kwargs = property(lambda self: self._kwargs, lambda self, kwargs: self._set(self._args, kwargs))
    next = property(lambda self: self._next, doc="The node after this one.")
    prev = property(lambda self: self._prev, doc="The node before this one.")

    @property
    def all_input_nodes(self):
        """The nodes it reads, each once."""
        return list(self._input_nodes)

    @property
    def stack_trace(self):
        """Where the script called it, as a traceback prints it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if name == "target" and "_kwargs" in self.__dict__:
            self.graph._changed()

    def prepend(self, x):
        """Moves `x` in front of this node."""
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._unlink()
        x._prev, x._next = self._prev, self
        self._prev._next = self._prev = x
        self.graph._changed()

    def append(self, x):
        """Moves `x` behind this node."""
        self._next.prepend(x)

    def _unlink(self):
        self._prev._next, self._next._prev = self._next, self._prev

    def update_arg(self, idx, arg):
        """Replaces a positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        """Inserts a positional argument."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key, arg):
        """Replaces a keyword argument."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input, new_input):
        """Reads `new_input` wherever it read `old_input`."""
        swap = lambda n: new_input if n is old_input else n
        self._set(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def replace_all_uses_with(self, replace_with, delete_user_cb=lambda user: True, *, propagate_meta=False):
        """Lets its readers read another node instead; returns those that do."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def is_impure(self, impure_random=True):
        """Whether it stays though nobody reads it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            schema = getattr(self.target, "_schema", None)
            if schema is not None and getattr(schema, "is_mutable", False):
                return True
            if impure_random and torch.Tag.nondeterministic_seeded in getattr(self.target, "tags", ()):
                return True
            return self.target in _side_effectful_functions or str(self.target) in _CHECKS or self.target in (torch._assert, torch._C._set_grad_enabled)
        if self.op == "call_module":
            module = self.graph.owning_module and self.graph.owning_module.get_submodule(self.target)
            return getattr(module, "_is_impure", False)
        return False

    def normalized_arguments(self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
        """The arguments by the names that the called function or module has for them; None where those are not known."""
        from torch.fx.operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    @staticmethod
    def _pretty_print_target(target):
        if isinstance(target, str):
            return target
        module = getattr(target, "__module__", None)
        if module in ("builtins", "_operator"):
            return f"{module.lstrip('_')}.{target.__name__}"
        return qualified_name(target)

    def format_node(self):
        """The node as a line of `print(graph)`."""
        typed = f"{type_repr(self.type)} " if self.type is not None else ""
        head = f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            return f"{head}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"{head}[target={self.target}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        target = self._pretty_print_target(self.target)
        return f"{head}[target={target}](args = {format_arg(self.args)}, kwargs = {format_arg(self.kwargs)})"

    def _rename(self, candidate):
        if candidate != self.name:
            self.name = self.graph._names.create(candidate)
            self.graph._changed()

    def __repr__(self):
        return self.name

    def __lt__(self, other):
        return self._position() < other._position()

    def _position(self):
        return list(self.graph.nodes).index(self)


Argument = object
Target = object
