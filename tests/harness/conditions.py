# Evaluates `theirs` and `ours` on many sizes: prints `equivalent`, or `stricter` or `other` with an example. A symbol that only one side
# knows is a number to the other.
import math, random

names = {
    "Eq": lambda a, b: a == b, "Ne": lambda a, b: a != b, "Max": max, "Min": min, "Mod": lambda a, b: a % b,
    "PythonMod": lambda a, b: a % b, "FloorDiv": lambda a, b: a // b, "ToFloat": float, "IntTrueDiv": lambda a, b: a / b,
    "TruncToInt": int, "FloorToInt": math.floor, "CeilToInt": math.ceil, "RoundToInt": round, "Abs": abs,
    "OpaqueUnaryFn_sqrt": math.sqrt, "FloatTrueDiv": lambda a, b: a / b,
}


def number(text):
    return float(text) if "." in text or "e" in text else int(text)


def read(side):
    """Values of symbols, and conditions as text with compiled code."""
    values, conditions = {}, []
    for line in side.splitlines():
        kind, _, rest = line.partition(" ")
        name, _, what = rest.partition(": ")
        if kind == "symbol":
            lower, upper, value = what.split()
            values[name] = None if value in ("-", "None") else number(value)
            conditions += [f"{name} >= {lower}"] * (lower != "-") + [f"{name} <= {upper}"] * (upper != "-")
        else:
            conditions.append(rest if kind == "guard" else f"{name} == {what}")
    return values, [(text, compile(text, text, "eval")) for text in conditions]


def failed(conditions, values):
    """The first condition that does not hold; one with a symbol that has no value is not asked."""
    for text, code in conditions:
        try:
            if not eval(code, names, values):
                return text
        except (ZeroDivisionError, ValueError):
            return text
        except NameError:
            pass
    return None


(their_values, their_conditions), (our_values, our_conditions) = read(theirs), read(ours)
known = {name: value for side in (their_values, our_values) for name, value in side.items() if value is not None}
both = [name for name in known if name in their_values and name in our_values]
verdict = "equivalent"
random.seed(0)
for _ in range(600):
    values = dict(known)
    for name in both:
        if random.random() < 0.7:
            values[name] = random.randrange(0, 40) if isinstance(known[name], int) else random.choice([0.0, 0.25, 0.5, 1.0, 1.5, -1.0])
    their_failed, our_failed = failed(their_conditions, values), failed(our_conditions, values)
    if their_failed and not our_failed:
        verdict = f"other {values}: PyTorch's `{their_failed}` fails"
        break
    if our_failed and not their_failed and verdict == "equivalent":
        verdict = f"stricter {values}: our `{our_failed}` fails"
print(verdict)
