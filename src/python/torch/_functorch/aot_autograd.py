"""AOTAutograd as a script calls it: `aot_function`, `aot_module`, `aot_module_simplified`."""

from torch import _native, _native_compile
from torch.utils._pytree import tree_flatten, tree_unflatten
from torch._functorch.partitioners import default_partition, name_of


def make_boxed_func(f):
    """A callable that takes its inputs as one list."""

    def boxed(args):
        return f(*args)

    boxed._boxed_call = True
    boxed._unboxed = f
    return boxed


def make_boxed_compiler(compiler):
    return lambda gm, inputs: make_boxed_func(compiler(gm, inputs))


def _plain(compiler):
    """A compiler whose callables take inputs one by one and return a sequence."""
    if compiler is None:
        return None

    def compile(gm, inputs):
        made = compiler(gm, inputs)
        if getattr(made, "_boxed_call", False):
            return lambda *args: made(list(args))
        return made

    return compile


def _compile(flat_fn, inputs, options):
    return _native_compile._aot_compile(
        flat_fn,
        list(inputs),
        fw_compiler=_plain(options.get("fw_compiler")),
        bw_compiler=_plain(options.get("bw_compiler") or options.get("fw_compiler")),
        inference_compiler=_plain(options.get("inference_compiler") or options.get("fw_compiler")),
        partition_fn=name_of(options.get("partition_fn")),
        keep_inference_input_mutations=bool(options.get("keep_inference_input_mutations", False)),
    )


def aot_function(
    fn,
    fw_compiler,
    bw_compiler=None,
    partition_fn=default_partition,
    decompositions=None,
    num_params_buffers=0,
    keep_inference_input_mutations=False,
    inference_compiler=None,
    *,
    dynamic=False,
    enable_log=True,
):
    """A function whose first call traces forward and backward and hands them to the compilers."""
    options = dict(
        fw_compiler=fw_compiler,
        bw_compiler=bw_compiler,
        partition_fn=partition_fn,
        inference_compiler=inference_compiler,
        keep_inference_input_mutations=keep_inference_input_mutations,
    )
    cached = []

    def returned_function(*args, **kwargs):
        flat, spec = tree_flatten((args, kwargs))
        tensors = [a for a in flat if isinstance(a, _native.TensorBase)]
        if not cached:
            out_spec = []

            def flat_fn(*given):
                given = iter(given)
                filled = [next(given) if isinstance(a, _native.TensorBase) else a for a in flat]
                args, kwargs = tree_unflatten(filled, spec)
                out, found = tree_flatten(fn(*args, **kwargs))
                out_spec[:] = [found]
                return list(out)

            cached[:] = [_compile(flat_fn, tensors, options), out_spec]
        compiled, out_spec = cached
        return tree_unflatten(list(compiled(*tensors)), out_spec[0])

    return returned_function


def aot_module(mod, *args, **kwargs):
    """A module compiled by `aot_function`; its parameters and buffers come first among the inputs."""
    from torch.nn import Module
    from torch.func import functional_call

    def call(params, buffers, args, kwargs):
        return functional_call(mod, {**params, **buffers}, args, kwargs)

    compiled = aot_function(call, *args, **kwargs)

    class AOTModule(Module):
        def __init__(self):
            super().__init__()
            self.orig_module = mod

        def forward(self, *args, **kwargs):
            return compiled(dict(mod.named_parameters()), dict(mod.named_buffers()), args, kwargs)

    return AOTModule()


def aot_module_simplified(
    mod, args, fw_compiler=None, bw_compiler=None, partition_fn=default_partition, decompositions=None,
    keep_inference_input_mutations=False, inference_compiler=None, **_
):  # fmt: skip
    """Compiles a captured graph, or a module on flat inputs, for given examples."""
    options = dict(
        fw_compiler=fw_compiler,
        bw_compiler=bw_compiler,
        partition_fn=partition_fn,
        inference_compiler=inference_compiler,
        keep_inference_input_mutations=keep_inference_input_mutations,
    )
    if getattr(mod, "_native", None) is not None:
        compiled = _compile(mod, args, options)
        return lambda *given: tuple(compiled(*given))
    from torch.func import functional_call

    params = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}
    names = list(params)
    spec = []

    def flat_fn(*given):
        state = dict(zip(names, given))
        out, found = tree_flatten(functional_call(mod, state, tuple(given[len(names):])))
        spec[:] = [found]
        return list(out)

    compiled = _compile(flat_fn, [*params.values(), *args], options)
    return lambda *given: tree_unflatten(list(compiled(*params.values(), *given)), spec[0])
