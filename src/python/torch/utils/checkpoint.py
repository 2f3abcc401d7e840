"""Activation checkpointing: a forward whose intermediate values are computed again in backward."""

import contextlib
import enum
import functools

import torch
from torch import _C, _native_compile
from torch.autograd.function import Function
from torch.utils import _checkpoint_frame
from torch.utils._checkpoint_frame import CheckpointError, GraphExecGroup

__all__ = [
    "checkpoint", "checkpoint_sequential", "CheckpointError", "CheckpointFunction", "CheckpointPolicy",
    "noop_context_fn", "create_selective_checkpoint_contexts", "set_checkpoint_early_stop", "set_checkpoint_debug_enabled",
    "GraphExecGroup", "DefaultDeviceType", "get_device_states", "set_device_states",
]  # fmt: skip

# What the blocks below say for all calls inside; None where they say nothing.
_early_stop = None
_debug = None


CheckpointPolicy = enum.Enum(
    "CheckpointPolicy",
    [f"{how}_{what}" for what in ("SAVE", "RECOMPUTE", "CPU_OFFLOAD") for how in ("MUST", "PREFER")],
    start=0,
    module=__name__,
)
CheckpointPolicy.__doc__ = "What becomes of an operator's result under a policy."


class SelectiveCheckpointContext:
    """What a policy is told of the call it decides on."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute = is_recompute
        self.op_output = op_output


def _policy_context(op_output):
    return SelectiveCheckpointContext(is_recompute=False, op_output=op_output)


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """Contexts for `checkpoint(..., context_fn=...)` that say what is saved: a function, or a list of overloads to save."""
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if type(op).__name__ != "OpOverload":
                hint = (
                    "Please update the OpOverloadPacket to a specific OpOverload."
                    "For example, if you have `torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
                )
                hint = hint if type(op).__name__ == "OpOverloadPacket" else ""
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {hint}"
                )
    elif not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    from torch.utils._selective_checkpoint import contexts

    return contexts(policy_fn_or_list, allow_cache_entry_mutation)


def noop_context_fn():
    """Nothing around the forward and nothing around the recomputation."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Whether recomputation ends as soon as all saved values are there."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Whether calls inside log their operators, for the error where the recomputation differs; None leaves it to each call."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


def detach_variable(inputs):
    """The inputs as leaves."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: ", type(inputs).__name__
        )
    result = []
    for one in inputs:
        if isinstance(one, torch.Tensor):
            leaf = one.detach()
            leaf.requires_grad = one.requires_grad
            one = leaf
        result.append(one)
    return tuple(result)


def check_backward_validity(inputs):
    """Warns where no input wants a gradient."""
    if not any(one.requires_grad for one in inputs if isinstance(one, torch.Tensor)):
        import warnings

        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def get_device_states(*args):
    """The devices beside the CPU that tensors among the arguments are on, and the state of the generator of each."""
    from torch.utils._pytree import tree_leaves

    tensors = [one for one in tree_leaves(args) if isinstance(one, torch.Tensor)]
    devices = list(dict.fromkeys(one.get_device() for one in tensors if one.device.type not in ("cpu", "meta")))
    return devices, [torch.cuda.get_rng_state(device) for device in devices]


def set_device_states(devices, states, *, device_type=None):
    """Gives the generators of devices the states that `get_device_states` read."""
    if device_type == "meta":
        return
    for device, state in zip(devices, states):
        torch.cuda.set_rng_state(state, device)


def _autocast_options():
    """How autocast is set, as options of a block that sets it so again."""
    return {
        "dtype": torch.get_autocast_dtype("cpu"),
        "enabled": torch.is_autocast_enabled("cpu"),
        "cache_enabled": torch.is_autocast_cache_enabled(),
    }


@contextlib.contextmanager
def _random_state(state):
    """The generator as it was in the forward."""
    with torch.random.fork_rng(enabled=state is not None):
        if state is not None:
            torch.set_rng_state(state)
        yield


class CheckpointFunction(Function):
    """The reentrant form: backward runs the function again and a backward of its own through it."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.rng_state = torch.get_rng_state() if preserve_rng_state else None
        ctx.autocast_options = _autocast_options()
        ctx.tensor_indices = [place for place, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.inputs = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
        ctx.save_for_backward(*(args[place] for place in ctx.tensor_indices))
        with torch.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *args):
        if not torch.autograd._is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
                "the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for place, tensor in zip(ctx.tensor_indices, ctx.saved_tensors):
            inputs[place] = tensor
        with _random_state(ctx.rng_state):
            detached = detach_variable(tuple(inputs))
            with torch.enable_grad(), torch.autocast("cpu", **ctx.autocast_options):
                outputs = ctx.run_function(*detached)
        outputs = (outputs,) if isinstance(outputs, torch.Tensor) else outputs
        wanted = [
            (out, arg) for out, arg in zip(outputs, args) if isinstance(out, torch.Tensor) and out.requires_grad
        ]
        if not wanted:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        torch.autograd.backward([out for out, _ in wanted], [arg for _, arg in wanted])
        return (None, None, *(one.grad if isinstance(one, torch.Tensor) else None for one in detached))


