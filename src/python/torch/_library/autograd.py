"""The derivative of an operator that a script defines: an `autograd.Function` whose forward is the operator below autograd.

`autograd.Function` differentiates tensors; lists of them are spread out for it, in arguments and results.
"""

import torch
from torch import _native_library as _native


def check_functional(overload, op):
    """A backward is for operators that neither write to arguments nor return views of them."""
    schema = overload._schema
    if schema.is_mutable or any(result.alias_info is not None for result in schema.returns):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {op} with schema {schema}. Please create a functional "
            f"operator and register an autograd formula for that."
        )
    if any(argument.kwarg_only and "Tensor" in argument.type_text for argument in schema.arguments):
        raise NotImplementedError(
            f"register_autograd with kwarg-only Tensor args. In the original definition of the op, please make your tensors not "
            f"kwarg-only. Got: {schema}"
        )


def _spread(values):
    """Values without lists, and how to put the lists back."""
    flat, shape = [], []
    for value in values:
        if isinstance(value, (list, tuple)) and any(isinstance(one, torch.Tensor) for one in value):
            flat.extend(value)
            shape.append((type(value), len(value)))
        else:
            flat.append(value)
            shape.append(None)
    return flat, shape


def _gathered(flat, shape):
    flat, values = list(flat), []
    for kind in shape:
        if kind is None:
            values.append(flat.pop(0))
        else:
            values.append(kind[0](flat[: kind[1]]))
            del flat[: kind[1]]
    return values


def _filled(schema, args, kwargs):
    """All arguments, defaults filled in."""
    positional = [argument for argument in schema.arguments if not argument.kwarg_only]
    named = [argument for argument in schema.arguments if argument.kwarg_only]
    args = tuple(args) + tuple(argument.default_value for argument in positional[len(args) :])
    return args, {argument.name: kwargs.get(argument.name, argument.default_value) for argument in named}


def implementation(overload, formula):
    """What the operator does above autograd. `formula()` gives the script's backward and its `setup_context`, or Nones."""
    schema = overload._schema
    positional_count = sum(not argument.kwarg_only for argument in schema.arguments)
    has_keywords = any(argument.kwarg_only for argument in schema.arguments)

    def forward(ctx, *flat):
        *flat, call = flat
        args = _gathered(flat, call["shape"])
        result = _native.call_below_autograd(overload, tuple(args), call["kwargs"])
        if schema.returns and "[]" in schema.returns[0].type_text and len(schema.returns) == 1:
            result = list(result)
        _, setup_context = formula()
        if setup_context is not None:
            inputs, keywords = _filled(schema, args, call["kwargs"])
            if has_keywords:
                setup_context(ctx=ctx, inputs=inputs, keyword_only_inputs=keywords, output=result)
            else:
                setup_context(ctx=ctx, inputs=inputs, output=result)
        several = isinstance(result, (list, tuple))
        outputs, call["results"] = _spread(result if several else (result,))
        call["kind"] = type(result) if several else None
        # A list saved or marked as a whole is not what autograd sees.
        ctx._call = call
        return tuple(outputs) if several else result

    def backward(ctx, *grads):
        call = ctx._call
        run, _ = formula()
        if run is None:
            raise RuntimeError(
                f"Trying to backward through {overload} but no autograd formula was registered. Please use register_autograd to "
                f"add one."
            )
        if call["kind"] is list:
            grads = (list(grads),)
        elif call["kind"] is not None:
            grads = _gathered(grads, call["results"])
        needs = ctx.needs_input_grad
        ctx.needs_input_grad = tuple(_gathered(needs[:-1], call["shape"]))
        try:
            result = run(ctx, *grads)
        finally:
            ctx.needs_input_grad = needs
        given = len(call["shape"])
        actual = len(result) if isinstance(result, tuple) else 1
        if actual not in (given, positional_count):
            expected = f"{given}" if given == positional_count else f"{given} or {positional_count}"
            raise RuntimeError(
                f"The backward formula for {overload} returned an incorrect number of gradients (expected {expected}, got "
                f"{actual}). Expected one gradient for each forward input, or for each positional input to the operator. Use None "
                f"for inputs that do not require a gradient."
            )
        result = result if isinstance(result, tuple) else (result,)
        flat = []
        for grad, kind in zip(result, call["shape"]):
            if kind is None:
                flat.append(grad)
            else:
                flat.extend([None] * kind[1] if grad is None else grad)
        return (*flat, None)

    name = f"GeneratedBackwardFor_{overload.namespace}_{overload._opname}_{overload._overloadname}"
    generated = type(name, (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})

    def call(*args, **kwargs):
        flat, shape = _spread(args)
        if torch.is_grad_enabled() and any(isinstance(one, torch.Tensor) and one.requires_grad for one in flat):
            record = {"shape": shape, "kwargs": kwargs}
            result = generated.apply(*flat, record)
            return list(result) if record.get("kind") is list else result
        return _native.call_below_autograd(overload, args, kwargs)

    return call
