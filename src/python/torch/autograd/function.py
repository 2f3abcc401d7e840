"""`Function`: an operation whose backward a script writes.

`Function.apply(*args)` is the native `_function_apply(cls, args)`. It makes the context, `ctx = cls._backward_cls()`, which is
the node as a script sees it; sets `ctx.needs_input_grad`; calls `ctx._run_forward(args)` with recording off; reads from the
context what the forward said of its tensors (`to_save`, `dirty_tensors`, `non_differentiable`, `materialize_grads`), puts a
callable that gives the saved tensors back into `ctx._unpack_saved`, and has the node call `ctx._run_backward(grads)`.
"""

import torch
from torch import _C, _native_compile, _native_transforms

__all__ = ["FunctionCtx", "BackwardCFunction", "FunctionMeta", "Function", "once_differentiable", "InplaceFunction"]


class FunctionCtx:
    """What a forward tells its backward."""

    to_save = ()
    saved_for_forward = ()
    dirty_tensors = ()
    non_differentiable = ()
    materialize_grads = True
    needs_input_grad = ()
    _unpack_saved = None

    def save_for_backward(self, *tensors):
        """Keeps tensors for backward."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, torch.Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {tensors.index(tensor)} is of type "
                    f"{type(tensor).__name__}"
                )
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Keeps tensors for forward-mode derivatives."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        """Says which inputs the forward changed."""
        _variables("mark_dirty can only accept variables", args)
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args):
        """Says which outputs have no gradient."""
        _variables("mark_non_differentiable only accepts variable arguments", args)
        self.non_differentiable = args

    def set_materialize_grads(self, value):
        """Whether backward is given zeros for gradients that are not there, or None."""
        self.materialize_grads = value

    @property
    def saved_tensors(self):
        """What `save_for_backward` kept."""
        if self._unpack_saved is None:
            return tuple(self.to_save)
        saved = tuple(self._unpack_saved())
        _native_compile._become_inputs(*saved)
        return saved

    @property
    def saved_variables(self):
        """What `saved_tensors` was called; Dynamo does not know it."""
        if _native_compile._is_compiling():
            raise AttributeError("'FunctionCtx' object has no attribute 'saved_variables'")
        import warnings

        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors


def _variables(what, args):
    for place, one in enumerate(args):
        if not isinstance(one, torch.Tensor):
            argument = f"argument {place} is of type" if "can only" in what else "got"
            raise RuntimeError(f"{what}, but {argument} {type(one).__name__}")


def _with_defaults(function, args):
    """Arguments with the defaults of those that are not given: `setup_context` has all of them."""
    defaults, code = getattr(function, "__defaults__", None) or (), getattr(function, "__code__", None)
    missing = 0 if code is None else code.co_argcount - len(args)
    return (*args, *defaults[len(defaults) - missing :]) if 0 < missing <= len(defaults) else args


class BackwardCFunction(FunctionCtx):
    """The context of one call; it stands for the node."""

    _forward_cls = None

    def _run_forward(self, args):
        """The forward's result; remembers what its outputs are like, for gradients that are not there."""
        cls = self._forward_cls
        if cls.setup_context is not Function.setup_context:
            outs = cls.forward(*args)
            cls.setup_context(self, args, outs)
        else:
            outs = cls.forward(self, *args)
        outputs = outs if isinstance(outs, tuple) else (outs,)
        self._output_likes = [
            (tuple(one.shape), one.dtype, one.device) if isinstance(one, torch.Tensor) else None for one in outputs
        ]
        self._argument_count = len(args)
        return outs

    def _run_backward(self, grads, is_traced=False):
        """The gradients of the arguments, a tuple as long as they were. Dynamo pairs gradients with arguments as far as there are any."""
        if self.materialize_grads:
            grads = [
                torch.zeros(like[0], dtype=like[1], device=like[2]) if grad is None and like is not None else grad
                for grad, like in zip(grads, self._output_likes)
            ]
        result = self.apply(*grads)
        if not isinstance(result, tuple):
            result = (result,)
        count = self._argument_count
        name = type(self).__name__
        if len(result) > count:
            if any(one is not None for one in result[count:]):
                raise RuntimeError(
                    f"function {name} returned an incorrect number of gradients (expected {count}, got {len(result)})"
                )
            result = result[:count]
        if is_traced and result:
            result += (None,) * (count - len(result))
        if len(result) != count:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {count}, got {len(result)})"
            )
        for place, (one, needed) in enumerate(zip(result, self.needs_input_grad)):
            if one is not None and not isinstance(one, torch.Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(one).__name__})")
            if one is not None and place not in self._tensor_positions:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {place + 1}, but the corresponding "
                    "forward input was not a Variable"
                )
        return tuple(one if needed else None for one, needed in zip(result, self.needs_input_grad))

    def apply(self, *args):
        """The script's backward."""
        cls = self._forward_cls
        has_backward, has_vjp = cls.backward is not Function.backward, cls.vjp is not Function.vjp
        if has_backward and has_vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
                "them."
            )
        return (cls.vjp if has_vjp else cls.backward)(self, *args)

    def name(self):
        """The node's name."""
        return type(self).__name__


class FunctionMeta(type):
    """Gives each function the class of its contexts."""

    def __init__(cls, name, bases, attrs):
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), {"_forward_cls": cls})
        super().__init__(name, bases, attrs)


class Function(metaclass=FunctionMeta):
    """The base of operations whose backward a script writes."""

    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        import warnings

        warnings.warn(
            f"{self.__class__} should not be instantiated. Methods on autograd functions are all static, so you should invoke "
            "them on the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args, **kwargs):
        """Computes the result; its first argument is the context, unless `setup_context` is there."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Tells the context of a forward that has not got it."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Computes the gradients of the arguments."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Computes forward-mode derivatives."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        """Computes a batch."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Calls the function."""
        if kwargs:
            import inspect

            has_context = cls.setup_context is Function.setup_context
            bound = inspect.signature(cls.forward).bind(*((None, *args) if has_context else args), **kwargs)
            bound.apply_defaults()
            args = bound.args[1:] if has_context else bound.args
        elif cls.setup_context is not Function.setup_context:
            args = _with_defaults(cls.forward, args)
        level = _native_transforms._current_level()
        if level is not None:
            from torch.autograd._function_transforms import apply

            return apply(cls, args, level)
        return _C._function_apply(cls, args)


class InplaceFunction(Function):
    """Of old: a function that may work in place."""


def once_differentiable(fn):
    """A backward that is not differentiable itself."""
    import functools

    @functools.wraps(fn)
    def wrapper(ctx, *args):
        with torch.no_grad():
            outputs = fn(ctx, *args)
        if not torch.is_grad_enabled():
            return outputs
        if not any(isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args):
            return outputs
        single = not isinstance(outputs, tuple)
        guarded = [
            _NotDifferentiable.apply(one, *args) if isinstance(one, torch.Tensor) else one
            for one in ((outputs,) if single else outputs)
        ]
        return guarded[0] if single else tuple(guarded)

    return wrapper


class _NotDifferentiable(Function):
    """Gives its first argument; fails in backward."""

    @staticmethod
    def forward(ctx, value, *sources):
        return value.detach()

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