class _CheckpointedFunction:
    """A function of which each call is checkpointed: what `checkpoint` makes where it is given no function."""

    def __init__(self, function, **checkpoint_kwargs):
        self.function, self.checkpoint_kwargs = function, dict(checkpoint_kwargs)
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args, **kwargs):
        run = functools.partial(_checkpoint, self.function, args, kwargs, **self.checkpoint_kwargs)
        if not _native_compile._is_compiling():
            return run()
        self._not_inlined("__call__")
        with _native_compile._skipped():
            result = run()
        return _native_compile._returned(result)

    def __get__(self, instance, owner=None):
        bind = getattr(self.function, "__get__", None)
        if instance is None or bind is None:
            return self
        self._not_inlined("__get__")
        return type(self)(bind(instance, owner), **self.checkpoint_kwargs)

    def _not_inlined(self, method):
        """Ends a graph that is captured: Dynamo follows neither method. The function's own frame is one that it compiles."""
        if _native_compile._is_capturing():
            _native_compile._graph_break("not_inlined", f"_CheckpointedFunction.{method}", "torch.utils.checkpoint")


def checkpoint(
    function=None,
    *args,
    use_reentrant=None,
    preserve_rng_state=True,
    context_fn=noop_context_fn,
    determinism_check="default",
    debug=False,
    early_stop=True,
    respect_saved_tensors_hooks=None,
    **kwargs,
):
    """Calls `function`; what it saves for backward is computed again when backward wants it. Without a function, a decorator."""
    options = dict(
        use_reentrant=use_reentrant,
        preserve_rng_state=preserve_rng_state,
        context_fn=context_fn,
        determinism_check=determinism_check,
        debug=debug,
        early_stop=early_stop,
        respect_saved_tensors_hooks=respect_saved_tensors_hooks,
    )
    if function is None and not args:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        return functools.partial(_CheckpointedFunction, **options)
    if not _native_compile._is_capturing():
        return _outside(functools.partial(_checkpoint, function, args, kwargs, **options))
    return _captured(function, args, kwargs, options)


def _captured(function, args, kwargs, options):
    """A call that Dynamo captures: an operator of the graph, with the function's graph inside."""
    reentrant, context_fn = _is_reentrant(options["use_reentrant"], kwargs), options["context_fn"]
    otherwise = functools.partial(_outside, functools.partial(_checkpoint, function, args, kwargs, **options))
    if reentrant:
        _check_reentrant(context_fn, options["debug"], options["respect_saved_tensors_hooks"])
        return _native_compile._checkpoint(function, args, kwargs, None, True, otherwise)
    if _native_compile._is_made_inside(context_fn):
        kind = "<class 'torch._dynamo.variables.functions.NestedUserFunctionVariable'>"
        raise torch._dynamo.exc.InternalTorchDynamoError(
            f"NotImplementedError: checkpoint not implemented for {kind} context_fn"
        )
    if context_fn is noop_context_fn:
        return _native_compile._checkpoint(function, args, kwargs, None, False, otherwise)
    if not _native_compile._knows_contexts(context_fn):
        around = context_fn()[0]
        if type(around).__name__ != "_CachingTorchDispatchMode":
            _native_compile._graph_break("titled", "torch.utils.checkpoint with a context_fn of its own")
            return otherwise()
        _native_compile._keep_contexts(context_fn, around.policy)
    return _native_compile._checkpoint(function, args, kwargs, context_fn, False, otherwise)


