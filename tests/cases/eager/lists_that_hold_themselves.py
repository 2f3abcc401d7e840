"""Lists that hold themselves, or are deeper than any stack, where tensors and numbers are expected."""
import torch
import torch.utils._pytree as pytree


def t(name, f):
    try:
        print(name, type(f()).__name__)
    except Exception as error:
        print(name, type(error).__name__, str(error).splitlines()[0])


around = []
around.append(around)
deep = 1
for _ in range(100_000):
    deep = [deep]
x = torch.ones(2, 2)
for name, given in (("around", around), ("deep", deep)):
    t(f"{name} cat", lambda: torch.cat(given))
    t(f"{name} stack", lambda: torch.stack(given))
    t(f"{name} view", lambda: x.view(given))
    t(f"{name} Size", lambda: torch.Size(given))
    t(f"{name} zeros", lambda: torch.zeros(given))
    t(f"{name} tensor", lambda: torch.tensor(given))
    t(f"{name} as_tensor", lambda: torch.as_tensor(given))
    t(f"{name} add", lambda: x + given)
    t(f"{name} full", lambda: torch.full((2,), given))
    t(f"{name} optimizer", lambda: torch.optim.SGD(given, lr=0.1))
    for function in (pytree.tree_leaves, pytree.tree_structure):
        try:
            function(given)
        except RecursionError:
            print(name, function.__name__, "RecursionError")
    for transform in (torch.vmap, torch.func.grad):
        try:
            transform(lambda a: a)(given)
        except RecursionError:
            print(name, transform.__name__, "RecursionError")


class Index:
    def __index__(self):
        return 3


for given in ([1], [1.0], [[1]], ["a"], [None], [torch.tensor(2)], [torch.tensor(2.0)], [torch.ones(2)], [Index()], [True], "ab", range(3),
              (1, 2.5), [2**70], [-1], {1: 2}, torch.tensor([1, 2]), ()):
    try:
        print(torch.Size(given))
    except (TypeError, ValueError) as error:
        print(type(error).__name__, error)
for given in ([1], [[1]], [torch.ones(1), 1], [torch.ones(1), [torch.ones(1)]], [None], ["a"], (1,), [torch.ones(1), None]):
    for function in (torch.cat, torch.stack, torch.hstack, torch.broadcast_tensors, torch.column_stack):
        t(function.__name__, lambda: function(given))
children = torch.nn.Sequential(*[torch.nn.Linear(1, 1) for _ in range(300)])
state = children.state_dict()
print(children.load_state_dict(state), len(state))
state["7.other.weight"] = state.pop("8.bias")
state["70.weight.x"] = x
try:
    children.load_state_dict(state)
except RuntimeError as error:
    print(error)
view = torch.arange(4.0, requires_grad=True).view(2, 2) * 1
base = view
for _ in range(5_001):
    view = view.t()
view.mul_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
print(base)
