"""`Optimizer`, the base: parameter groups, state, hooks, saving; and `PerParameter`, for those whose step treats one parameter
after the other."""

__dynamo__ = "optimizers"

import functools
from collections import OrderedDict, defaultdict

import torch
from torch import _native_compile
from torch.utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_pre_hook", "register_optimizer_step_post_hook"]

_global_optimizer_pre_hooks = OrderedDict()
_global_optimizer_post_hooks = OrderedDict()
_HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


class _RequiredParameter:
    """The default of an option that a group has to give."""

    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()


def _add(hooks, hook, prepend=False):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook):
    """Calls `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    return _add(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Calls `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return _add(_global_optimizer_post_hooks, hook)


def _get_scalar_dtype():
    """The dtype of counters kept as tensors."""
    return torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32


def _to_scalar(x):
    """A tensor of one element without dimensions."""
    return x.squeeze() if isinstance(x, torch.Tensor) and x.dim() != 0 else x


def _check_options(lr, **options):
    """Refuses options out of range."""
    if isinstance(lr, torch.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(f"Invalid learning rate: {lr}")
    for name, value in options.items():
        if name == "betas":
            for place in (0, 1):
                if not 0.0 <= value[place] < 1.0:
                    raise ValueError(f"Invalid beta parameter at index {place}: {value[place]}")
        elif not 0.0 <= value:
            raise ValueError(f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def _hooked(step):
    """`step` with its hooks around."""

    @functools.wraps(step)
    def wrapper(*args, **kwargs):
        self = args[0]
        for hook in (*_global_optimizer_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
            result = hook(self, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}."
                    )
                args, kwargs = result
        out = step(*args, **kwargs)
        for hook in (*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()):
            hook(self, args, kwargs)
        return out

    wrapper.hooked = True
    return wrapper


def _outside_graphs(method):
    """Keeps a method out of what is captured."""

    @functools.wraps(method)
    def outside(*args, **kwargs):
        if not _native_compile._is_compiling():
            return method(*args, **kwargs)
        from torch._dynamo.eval_frame import call_skipped

        return call_skipped(method, "torch._compile", args, kwargs)

    outside._torchdynamo_disable = True
    return outside


def _without_gradients(step):
    """`step` with gradients off around it, unless it is to be differentiated. What is captured ends before it, and it is captured
    on its own, as a function that begins without gradients: so its graph writes to the parameters."""

    @functools.wraps(step)
    def alone(self, *args, **kwargs):
        if _native_compile._is_compiling():
            _native_compile._graph_break("requested")
        with _native_compile._skipped():
            before = torch.is_grad_enabled()
            torch._C._set_grad_enabled(bool(self.defaults.get("differentiable", False)))
            try:
                with _native_compile._skipped():
                    return step(self, *args, **kwargs)
            finally:
                torch._C._set_grad_enabled(before)

    # What the caller depends on ends here.
    alone._torchdynamo_disable = True
    return alone


def _in_graph(group):
    """Whether numbers that tensors hold stay tensors."""
    return group.get("capturable", False) or group["differentiable"] or _native_compile._is_compiling()


def _value(number):
    """The number of a counter: the counter itself, where a graph is captured."""
    return number if _native_compile._is_compiling() else number.item()


class Optimizer:
    """The base of all optimizers."""

    def __init__(self, params, defaults):
        self.defaults = defaults
        for name in _HOOKS:
            setattr(self, name, OrderedDict())
        self._patch_step_function()
        if isinstance(params, torch.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + torch.typename(params)
            )
        if isinstance(params, set):
            import warnings

            warnings.warn(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
                "change between runs. Please use a list instead. This will be an error in a future release.",
                FutureWarning,
                stacklevel=3,
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if len(groups) == 0:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _patch_step_function(self):
        """Puts hooks around the class's `step`, once."""
        if not getattr(self.__class__.step, "hooked", False):
            self.__class__.step = _hooked(self.__class__.step)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self):
        text = self.__class__.__name__ + " ("
        for place, group in enumerate(self.param_groups):
            text += f"\nParameter Group {place}\n"
            for key in sorted(group.keys()):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"

    def register_step_pre_hook(self, hook):
        """Calls `hook(optimizer, args, kwargs)` before every step."""
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Calls `hook(optimizer, args, kwargs)` after every step."""
        return _add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Calls `hook(optimizer)` before `state_dict`."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Calls `hook(optimizer, state_dict)` after `state_dict`."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Calls `hook(optimizer, state_dict)` before `load_state_dict`."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Calls `hook(optimizer)` after `load_state_dict`."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    @_outside_graphs
    def state_dict(self):
        """The state, with parameters by number."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers = {}
        groups = []
        count = 0
        for group in self.param_groups:
            for place, param in enumerate(group["params"], count):
                numbers.setdefault(id(param), place)
            count += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {
            (numbers[id(key)] if isinstance(key, torch.Tensor) else key): value for key, value in self.state.items()
        }
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    @staticmethod
    def _cast(param, value, key=None):
        """A saved value on the parameter's device and of its dtype."""
        if isinstance(value, torch.Tensor):
            if key == "step":
                return value
            if param.is_floating_point():
                return value.to(dtype=param.dtype, device=param.device)
            return value.to(device=param.device)
        if isinstance(value, dict):
            return {name: Optimizer._cast(param, one, name) for name, one in value.items()}
        if hasattr(value, "__iter__") and not isinstance(value, (str, bytes)):
            return type(value)(Optimizer._cast(param, one) for one in value)
        return value

    @_outside_graphs
    def load_state_dict(self, state_dict):
        """Takes over a state that `state_dict` gave."""
        from copy import deepcopy

        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        saved = deepcopy(state_dict["param_groups"])
        if len(self.param_groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(own["params"]) != len(group["params"]) for own, group in zip(self.param_groups, saved)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        params = {
            number: param
            for own, group in zip(self.param_groups, saved)
            for number, param in zip(group["params"], own["params"])
        }
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = self._cast(params[key], value)
            else:
                state[key] = value
        for own, group in zip(self.param_groups, saved):
            group["params"] = own["params"]
            if "param_names" in own and "param_names" not in group:
                group["param_names"] = own["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    @_outside_graphs
    def zero_grad(self, set_to_none=True):
        """Forgets the parameters' gradients, or sets them to zero."""
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                    continue
                if param.grad.grad_fn is not None:
                    param.grad.detach_()
                else:
                    param.grad.requires_grad_(False)
                param.grad.zero_()

    def step(self, closure=None):
        """Updates the parameters."""
        raise NotImplementedError

    @_outside_graphs
    def add_param_group(self, param_group):
        """Adds parameters with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, torch.Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
                "change between runs. Please use a list instead."
            )
        params = list(params)
        names = [param[0] for param in params if isinstance(param, tuple)]
        param_group["params"] = params = [param[1] if isinstance(param, tuple) else param for param in params]
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        for param in params:
            if not isinstance(param, torch.Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + torch.typename(param))
            if not self.defaults.get("differentiable", None) and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            import warnings

            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        known = set()
        for group in self.param_groups:
            known.update(group["params"])
            if ("param_names" in param_group) != ("param_names" in group):
                kind = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{kind} to the optimizer"
                )
        if not known.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)


class PerParameter(Optimizer):
    """An optimizer that says how one parameter's state begins (`_start`) and how it is updated (`_update`).

    Parameters are updated one by one also where `foreach` or `fused` is asked for.
    """

    def _start(self, param, group):
        """The first state of a parameter."""
        return {}

    def _update(self, param, grad, state, group):
        """Changes `param` and `state` in place."""
        raise NotImplementedError

    def _check_gradient(self, grad):
        if grad.is_sparse:
            raise RuntimeError(f"{self.__class__.__name__} does not support sparse gradients")

    @_without_gradients
    def step(self, closure=None):
        """Updates the parameters; `closure` computes the loss anew."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if _native_compile._is_compiling():
            self._become_inputs()
        for group in self.param_groups:
            self._step_group(group)
        if _native_compile._is_compiling():
            for param in self._realized_first(self.param_groups):
                _native_compile._return_first(*self.state.get(param, {}).values())
        return loss

    def _realized_first(self, groups):
        """Of each group, the parameter whose state Dynamo realizes before the others': one that is not the first of all."""
        keys = {id(param): place for place, param in enumerate(self.state)}
        for group in groups:
            for param in group["params"]:
                if param.grad is not None and keys.get(id(param)):
                    yield param
                    break

    def _become_inputs(self):
        """Parameters, state, options that vary and gradients become inputs of what is captured, in PyTorch's order."""

        _native_compile._become_inputs(*(param for group in self.param_groups for param in group["params"]))
        for place, group in enumerate(self.param_groups):
            with _native_compile._suspended():
                self._begin_states(group)
            for param in self._realized_first(self.param_groups[: place + 1]):
                _native_compile._become_inputs(*self.state.get(param, {}).values())
            states = [self.state.get(param, {}) for param in group["params"]]
            _native_compile._become_inputs(*(state[key] for key in self._read_first for state in states if key in state))
            for state in states:
                _native_compile._become_inputs(*self._tensors_of(state))
        for group in self.param_groups:
            _native_compile._become_inputs(*group.values())
        for group in self.param_groups:
            _native_compile._become_inputs(*(param.grad for param in group["params"] if param.grad is not None))

    # What a step reads of all parameters before it updates the first.
    _read_first = ()

    def _tensors_of(self, state):
        """A parameter's state in the order in which a step reads it."""
        return state.values()

    def _begin_states(self, group):
        """Begins the state of parameters that have a gradient and no state; gives those that have a gradient."""
        params = [param for param in group["params"] if param.grad is not None]
        for param in params:
            self._check_gradient(param.grad)
            state = self.state[param]
            if len(state) == 0:
                state.update(self._start(param, group))
        return params

    def _step_group(self, group):
        for param in self._begin_states(group):
            grad = -param.grad if group.get("maximize", False) else param.grad
            state = self.state[param]
            if param.is_complex():
                state = {
                    key: torch.view_as_real(value) if isinstance(value, torch.Tensor) and value.is_complex() else value
                    for key, value in state.items()
                }
                param, grad = torch.view_as_real(param), torch.view_as_real(grad)
            self._update(param, grad, state, group)


def _counter(value=0.0):
    """A counter of steps."""
    return torch.tensor(value, dtype=_get_scalar_dtype())


def _decayed(param, grad, lr, group):
    """The gradient with the weight decay in it; a decoupled decay takes the parameter down by itself."""
    decay = group["weight_decay"]
    if decay == 0:
        return grad
    if group["decoupled_weight_decay"]:
        param.mul_(1 - lr * decay)
        return grad
    return grad.add(param, alpha=decay)


def _move_moments(average, square, grad, betas):
    """Moves the averages of the gradient and of its square towards those of this step."""
    average.lerp_(grad, 1 - betas[0])
    square.mul_(betas[1]).addcmul_(grad, grad, value=1 - betas[1])


def _zeros(param):
    """Zeros laid out like `param`."""
    return torch.zeros_like(param, memory_format=torch.preserve_format)