def _is_reentrant(use_reentrant, kwargs):
    """Which of the two forms a call asks for."""
    if use_reentrant is None:
        import warnings

        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. In a future release, calling "
            "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
            "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
            "differences between the two variants.",
            stacklevel=3,
        )
        use_reentrant = True
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    return use_reentrant


def _check_reentrant(context_fn, debug, respect_saved_tensors_hooks):
    """The reentrant form takes none of these."""
    if context_fn is not noop_context_fn or debug is not False or respect_saved_tensors_hooks is not None:
        raise ValueError(
            "Passing `context_fn`, `debug`, or `respect_saved_tensors_hooks` is only supported when use_reentrant=False."
        )


def _checkpoint(
    function,
    args,
    kwargs,
    *,
    use_reentrant,
    preserve_rng_state,
    context_fn,
    determinism_check,
    debug,
    early_stop,
    respect_saved_tensors_hooks,
):
    """The call of `function`, where nothing is captured."""
    if _is_reentrant(use_reentrant, kwargs):
        _check_reentrant(context_fn, debug, respect_saved_tensors_hooks)
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    explain = None
    if debug if _debug is None else _debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        from torch.utils._checkpoint_debug import debugging

        context_fn, explain = debugging()
    if determinism_check not in _checkpoint_frame.METADATA:
        raise ValueError(f"determinism_check should be one of {list(_checkpoint_frame.METADATA)}, but got {determinism_check}")
    forward_context, recompute_context = context_fn()
    if type(forward_context).__name__ == "_CachingTorchDispatchMode":
        forward_context.respect_saved_tensors_hooks = respect_saved_tensors_hooks
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)
    state = torch.get_rng_state() if preserve_rng_state else None
    options = _autocast_options()

    def recompute(given):
        # Dynamo compiles nothing while hooks look at what is saved.
        with _native_compile._suspended(), _random_state(state), torch.autocast("cpu", **options), recompute_context:
            function(*given, **kwargs)

    early_stop = early_stop if _early_stop is None else _early_stop
    run = functools.partial(function, *args, **kwargs)
    return _checkpoint_frame.forward(run, args, forward_context, recompute, early_stop, _checkpoint_frame.METADATA[determinism_check], explain)


def _outside(run):
    """Makes a call that Dynamo does not capture: it compiles nothing of it."""
    with _native_compile._suspended():
        return run()


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Calls modules one after the other, checkpointed in segments, the last one not."""
    # Dynamo does not trace it.
    _native_compile._graph_break("titled", "torch.utils.checkpoint.checkpoint_sequential")
    with _native_compile._suspended():
        return _in_segments(functions, segments, input, use_reentrant, kwargs)


def _in_segments(functions, segments, input, use_reentrant, kwargs):
    if isinstance(functions, torch.nn.Sequential):
        functions = list(functions.children())
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))

    def run(start, end):
        def forward(value):
            for function in functions[start : end + 1]:
                value = function(value)
            return value

        return forward

    size = len(functions) // segments
    end = -1
    for start in range(0, size * (segments - 1), size):
        end = start + size - 1
        input = checkpoint(run(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(end + 1, len(functions) - 1)(input)


class DefaultDeviceType:
    """The device whose random state is kept where no argument says one."""

    _default = "cuda"

    @staticmethod
    def set_device_type(device="cuda"):
        DefaultDeviceType._default = device

    @staticmethod
    def get_device_type():
        return DefaultDeviceType._default
