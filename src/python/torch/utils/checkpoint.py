"""Activation checkpointing: a forward whose intermediate values are computed again in backward."""

import contextlib
import enum
import functools
import weakref

import torch
from torch import _C, _native_compile
from torch._arguments import unobeyed
from torch.autograd.function import Function
from torch.autograd.graph import saved_tensors_hooks

__all__ = [
    "checkpoint", "checkpoint_sequential", "CheckpointError", "CheckpointFunction", "CheckpointPolicy",
    "noop_context_fn", "create_selective_checkpoint_contexts", "set_checkpoint_early_stop", "DefaultDeviceType",
]  # fmt: skip

_early_stop = None


class CheckpointError(RuntimeError):
    """The second forward was not like the first."""


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


class _StopRecomputation(Exception):
    """All that is wanted has been computed again."""


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


def _metadata(tensor):
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


class _Place:
    """What is saved instead of a tensor: its number among those of the forward."""

    def __init__(self, number):
        self.number = number


class _Frame:
    """One checkpointed forward: how to run it again, and what came of that, by backward."""

    def __init__(self, recompute, early_stop, check):
        self.recompute = recompute
        self.early_stop = early_stop
        self.check = check
        self.places = []
        self.metadata = []
        self.recomputed = {}

    def pack(self, tensor):
        place = _Place(len(self.places))
        self.places.append(weakref.ref(place))
        self.metadata.append(_metadata(tensor) if self.check else None)
        return place

    def unpack(self, place):
        task = _C._current_graph_task_id()
        values = self.recomputed.get(task)
        if values is None:
            values = self.recomputed[task] = self._run_again()
        if place.number not in values:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are "
                "calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with "
                "details on your use case."
            )
        return values.pop(place.number)

    def _run_again(self):
        values, count = {}, 0

        def pack(tensor):
            nonlocal count
            number, count = count, count + 1
            if number >= len(self.places):
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward "
                    "pass.\n"
                )
            tensor = tensor.detach() if tensor.requires_grad else tensor
            if self.places[number]() is not None:
                values[number] = tensor
            if self.early_stop and count == len(self.places):
                raise _StopRecomputation
            return tensor

        with contextlib.suppress(_StopRecomputation):
            with saved_tensors_hooks(pack, lambda tensor: tensor), torch.enable_grad():
                self.recompute()
        if count != len(self.places):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.places)}\nNumber of tensors saved during "
                f"recomputation: {count}.\n"
            )
        different = [
            f"tensor at position {number}:\nsaved metadata: {self.metadata[number]}\nrecomputed metadata: {_metadata(value)}\n"
            for number, value in values.items()
            if self.check and self.metadata[number] != _metadata(value)
        ]
        if different:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                f"forward pass.\n{''.join(different)}.\n"
            )
        return values


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check="default",
    debug=False,
    early_stop=True,
    respect_saved_tensors_hooks=None,
    **kwargs,
):
    """Calls `function`; what it saves for backward is computed again when backward wants it."""
    unobeyed("checkpoint", respect_saved_tensors_hooks=(respect_saved_tensors_hooks, None))
    if use_reentrant is None:
        import warnings

        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
            "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
            "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
            "differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        run = functools.partial(CheckpointFunction.apply, function, preserve, *args)
        if not _native_compile._is_capturing():
            return _outside(run)
        return _native_compile._checkpoint(function, args, kwargs, None, True, functools.partial(_outside, run))
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    early_stop = early_stop if _early_stop is None else _early_stop
    run = functools.partial(
        _call, function, args, kwargs, context_fn, preserve, early_stop, determinism_check == "default"
    )
    if not _native_compile._is_capturing():
        return _outside(run)
    if _native_compile._is_made_inside(context_fn):
        kind = "<class 'torch._dynamo.variables.functions.NestedUserFunctionVariable'>"
        raise torch._dynamo.exc.InternalTorchDynamoError(
            f"NotImplementedError: checkpoint not implemented for {kind} context_fn"
        )
    around = context_fn()[0]
    if context_fn is not noop_context_fn and type(around).__name__ != "_CachingTorchDispatchMode":
        _native_compile._graph_break("titled", "torch.utils.checkpoint with a context_fn of its own")
        return _outside(run)
    policy, otherwise = getattr(around, "policy", None), functools.partial(_outside, run)
    return _native_compile._checkpoint(function, args, kwargs, policy, False, otherwise)


def _outside(run):
    """Makes a call that Dynamo does not capture: it compiles nothing of it."""
    with _native_compile._suspended():
        return run()


def _call(function, args, kwargs, context_fn, preserve, early_stop, check):
    """The call of `function`, where nothing is captured."""
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)
    forward_context, recompute_context = context_fn()
    state = torch.get_rng_state() if preserve else None
    options = _autocast_options()
    # Inputs are saved as a node saves them: through the hooks around the call, and nobody may write to them before they are used again.
    saved = [_C._autograd._make_saved_tensor(arg, False) if isinstance(arg, torch.Tensor) else arg for arg in args]

    def recompute():
        given = [old.unpack() if isinstance(arg, torch.Tensor) else arg for arg, old in zip(args, saved)]
        # Dynamo compiles nothing while hooks look at what is saved.
        with _native_compile._suspended(), _random_state(state), torch.autocast("cpu", **options), recompute_context:
            function(*given, **kwargs)

    frame = _Frame(recompute, early_stop, check)
    with saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        return function(*args, **kwargs)


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
