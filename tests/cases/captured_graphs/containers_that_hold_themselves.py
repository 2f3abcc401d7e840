"""Lists, dictionaries and objects that hold themselves, or the same thing many times: given, made, returned, written to."""
import torch


def show(gm, inputs):
    print(gm.code.strip())
    return gm.forward


class Thing:
    pass


def compiled(f, **options):
    torch._dynamo.reset()
    return torch.compile(f, backend=show, **options)


x = torch.ones(2)
held = [torch.arange(2.0)]
held.append(held)
result = compiled(lambda l: l[1])(held)
print(result is held)
inner, plus = compiled(lambda l: (l[1], l[1][1][0] + 1))(held)
print(inner is held, plus)

held = {"t": torch.arange(2.0)}
held["d"] = held
inner, plus = compiled(lambda d: (d["d"], d["d"]["d"]["t"] + 1))(held)
print(inner is held, plus)

held = Thing()
held.t, held.me = torch.arange(2.0), held
inner, plus = compiled(lambda o: (o.me, o.me.me.t + 1))(held)
print(inner is held, plus)


def list_made(x):
    made = [x + 1]
    made.append(made)
    return made


made = compiled(list_made)(x)
print(made[1] is made, made[0])


def dict_made(x):
    made = {"a": x + 1}
    made["me"] = made
    return made


made = compiled(dict_made)(x)
print(made["me"] is made, made["a"])


def written(l, x):
    l.append(l)
    l.append(x + 1)
    return x * 2


given = []
print(compiled(written)(given, x), given[0] is given, given[1])


def doubled(x):
    made = [x + 1]
    for _ in range(30):
        made = [made, made]
    return made


made = compiled(doubled)(x)
while len(made) == 2:
    assert made[0] is made[1]
    made = made[0]
print(made)


def sizes(x):
    deep = [[[[[[[x.shape[0], {"a": ((x.shape[1] + 1,),)}]]]]]]]
    return deep, x + 1


deep = torch.compile(sizes, backend="eager", dynamic=True)(torch.ones(3, 4))[0]
print(deep, type(deep[0][0][0][0][0][0][1]["a"][0][0]))
