"""A module's state saved and loaded."""

__dynamo__ = "modules"

from collections import OrderedDict, namedtuple

import torch
from torch.nn.parameter import Parameter, is_lazy

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` could not match."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def _is_tensor_like(value):
    return isinstance(value, torch.Tensor) or hasattr(value, "__torch_function__")


class ModuleState:
    """The part of `Module` that is about its state."""

    def get_extra_state(self):
        """State beyond parameters and buffers; a subclass that has any defines it."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
        )

    def set_extra_state(self, state):
        """Takes back what `get_extra_state` gave."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
        )

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars else param.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """The module's state: dotted names and tensors."""
        if args:
            import warnings

            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args))
            destination = given["destination"] if destination is None else destination
            prefix = prefix or given.get("prefix", "")
            keep_vars = keep_vars or given.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        # A destination that the caller gives may be a plain dictionary.
        getattr(destination, "_metadata", {})[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        children = [(f"{prefix}{name}.", module) for name, module in self._modules.items() if module is not None]
        for path, module in children:
            module.state_dict(destination=destination, prefix=path, keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if result is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = result
        return destination

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = {name: param for name, param in self._parameters.items() if param is not None}
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                own[name] = buffer
        for name, param in own.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(name, key, param, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not ModuleState.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    head, dot, _ = key[len(prefix) :].partition(".")
                    if head not in (self._modules if dot else own):
                        unexpected_keys.append(key)

    def _load_one(self, name, key, param, given, assign, error_msgs):
        if not _is_tensor_like(given):
            error_msgs.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
                f"but received {type(given)}"
            )
            return
        lazy = is_lazy(param)
        if not lazy and len(param.shape) == 0 and len(given.shape) == 1 and given.shape[0] == 1:
            given = given[0]
        if not lazy and given.shape != param.shape:
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current "
                f"model is {param.shape}."
            )
            return
        if param.is_meta and not given.is_meta and not assign:
            import warnings

            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, "
                "which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their "
                "corresponding key in the module instead of copying them in place?)",
                stacklevel=2,
            )
        try:
            with torch.no_grad():
                if not assign:
                    param.copy_(given)
                    return
                if isinstance(param, Parameter):
                    if isinstance(given, Parameter):
                        given.requires_grad_(param.requires_grad)
                    else:
                        given = Parameter(given, requires_grad=param.requires_grad)
                setattr(self, name, given)
        except Exception as error:
            error_msgs.append(
                f'While copying the parameter named "{key}", whose dimensions in the model are {param.size()} and whose '
                f"dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
            )

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies the tensors of a state into this module's own."""
        from collections.abc import Mapping

        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing_keys, unexpected_keys, error_msgs = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata

        def load(module, state, prefix):
            local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local_metadata["assign_to_params_buffers"] = assign
            module._load_from_state_dict(
                state, prefix, local_metadata, True, missing_keys, unexpected_keys, error_msgs
            )
            children = {}
            if module._modules:
                # By child in one go: a model may have as many children as its state has tensors.
                for key, value in state.items():
                    name, is_of_child, _ = key[len(prefix) :].partition(".")
                    if is_of_child and key.startswith(prefix):
                        children.setdefault(name, {})[key] = value
            for name, child in module._modules.items():
                if child is not None:
                    load(child, children.get(name, {}), f"{prefix}{name}.")
            incompatible = _IncompatibleKeys(missing_keys, unexpected_keys)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, incompatible) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                        "values, if incompatible_keys need to be modified, it should be done inplace."
                    )

        load(self, state_dict, "")
        if strict:
            for kind, keys in (("Unexpected", unexpected_keys), ("Missing", missing_keys)):
                if keys:
                    names = ", ".join(f'"{key}"' for key in keys)
                    error_msgs.insert(0, f"{kind} key(s) in state_dict: {names}. ")
        if error_msgs:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(error_msgs))
            )
        return _IncompatibleKeys(missing_keys, unexpected_keys)
