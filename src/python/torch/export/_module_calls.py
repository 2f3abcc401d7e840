"""Which modules an exported program's operators are called in, and with what the modules are called whose signatures are kept.

While it lasts, the children of every module are looked up in a dict that notes by which path the script reached them: a module that is found
at several paths is the one that it was reached as. Calls of a path are counted, and the tracer keeps the number of a call with each
operator (`nn_module_stack` of PyTorch: `{'L__self__b.l@1': ('b.l', 'torch.nn.modules.linear.Linear')}`)."""

import linecache
import sys

import torch
from torch import _native_aot, _native_compile
from torch.utils._pytree import tree_flatten

from ._lines import caller_line, frame_text
from .graph_signature import ConstantArgument, TensorArgument

# The stack of what was made outside of all modules.
NO_STACK = "_empty_nn_module_stack_from_metadata_hook"


def _join(path, name):
    return f"{path}.{name}" if path else name


class _Children(dict):
    """A module's children; notes which are reached."""

    def __init__(self, held, calls, owner):
        super().__init__(held)
        self._calls, self._owner = calls, owner

    def _reached(self, name, child):
        if child is not None:
            self._calls.paths[id(child)] = _join(self._calls.paths[self._owner], str(name))
        return child

    def __getitem__(self, name):
        return self._reached(name, super().__getitem__(name))

    def get(self, name, default=None):
        return self[name] if name in self else default

    def items(self):
        return _Each(self, lambda name, child: (name, child))

    def values(self):
        return _Each(self, lambda name, child: child)


class _Each:
    """The children one by one, each noted when it is its turn."""

    def __init__(self, children, give):
        self._children, self._give = children, give

    def __len__(self):
        return len(self._children)

    def __iter__(self):
        for name, child in dict.items(self._children):
            yield self._give(name, self._children._reached(name, child))


class ModuleCalls:
    """The calls of the modules below one, while it is traced."""

    def __init__(self, root, preserved=()):
        self._root, self._preserved = root, preserved
        self.hierarchy, self.paths = [], {}
        for name, module in root.named_modules(remove_duplicate=False):
            self.hierarchy.append(name)
            self.paths.setdefault(id(module), name)
        # Of each call its key, and its module's path and class; and the frames of `forward` that it is made in.
        self.calls, self.places, self._counts, self._last = [], [], {}, {}
        self._specs, self._met = {}, []

    def __enter__(self):
        self._before = []
        for module in self._root.modules():
            held = module.__dict__["_modules"]
            self._before.append((module, held))
            module.__dict__["_modules"] = _Children(held, self, id(module))
        self._hooks = [hook for path in self._preserved for hook in self._watch(path)]
        _native_compile._number_module_calls(self._number)
        return self

    def __exit__(self, *_):
        _native_compile._number_module_calls(None)
        for hook in self._hooks:
            hook.remove()
        for module, held in self._before:
            module.__dict__["_modules"] = held

    def _number(self, module):
        path = self.paths.get(id(module))
        if path is None:
            return None
        count = self._counts.get(path, 0)
        self._counts[path] = count + 1
        cls = type(module)
        self.calls.append((f"L__self__{path}" + (f"@{count}" if count else ""), path, f"{cls.__module__}.{cls.__qualname__}"))
        self._last[id(module)] = len(self.calls) - 1
        self.places.append(_caller())
        return len(self.calls) - 1

    def stack(self, node):
        """The modules that a node was made in, as PyTorch tells them."""
        told = node.meta.get("nn_module_stack") or {}
        calls = [self.calls[int(number)] for number in told]
        return {key: (path, cls) for key, path, cls in calls}

    def frames(self, told, own):
        """Where a node was made, as PyTorch tells it: every `forward` on the way there. `told` are the numbers of calls, `own` is the last place."""
        frames = []
        for outer, number in zip([None, *told], told):
            place = self.places[int(number)]
            if outer is not None and place is None:
                path = self.calls[int(number)][1]
                place = caller_line(self._root.get_submodule(self.calls[int(outer)][1]), path.rpartition(".")[2])
            if outer is not None and place is not None:
                frames.append(place)
        if own is not None and own not in frames:
            frames.append(own)
        return "\n".join(frames).lstrip() if frames else None

    # Signatures that are kept

    def _watch(self, path):
        module = self._root
        for name in path.split("."):
            module = getattr(module, name)

        def before(module, args, kwargs):
            leaves, _ = tree_flatten((args, kwargs))
            self._meet(module, path, "inputs", leaves)

        def behind(module, args, kwargs, result):
            _, in_spec = tree_flatten((args, kwargs))
            leaves, out_spec = tree_flatten(result)
            self._meet(module, path, "outputs", leaves)
            known = self._specs.setdefault(path, {"in_spec": in_spec, "out_spec": out_spec})
            for name, spec in (("in_spec", in_spec), ("out_spec", out_spec)):
                if known[name] != spec:
                    raise AssertionError(f"{name} mismatch for _export_root.{path}: {known[name]} != {spec}")

        return module.register_forward_pre_hook(before, with_kwargs=True), module.register_forward_hook(behind, with_kwargs=True)

    def _meet(self, module, path, kind, leaves):
        for leaf in leaves:
            if not (isinstance(leaf, (torch.Tensor, str, int, float, bool)) or leaf is None) or type(leaf) in (torch.SymInt, torch.SymFloat):
                raise AssertionError(f"Only Tensors or scalars are supported as pytree flattened inputs, got: {leaf}")
        key, called_as, _ = self.calls[self._last[id(module)]]
        if called_as == path:
            named = [TensorArgument(_native_aot._traced_name(x)) if isinstance(x, torch.Tensor) else ConstantArgument("", x) for x in leaves]
            self._met.append((path, key.removeprefix("L__self__"), kind, named))

    def signatures(self, named):
        """By the names of calls (`b`, `b@1`), what they take and give; `named` says which nodes values became."""
        from .exported_program import ModuleCallSignature

        made = {path: ModuleCallSignature([], [], **specs) for path, specs in self._specs.items()}
        for path, call, kind, leaves in self._met:
            if call not in made:
                made[call] = ModuleCallSignature([], [], **self._specs[path])
            for leaf in leaves:
                is_value = isinstance(leaf, TensorArgument)
                getattr(made[call], kind).append(TensorArgument(named[leaf.name].name) if is_value else leaf)
        return made


def _caller():
    """The script's `forward` that is running; None where a module of PyTorch's is."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "forward":
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename.startswith("torch/"):
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    return frame_text(file.rpartition("/")[2], line, linecache.getline(file, line))


def entries(hierarchy, own, signatures):
    """The program's calls of modules: its own first, every module, then the further calls of some."""
    from .exported_program import ModuleCallEntry

    told = [ModuleCallEntry(path, own if path == "" else signatures.get(path)) for path in hierarchy]
    return told + [ModuleCallEntry(call, signature) for call, signature in signatures.items() if call not in hierarchy]


__all__ = ["NO_STACK", "ModuleCalls", "entries"]
