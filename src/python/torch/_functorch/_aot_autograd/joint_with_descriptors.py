"""A module's joint graph with descriptors, which may be edited before it is split and compiled."""

from torch import _native, _native_aot
from torch._arguments import unobeyed
from torch.fx.traceback import kept_annotations
from torch.utils._pytree import tree_flatten, tree_unflatten
from torch._functorch._aot_autograd.descriptors import BufferAOTInput, ParamAOTInput, PlainAOTInput, describe
from torch._functorch._aot_autograd.schemas import of_native
from torch._functorch.partitioners import default_partition


class JointWithDescriptors:
    """A joint graph, what its inputs and outputs are, and what is needed to make a function of it."""

    def __init__(self, graph_module, flat_fn, inputs, decompositions, state, metadata, spec, out_spec, is_joint):
        self.graph_module = graph_module
        self.params_spec, self.buffers_spec, self.fw_metadata = *state, metadata
        self.in_spec, self.out_spec = spec, out_spec
        self._flat_fn, self._inputs, self._decompositions = flat_fn, inputs, decompositions
        self._is_joint, self._is_compiled = is_joint, False


def aot_export_joint_with_descriptors(
    stack,
    mod,
    args,
    kwargs=None,
    *,
    decompositions=None,
    keep_inference_input_mutations=False,
    ignore_shape_env=False,
    disable_functionalization=False,
    _record_nn_module_stack=False,
    _disable_torch_fn_metadata_mode=False,
):
    """Traces a module on examples. Parameters and buffers come first among the inputs."""
    unobeyed(
        "aot_export_joint_with_descriptors",
        keep_inference_input_mutations=(keep_inference_input_mutations, False),
        ignore_shape_env=(ignore_shape_env, False),
        disable_functionalization=(disable_functionalization, False),
        _record_nn_module_stack=(_record_nn_module_stack, False),
        _disable_torch_fn_metadata_mode=(_disable_torch_fn_metadata_mode, False),
    )
    from torch.func import functional_call

    parameters, buffers = dict(mod.named_parameters()), dict(mod.named_buffers())
    state = {**parameters, **buffers}
    flat, spec = tree_flatten((tuple(args), kwargs or {}))
    out = {}

    def flat_fn(*given):
        args, kwargs = tree_unflatten(list(given[len(state) :]), spec)
        with kept_annotations():
            result = functional_call(mod, dict(zip(state, given)), args, kwargs)
        leaves, out["spec"] = tree_flatten(result)
        return leaves

    inputs = [*state.values(), *flat]
    is_joint = any(isinstance(value, _native.TensorBase) and value.requires_grad for value in inputs)

    def trace(reports):
        return _native_aot._aot_export(flat_fn, inputs, "joint" if is_joint else "inference", decompositions or None, reports)

    module, _, _, _, known = trace(False)
    metadata = of_native(known)
    described = [*map(ParamAOTInput, parameters), *map(BufferAOTInput, buffers), *map(PlainAOTInput, range(len(flat)))]
    describe(module.graph, described, inputs, metadata, is_joint)
    joint = JointWithDescriptors(
        module, flat_fn, inputs, decompositions, (list(parameters), list(buffers)), metadata, spec, out["spec"], is_joint
    )
    # What is compiled is reported with its parts, what is not when the caller is done with it.
    stack.callback(lambda: joint._is_compiled or trace(True))
    return joint


def aot_compile_joint_with_descriptors(
    jd, *, partition_fn=default_partition, fw_compiler=None, bw_compiler=None, serializable=False
):
    """Splits the graph as it is now, and makes a function that takes the module's parameters and buffers before its arguments."""
    unobeyed("aot_compile_joint_with_descriptors", serializable=(serializable, False))
    from torch._functorch.aot_autograd import _compile

    def split(_joint, examples, **options):
        return partition_fn(jd.graph_module, examples, **options)

    def edited(_graph, examples):
        return (fw_compiler or (lambda graph, _: graph))(jd.graph_module, examples)

    compilers = dict(fw_compiler=fw_compiler, bw_compiler=bw_compiler) if jd._is_joint else dict(inference_compiler=edited)
    options = dict(decompositions=jd._decompositions, partition_fn=split, force_non_lazy_backward_lowering=True, **compilers)
    compiled = _compile(jd._flat_fn, jd._inputs, options)
    jd._is_compiled = True
    names = jd.in_spec.children()[1].context

    def unflattened_compiled_fn(*args, **kwargs):
        if names and set(kwargs) == set(names):
            kwargs = {name: kwargs[name] for name in names}
        flat, _ = tree_flatten((args, kwargs))
        return tree_unflatten(list(compiled(*flat)), jd.out_spec)

    return unflattened_compiled_fn
