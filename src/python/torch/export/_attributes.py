"""Attributes that a module's `forward` sets while it is exported: they are put back, for nothing but the trace has run."""

import warnings

import torch
from torch.utils._pytree import tree_map

# What modules keep for themselves.
_OWN = frozenset(
    "training _parameters _buffers _modules _non_persistent_buffers_set _backward_pre_hooks _backward_hooks _is_full_backward_hook "
    "_forward_hooks _forward_hooks_with_kwargs _forward_hooks_always_called _forward_pre_hooks _forward_pre_hooks_with_kwargs "
    "_state_dict_hooks _state_dict_pre_hooks _load_state_dict_pre_hooks _load_state_dict_post_hooks _initialize_hook _load_hook".split()
)


class Attributes:
    """The attributes of a module and of those below it, as they are now."""

    def __init__(self, mod):
        self._mod = mod
        self._now = _attributes(mod)
        self._copies = tree_map(lambda value: value, self._now)

    def tensors(self):
        """The tensors among them, with their paths."""
        for prefix, held in self._now.items():
            for name, value in held.items():
                if isinstance(value, torch.Tensor):
                    yield f"{prefix}.{name}" if prefix else name, value

    def put_back(self, strict):
        """Undoes what was set since. Dynamo never sets anything; without it, attributes that are new stay, and tensors are warned of."""
        after = _attributes(self._mod)
        modules = dict(self._mod.named_modules())
        if strict:
            for prefix, held in self._now.items():
                attributes = vars(modules[prefix])
                for name in after.get(prefix, {}).keys() - held.keys():
                    del attributes[name]
                for name, value in held.items():
                    _refill(value, self._copies[prefix][name])
                attributes.update(held)
            return
        assigned = []
        for prefix, held in after.items():
            before = self._copies.get(prefix, {})
            for name in [*before, *(name for name in held if name not in before)]:
                _assigned(f"self.{prefix}.{name}" if prefix else f"self.{name}", before.get(name), held.get(name), assigned)
        for prefix, held in self._copies.items():
            if prefix in modules:
                vars(modules[prefix]).update(held)
        if assigned:
            several = len(assigned) > 1
            warnings.warn(
                f"The tensor {'attributes' if several else 'attribute'} {', '.join(assigned)} "
                f"{'were' if several else 'was'} assigned during export. Such attributes must be registered as buffers using the "
                "`register_buffer` API (https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer).",
                stacklevel=4,
            )


def _attributes(mod):
    return {prefix: {name: value for name, value in vars(module).items() if name not in _OWN} for prefix, module in mod.named_modules()}


def _refill(container, copy):
    """Gives lists and dicts, and those within them, what they held."""
    if isinstance(container, list):
        container[:] = [_refill(*pair) for pair in zip(_originals(container, copy), copy)]
    elif isinstance(container, dict):
        kept = {key: container[key] if key in container else value for key, value in copy.items()}
        container.clear()
        container.update({key: _refill(kept[key], value) for key, value in copy.items()})
    else:
        return copy
    return container


def _originals(container, copy):
    return [container[i] if i < len(container) and type(container[i]) is type(value) else value for i, value in enumerate(copy)]


def _assigned(path, old, new, found):
    """Adds the places of tensors that were not there before."""
    if old is new:
        return
    if isinstance(new, torch.Tensor):
        found.append(path)
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            _assigned(f"{path}[{key!r}]", old.get(key), new.get(key), found)
    elif isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        for i in range(max(len(old), len(new))):
            _assigned(f"{path}[{i}]", old[i] if i < len(old) else None, new[i] if i < len(new) else None, found)


__all__ = ["Attributes"]
