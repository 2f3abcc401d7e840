"""`FakeTensorMode`: operators are answered by what their results look like, and nothing is computed."""

import contextlib
import weakref

import torch
from torch import _native_fake
from torch._arguments import unobeyed
from torch._keys import Within
from torch._errors import DataDependentOutputException, DynamicOutputShapeException, FakeTensorDeviceMismatchError
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

__all__ = ["FakeCopyMode", "FakeTensor", "FakeTensorMode", "DataDependentOutputException", "DynamicOutputShapeException", "is_fake"]

_modes = {}


class UnsupportedFakeTensorException(RuntimeError):
    """There is no fake tensor for a tensor."""


class UnsupportedOperatorException(RuntimeError):
    """An operator does not say what its results look like."""


class FakeTensor(torch.Tensor):
    """A tensor of a `FakeTensorMode`: all but its values is known."""

    constant = None
    real_tensor = None
    __torch_function__ = torch._C._disabled_torch_function_impl

    @property
    def fake_mode(self):
        return _modes.get(_native_fake.mode_of(self))

    @property
    def fake_device(self):
        return self.device

    @staticmethod
    def from_tensor(t, fake_mode):
        return fake_mode.from_tensor(t)

    def __repr__(self, *, tensor_contents=None):
        text = super().__repr__()
        return f"Parameter({text})" if getattr(self, "_is_param", False) else text

    def numpy(self, *, force=False):
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def tolist(self):
        if self.dim() == 0:
            return self.item()
        if self.dim() == 1:
            return [item.item() for item in self]
        return [row.tolist() for row in self]


_native_fake.set_class(FakeTensor)


class FakeTensorMode(TorchDispatchMode):
    """Inside of it tensors are made without values; what takes part in a call with one of its tensors is one, too."""

    def __init__(
        self,
        *,
        allow_fallback_kernels=True,
        allow_non_fake_inputs=False,
        shape_env=None,
        static_shapes=None,
        export=False,
    ):
        symbols = None if shape_env is None else shape_env._symbols
        scalars, sizes = (False, False) if shape_env is None else (shape_env.allow_scalar_outputs, shape_env.allow_dynamic_output_shape_ops)
        self._number = _native_fake.create(symbols, allow_non_fake_inputs, scalars, sizes)
        self.allow_fallback_kernels = allow_fallback_kernels
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env = shape_env
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self.export = export
        self._known, self._count = {}, 0
        _modes[self._number] = self

    def __enter__(self):
        _native_fake.enter(self._number)
        return self

    def __exit__(self, *_):
        _native_fake.exit()

    @classmethod
    def is_infra_mode(cls):
        return True

    def is_our_fake(self, t):
        return isinstance(t, FakeTensor) and t.fake_mode is self

    def _kinds(self, tensor, context):
        """Of every dimension, whether it is a number, a symbol that equal sizes share, a symbol of its own or one that only a run knows,
        and its bounds."""
        from torch.fx.experimental.symbolic_shapes import DimDynamic, StrictMinMaxConstraint

        env = self.shape_env
        if context is None:
            return [[1 if env.duck_shape else 2, None, None]] * tensor.dim()
        unobeyed("StatelessSymbolicContext", specialize_on=(context.specialize_on, None), view_base_context=(context.view_base_context, None))
        if len(context.dynamic_sizes) != tensor.dim():
            raise AssertionError(f"{len(context.dynamic_sizes)} dynamic_sizes for a tensor of {tensor.dim()} dimensions")
        kinds = {DimDynamic.STATIC: 0, DimDynamic.DUCK: 1 if env.duck_shape else 2, DimDynamic.DYNAMIC: 2, DimDynamic.UNBACKED: 3}
        found = []
        for kind, constraint in zip(context.dynamic_sizes, context.constraint_sizes):
            number = kinds[kind] if constraint is None else 2
            bounds = constraint.vr if isinstance(constraint, StrictMinMaxConstraint) else None
            limits = (getattr(bounds, "lower", None), getattr(bounds, "upper", None))
            found.append([number, *(limit if isinstance(limit, int) else None for limit in limits)])
        return found

    def from_tensor(self, tensor, *, static_shapes=None, source=None, symbolic_context=None, trace=True):
        """What stands for a tensor in this mode: the same one every time."""
        if self.is_our_fake(tensor):
            return tensor
        static_shapes = self.static_shapes if static_shapes is None else static_shapes
        if static_shapes and symbolic_context is not None:
            raise AssertionError("cannot set both static_shapes and symbolic_context")
        number, self._count = self._count, self._count + 1
        reference, fake = self._known.get(id(tensor), (None, None))
        if reference is not None and reference() is tensor:
            return fake
        name = f"__meta_utils_unknown_tensor{number}" if source is None else source.name if isinstance(source.name, str) else source.name()
        symbols = None if static_shapes else self.shape_env._symbols
        kinds = [] if static_shapes else self._kinds(tensor, symbolic_context)
        fake = _native_fake.from_tensor(self._number, tensor, symbols, kinds, name)
        if isinstance(tensor, torch.nn.Parameter):
            fake._is_param = True
        self._known[id(tensor)] = (weakref.ref(tensor), fake)
        return fake


class TracingFakeMode(FakeTensorMode):
    """The mode of a graph that is traced without values, as rules of operators see it."""

    shape_env = None
    allow_non_fake_inputs = False
    static_shapes = True

    def __init__(self):
        self._within = Within("fake")

    def __enter__(self):
        self._within.__enter__()
        return self

    def __exit__(self, *_):
        self._within.__exit__()

    def from_tensor(self, tensor, **_):
        raise NotImplementedError("from_tensor of the mode that a graph is traced in is not available in the playground")


class FakeCopyMode(TorchFunctionMode):
    """Inside of it `copy.deepcopy` of a module or a tensor copies to fake tensors of a mode."""

    def __init__(self, fake_mode):
        super().__init__()
        self.fake_mode = fake_mode

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.Tensor.clone:
            return func(self.fake_mode.from_tensor(args[0], static_shapes=True), **(kwargs or {}))
        if func is torch.Tensor.__deepcopy__:
            tensor, memo = args
            if id(tensor) not in memo:
                memo[id(tensor)] = self.fake_mode.from_tensor(tensor, static_shapes=True)
            return memo[id(tensor)]
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


def is_fake(x):
    """Whether a value is a fake tensor."""
    return isinstance(x, FakeTensor)


is_fake_tensor = is_fake


def maybe_get_fake_mode(t):
    """The mode of a fake tensor."""
    return t.fake_mode if isinstance(t, FakeTensor) else None


@contextlib.contextmanager
def unset_fake_temporarily():
    """Outside of every mode for a while."""
    mode = _modes.get(_native_fake.entered())
    _native_fake.enter(0)
    try:
        yield mode
    finally:
        _native_fake.exit()


def _detected(inputs):
    """The mode that the script is in, and those of fake tensors among values."""
    entered = _modes.get(_native_fake.entered())
    found = [] if entered is None else [(entered, "active fake mode", 0)]
    fakes = [(leaf.fake_mode, "fake tensor input", i) for i, leaf in enumerate(tree_leaves(inputs)) if is_fake(leaf)]
    return found + fakes
