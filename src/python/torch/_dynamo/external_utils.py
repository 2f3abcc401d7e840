"""Functions that graphs of compiled autograd call, and that Dynamo traces into."""

import torch


def call_hook(hook, *args, **kwargs):
    """Calls a hook; what it does not replace stays."""
    result = hook(*args)
    if result is None:
        return args[0]
    if kwargs.get("hook_type") == "post_acc_grad_hook":
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    return result


class FakeBackwardCFunction:
    """A context of a custom function with the saved tensors that the graph has."""

    def __init__(self, real, saved_tensors):
        self.real = real
        self.saved_tensors = saved_tensors

    def __getattr__(self, name):
        if name == "saved_variables":
            import warnings

            warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
            return self.saved_tensors
        return getattr(self.real, name)


def call_backward(backward_c_function, saved_tensors, *args):
    """Runs the script's backward of a custom function."""
    fake = FakeBackwardCFunction(backward_c_function, saved_tensors)
    grads = fake._forward_cls.backward(fake, *args)
    return grads if isinstance(grads, tuple) else (grads,)


def unwrap_maybe_dynamic_int(x):
    """A size: that of the second dimension, where it came as a tensor that can be dynamic."""
    return x.size(1) if isinstance(x, torch.Tensor) else x


def call_accumulate_grad(variable, variable_grad, grad, has_post_hooks=None):
    """Adds a gradient into a leaf's."""
    updated = torch._dynamo.compiled_autograd.ops.AccumulateGrad([grad], variable, variable_grad, has_post_hooks)
    variable.grad = updated[0]
    return variable.grad


def _exec_final_callbacks_stub():
    """Where callbacks that hooks queued would run."""
