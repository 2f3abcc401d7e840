"""`torch.compile`: a compiled function runs its Python body on every call and hands what it records to its backend."""

import functools
import inspect
import re
import sys
import warnings
import weakref

import torch
from torch import _native, _native_compile
from torch._arguments import unobeyed


# The class of Python's modules: what a script imports is no place where it keeps tensors.
_MODULE = type(sys)
_FUNCTION = type(lambda: None)
# What a module keeps its tensors and modules in: those have names of their own.
_MODULE_STATE = {"_parameters", "_buffers", "_modules"}


checks_distributions = True


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend=None,
    mode=None,
    options=None,
    name=None,
    disable=False,
    recompile_limit=None,
    isolate_recompiles=False,
    dynamic_shapes=None,
):
    """Compiles a function or module; as a decorator too."""
    unobeyed("torch.compile", name=(name, None), recompile_limit=(recompile_limit, None), dynamic_shapes=(dynamic_shapes, None))
    unobeyed("torch.compile", isolate_recompiles=(isolate_recompiles, False))
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return lambda model: compile(
            model, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    if disable:
        return model
    jit = sys.modules.get("torch.jit")
    if jit is not None and isinstance(model, jit.ScriptModule):
        raise RuntimeError(
            "torch.compile does not support compiling torch.jit.script or torch.jit.freeze models directly.\n\n"
            "Workaround: compile the original eager module instead:\n"
            "  model = torch.nn.Linear(3, 3)\n"
            "  compiled_model = torch.compile(model)  # compile the eager module\n\n"
            "torch.jit.script and torch.jit.freeze are deprecated in favor of torch.compile. See "
            "https://pytorch.org/docs/main/jit.html for details."
        )
    unobeyed("torch.compile", **{"options['use_aoti']": ((options or {}).get("use_aoti"), None)})
    # Like PyTorch, this takes it out of the script's dictionary.
    guard_filter = options.pop("guard_filter_fn", None) if isinstance(options, dict) else None
    _read_environment()
    config = sys.modules.get("torch._dynamo.config")
    if config is not None and config.suppress_errors and config.fail_on_recompile_limit_hit:
        raise AssertionError(
            "Dynamo configs suppress_error and fail_on_recompile_limit_hit can not both be active at the same time."
        )
    _without_checks_of_distributions()
    if model is None:
        raise RuntimeError("Model can't be None")
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    settings = None
    if backend is None or backend == "inductor":
        if mode is not None or options:
            from torch._inductor import _settings

            settings = _settings(mode, options)
        backend = _native._default_backend() or "aot_eager"
    elif isinstance(backend, str):
        from torch._dynamo.backends.registry import _known

        backend = _known(backend)
    given = {name: value for name, value in (("mode", mode), ("options", options)) if value and value != "default"}
    if given and callable(backend):
        backend = functools.partial(_with_settings, backend, given)
    if isinstance(model, type):
        raise RuntimeError("torch.compile does not support compiling classes directly")
    from torch.nn import Module

    if isinstance(model, Module):
        options = {"settings": settings, "guard_filter": guard_filter}
        return OptimizedModule(model, functools.partial(_Call, backend=backend, fullgraph=fullgraph, dynamic=dynamic, **options))
    return _optimize_function(model, backend, fullgraph, dynamic, settings, guard_filter)


_MODULES_OF_SETTINGS = ("torch._dynamo.config", "torch._functorch.config", "torch._inductor.config")


def _read_environment():
    """A script may have set environment variables of settings: their modules are imported, which is when they are read."""
    os = sys.modules.get("os")
    if os is not None and any(name.startswith(("TORCH", "AOT_", "INDUCTOR_", "PARTITIONER_")) for name in os.environ):
        for module in _MODULES_OF_SETTINGS:
            __import__(module)


def _with_settings(backend, given, gm, example_inputs):
    return backend(gm, example_inputs, **given)


def optimize(
    backend="inductor",
    *,
    nopython=False,
    error_on_graph_break=None,
    guard_export_fn=None,
    guard_fail_fn=None,
    guard_filter_fn=None,
    disable=False,
    dynamic=None,
    package=None,
    recompile_limit=None,
    isolate_recompiles=False,
    dynamic_shapes=None,
):
    """The older spelling of `torch.compile`."""
    unobeyed("torch._dynamo.optimize", error_on_graph_break=(error_on_graph_break, None), guard_export_fn=(guard_export_fn, None))
    unobeyed("torch._dynamo.optimize", guard_fail_fn=(guard_fail_fn, None), package=(package, None))
    return lambda fn: compile(
        fn,
        backend=backend,
        fullgraph=nopython,
        dynamic=dynamic,
        options=None if guard_filter_fn is None else {"guard_filter_fn": guard_filter_fn},
        disable=disable,
        recompile_limit=recompile_limit,
        isolate_recompiles=isolate_recompiles,
        dynamic_shapes=dynamic_shapes,
    )


def innermost_fn(fn):
    """The function that was compiled, of one that `torch.compile` gave; any other as it is, also where it has taken the attributes of such
    one over."""
    while getattr(fn, "_torchdynamo_wrapper_id", None) == id(fn):
        fn = fn._torchdynamo_orig_callable
    return fn


def _optimize_function(fn, backend, fullgraph, dynamic, settings=None, guard_filter=None):
    fn = innermost_fn(fn)
    if hasattr(fn, "_torchdynamo_wrapper_id"):
        raise AssertionError("compile_wrapper already has a get_compiler_config attribute")
    call = _Call(fn, backend, fullgraph, dynamic, settings=settings, guard_filter=guard_filter)

    @functools.wraps(fn)
    def compiled(*args, **kwargs):
        return call(args, kwargs)

    compiled._torchdynamo_orig_callable = fn
    compiled._torchdynamo_wrapper_id = id(compiled)
    compiled._torchdynamo_call = call
    return compiled


def _without_checks_of_distributions():
    """Dynamo, once it is used, turns off what distributions check of their arguments."""
    global checks_distributions
    checks_distributions = False
    module = sys.modules.get("torch.distributions.distribution")
    if module is not None:
        module.Distribution._validate_args = False


def _is_builtin(fn):
    """Whether it is a module whose `forward` is PyTorch's: those are called through a function `inner(*args, **kwargs)` that holds them
    as `fn`."""
    return hasattr(fn, "named_parameters") and (getattr(fn.forward, "__module__", None) or "").startswith("torch.nn.")


def _called_module(fn):
    """The module that `module.compile()` compiles the call of; otherwise what is compiled."""
    return fn.__self__ if getattr(fn, "__name__", None) == "_call_impl" else fn


def _inner(*args, **kwargs):
    """Stands for the function through which PyTorch calls what has no code of its own."""


def _state(fn, backend, dynamic, settings=None, guard_filter=None):
    """The cache of a callable's code: callables with the same code share it."""
    fn = _called_module(fn)
    inner = getattr(type(fn), "forward", None) if hasattr(fn, "named_parameters") else fn
    code = _inner.__code__ if _is_builtin(fn) else getattr(inner, "__code__", _inner.__code__)
    return _native_compile._compiled_state(code, backend, dynamic, settings, guard_filter)


def _watch_calls():
    """Calls of Python's own library that break a graph which is captured: what is logged, what is warned of, and copies of containers."""
    logging = sys.modules.get("logging")
    if logging is not None and not hasattr(logging.Logger.info, "_ends_graphs"):
        for name in ("debug", "info", "warning", "error", "exception", "critical", "log"):
            setattr(logging.Logger, name, _log_outside(getattr(logging.Logger, name)))
    warnings = sys.modules.get("warnings")
    if warnings is not None and not hasattr(warnings.warn, "_ends_graphs"):
        warnings.warn = _warn_outside(warnings.warn)
    copy = sys.modules.get("copy")
    if copy is not None and not isinstance(copy._copy_builtin_containers, _Containers):
        copy._copy_builtin_containers = _Containers(copy._copy_builtin_containers)


class _Containers(frozenset):
    """The classes that `copy.copy` copies by a method of theirs: it asks right before it calls that."""

    def __contains__(self, kind):
        found = super().__contains__(kind)
        if found and _native_compile._is_compiling():
            _native_compile._graph_break("unknown_builtin", f"{kind.__name__}.copy", "<unknown module>")
        return found


def _check_ignored(functions):
    """What `ignore_logging_functions` names are functions that messages go through: others cannot be left out here."""
    for function in functions:
        called = getattr(function, "__func__", function)
        is_warn = getattr(called, "__name__", "") == "warn" and getattr(called, "__module__", "") in ("warnings", "_warnings")
        if not (is_warn or getattr(called, "__qualname__", "").startswith("Logger.")):
            text = f"torch._dynamo.config.ignore_logging_functions with {function!r} is not supported in the playground"
            raise NotImplementedError(f"{text}: it takes methods of loggers and warnings.warn")


def _is_ignored(function, logger=None):
    """Whether `ignore_logging_functions` names a function that messages go through, or the method of this logger."""
    config = sys.modules.get("torch._dynamo.config")
    for ignored in config.ignore_logging_functions if config is not None else ():
        called = getattr(ignored, "__func__", ignored)
        if getattr(called, "__wrapped__", called) is function and getattr(ignored, "__self__", logger) is logger:
            return True
    return False


def _log_outside(method):
    @functools.wraps(method)
    def logs(logger, *args, stacklevel=1, **kwargs):
        if _native_compile._is_compiling():
            if _is_ignored(method, logger):
                return None
            shown = [f"ConstantVariable({type(arg).__name__}: {arg!r})" for arg in args if isinstance(arg, (str, int, float))]
            _native_compile._graph_break("logging", repr(logger), method.__name__, *shown)
        # The caller is one frame further up.
        return method(logger, *args, stacklevel=stacklevel + 1, **kwargs)

    logs._ends_graphs = True
    return logs


def _warn_outside(function):
    @functools.wraps(function)
    def warn(message, category=None, stacklevel=1, source=None, **kwargs):
        # What a function of torch warns of that is a call of the graph, is warned of when it is called with fake tensors.
        if _native_compile._is_compiling() and not _native_compile._is_in_call():
            if _is_ignored(function):
                return None
            _native_compile._graph_break("warning")
        return function(message, category, stacklevel + 1, source, **kwargs)

    warn._ends_graphs = True
    return warn


class _Call:
    """A compiled callable: its cache, and names for what it finds its tensors under."""

    def __init__(self, fn, backend, fullgraph, dynamic, self_name=None, settings=None, guard_filter=None):
        self.fn = fn
        self.self_name = self_name
        self.settings = settings
        self.fullgraph = fullgraph
        self.how = backend, fullgraph, dynamic, settings
        self.state = _state(fn, backend, dynamic, settings, guard_filter)

    def __call__(self, args, kwargs):
        if not self.settings:
            return self._call(args, kwargs)
        # Compilation happens inside a call; what the compiled function itself asks sees them too.
        from torch._inductor import config

        with config.patch(self.settings):
            return self._call(args, kwargs)

    def _call(self, args, kwargs):
        config = sys.modules.get("torch._dynamo.config")
        if config is not None and config.disable:
            return self.fn(*args, **kwargs)
        tracing = sys.modules.get("torch.fx._symbolic_trace")
        if tracing is not None and tracing.is_fx_symbolic_tracing():
            raise RuntimeError(
                "Detected that you are using FX to symbolically trace a dynamo-optimized function. This is not supported at the moment."
            )
        _watch_calls()
        if config is not None and config.ignore_logging_functions:
            _check_ignored(config.ignore_logging_functions)
        called = _called_module(self.fn)
        names = _Names(called, self.self_name, args, kwargs)
        if "torch.compiler.config" in sys.modules:
            from torch._dynamo._named_sources import check_numbers

            check_numbers(names._bound())
        name = getattr(called, "__name__", None) or type(called).__name__
        if config is None or not config.compiled_autograd:
            return _native_compile._call_compiled(self.state, self.fullgraph, self.fn, name, names, args, kwargs)
        # Backwards that the function runs are compiled likewise.
        from torch._dynamo.compiled_autograd import _enable

        backend, fullgraph, dynamic, settings = self.how
        override = config.compiled_autograd_kwargs_override
        if override:
            if set(override) != {"fullgraph"}:
                raise AssertionError(f"Only `fullgraph` kwarg override is supported for now, but got {override.keys()}")
            fullgraph = override["fullgraph"]
        sizes = not config.assume_static_by_default if dynamic is None else dynamic

        def compiler_fn(graph):
            return _optimized(graph, functools.partial(_Call, backend=backend, fullgraph=fullgraph, dynamic=dynamic, settings=settings))

        with _enable(compiler_fn, dynamic=sizes, ignore_active_disable_ctx=False):
            return _native_compile._call_compiled(self.state, self.fullgraph, self.fn, name, names, args, kwargs)


def captured_for_trace(fn, *args, **kwargs):
    """Calls a function that a tracer meets: its calls are captured as one graph, which the tracer goes through."""
    names = _Names(fn, None, args, kwargs)
    return _native_compile._call_within_trace(_state(fn, "eager", None), fn, fn.__name__, names, args, kwargs)


class _Names:
    """Names tensors by where they are found: `L_x_` and `L['x']`, `L_self_modules_0_parameters_weight_`, `G_table_`."""

    def __init__(self, fn, self_name, args, kwargs):
        self.fn, self.self_name, self.args, self.kwargs = fn, self_name, args, kwargs
        self.known, self.owners, self.optimizers = None, [], []
        self.held, self.modules, self.found = set(), set(), []

    def __call__(self, tensor):
        """`(name, source, is_static, marks, is_attribute, is_held, is_frozen, is_parameter)` of a tensor."""
        if self.known is None:
            self.known = {}
            self._collect()
        found = self.known.get(id(tensor)) or self._found_later(tensor)
        if found is None:
            return None
        name, source, is_static, *attribute = found
        is_static = is_static or isinstance(tensor, torch.nn.Parameter)
        marks = getattr(tensor, "_dynamo_marks", None) or {}
        if "torch.compiler.config" in sys.modules:
            from torch._dynamo._named_sources import marks_of

            marks, is_static = marks_of(source, tensor, marks, is_static)
        is_held = id(tensor) in self.held
        if (is_static or is_held) and attribute != [True] and _freezes():
            return self._frozen_name(source), source, is_static, marks, True, is_held, True, isinstance(tensor, torch.nn.Parameter)
        return name, source, is_static, marks, attribute == [True], is_held, False

    def _frozen_name(self, source):
        """The name of an attribute of the captured module: a parameter that will be frozen is no input."""
        name = re.sub(r"\._(?:modules|parameters|buffers)\[(['\"])([^'\"\]]+)\1\]", r".\2", source)
        name = re.sub(r"^[GL]\['?(.*?)'?\]$", r"\1", name)
        name = re.sub(r"[^a-zA-Z0-9]", "_", re.sub(r"\[(\d+)\]", r"_\1", name))
        name = name if name[:1].isalpha() else f"sub{name}"
        return f"{name}_0" if name in self._globals() else name

    def modules_found(self):
        """The modules that the function reads tensors of."""
        if self.known is None:
            self.known = {}
            self._collect()
        return [module for module in (found() for found in self.found) if module is not None]

    def _globals(self):
        fn = getattr(self.fn, "forward", self.fn) if hasattr(self.fn, "named_parameters") else self.fn
        return getattr(fn, "__globals__", {})

    def _found_later(self, tensor):
        """Where a tensor is that came to be after the others were named: a gradient, or what an optimizer has."""
        while self.optimizers:
            optimizer, *place = self.optimizers.pop(0)
            if (optimizer := optimizer()) is not None:
                self._parameters(optimizer, *place)
                self._object(optimizer, *place)
        if id(tensor) in self.known:
            return self.known[id(tensor)]
        for owner, name, source in self.owners:
            owner = owner()
            if isinstance(owner, _native.TensorBase):
                if owner.grad is tensor:
                    return f"{name}{'' if name.endswith('_') else '_'}grad", f"{source}.grad", False
            elif owner is not None:
                for i, group in enumerate(owner.param_groups):
                    for j, param in enumerate(group["params"]):
                        if param.grad is tensor:
                            return f"L_self_param_groups_{i}_params_{j}_grad", f"L['self'].param_groups[{i}]['params'][{j}].grad", False
                self.known.update(_of_optimizer(owner))
        return self.known.get(id(tensor))

    def _parameters(self, optimizer, name, source, depth):
        """What an optimizer updates are attributes of the graph."""
        for i, group in enumerate(optimizer.param_groups):
            for j, param in enumerate(group["params"]):
                if id(param) not in self.known:
                    where = f"{name}_param_groups_{i}_params_{j}_", f"{source}.param_groups[{i}]['params'][{j}]"
                    self.known[id(param)] = (*where, True, True)
                    self.owners.append((weakref.ref(param), *where))

    def _name(self, tensor, name, source, is_static):
        self.known.setdefault(id(tensor), (name, source, is_static))
        if tensor.requires_grad and tensor.is_leaf:
            self.owners.append((weakref.ref(tensor), name, source))

    def home(self):
        """The file, the first line and the name of the function."""
        fn = getattr(self.fn, "forward", self.fn) if hasattr(self.fn, "named_parameters") else self.fn
        code = getattr(fn, "__code__", None)
        return [code.co_filename, code.co_firstlineno, code.co_name] if code is not None else ["", 0]

    def _bound(self):
        if isinstance(self.fn, functools.partial):
            return {"fn_args": self.fn.args, "fn_keywords": self.fn.keywords, "args": self.args, "kwargs": self.kwargs}
        if _is_builtin(self.fn):
            return {"args": self.args, "kwargs": self.kwargs}
        if not hasattr(self.fn, "named_parameters") and not hasattr(self.fn, "__code__") and not hasattr(self.fn, "__func__"):
            # An object with a `__call__`.
            return {"fn": self.fn, "args": self.args, "kwargs": self.kwargs}
        fn = getattr(self.fn, "forward", self.fn) if hasattr(self.fn, "named_parameters") else self.fn
        try:
            bound = inspect.signature(fn, follow_wrapped=False).bind(*self.args, **self.kwargs)
        except (TypeError, ValueError):
            return {f"args_{i}": a for i, a in enumerate(self.args)} | self.kwargs
        bound.apply_defaults()
        return bound.arguments

    def _collect(self):
        fn = self.fn
        if isinstance(fn, torch.nn.Module):
            code = getattr(fn.forward, "__code__", None)
            first = code.co_varnames[0] if code is not None and code.co_argcount else "self"
            own = self.self_name or ("fn" if _is_builtin(fn) else first)
            self._module(fn, f"L_{own}", f"L['{own}']")
            fn = fn.forward
        owner = getattr(fn, "__self__", None)
        if isinstance(owner, torch.nn.Module):
            self._module(owner, "L_self", "L['self']")
        elif owner is not None:
            self._value(owner, "L_self", "L['self']")
        code = getattr(fn, "__code__", None)
        for name, value in self._bound().items():
            self._value(value, f"L_{name}", f"L['{name}']")
        if code is None:
            return
        for name, cell in zip(code.co_freevars, getattr(fn, "__closure__", None) or ()):
            try:
                self._value(cell.cell_contents, f"L_{name}", f"L['{name}']")
            except ValueError:
                continue
        for name in code.co_names:
            if name in fn.__globals__:
                self._value(fn.__globals__[name], f"G_{name}", f"G['{name}']")

    def _value(self, value, name, source, depth=0):
        if isinstance(value, _native.TensorBase):
            self._name(value, name + "_", source, False)
        elif hasattr(type(value), "__torch_array__"):
            self._array(value, name + "_", source)
        elif isinstance(value, torch.nn.Module):
            self._module(value, name, source)
        elif depth < 4 and isinstance(value, (list, tuple)):
            fields = getattr(value, "_fields", ())
            for i, item in enumerate(value):
                if i < len(fields):
                    self._attribute(item, fields[i], name, source, depth)
                else:
                    self._value(item, f"{name}_{i}", f"{source}[{i}]", depth + 1)
        elif depth < 4 and isinstance(value, dict):
            for key, item in value.items():
                self._value(item, f"{name}_{key}", f"{source}[{key!r}]", depth + 1)
        elif depth < 4 and isinstance(value, _FUNCTION):
            for i, cell in enumerate(value.__closure__ or ()):
                try:
                    place = f"{name}_closure_{i}_cell_contents", f"{source}.__closure__[{i}].cell_contents"
                    self._value(cell.cell_contents, *place, depth + 1)
                except ValueError:
                    continue
        elif _is_optimizer(value):
            # It is not looked into, unless a tensor is nowhere else.
            self.optimizers.append((weakref.ref(value), name, source, depth))
        elif depth < 4 and not isinstance(value, (type, _MODULE)) and hasattr(value, "__dict__") and not callable(value):
            self._object(value, name, source, depth)

    def _object(self, value, name, source, depth):
        for key, item in value.__dict__.items():
            self._attribute(item, key, name, source, depth)
        for key, item in type(value).__dict__.items():
            if isinstance(item, _native.TensorBase):
                root = name.removeprefix("L_").removeprefix("G_")
                self._name(item, f"dict_type_{name[:2]}{root}_dict_{key}_", f"type({source}).__dict__[{key!r}]", False)

    def _attribute(self, value, key, name, source, depth):
        """What an object has as an attribute: no bracket ends its name."""
        if isinstance(value, _native.TensorBase):
            self._name(value, f"{name}_{key}", f"{source}.{key}", False)
        elif hasattr(type(value), "__torch_array__"):
            self._array(value, f"{name}_{key}", f"{source}.{key}")
        else:
            self._value(value, f"{name}_{key}", f"{source}.{key}", depth + 1)

    def _array(self, value, name, source):
        """The tensor of one of numpy's arrays or scalars."""
        if not getattr(value, "_flips", ()):
            self._name(value.__torch_input__(), name, f"___from_numpy({source})", False)

    def _module(self, module, name, source):
        for path, sub in module.named_modules():
            # Modules may hold one another.
            if id(sub) in self.modules:
                continue
            self.modules.add(id(sub))
            self.found.append(weakref.ref(sub))
            parts = [part for part in path.split(".") if part]
            where = name + "".join(f"_modules_{part}" for part in parts)
            found = source + "".join(f"._modules['{part}']" for part in parts)
            for key, value in sub._parameters.items():
                if value is not None:
                    self._name(value, f"{where}_parameters_{key}_", f"{found}._parameters['{key}']", True)
            for key, value in sub._buffers.items():
                if value is not None:
                    self._name(value, f"{where}_buffers_{key}_", f"{found}._buffers['{key}']", True)
            # Sizes of what a module of the script's has as a plain attribute may vary, though it lives as long as the module.
            is_static = type(sub).__module__.startswith(("torch.nn.", "torch.ao."))
            for key, value in sub.__dict__.items():
                if isinstance(value, _native.TensorBase):
                    self._name(value, f"{where}_{key}", f"{found}.{key}", is_static)
                    self.held.add(id(value))
                elif hasattr(type(value), "__torch_array__"):
                    self._array(value, f"{where}_{key}", f"{found}.{key}")
                elif isinstance(value, (list, tuple, dict)) and not (is_static or key in _MODULE_STATE):
                    self._value(value, f"{where}_{key}", f"{found}.{key}", 1)


def _freezes():
    """Whether parameters are attributes of captured graphs, to become constants."""
    config = sys.modules.get("torch._inductor.config")
    return config is not None and config.freezing and not torch.is_grad_enabled()


def _is_optimizer(value):
    optimizers = sys.modules.get("torch.optim.optimizer")
    return optimizers is not None and isinstance(value, optimizers.Optimizer)


def _of_optimizer(optimizer):
    """What a step of an optimizer finds its tensors under: parameters and states are attributes of its graph."""
    known, direct = {}, set()
    keys = {id(param): place for place, param in enumerate(optimizer.state)}
    for i, group in enumerate(optimizer.param_groups):
        place = next((keys[id(p)] for p in group["params"] if p.grad is not None and keys.get(id(p))), None)
        direct.add(place)
        for j, param in enumerate(group["params"]):
            source = f"L['self'].param_groups[{i}]['params'][{j}]"
            known[id(param)] = f"self___param_groups_{i}__params___{j}", source, True, True
    for k, state in enumerate(optimizer.state.values()):
        where, source = f"self___state_list_dict_keys_L__self___state___{k}__", f"L['self'].state[list(dict.keys(L['self'].state))[{k}]]"
        for j, (key, value) in enumerate(state.items()):
            if isinstance(value, _native.TensorBase):
                last = f"_{key}" if k in direct else f"list_dict_keys_L__self___state_list_dict_keys_L__self___state___{k}____{j}"
                found = f"{source}['{key}']" if k in direct else f"{source}[list(dict.keys({source}))[{j}]]"
                known.setdefault(id(value), (where + last, found, True, True))
    return known


class _FrameNames(_Names):
    """Names tensors of a function that runs, by its variables."""

    def __init__(self, code, variables, globals):
        self.code, self.known, self.owners, self.optimizers = code, {}, [], []
        self.held, self.modules, self.globals = set(), set(), globals
        self.found = []
        for name, value in variables.items():
            if name == "self" and code.co_name == "step" and _is_optimizer(value):
                self.owners.append((weakref.ref(value), "L_self", "L['self']"))
            elif name in code.co_varnames or name in code.co_freevars or name in code.co_cellvars:
                self._value(value, f"L_{name}", f"L['{name}']")
        for name in code.co_names:
            if name in globals:
                self._value(globals[name], f"G_{name}", f"G['{name}']")

    def _globals(self):
        return self.globals

    def home(self):
        return [self.code.co_filename, self.code.co_firstlineno, self.code.co_name]


def _optimized_module_class():
    from torch.nn import Module

    class OptimizedModule(Module):
        """A module whose calls are compiled; everything else is the module's own."""

        def __init__(self, module, make_call):
            super().__init__()
            self._orig_mod = module
            self.__dict__["_torchdynamo_make_call"] = make_call
            self.__dict__["_torchdynamo_call"] = make_call(module)

        def __reduce__(self):
            # A copy compiles the copied module the same way.
            return _optimized, (self._orig_mod, self._torchdynamo_make_call)

        def __call__(self, *args, **kwargs):
            # Hooks of this module, not of the one that is compiled, are called around what is compiled, and those of all modules.
            from torch.nn.modules._module_hooks import _has_global_call_hooks

            if _has_global_call_hooks():
                warnings.warn(
                    "Using `torch.compile(module)` when there are global hooks on modules (e.g., from `register_module_forward_hook`); "
                    "this will cause the hooks to fire an extra time for the `OptimizedModule` created by `torch.compile(module)`. If "
                    "this causes undesired behavior, please try using `module.compile()`, or use the per-module hooks instead",
                    stacklevel=2,
                )
                return super().__call__(*args, **kwargs)
            if any(self.__dict__.get(hooks) for hooks in ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")):
                return super().__call__(*args, **kwargs)
            return self.forward(*args, **kwargs)

        def forward(self, *args, **kwargs):
            return self._torchdynamo_call(args, kwargs)

        def __getattr__(self, name):
            if name == "_orig_mod":
                return self._modules["_orig_mod"]
            return getattr(self._orig_mod, name)

        def __setattr__(self, name, value):
            if name == "_orig_mod" or name in self.__dict__ or "_modules" not in self.__dict__ or "_orig_mod" not in self._modules:
                return Module.__setattr__(self, name, value)
            return setattr(self._orig_mod, name, value)

        def __delattr__(self, name):
            if hasattr(type(self), name) or name in self.__dict__:
                return Module.__delattr__(self, name)
            return delattr(self._orig_mod, name)

        def __dir__(self):
            return [*{**dict.fromkeys(self._orig_mod.__dir__()), **dict.fromkeys(Module.__dir__(self))}]

        def __len__(self):
            return len(self._orig_mod)

        @property
        def training(self):
            return self._orig_mod.training

        @training.setter
        def training(self, mode):
            # A module that is being made has none yet.
            if "_orig_mod" in self._modules:
                self._orig_mod.training = mode

    return OptimizedModule


class _LazyModuleClass:
    """Stands for the class until `torch.nn` is needed."""

    def __call__(self, *args):
        return _module_class()(*args)

    def __instancecheck__(self, instance):
        return isinstance(instance, _module_class())


@functools.cache
def _module_class():
    return _optimized_module_class()


def _optimized(module, make_call):
    return _module_class()(module, make_call)


OptimizedModule = _LazyModuleClass()


def disable(fn=None, recursive=True, *, reason=None, wrapping=True):
    """Keeps a function out of capture: what is captured ends before it is called."""
    unobeyed("disable", wrapping=(wrapping, True))
    if fn is None:
        return lambda fn: disable(fn, recursive, reason=reason, wrapping=wrapping)

    if recursive and isinstance(fn, type):
        return _disable_class(fn, reason)
    if recursive and isinstance(fn, torch.nn.Module):
        return OptimizedModule(fn, functools.partial(_DisabledCall, reason=reason))

    @functools.wraps(fn)
    def outside(*args, **kwargs):
        is_captured = _native_compile._is_compiling()
        if is_captured:
            _native_compile._graph_break("disabled", _shown(fn), reason)
        # Also where a frame was skipped, whose functions are captured as frames of their own.
        with _native_compile._suspended() if recursive else _native_compile._skipped(1):
            result = fn(*args, **kwargs)
        return _native_compile._returned(result) if is_captured else result

    return outside


class _DisabledCall:
    """What an `OptimizedModule` that is kept out of capture calls."""

    def __init__(self, module, reason):
        self.call = disable(module.__call__, reason=reason)

    def __call__(self, args, kwargs):
        return self.call(*args, **kwargs)


def _disable_class(cls, reason):
    """Keeps out of capture how objects of a class are made and called."""
    names = ["__init__", "__call__", "_call_impl"]
    for name in names if issubclass(cls, torch.nn.Module) else names[:2]:
        if any(name in base.__dict__ for base in cls.__mro__):
            setattr(cls, name, disable(getattr(cls, name), reason=reason))
    return cls


class error_on_graph_break:
    """A block, or a function, in which a break is an error, or is none."""

    def __init__(self, error_on_graph_break):
        self.error_on_graph_break = bool(error_on_graph_break)

    def __call__(self, fn):
        @functools.wraps(fn)
        def inside(*args, **kwargs):
            with error_on_graph_break(self.error_on_graph_break):
                return fn(*args, **kwargs)

        return inside

    def __enter__(self):
        self.before = _native_compile._set_error_on_graph_break(self.error_on_graph_break)

    def __exit__(self, *_):
        _native_compile._set_error_on_graph_break(self.before)


def _shown(fn):
    """A function as PyTorch's messages show it, but for its address."""
    return f"<function {getattr(fn, '__qualname__', fn)} at 0x...>"


def call_skipped(fn, module, args, kwargs):
    """Calls a function that is never captured, nor what it calls: the graph breaks before it."""
    _native_compile._graph_break("not_inlined", fn.__name__, module)
    with _native_compile._suspended():
        result = fn(*args, **kwargs)
    return _native_compile._returned(result)


def call_outside(module, args, kwargs):
    """Calls a module that is never captured: the graph breaks before it."""
    config = sys.modules.get("torch._dynamo.config")
    if module._is_never_captured and config is not None and config.allow_rnn:
        return module._call_impl(*args, **kwargs)
    if module._is_never_captured:
        _native_compile._break_at_rnn(next(iter(module._parameters.values())))
        around = _native_compile._suspended()
    else:
        _native_compile._graph_break("module_backward_hooks")
        # The script's functions in it are compiled on their own: its forward, its hooks.
        around = _native_compile._skipped()
    with around:
        result = module._call_impl(*args, **kwargs)
    return _native_compile._returned(result)


def reset():
    """Forgets every compiled graph."""
    _native_compile._leave("skipped", "reset", "torch._dynamo", "torch/_dynamo")
    _native_compile._forget()
    compiled_autograd = sys.modules.get("torch._dynamo.compiled_autograd")
    if compiled_autograd is not None:
        compiled_autograd.reset()


class _GuardManager:
    """The guards of a cache entry: `check` asks them for a function's variables, and records nothing."""

    def __init__(self, state, index):
        self._state, self._index = state, index

    def check(self, f_locals):
        return bool(self._state.holds(self._index, f_locals))


class _CacheEntry:
    def __init__(self, code, state, index):
        self.code, self.guard_manager = code, _GuardManager(state, index)


def _debug_get_cache_entry_list(code):
    """What was compiled for a function or its code, newest first."""
    code = getattr(code, "__code__", code)
    found = []
    for state in _native_compile._states_of(code):
        index = 0
        while state.holds(index, {}) is not None:
            found.insert(0, _CacheEntry(code, state, index))
            index += 1
    return found


_STANCES = ("default", "eager_then_compile", "aot_eager_then_compile", "force_eager", "eager_on_recompile", "fail_on_recompile")


class set_stance:
    """Says how compiled functions are called from now on; a context manager and a decorator too."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        unobeyed("set_stance", skip_guard_eval_unsafe=(skip_guard_eval_unsafe, False), force_backend=(force_backend, None))
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")
        if _native_compile._is_compiling():
            raise RuntimeError("attempted to set_stance in a torch.compile region")
        self.stance, self.before = stance, _native_compile._set_stance(stance)

    def __enter__(self):
        _native_compile._set_stance(self.stance)

    def __exit__(self, *exc):
        _native_compile._set_stance(self.before)

    def __call__(self, fn):
        _native_compile._set_stance(self.before)

        @functools.wraps(fn)
        def wrapped(*args, **kwargs):
            with set_stance(self.stance):
                return fn(*args, **kwargs)

        return wrapped
