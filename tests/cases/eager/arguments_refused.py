# Arguments that functions written in C++ do not take, or cannot obey without a GPU, are refused.
import torch

x = torch.ones(2)


def told(make):
    try:
        print(make())
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0])


for options in ({"pin_memory": True}, {"pin_memory": True, "device": "meta"}, {"pin_memory": False}):
    for make in (
        lambda: torch.ones(2, **options),
        lambda: torch.empty(0, **options),
        lambda: torch.arange(3, **options),
        lambda: torch.ones_like(x, **options),
        lambda: x.new_full((2,), 5.0, **options),
        lambda: torch.tensor([1.0, 2.0], **options),
        lambda: torch.scalar_tensor(3.0, **options),
    ):
        told(make)
told(lambda: x.pin_memory())
told(lambda: x.is_pinned())
told(lambda: torch.compile(lambda: torch.ones(2, pin_memory=True) * 2, backend="aot_eager")())

told(lambda: torch.tensor())
told(lambda: torch.tensor(3, 4))
told(lambda: torch.tensor(3, copy=True))
told(lambda: torch.tensor(data=3, names=None))
told(lambda: torch.tensor(3.0, requires_grad=1))
told(lambda: torch.tensor(3.0, requires_grad=None))
told(lambda: torch.tensor(3.0, device=3.5))
told(lambda: torch.tensor([3.0], device="meta").device)
told(lambda: x.new_tensor([3.0], device="meta").device)
told(lambda: x.new_tensor(3, dtype=torch.int64, requires_grad=False))
told(lambda: x.is_contiguous(memory=1))
told(lambda: x.is_contiguous(torch.contiguous_format))
told(lambda: x.is_contiguous(memory_format=torch.channels_last))
told(lambda: torch.Generator(seed=1))
told(lambda: torch.Generator("cpu", 1))
told(lambda: torch.Generator(device="cpu").device)
