import torch

w = torch.arange(9.0).view(3, 3)


def show(f, *args):
    torch._dynamo.reset()

    def backend(gm, inputs):
        print("  ", [n.name for n in gm.graph.nodes if n.op != "placeholder"])
        return gm

    print(f.__name__)
    print("  ", torch.compile(f, backend=backend)(*args))


def position(t):
    t = t + 0
    return w[0, t[0]] + 1


def row(t):
    t = t + 0
    return w[t[0]] + 1


def two_positions(t):
    t = t + 0
    return w[t[0], t[1]] + 1


def column(t):
    t = t + 0
    return w[:, t[0]] + 1


def position_and_axis(t):
    t = t + 0
    return w[t[0], None] + 1


def positions_and_position(t):
    t = t + 0
    return w[t, t[0]] + 1


def set_number(t):
    t = t + 0
    v = w.clone()
    v[t[0], t[1]] = 5
    return v + 1


def set_row(t):
    t = t + 0
    v = w.clone()
    v[t[0]] = t.float().sum()
    return v + 1


def set_part(t):
    t = t + 0
    v = w.clone()
    v[0, t[0] :] = t.float().sum()
    return v + 1


def slices(t):
    t = t * 1 + 0
    return w[t[0] : t[1]] + 1


def add_to_part(t):
    t = t * 1 + 0
    v = w.clone()
    v[: t[0]] += 1
    return v


def item_of_list(t):
    t = t * 1 + 0
    return w + 1, [10, 20, 30][t[0]]


def part_of_list(t):
    t = t * 1 + 0
    items = [w, w + 1, w + 2]
    return items[t[0] :], w + 1


def repeated_list(t):
    t = t * 1 + 0
    return [w + 1] * t[0]


def repeated_text(t):
    t = t * 1 + 0
    return "x" * t[0], w + 1


def old_format(t):
    t = t * 1 + 0
    return "%d" % t[0], w + 1


def counted(t):
    t = t * 1 + 0
    s = w
    for _ in range(t[0]):
        s = s + 1
    return s


def between(t):
    t = t * 1 + 0
    if 0 < t[0] < 5:
        return w + 1
    return w + 2


def in_tensor(t):
    t = t * 1 + 0
    return w + 1 if 1 in t else w + 2


def truths(t):
    t = t * 1 + 0
    return w + 1, bool(t[0] > 0), not t[0]


def lists(t):
    t = t * 1 + 0
    return w + 1, t.tolist(), (t + 1).tolist()


def sum_of_list(t):
    t = t * 1 + 0
    return sum(t.tolist()) + w


def items(t):
    t = t * 1 + 0
    return w + 1, [v.item() for v in t]


def key(t):
    t = t * 1 + 0
    return torch.sin(w + {1: 2.0, 2: 3.0}[int(t[0])])


def range_of_tensor(t):
    t = t * 1 + 0
    return w + 1, torch.arange(t[1]) + 1


def zeros(t):
    t = t * 1 + 0
    return w + 1, torch.zeros(t[0], 2) + 1


def full(t):
    t = t * 1 + 0
    return w + 1, torch.full((2,), t[0]) + 1


def viewed(t):
    t = t * 1 + 0
    return w + 1, w.view(t[0], -1) + 1


def along(t):
    t = t * 1 + 0
    return w.sum(t[0] - 1), w + 1


def swapped(t):
    t = t * 1 + 0
    return w.transpose(t[0] - 1, t[1] - 1), w + 1


def padded(t):
    t = t * 1 + 0
    return torch.nn.functional.pad(w, (0, t[0])), w + 1


def narrowed(t):
    t = t * 1 + 0
    return w.narrow(0, t[0], 1), w + 1


def factor(t):
    t = t * 1 + 0
    return torch.add(w, w, alpha=t[0]), 2


def parts(t):
    t = t * 1 + 0
    return torch.split(w, t.tolist()), w + 1


def walked(t):
    t = t * 1 + 0
    while t[0] > 0:
        t = t - 1
    return w * t[0]


t = torch.tensor([1, 2])
for f in [
    position, row, two_positions, column, position_and_axis, positions_and_position, set_number, set_row, set_part, slices, add_to_part,
    item_of_list, part_of_list, repeated_list, repeated_text, old_format, counted, between, in_tensor, truths, lists, sum_of_list, items,
    key, range_of_tensor, zeros, full, viewed, along, swapped, padded, narrowed, factor, parts, walked,
]:  # fmt: skip
    show(f, t)


# An index that is an argument: Dynamo knows its number, AOTAutograd does not.
@torch.compile(backend="aot_eager")
def write(x, i, v):
    x[i] = v
    return x * 2


@torch.compile(backend="aot_eager")
def read(x, i):
    return x[i] + 1, x[:, i]


for i in range(2):
    print(write(torch.zeros(2, 3), torch.tensor(i), torch.ones(3)), read(w, torch.tensor(i)))
print(torch._dynamo.utils.counters["stats"].get("unique_graphs"))


# What a break in another function left is no tensor of the graph's any more.
def features(x):
    torch._dynamo.graph_break()
    return x * 2


def score(h, t):
    s = torch.zeros(1)
    t = torch.cat([torch.tensor([0]), t])
    for i, r in enumerate(h):
        s = s + w[t[i + 1], t[i]] + r[t[i + 1]]
    return s + w[0, t[-1]]


@torch.compile(backend="aot_eager")
def scored(x, t):
    return score(features(x), t)


print(scored(torch.ones(2, 2), torch.tensor([1, 1])))
