"""AOTAutograd as a script calls it: `aot_function`, `aot_module`, `aot_module_simplified`."""

import functools
from dataclasses import dataclass

from torch import _native, _native_aot
from torch._arguments import unobeyed
from torch.fx.graph import _PyTreeCodeGen
from torch.fx.traceback import kept_annotations
from torch.utils._pytree import tree_flatten, tree_is_leaf, tree_unflatten
from torch._functorch._aot_autograd.logging_utils import (
    get_aot_compilation_context,
    get_aot_graph_name,
    get_graph_being_compiled,
    set_model_name,
)
from torch._functorch._aot_autograd.descriptors import PlainAOTInput, describe
from torch._functorch._aot_autograd.schemas import of_native
from torch._functorch.partitioners import default_partition, name_of


def __getattr__(name):
    if name not in ("aot_export_joint_with_descriptors", "aot_compile_joint_with_descriptors", "JointWithDescriptors"):
        raise AttributeError(f"module 'torch._functorch.aot_autograd' has no attribute {name!r}")
    from torch._functorch._aot_autograd import joint_with_descriptors

    return getattr(joint_with_descriptors, name)


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
    return _native_aot._aot_compile(
        flat_fn,
        list(inputs),
        fw_compiler=_plain(options.get("fw_compiler")),
        bw_compiler=_plain(options.get("bw_compiler") or options.get("fw_compiler")),
        inference_compiler=_plain(options.get("inference_compiler") or options.get("fw_compiler")),
        partition_fn=name_of(options.get("partition_fn")),
        keep_inference_input_mutations=bool(options.get("keep_inference_input_mutations", False)),
        decompositions=options.get("decompositions") or None,
        dynamic=bool(options.get("dynamic", False)),
        force_non_lazy_backward_lowering=bool(options.get("force_non_lazy_backward_lowering", False)),
    )


