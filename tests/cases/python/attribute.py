import collections.abc


class Layer:
    weight = 1


layer = Layer()
try:
    layer.wieght
except AttributeError as error:
    print(error)
try:
    undefined_name
except NameError as error:
    print(error)
for bad in (
    lambda: [][1], lambda: "a" + 1, lambda: int("x"), lambda: {}["k"], lambda: len(3),
    lambda: None.x, lambda: (lambda a: a)(), lambda: (lambda a: a)(1, 2), lambda: 1 @ 2,
    lambda: next(iter([])), lambda: "abc".foo, lambda: float("y"),
    lambda: {}[[]], lambda: "%d" % "x", lambda: chr(-1), lambda: 1 < "a",
    lambda: iter(3), lambda: Layer(1), lambda: Layer.missing, lambda: (1, 2, 3)[5], lambda: 2 ** 3 ** "s",
):
    try:
        bad()
    except Exception as error:
        print(type(error).__name__, "|", error)
layer.forward
