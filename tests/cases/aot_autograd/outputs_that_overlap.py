# A target given as out= may share memory with what is read only where both are the same elements.
import torch

a = torch.arange(10.0)
for write in (
    lambda: torch.add(a[:8], 1, out=a[2:]),
    lambda: torch.cumsum(a[:8], 0, out=a[2:]),
    lambda: torch.mul(a[:1].expand(4), 2, out=a[:1].expand(4)),
    lambda: torch.sin(a, out=a),
    lambda: torch.add(a[:5], a[5:], out=a[:5]),
):
    try:
        write()
    except RuntimeError as error:
        print(error)
print(a)


@torch.compile
def shifted(a):
    torch.add(a[:8], 1, out=a[2:])
    return a * 1


print(shifted(torch.arange(10.0)))
