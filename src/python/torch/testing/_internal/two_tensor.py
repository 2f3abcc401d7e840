"""`TwoTensor`: a tensor made of two, on both of which every operator runs."""

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing


class TwoTensor(torch.Tensor):
    """Shows the first tensor's size, and computes with both."""

    @staticmethod
    def __new__(cls, a, b, outer_size=None, outer_stride=None, *, requires_grad=None):
        looks = lambda t: (t.device, t.layout, t.requires_grad, t.dtype)
        if looks(a) != looks(b):
            raise AssertionError("Expected a and b to have same device, layout, requires_grad, and dtype")
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            a.size() if outer_size is None else outer_size,
            strides=a.stride() if outer_stride is None else outer_stride,
            storage_offset=a.storage_offset(),
            device=a.device,
            layout=a.layout,
            requires_grad=requires_grad or a.requires_grad,
            dtype=a.dtype,
        )
        if a.shape != b.shape:
            raise AssertionError(f"Expected a.shape == b.shape, got {a.shape} != {b.shape}")
        if a.stride() != b.stride():
            raise AssertionError(f"Expected a.stride() == b.stride(), got {a.stride()} != {b.stride()}")
        if a.storage_offset() != b.storage_offset():
            raise AssertionError(
                f"Expected a.storage_offset() == b.storage_offset(), got {a.storage_offset()} != {b.storage_offset()}"
            )
        return made

    def __init__(self, a, b, outer_size=None, outer_stride=None, *, requires_grad=None):
        self.a, self.b = a, b

    def __repr__(self):
        return f"TwoTensor({self.a!r}, {self.b!r})"

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner_tensors, meta, outer_size, outer_stride):
        if meta is not None:
            raise AssertionError("Expected meta to be None")
        return TwoTensor(inner_tensors["a"], inner_tensors["b"], outer_size, outer_stride)

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs):
        results = []
        for side in ("a", "b"):
            of_side = lambda t: getattr(t, side)
            results.append(
                func(
                    *pytree.tree_map_only(TwoTensor, of_side, args),
                    **pytree.tree_map_only(TwoTensor, of_side, kwargs or {}),
                )
            )
        (of_a, spec), of_b = pytree.tree_flatten(results[0]), pytree.tree_leaves(results[1])
        # What is no tensor is the same on both sides.
        pairs = [cls(a, b) if isinstance(a, torch.Tensor) else a for a, b in zip(of_a, of_b, strict=True)]
        return return_and_correct_aliasing(func, args, kwargs, pytree.tree_unflatten(pairs, spec))

    def get_elem_a(self):
        return self.a


class TwoTensorMode(TorchDispatchMode):
    """Makes every tensor that a factory makes a `TwoTensor`."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        takes_tensor = any(isinstance(x, torch.Tensor) for x in pytree.tree_leaves((args, kwargs)))
        if isinstance(made, torch.Tensor) and not takes_tensor:
            made = TwoTensor(made, made.clone())
        return made
