"""The part of PyTorch that the playground has, in PyTorch's own package layout.

Its files are frozen into the binary and read when they are imported; what is not Python is in `torch._C`. A name of this
module is looked up when it is first used: among what Python defines, the submodules, then the operators and the rest of
`torch._C`. So `import torch` costs next to nothing.
"""

from math import e, inf, nan, pi

from torch._C import _pytorch_version as __version__

newaxis = None

# Names that Python defines, by the file they are in.
_PARTS = {
    "autograd.grad_mode": "no_grad enable_grad set_grad_enabled inference_mode",
    "_limits": "finfo iinfo",
    "_errors": "AcceleratorError OutOfMemoryError",
    "_legacy_types": (
        "FloatTensor DoubleTensor HalfTensor BFloat16Tensor LongTensor IntTensor ShortTensor CharTensor ByteTensor BoolTensor"
    ),
    "amp.autocast_mode": (
        "autocast is_autocast_enabled is_autocast_cpu_enabled get_autocast_dtype get_autocast_cpu_dtype get_autocast_gpu_dtype "
        "set_autocast_enabled set_autocast_dtype is_autocast_cache_enabled set_autocast_cache_enabled clear_autocast_cache "
        "autocast_increment_nesting autocast_decrement_nesting"
    ),
    "amp.grad_scaler": "GradScaler",
    "_tensor_str": "set_printoptions",
    "_utils": (
        "typename is_tensor is_floating_point is_complex is_nonzero is_same_size is_signed is_conj is_inference numel as_tensor asarray from_numpy "
        "get_num_threads set_num_threads get_num_interop_threads set_num_interop_threads _has_compatible_shallow_copy_type "
        "is_storage set_default_dtype set_default_tensor_type set_default_device get_default_device "
        "use_deterministic_algorithms are_deterministic_algorithms_enabled set_deterministic_debug_mode "
        "get_deterministic_debug_mode compiled_with_cxx11_abi get_device "
        "is_deterministic_algorithms_warn_only_enabled set_float32_matmul_precision get_float32_matmul_precision "
        "sym_int sym_float sym_not sym_max sym_min sym_ite sym_sum sym_sqrt _sym_sqrt _sym_cos _sym_cosh _sym_sin _sym_sinh _sym_tan "
        "_sym_tanh _sym_asin _sym_acos _sym_atan _sym_log2 _check _check_is_size _check_index _check_value "
        "_check_type _check_not_implemented _check_with _check_tensor_all"
    ),
    "functional": (
        "align_tensors atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist "
        "chain_matmul einsum lu meshgrid norm split stft istft tensordot unique unique_consecutive unravel_index"
    ),
    "_numeric": "gradient histogram histogramdd range _assert",
    "_lowrank": "svd_lowrank pca_lowrank",
    "_removed": "symeig eig solve lstsq matrix_rank cholesky qr",
    "random": "manual_seed seed initial_seed get_rng_state set_rng_state",
    "serialization": "save load",
    "_ops": "ops",
    "_tags": "Tag",
    "_sym": "SymInt SymFloat SymBool",
    "_functional": (
        "_to_functional_tensor _from_functional_tensor _is_functional_tensor _enable_functionalization _disable_functionalization _sync"
    ),
    "_dynamo.eval_frame": "compile",
    "_functorch.vmap": "vmap",
    "_higher_order_ops.cond": "cond",
}
_HOME = {name: part for part, names in _PARTS.items() for name in names.split()}
_SUBMODULES = (
    "__config__ __future__ accelerator _C _decomp _dynamo _functorch _higher_order_ops _inductor _library _logging _ops _prims_common "
    "_subclasses _tensor _tensor_str _utils _VF ao amp autograd backends compiler cpu cuda distributed distributions export fft func "
    "functional futures fx hub jit library linalg masked mps multiprocessing nested nn onnx optim overrides package "
    "profiler quantization random serialization signal sparse special testing types utils version xpu"
).split()


_public = frozenset()


def _is_of_pytorch(name):
    """Operators of `torch.nn.functional`, `torch.fft` and tensors are no functions of this module."""
    global _public
    if not _public:
        from torch._names import NAMES

        _public = frozenset(NAMES["torch"].split())
    return name.startswith("_") or name in _public


def __getattr__(name):
    from torch import _C

    part = _HOME.get(name)
    if part is not None:
        value = getattr(__import__(f"torch.{part}", fromlist=[name]), name)
    elif name == "legacy_contiguous_format":
        value = _C.contiguous_format
    elif name in _SUBMODULES:
        return __import__(f"torch.{name}", fromlist=["_"])
    elif _is_of_pytorch(name) and hasattr(_C, "_VariableFunctions") and hasattr(_C._VariableFunctions, name):
        value = getattr(_C._VariableFunctions, name)
    elif _is_of_pytorch(name) and hasattr(_C, name) and name != "__path__":
        value = getattr(_C, name)
    else:
        from torch._absent import attribute_error

        raise attribute_error("torch", name)
    globals()[name] = value
    return value


def __dir__():
    from torch import _C

    operators = dir(_C._VariableFunctions) if hasattr(_C, "_VariableFunctions") else ()
    public = (name for name in (*operators, *dir(_C)) if not name.startswith("_") and _is_of_pytorch(name))
    return sorted({*globals(), *_HOME, *_SUBMODULES, *public})
