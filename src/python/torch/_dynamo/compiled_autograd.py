"""Compiled autograd: `loss.backward()` as a graph that a compiler is given.

The tape is taken apart natively (`crates/compiled_autograd`). A tape like one that was met before runs what was compiled for it; any
other is captured as `CompiledAutogradN`, given to the compiler, and kept.
"""

import contextlib
import itertools

import torch
from torch import _C, _native_compile, _native_tape

compiled_autograd_enabled = False
compiled_autograd_enabled_force_eager = False
in_compiled_autograd_region = False
active_disable_ctx = False
depth = 0

COMPILE_COUNTER = itertools.count()

_compiler = None
_dynamic = False
_is_running = False

TURN_OFF_MSG = """You can turn off compiled autograd by either:
1. Moving the unsupported autograd call outside of the torch.compile'd region.
2. Wrapping the unsupported autograd call in the torch._dynamo.compiled_autograd._disable() context manager.
3. Setting torch._dynamo.config.compiled_autograd=False for the torch.compile call containing the unsupported autograd call.
4. Setting torch._dynamo.config.compiled_autograd=False at the start of the program."""


class OpNamespace:
    """What graphs call besides the derivatives of operators, which each graph brings along."""

    @staticmethod
    def validate_outputs(gradients, metadata):
        return _native_tape.validate_outputs(gradients, metadata)

    @staticmethod
    def AccumulateGrad(gradients, variable, variable_grad, has_post_hooks):
        return [_native_tape.accumulate_grad(variable, variable_grad, gradients[0])]


ops = OpNamespace()


def call_cpp_tensor_pre_hooks(index, gradient):
    """Keeps a gradient for the tensor that retains it (`retain_grad`), and gives it on."""
    if torch.compiler.is_compiling():
        _native_compile._graph_break("unknown_builtin", "call_cpp_tensor_pre_hooks", "torch._C._dynamo.autograd_compiler")
    _native_tape.keep_gradient(index, gradient)
    return gradient


def _hook_of_state(name):
    """What calls the hook of a name that a compiled function has put into its backward state."""

    def self_invoke(grad, *, bw_state):
        return getattr(bw_state, name)(grad)

    return self_invoke


def copy_slices_prologue(inputs, base_sizes, base_strides, base_storage_offset, view_sizes, view_strides, view_storage_offset):
    """Before the derivative of a write through a view: the gradient laid out as the base, the part that was written, and a copy of that."""
    grad = inputs[0]
    result = grad.new_empty_strided(base_sizes, base_strides)
    result.copy_(grad)
    grad_slice = result.as_strided(view_sizes, view_strides, view_storage_offset - base_storage_offset)
    return [result, grad_slice, grad_slice.clone(memory_format=torch.contiguous_format)]


def copy_slices_epilogue(needs_input_grad, result, res, grad_slice):
    """After it: the gradient of what was written before takes the place of the part."""
    gradients = [None] * len(needs_input_grad)
    for place, needed in enumerate(needs_input_grad):
        if not needed or res[place] is None:
            continue
        if place == 0:
            grad_slice.copy_(res[place])
            gradients[place] = result
        else:
            gradients[place] = res[place]
    return gradients


@contextlib.contextmanager
def _enable(compiler_fn, dynamic=True, ignore_active_disable_ctx=True):
    """Backwards in this block are compiled by `compiler_fn`. `dynamic`: sizes are inputs of graphs from the first on."""
    global depth, compiled_autograd_enabled_force_eager
    if not ignore_active_disable_ctx and active_disable_ctx:
        yield
        return
    if dynamic and type(dynamic) is not bool:
        raise AssertionError(f"Expected dynamic to be bool, got {type(dynamic)}")
    if _native_compile._stance() == "force_eager":
        compiled_autograd_enabled_force_eager = True
        try:
            yield
        finally:
            compiled_autograd_enabled_force_eager = False
        return
    before = _set(compiler_fn, dynamic)
    prior_depth = depth
    depth += 1
    try:
        yield
    finally:
        _set(*before)
        depth -= 1
        if depth != prior_depth:
            raise AssertionError("Nested Compiled Autograd Contexts must return before their parent context")


@contextlib.contextmanager
def _disable():
    """Backwards in this block are not compiled."""
    global active_disable_ctx
    before = _set(None, False)
    active_disable_ctx = True
    try:
        yield
    finally:
        active_disable_ctx = False
        _set(*before)


def _set(compiler_fn, dynamic):
    global _compiler, _dynamic, compiled_autograd_enabled
    before = (_compiler, _dynamic)
    _compiler, _dynamic = compiler_fn, dynamic
    compiled_autograd_enabled = compiler_fn is not None
    return before


def reset():
    """Forgets every tape."""
    global COMPILE_COUNTER, compiled_autograd_enabled
    if in_compiled_autograd_region:
        raise AssertionError("Cannot reset while in_compiled_autograd_region is True")
    _set(None, False)
    _native_tape.clear_cache()
    COMPILE_COUNTER = itertools.count()


