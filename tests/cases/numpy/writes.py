# Writes through views, indices and `out`, and what is refused.
import numpy as np

x = np.zeros((3, 3))
x[1] = 5
x[:, 0] = [1, 2, 3]
x[x > 2] = -1
x[[0, 2], [1, 1]] += 4
print(x)
x[::-1][0] = 9
y = x[::2, ::-1]
y[0, 0] = 77
print(x, y, sep="\n")
x += 1
x *= 2
x /= 3
v = x.T
v[0] = 0
print(x)
x[...] = 1
x.fill(2)
for row in x:
    print(row)
counts = np.zeros(5, int)
np.add.at(counts, [0, 0, 3], 1)
s = np.arange(10)
s[2:5] = 0
s[s % 2 == 1] = -1
print(counts, s, np.add(s, 1, out=np.zeros(10, dtype=int)))
print(np.divide(1.0, np.arange(4), out=np.zeros(4), where=np.arange(4) != 0))
w = np.arange(24).reshape(2, 3, 4)
w[0, :, [1, 2]] = 0
w[:, 1] = [[7], [8]]
w[1, ..., 0] = 5
print(w)
r = np.arange(6)[::-1]
r[[0, 1]] = 100
r[r == 3] = -3
print(r, r[::-1], r.base is not None, r[1:4][::-1])
p = np.arange(5)
p[1:] = p[:-1]
print(p)
np.set_printoptions(precision=3, suppress=True)
print(np.array([1e-5, 1.23456789]), np.array([1e10, 1]), np.float64(0.123456789))
with np.printoptions(precision=1, threshold=5):
    print(np.arange(10) / 3)
np.set_printoptions(precision=8, suppress=False)


def attempt(text):
    try:
        exec(text, globals())
        print(text, "is taken")
    except Exception as error:
        print(f"{text}: {type(error).__name__}: {error}")


a, b, m = np.arange(12.0).reshape(3, 4), np.arange(6), np.array([True, False, True])
for text in """a[5]
a[0, 9]
a[0, 0, 0]
b[1.5]
b + a
a @ b
b.reshape(4, 2)
np.concatenate([a, b])
np.concatenate([a, a[:, :2]])
np.stack([a, b])
np.uint8(300)
np.array([1, 2], dtype=np.uint8) + 300
np.array([1, [2]])
bool(a)
int(a)
len(np.array(1))
b[[10]]
b[np.array([0.5])]
b -= 0.5
m - m
-m
b ** -1
a.sum(axis=2)
np.float64(1)[0]
a[m[:2]]
np.zeros(-1)
np.dot(a, a)
b[0:2] = [1, 2, 3]
b[[0, 1]] = [1, 2, 3]
a["x"]
np.array([1, 2]).item()
np.array([1], dtype=np.uint8)[0:1] = 300
np.clip(a, 1, 2, out=b)
np.split(b, 4)
np.expand_dims(b, 3)
a.transpose(0, 0)
a.squeeze(0)
np.argmax([])
np.max([])
np.dtype("nothing")
np.random.choice(3, 5, replace=False)
np.random.seed(-1)
np.random.randint(5, 5)
np.random.default_rng(0).integers(5, 4)
np.random.default_rng(0).choice(3, p=[0.5, 0.5])
np.random.default_rng(0).normal(0, -1)
np.linalg.inv(np.zeros((2, 2)))
np.linalg.inv(np.zeros((2, 3)))
np.linalg.cholesky(-np.eye(2))""".split("\n"):
    attempt(text)
