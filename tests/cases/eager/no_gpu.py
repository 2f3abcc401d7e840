"""What asks for a GPU, where there is none."""
import torch
from torch._subclasses.fake_tensor import FakeTensorMode


def attempt(f):
    try:
        print(repr(f()))
    except Exception as error:
        print(type(error).__name__)


x = torch.ones(2)
attempt(lambda: torch.ones(2, device="cuda"))
attempt(lambda: x.cuda())
attempt(lambda: x.to("cuda"))
attempt(lambda: x.to("cuda:0", torch.float16))
attempt(lambda: torch.nn.Linear(2, 2).cuda())
attempt(lambda: torch.nn.Linear(2, 2).to("cuda"))
attempt(lambda: torch.nn.Linear(2, 2, device="cuda"))
attempt(lambda: torch.tensor([1.0], device="cuda"))
attempt(lambda: torch.randn(2, device="cuda"))
attempt(lambda: torch.ones_like(x, device="cuda"))
attempt(lambda: x.new_zeros(2, device="cuda"))
attempt(lambda: torch.arange(3, device="cuda"))
attempt(lambda: torch.cuda.is_available())
attempt(lambda: torch.cuda.device_count())
attempt(lambda: torch.cuda.synchronize())
attempt(lambda: torch.device("cuda", 0))
with torch.device("cuda"):
    attempt(lambda: torch.ones(2))
device = "cuda" if torch.cuda.is_available() else "cpu"
attempt(lambda: torch.ones(2, device=device))
with FakeTensorMode():
    attempt(lambda: torch.ones(2, device="cuda"))
    attempt(lambda: torch.ones(2).cuda() + 1)
    m = torch.nn.Linear(2, 2)
    try:
        m.half()
    except RuntimeError as error:
        print(error, "|", error.__cause__)
    print(m.weight.dtype)
