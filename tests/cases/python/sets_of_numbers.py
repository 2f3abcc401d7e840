"""Sets of numbers are gone through in the order of CPython's hash table."""
import torch

print({3, 1, 2}, {10, 9, 8}, {5, -1}, {-3, -2, -1, 0}, {True, 7}, frozenset([9, 1, 5]))
labels = torch.tensor([12, 3, 44, 3, 7, 101, 12, 64])
found = set(labels.tolist())
print(found, len(found), [n for n in found])
print(list({8, 16, 24, 0}), list({1 << 61, 5, (1 << 61) - 1}), {2.5, 1.0, 0.5})
print({(1, 2), (0, 1), (3, 0)}, {(4, 4), (2, 2)} | {(0, 0)})
squares = {n * n for n in range(12)}
print(squares, [n * n % 17 for n in squares])
some = set()
for n in (40, 7, 19, 33, 8, 77, 1):
    some.add(n)
    print(some)
some.discard(19)
print(some, some - {7}, some & {77, 1, 40}, some ^ {1, 5}, sorted(some))
while some:
    print(some.pop(), end=" ")
print()
try:
    for n in (grown := {9, 8}):
        grown.add(n + 100)
except RuntimeError as e:
    print(e)
try:
    set().pop()
except KeyError as e:
    print(e)


class Mine(set):
    pass


print(Mine([6, 4, 2]), list(Mine([6, 4, 2])))


@torch.compile
def f(x, dims):
    for d in dims:
        x = x.cumsum(d) * (d + 1)
    return x


print(f(torch.arange(8.0).reshape(2, 2, 2), {2, 0, 1}))
print(f(torch.arange(8.0).reshape(2, 2, 2), frozenset({1, 0})))
