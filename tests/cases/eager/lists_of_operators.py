# An operator that is called by itself gives the list of tensors that its schema says; functions and methods give tuples.

import torch


@torch.library.custom_op("lists::halves", mutates_args=())
def halves(x: torch.Tensor, n: int) -> list[torch.Tensor]:
    return [part.clone() for part in x.split(n)]


halves.register_fake(lambda x, n: [x.new_empty(n) for _ in range(x.shape[0] // n)])
x = torch.ones(4)
calls = {
    "aten.split.Tensor": lambda: torch.ops.aten.split.Tensor(x, 2),
    "aten.unbind": lambda: torch.ops.aten.unbind(x),
    "aten._foreach_add.Scalar": lambda: torch.ops.aten._foreach_add.Scalar([x], 1),
    "lists.halves": lambda: torch.ops.lists.halves(x, 2),
    "halves": lambda: halves(x, 2),
    "Tensor.split": lambda: x.split(2),
    "torch.unbind": lambda: torch.unbind(x),
    "torch._foreach_add": lambda: torch._foreach_add([x], 1),
}
for name, call in calls.items():
    torch._dynamo.reset()
    print(name, type(call()).__name__, type(torch.compile(call, backend="eager")()).__name__)