def _capture(tape, accumulate_grad):
    from torch._dynamo.utils import counters

    counters["compiled_autograd"]["captures"] += 1
    number = next(COMPILE_COUNTER)
    graph, id = tape.capture(number)
    call = _compiler(graph)
    checks_nan = _C.is_anomaly_enabled() and _C.is_anomaly_check_nan_enabled()
    tape.keep(_Compiled(graph, call, id, _NanCheck(graph, accumulate_grad) if checks_nan else None))


class _NanCheck:
    """What a graph that was captured in anomaly mode gives is checked: no gradient holds a NaN."""

    def __init__(self, graph, accumulate_grad):
        *nodes, output = graph.graph.nodes
        self.names = [] if accumulate_grad else [getattr(gradient, "name", None) for gradient in output.args[0]]
        added = [node for node in nodes if node.name.startswith("call_accumulate_grad")]
        # Inputs that gradients are added into: `inputs[i]`.
        self.places = [node.args[0].args[1] for node in added]

    def leaves(self, inputs):
        return {f"inputs[{place}]": inputs[place] for place in self.places}

    def before(self, inputs):
        for name, leaf in self.leaves(inputs).items():
            if leaf.grad is not None and torch.isnan(leaf.grad).any():
                raise AssertionError(
                    f"Compiled autograd running under anomaly mode with {name} already having NaN gradient. "
                    f"This is not supported. {TURN_OFF_MSG}"
                )

    def after(self, inputs, result):
        found = [name for name, leaf in self.leaves(inputs).items() if torch.isnan(leaf.grad).any()]
        if found:
            raise RuntimeError(f"Compiled Autograd returned NaN gradients for parameters: {','.join(found)}.")
        found = [name for name, grad in zip(self.names, result) if grad is not None and torch.isnan(grad).any()]
        if found:
            raise RuntimeError(f"Compiled Autograd returned NaN gradients for output nodes: {','.join(found)}.")


class _Compiled:
    """What the compiler made of a captured graph."""

    def __init__(self, graph, call, id, nan_check):
        self.graph, self.call, self.nan_check = graph, call, nan_check
        # Its number in the report.
        self.id = id
        self.forward = type(graph).forward

    def runs_the_graph_alone(self):
        """Whether a call is one of the compiled graph, and no Python of the script's belongs to it."""
        from torch._dynamo.eval_frame import OptimizedModule, _Call
        from torch.nn.modules._module_hooks import _has_global_call_hooks

        return (
            isinstance(self.call, OptimizedModule)
            and self.call._orig_mod is self.graph
            and type(self.graph).forward is self.forward
            and isinstance(self.call._torchdynamo_call, _Call)
            and not self.call._torchdynamo_call.settings
            and not _has_global_call_hooks()
            and not any(module.__dict__.get(hooks) for module in (self.call, self.graph) for hooks in _HOOKS)
        )


_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


def _size(value):
    """A size as an argument that can be dynamic: an integer can't."""
    holder = _native_tape.size_argument(value)
    if isinstance(holder, int):
        return holder
    torch._dynamo.maybe_mark_dynamic(holder, 1)
    return holder


def _run_backward(tensors, grads, retain_graph, create_graph, inputs, allow_unreachable, accumulate_grad, more_rows=False):
    """What `backward()` and `grad()` call while backwards are compiled."""
    _native_compile._end_for_backward()
    return _native_compile._outside_of_calls(
        lambda: _run(tensors, grads, retain_graph or more_rows, create_graph, inputs, allow_unreachable, accumulate_grad)
    )


def _run(tensors, grads, retain_graph, create_graph, inputs, allow_unreachable, accumulate_grad):
    global in_compiled_autograd_region, _is_running
    if _is_running:
        raise RuntimeError(
            "Trying to run compiled autograd within another compiled autograd call (e.g. reentrant checkpointing), this is not "
            "supported yet."
        )
    _is_running = True
    try:
        tape = _native_tape.take_apart(tensors, grads, create_graph, inputs, accumulate_grad, _dynamic)
        if tape.compiled is None:
            _capture(tape, accumulate_grad)
        else:
            _native_tape.note_hit(tape.compiled.id)
        compiled = tape.compiled
        is_alone = compiled.runs_the_graph_alone()
        in_compiled_autograd_region = True
        try:
            with _disable(), torch.set_grad_enabled(create_graph):
                check = compiled.nan_check
                result = tape.replay(retain_graph) if is_alone and check is None else None
                if result is None:
                    given, sizes, hooks, packed_data = tape.arguments(retain_graph)
                    if check is not None:
                        check.before(given)
                    sizes = [_size(size) for size in sizes]
                    _native_compile._announce_inputs(given, sizes, compiled.id)
                    result = tape.call(compiled.call, is_alone, given, sizes, [], hooks, packed_data)
                    if check is not None:
                        check.after(given, result)
        finally:
            _native_compile._announce_inputs([], [], None)
            in_compiled_autograd_region = False
    finally:
        _is_running = False
    if accumulate_grad or not inputs:
        return ()
    for place, gradient in enumerate(result):
        if gradient is None and not allow_unreachable:
            raise RuntimeError(
                f"The differentiated Tensor at index {place} appears to not have been used in the graph. Set allow_unused=True if "
                "this is the desired behavior."
            )
    return tuple(result)
