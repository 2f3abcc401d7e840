# Numbers on the left of an operator, in every backend.
import torch
for backend in ("eager", "aot_eager", "inductor"):
    @torch.compile(backend=backend)
    def f(x, y):
        return -7 // x, 7.5 // y, 2 ** x, 7 % x, 7.5 % y, torch.remainder(5, x), -7 // y, x // 2, x // 2.5
    print(f(torch.tensor([2, 3, -2]), torch.tensor([2.5, -0.5])))
