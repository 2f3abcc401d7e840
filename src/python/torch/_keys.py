"""`torch._C.DispatchKey` and `DispatchKeySet`: names of the places where a call may be answered, and sets of them."""

import enum

import torch
from torch import _native_trace

# Source: PyTorch, torch/_C/__init__.pyi, DispatchKey, with the numbers that torch 2.15 prints.
_ALONE = (
    "Undefined=0 Dense=1 Quantized=5 Sparse=8 SparseCsr=9 NestedTensor=10 BackendSelect=11 Python=13 "
    "FuncTorchDynamicLayerBackMode=14 Functionalize=15 Conjugate=16 Negative=17 ZeroTensor=18 ADInplaceOrView=19 AutogradOther=20 "
    "AutogradFunctionality=21 AutogradNestedTensor=22 AutocastCPU=24 AutocastXPU=27 AutocastIPU=28 AutocastHPU=29 AutocastMPS=31 "
    "AutocastCUDA=32 AutocastPrivateUse1=33 FuncTorchBatched=34 FuncTorchVmapMode=36 FuncTorchGradWrapper=39 PythonTLSSnapshot=41 "
    "FuncTorchDynamicLayerFrontMode=42 PreDispatch=45 PythonDispatcher=46 Autograd=150 CompositeImplicitAutograd=151 "
    "FuncTorchBatchedDecomposition=152 CompositeImplicitAutogradNestedTensor=153 CompositeExplicitAutograd=154 "
    "CompositeExplicitAutogradNonFunctional=155 "
)
_BACKENDS = "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta".split()
_PER_BACKEND = {"": 49, "Quantized": 66, "Sparse": 83, "SparseCsr": 100, "NestedTensor": 117, "Autograd": 134}


def _numbers():
    found = {name: int(number) for name, number in (pair.split("=") for pair in _ALONE.split())}
    for kind, first in _PER_BACKEND.items():
        found.update({kind + backend: first + i for i, backend in enumerate(_BACKENDS)})
    return found


class _Key:
    """What all keys have in common."""

    def __str__(self):
        return f"DispatchKey.{self.name}"

    def __int__(self):
        return self.value

    def __index__(self):
        return self.value


DispatchKey = enum.Enum("DispatchKey", _numbers(), type=_Key, module="torch._C")

# Names of many keys at once, which are in no set.
_ALIASES = 150


class DispatchKeySet:
    """A set of keys."""

    __module__ = "torch._C"

    def __init__(self, *keys):
        self._keys = frozenset(key for key in keys if 0 < key.value < _ALIASES)

    def has(self, key):
        return key in self._keys

    def add(self, key):
        return DispatchKeySet(*self._keys, key)

    def remove(self, key):
        return DispatchKeySet(*self._keys - {key})

    def __or__(self, other):
        return DispatchKeySet(*self._keys | other._keys)

    def __and__(self, other):
        return DispatchKeySet(*self._keys & other._keys)

    def __sub__(self, other):
        return DispatchKeySet(*self._keys - other._keys)

    def _in_order(self):
        """From the lowest up: backends, then what stands above them."""
        def place(key):
            if key.value >= 134:
                return 21, key.value
            return (0, key.value) if key.value >= 49 else (key.value, 0)

        return sorted(self._keys, key=place)

    def highestPriorityTypeId(self):
        return self._in_order()[-1] if self._keys else DispatchKey.Undefined

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self):
        return hash(self._keys)

    def __repr__(self):
        return f"DispatchKeySet({', '.join(key.name for key in self._in_order())})"


def backend_of(tensor):
    """The name of a tensor's backend in keys."""
    return {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}[tensor.device.type]


def answers_operators(cls):
    """Whether a class of tensors has a `__torch_dispatch__` of its own."""
    owner = next(c for c in cls.__mro__ if "__torch_dispatch__" in c.__dict__)
    return owner is not torch.Tensor and owner.__dict__["__torch_dispatch__"] is not torch._C._disabled_torch_dispatch_impl


def _dispatch_keys(tensor):
    """The keys of a tensor."""
    backend = backend_of(tensor)
    names = [backend]
    if tensor.is_conj():
        names.append("Conjugate")
    if tensor.is_neg():
        names.append("Negative")
    if not tensor.is_inference():
        names += ["ADInplaceOrView", f"Autograd{backend}"]
    if backend != "Meta":
        names.append(f"Autocast{backend}")
    if answers_operators(type(tensor)):
        names += ["Python", "PythonTLSSnapshot"]
    return DispatchKeySet(*(DispatchKey[name] for name in names))


class Left:
    """A block in which calls do not see parts of dispatch."""

    def __init__(self, *parts):
        self._parts = parts

    def __enter__(self):
        for part in self._parts:
            _native_trace.leave(part)

    def __exit__(self, *_):
        for _ in self._parts:
            _native_trace.back()


class Within:
    """A block in which calls see a part of dispatch again that was left."""

    def __init__(self, part):
        self._part = part

    def __enter__(self):
        _native_trace.enter(self._part)

    def __exit__(self, *_):
        _native_trace.back()


class _AutoDispatchBelowAutograd(Left):
    """A block in which calls are not differentiated."""

    def __init__(self):
        super().__init__("autograd")


class _ExcludeDispatchKeyGuard(Left):
    """A block in which calls do not see some keys."""

    def __init__(self, keys):
        known = {DispatchKey.Functionalize: "functional", DispatchKey.ADInplaceOrView: None}
        known |= {key: "autograd" for key in DispatchKey if key.name.startswith("Autograd")}
        for key in keys._keys:
            if key not in known:
                raise NotImplementedError(f"excluding {key} is not available in the playground")
        super().__init__(*dict.fromkeys(known[key] for key in keys._keys if known[key] is not None))


ExcludeDispatchKeyGuard = _ExcludeDispatchKeyGuard