def _in_containers(leaves, spec):
    """What a compiled function gives: a tuple of leaves is a list, as in PyTorch."""
    is_flat = spec.type in (tuple, list) and all(child.is_leaf() for child in spec.children())
    return leaves if is_flat else tree_unflatten(leaves, spec)


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
    unobeyed("aot_function", num_params_buffers=(num_params_buffers, 0))
    options = dict(
        fw_compiler=fw_compiler,
        bw_compiler=bw_compiler,
        partition_fn=partition_fn,
        inference_compiler=inference_compiler,
        keep_inference_input_mutations=keep_inference_input_mutations,
        decompositions=decompositions,
        dynamic=dynamic,
    )
    cached = []

    # Other objects, as modules, are no values of a graph: the function reads them as it would without one.
    def is_input(value):
        return value is None or isinstance(value, (_native.TensorBase, bool, int, float, complex, str))

    @functools.wraps(fn)
    def returned_function(*args, **kwargs):
        flat, spec = tree_flatten((args, kwargs))
        given = [a for a in flat if is_input(a)]
        if not cached:
            out_spec = []

            def flat_fn(*given):
                given = iter(given)
                filled = [next(given) if is_input(a) else a for a in flat]
                args, kwargs = tree_unflatten(filled, spec)
                with kept_annotations():
                    out, found = tree_flatten(fn(*args, **kwargs))
                out_spec[:] = [found]
                return list(out)

            cached[:] = [_compile(flat_fn, given, options), out_spec]
        compiled, out_spec = cached
        return _in_containers(list(compiled(*given)), out_spec[0])

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
    keep_inference_input_mutations=False, inference_compiler=None, cudagraphs=None, boxed_forward_device_index=None,
    ignore_shape_env=False, disable_functionalization=False, _disable_torch_fn_metadata_mode=False,
):  # fmt: skip
    """Compiles a captured graph, or a module on flat inputs, for given examples."""
    unobeyed("aot_module_simplified", ignore_shape_env=(ignore_shape_env, False))
    unobeyed("aot_module_simplified", disable_functionalization=(disable_functionalization, False))
    options = dict(
        fw_compiler=fw_compiler,
        bw_compiler=bw_compiler,
        partition_fn=partition_fn,
        inference_compiler=inference_compiler,
        keep_inference_input_mutations=keep_inference_input_mutations,
        decompositions=decompositions,
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


@dataclass
class BackwardSignature:
    """Which outputs of a joint graph are gradients, and of what."""

    gradients_to_parameters: dict
    gradients_to_user_inputs: dict
    loss_output: str


@dataclass
class GraphSignature:
    """What the inputs and outputs of an exported graph are, by the names of its nodes."""

    parameters: list
    buffers: list
    user_inputs: list
    user_outputs: list
    inputs_to_parameters: dict
    inputs_to_buffers: dict
    buffers_to_mutate: dict
    parameters_to_mutate: dict
    user_inputs_to_mutate: dict
    in_spec: object
    out_spec: object
    backward_signature: object
    input_tokens: list
    output_tokens: list


def _names(graph):
    """The graph's inputs and outputs, by name; None for what is no value of the graph."""
    (outputs,) = graph.output_node().args
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [n.name for n in graph.find_nodes(op="placeholder")], [getattr(out, "name", None) for out in outputs]


def aot_export_module(mod, args, *, decompositions=None, trace_joint, output_loss_index=None, pre_dispatch=False, dynamic_shapes=None, kwargs=None):
    """A module's functionalized graph, parameters and buffers first among its inputs, and what is what in it; with `trace_joint`
    also the gradients of the parameters, from a scalar loss among the outputs."""
    for given, name in ((pre_dispatch, "pre_dispatch"), (kwargs, "kwargs"), (dynamic_shapes, "dynamic_shapes")):
        if given:
            raise NotImplementedError(f"aot_export_module({name}=...) is not available in the playground")
    from torch.func import functional_call

    parameters, buffers = dict(mod.named_parameters()), dict(mod.named_buffers())
    state = {**parameters, **buffers}
    if trace_joint and output_loss_index is None:
        raise RuntimeError(
            "If trace_joint=Trueit is required that one of your forward outputs must be a scalar loss.\n"
            "You must specify the which (index) output is the loss with output_loss_index."
        )
    flat_args, spec = tree_flatten((tuple(args), {}))
    out = {}

    def call(*flat):
        values = dict(zip(state, flat))
        args, _ = tree_unflatten(list(flat[len(state) :]), spec)
        with kept_annotations():
            result = functional_call(mod, values, args)
        if not isinstance(result, (tuple, list)):
            raise RuntimeError(
                "Graph output must be a (). This is so that we can avoid pytree processing of the outputs. Please change the module to "
                "have tuple outputs or use aot_module instead."
            )
        outputs, out["spec"] = tree_flatten(result)
        return list(outputs)

    def with_loss(*flat):
        outputs = call(*flat)
        for i, output in enumerate(outputs):
            if i != output_loss_index and output.requires_grad:
                raise RuntimeError(
                    "Found an output of the forward that requires gradients, that was not the scalar loss.\n"
                    "We require all outputs to the forward that are not the scalar loss to not require gradient,\n"
                    "because we will only compute a backward graph against the scalar loss.\n"
                    "You can fix this by calling .detach() on each of your forward outputs that is not the loss.\n"
                    f"You specified that output index {output_loss_index} is the loss, but we found that\n"
                    f"the output at index {i} requires gradients."
                )
        loss = outputs[output_loss_index]
        if not loss.requires_grad:
            raise RuntimeError(f"The output at index {output_loss_index} was marked as the loss, but it does not require gradients")
        if loss.numel() != 1:
            raise RuntimeError(
                f"We require the output marked as the loss (at index {output_loss_index}) to be a scalar, but it has shape {loss.shape}"
            )
        return outputs

    inputs = [*state.values(), *flat_args]
    kind = "loss" if trace_joint else "inference"
    module, mutated, outputs, *_ = _native_aot._aot_export(with_loss if trace_joint else call, inputs, kind, decompositions or None, True)
    names, returned = _names(module.graph)
    written = [i for i, is_mutated in enumerate(mutated) if is_mutated]
    told = dict(zip(written, returned))
    first, keys = len(state), list(state)
    user_outputs = returned[len(written) : len(written) + len(outputs)]
    backward = None
    if trace_joint:
        wanted = [i for i, t in enumerate(inputs) if isinstance(t, _native.TensorBase) and t.requires_grad]
        gradients = dict(zip(returned[len(written) + len(outputs) :], wanted))
        backward = BackwardSignature(
            gradients_to_parameters={name: keys[i] for name, i in gradients.items() if i < len(parameters)},
            gradients_to_user_inputs={name: names[i] for name, i in gradients.items() if i >= first},
            loss_output=returned[output_loss_index],
        )
    return module, GraphSignature(
        parameters=list(parameters),
        buffers=list(buffers),
        user_inputs=names[first:],
        user_outputs=user_outputs,
        inputs_to_parameters=dict(zip(names, parameters)),
        inputs_to_buffers=dict(zip(names[len(parameters) :], buffers)),
        buffers_to_mutate={told[i]: keys[i] for i in written if len(parameters) <= i < first},
        parameters_to_mutate={told[i]: keys[i] for i in written if i < len(parameters)},
        user_inputs_to_mutate={told[i]: names[i] for i in written if i >= first},
        in_spec=tree_flatten((tuple(inputs), {}))[1],
        out_spec=out["spec"],
        backward_signature=backward,
        input_tokens=[],
        output_tokens=[],
    )


def aot_export_joint_simple(func, args, *, trace_joint, num_params_buffers=0, decompositions=None):
    """A function's joint graph, or its forward, of the very arguments given: inputs that are written to or aliased by outputs are refused."""
    unobeyed("aot_export_joint_simple", num_params_buffers=(num_params_buffers, 0))
    flat, spec = tree_flatten(args)

    out = {}

    def call(*flat):
        leaves, out["spec"] = tree_flatten(func(*tree_unflatten(list(flat), spec)))
        return leaves

    wants_grad = trace_joint and any(getattr(t, "requires_grad", False) for t in flat)
    kind = "joint" if wants_grad else "inference"
    module, mutated, outputs, metadata, known = _native_aot._aot_export(call, flat, kind, decompositions or None, True)
    if any(mutated):
        raise RuntimeError(f"aot_export_joint_simple does not support input mutations. {metadata}")
    if any(kind != "non_alias" for kind, _, _ in outputs):
        raise RuntimeError(f"aot_export_joint_simple does not support outputs that alias inputs. {metadata}")
    if any(not child.is_leaf() for child in spec.children()):
        raise RuntimeError(f"aot_export_joint_simple requires individual inputs not to be pytrees. in_spec={spec}")
    if out["spec"].is_leaf():
        raise RuntimeError(f"aot_export_joint_simple requires outputs to be a single list/tuple. out_spec={out['spec']}")
    if not all(child.is_leaf() for child in out["spec"].children()):
        raise RuntimeError(f"aot_export_joint_simple requires individual outputs not to be pytrees. out_spec={out['spec']}")
    describe(module.graph, [PlainAOTInput(i) for i in range(len(flat))], flat, of_native(known), wants_grad)
    if wants_grad:
        _as_joint(module, len(flat), len(outputs))
    return module


def _as_joint(module, inputs, results):
    """Makes a joint graph's module take `(primals, tangents)` as lists, and give results and gradients as tuples."""
    names = [node.name for node in module.graph.nodes if node.op == "placeholder"]
    values = module.graph.output_node().args[0]
    _, in_spec = tree_flatten((names[:inputs], names[inputs:]))
    _, out_spec = tree_flatten((tuple([0] * results), tuple([0] * (len(values) - results))))
    module.graph.set_codegen(_PyTreeCodeGen(["primals", "tangents"], names, in_spec, out_spec))
    module._in_spec, module._out_spec = in_spec, out_spec
    module.recompile()
