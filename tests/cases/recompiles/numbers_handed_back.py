"""Numbers that a function returns unread: guarded where they stand before the first tensor of a tuple, handed on behind it."""

import torch

graphs = []


def keep(gm, example_inputs):
    graphs.append(gm)
    return gm


x = torch.tensor([1.0, 2.0, 3.0])


def show(name, function, *args):
    torch._dynamo.reset()
    graphs.clear()
    compiled = torch.compile(function, backend=keep)
    results = []
    for more in args or (1, 2, 3):
        compiled(x, more)
        results.append(len(graphs))
    print(name, results)


def variable(x, n):
    k = n + 1
    return k, x + 1


def variable_behind(x, n):
    k = n + 1
    return x + 1, k


def compared(x, n):
    a = n > 1
    return x + 1, a


def at_most(x, n):
    m = max(n, 0)
    return x + 1, m


def nested(x, n):
    y = x + 1
    return (n, n + 1, n == 2, n > 1, -n, not n), y


def in_a_dict(x, n):
    return x + 1, {"n": n}


def appended(x, n):
    a = [n]
    a.append(n)
    return x + 1, a


def across_a_break(x, n):
    k = n + 1
    torch._dynamo.graph_break()
    return x + 1, k


def pair(a, b):
    return a, b


show("first", lambda x, n: (n, x + 1))
show("behind", lambda x, n: (x + 1, n))
show("in a list", lambda x, n: [n, x.sin()])
show("computed", lambda x, n: (n + 1, x + 1))
show("computed behind", lambda x, n: (x + 1, n + 1))
show("of a call", lambda x, n: pair(n, x + 1))
show("behind, of a call", lambda x, n: pair(x + 1, n))
show("strings", lambda x, s: (x + 1, s + "z"), "a", "b", "c")
show("floats", lambda x, f: (x + 1, f), 1.0, 2.0, 3.0)
for function in variable, variable_behind, compared, at_most, nested, in_a_dict, appended, across_a_break:
    show(function.__name__, function)

# Numbers that a tensor gave where the graph broke.
for function in lambda x, s: (int(s), x + 1), lambda x, s: (x + 1, int(s)), lambda x, s: [s.item() + 1, x + 1]:
    show("given", function, *map(torch.tensor, (1, 2, 3)))


# Whether a call runs compiled, where it is compiled no more.
def says(x, s):
    return x + len(s) if torch.compiler.is_compiling() else x - len(s)


with torch._dynamo.config.patch(recompile_limit=2):
    compiled = torch.compile(says, backend="aot_eager")
    print([compiled(x, "a" * k).tolist() for k in (0, 1, 2, 3, 1)])
compiled = torch.compile(lambda x: x + 1 if torch.compiler.is_compiling() else x - 1, backend="aot_eager")
print(compiled(x))
with torch.compiler.set_stance("eager_on_recompile"):
    print(compiled(x), compiled(x.double()))
