"""`FunctionalTensor`: a functional tensor with a mode that functionalizes what is called inside of it."""

import contextlib

import torch
import torch.utils._pytree as pytree
from torch import _native_fake, _native_trace
from torch._keys import Left, Within
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = [
    "BaseFunctionalizeAPI", "FunctionalTensor", "FunctionalTensorMode", "FunctorchFunctionalizeAPI", "PythonFunctionalizeAPI",
    "disable_functional_mode", "dispatch_functionalize", "mb_unwrap_functional_tensor",
]


class FunctionalTensor(torch.Tensor):
    """A tensor that stands for another, which writes leave alone. Calls with it are made inside of a `FunctionalTensorMode`."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def to_functional(x):
        return _native_fake.to_functional(x, FunctionalTensor)

    @property
    def elem(self):
        return self

    def from_functional(self):
        return _native_fake.from_functional(self)

    def __repr__(self, *, tensor_contents=None):
        return f"FunctionalTensor({super().__repr__()})"


class FunctionalTensorMode(TorchDispatchMode):
    """Every call is functionalized; views stay views."""

    @classmethod
    def is_infra_mode(cls):
        return True

    def __enter__(self):
        _native_fake.functionalize_all(True, FunctionalTensor)
        return self

    def __exit__(self, *_):
        _native_fake.functionalize_all(None, None)


def dispatch_functionalize(func):
    """A function whose calls are functionalized, on functional tensors of its arguments: what it writes to stays as it was."""

    def inner(*args, **kwargs):
        def functional(x):
            return FunctionalTensor.to_functional(x) if isinstance(x, torch.Tensor) and not isinstance(x, FunctionalTensor) else x

        args, kwargs = pytree.tree_map(functional, (args, kwargs))
        with FunctionalTensorMode():
            outputs = func(*args, **kwargs)
        return pytree.tree_map(lambda x: x.from_functional() if isinstance(x, FunctionalTensor) else x, outputs)

    return inner


class TracingFunctionalMode(FunctionalTensorMode):
    """The functionalization of a graph that is traced, as rules of operators see it: its functional tensors are plain ones to Python."""

    def __init__(self):
        self._within = Within("functional")

    def __enter__(self):
        self._within.__enter__()
        return self

    def __exit__(self, *_):
        self._within.__exit__()


class FunctionalizeInterpreter:
    """A `torch.func.functionalize` that is under way."""

    def __init__(self, keeps_views):
        self._keeps_views = keeps_views

    def functionalize_add_back_views(self):
        return self._keeps_views

    def lower(self):
        return contextlib.nullcontext()


class BaseFunctionalizeAPI:
    """What a rule that functionalizes an operator is given: it takes values out of functional tensors, goes on below, and puts the
    results into functional tensors."""

    def wrap_tensors(self, args):
        return pytree.tree_map_only(torch.Tensor, _native_trace.to_functional, args)

    def unwrap_tensors(self, args):
        return pytree.tree_map_only(torch.Tensor, _native_trace.from_functional, args)

    def redispatch_to_next(self):
        return contextlib.nullcontext()

    def sync(self, tensor):
        _native_trace.from_functional(tensor)

    def replace(self, input_tensor, output_tensor):
        _native_trace.replace(input_tensor, output_tensor)

    def commit_update(self, tensor):
        _native_trace.from_functional(tensor)

    def mark_mutation_hidden_from_autograd(self, tensor):
        raise NotImplementedError("mark_mutation_hidden_from_autograd is not available in the playground")


class PythonFunctionalizeAPI(BaseFunctionalizeAPI):
    """The same inside of a `FunctionalTensorMode`, and where AOTAutograd traces."""

    def __init__(self, mode=None, pre_dispatch=False):
        self.mode, self.pre_dispatch = mode or FunctionalTensorMode(), pre_dispatch

    def wrap_tensors(self, args):
        if isinstance(self.mode, TracingFunctionalMode):
            return super().wrap_tensors(args)
        return pytree.tree_map_only(torch.Tensor, FunctionalTensor.to_functional, args)

    def functionalize(self, inner_f):
        def inner(*args, **kwargs):
            flat, spec = pytree.tree_flatten((args, kwargs))
            kept = {}

            def run(values):
                args, kwargs = pytree.tree_unflatten(values, spec)
                leaves, kept["spec"] = pytree.tree_flatten(inner_f(*args, **kwargs))
                return leaves

            return pytree.tree_unflatten(_native_trace.functional_calls(run, flat), kept["spec"])

        return inner


class FunctorchFunctionalizeAPI(BaseFunctionalizeAPI):
    """The same inside of `torch.func.functionalize`."""

    def __init__(self, interpreter):
        self.interpreter = interpreter

    def functionalize(self, inner_f):
        # What it is called by is PyTorch's choice.
        keeps_views = self.interpreter.functionalize_add_back_views()
        return torch.func.functionalize(inner_f, remove="mutations_and_views" if keeps_views else "mutations")

    def redispatch_to_next(self):
        return self.interpreter.lower()


def disable_functional_mode():
    """A block whose calls are not functionalized."""
    return Left("functional")


def mb_unwrap_functional_tensor(tensor):
    """The value of a functional tensor; others are their own."""
    return _native_trace.from_functional(tensor)
