import copy
import pickle

import torch

values = [
    torch.device("cpu"), torch.device("meta"), torch.device("cuda", 1), torch.float32, torch.bfloat16, torch.Size([1, 2]), torch.strided,
    torch.channels_last,
]  # fmt: skip
for value in values:
    print(repr(value), copy.copy(value) == value, copy.deepcopy([value, value]), copy.deepcopy(value) is value)
    print(type(pickle.loads(pickle.dumps(value))).__name__, pickle.loads(pickle.dumps(value)) == value, hash(value) == hash(copy.copy(value)))
print(copy.deepcopy({torch.float32: 1, torch.device("cpu"): 2, "size": torch.Size([3])}))
print(torch.device("cuda", 1).__reduce__(), torch.Size([2]).__reduce__(), torch.float16.__reduce__())

generator = torch.Generator().manual_seed(5)
torch.rand(2, generator=generator)
copied, pickled = copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))
numbers = [torch.rand(2, generator=g) for g in (generator, copied, pickled)]
print(copied is generator, copied.initial_seed(), torch.equal(numbers[0], numbers[1]), torch.equal(numbers[0], numbers[2]))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.device, self.dtype, self.shape = torch.device("cpu"), torch.bfloat16, torch.Size([2, 3])
        self.generator, self.format = torch.Generator().manual_seed(1), torch.channels_last
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.kept = [torch.device("cpu"), torch.float16]

    def forward(self, x):
        return (x.to(self.device, self.dtype) * self.weight).to(self.kept[1])


model = copy.deepcopy(Model())
print(model.device, model.dtype, model.shape, type(model.shape).__name__, model.generator.initial_seed(), model.format, model.kept)
print(model(torch.ones(2)), torch.compile(model, backend="aot_eager")(torch.ones(2)))
