import torch


class Counted(torch.nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return x * 2


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Counted()

    def forward(self, x):
        self.inner.calls = 0
        return self.inner(self.inner(x))


class State:
    pass


state = State()


@torch.compile
def stepped(x, k):
    state.scale = k * 2.0
    return x * state.scale


@torch.compile
def either(x, resets):
    if resets:
        state.count = 0
    state.count += 1
    return x + state.count


block = Block()
compiled = torch.compile(block)
for i in range(3):
    print(compiled(torch.ones(2)).tolist(), block.inner.calls)
for k in (1, 1, 2):
    print(stepped(torch.ones(2), k), state.scale)
for resets in (True, True, False, False):
    print(either(torch.ones(2), resets), state.count)
