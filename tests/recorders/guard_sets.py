"""Random guard sets with the verdicts of z3: `z3-solver` has to be installed beside PyTorch.

    python tests/recorders/guard_sets.py [COUNT]

Conditions have the forms that the guards of the recorded programs have. Those that hold of one call's sizes are the source; the target is what
a simplification might make of them: the same in other words, a narrower range, a symbol replaced. Sometimes it is wrong: a condition is
left out, weakened, or off by one. A line has the verdict (`proved`, `counterexample`, or `unknown` where z3 gives up), the target, `=>` and the
source, formulas written operator first."""

import random
import sys
from concurrent.futures import ProcessPoolExecutor

import z3

TIMEOUT_MS = 3000
CHUNK = 50


def value(term, sizes):
    """The value of a term, or the truth of a condition; none where a divisor is zero."""
    if isinstance(term, int):
        return term
    if isinstance(term, str):
        return sizes[term]
    head, *rest = term
    values = [value(part, sizes) for part in rest]
    if None in values:
        return None
    a, b = values[0], values[-1]
    if head in ("idiv", "mod"):
        return None if b == 0 else a // b if head == "idiv" else a % b
    if head == "*":
        product = 1
        for factor in values:
            product *= factor
        return product
    compare = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
    return compare[head] if head in compare else {"+": sum, "max": max, "min": min}[head](values)


def text(term):
    return f"({' '.join(map(text, term))})" if isinstance(term, tuple) else str(term)


def in_z3(term, assertions):
    if isinstance(term, int):
        return z3.IntVal(term)
    if isinstance(term, str):
        return z3.Int(term)
    head, *rest = term
    values = [in_z3(part, assertions) for part in rest]
    a, b = values[0], values[-1]
    if head in ("idiv", "mod"):
        assertions.append(b != 0)
        # z3 rounds so that the remainder is not negative; Python rounds down.
        quotient = z3.If(b > 0, a / b, (-a) / (-b))
        return quotient if head == "idiv" else a - b * quotient
    if head == "+":
        return z3.Sum(values)
    if head == "*":
        return z3.Product(values)
    if head in ("max", "min"):
        extreme = a
        for other in values[1:]:
            extreme = z3.If(extreme > other if head == "max" else extreme < other, extreme, other)
        return extreme
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[head]


def minus(a, b):
    return ("+", a, -b if isinstance(b, int) else ("*", -1, b))


class Draw:
    """A guard set from a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        names = ["s0", "s1", "s2", "s3"][: self.random.choice((1, 2, 2, 2, 3, 3, 4))]
        self.least = {name: self.random.choice((0, 2, 2, 2, 2)) for name in names}
        self.sizes = {name: self.random.choice((2, 3, 4, 5, 6, 8, 9, 12, 16, 24, 31, 32, 64, 100, 128)) for name in names}
        self.most = {name: self.sizes[name] + self.random.randrange(200) for name in names if self.random.random() < 0.3}
        # Sizes that go together, as those of one program's tensors do.
        for name in names[1:]:
            other = self.sizes[self.random.choice(names)]
            related = self.random.choice((None, other, 2 * other, other + 1, other * other, other // 2))
            if related is not None and 2 <= related <= self.most.get(name, related):
                self.sizes[name] = related

    def name(self):
        return self.random.choice(list(self.sizes))

    def number(self):
        return self.random.choice((1, 2, 2, 2, 3, 4, 4, 5, 8, 8, 16, 32))

    def simple(self):
        """A term of one or two symbols."""
        x, y, n = self.name(), self.name(), self.number()
        return self.random.choice(
            (x, x, x, ("+", x, y), ("+", x, n), minus(x, n), minus(x, y), ("*", n, x), ("+", ("*", n, x), y), ("idiv", x, n), ("mod", x, n))
        )

    def product(self):
        """A term with products, or with quotients by symbols."""
        x, y, n = self.name(), self.name(), self.number()
        rest = minus(x, ("*", n, ("idiv", x, n)))
        half = ("idiv", x, self.random.choice((2, 4)))
        return self.random.choice(
            (
                ("*", x, y),
                ("*", x, x),
                ("*", n, x, y),
                ("mod", x, y),
                ("idiv", x, y),
                ("mod", ("*", x, y), ("*", n, y)),
                ("idiv", ("*", x, y), n),
                ("idiv", ("*", x, x), half),
                ("mod", ("*", x, x), half),
                ("*", x, half),
                ("+", ("*", x, x), ("*", -n, x, ("idiv", x, n))),
                ("max", 1, rest),
                ("min", x, y),
                ("+", rest, ("*", -1, y)),
                ("idiv", ("+", x, n), y),
            )
        )

    def condition(self):
        """A condition that holds of the sizes."""
        for _ in range(40):
            left = self.simple() if self.random.random() < 0.65 else self.product()
            right = self.random.choice((None, None, None, None, 0, 1, self.number(), self.name(), self.simple()))
            found = value(left, self.sizes)
            if found is None:
                continue
            if right is None:
                right = found if self.random.random() < 0.5 else found + self.random.randrange(-6, 7)
            other = value(right, self.sizes)
            if other is None or left == right:
                continue
            holding = [r for r in ("==", "!=", "<", "<=", ">", ">=") if value((r, left, right), self.sizes)]
            return (self.random.choice(holding), left, right)
        return (">=", self.name(), 0)

    def rewritten(self, condition):
        """The same condition in other words."""
        relation, left, right = condition
        flipped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
        ways = [condition, (flipped.get(relation, relation), right, left)]
        if not isinstance(right, int):
            ways.append((relation, minus(left, right), 0))
        ways.append((relation, ("*", 2, left), ("*", 2, right)))
        if isinstance(right, int) and relation in ("<", ">"):
            ways.append((relation + "=", left, right - 1 if relation == "<" else right + 1))
        if isinstance(left, tuple) and left[0] == "mod" and right == 0:
            ways.append((relation, left[1], ("*", left[2], ("idiv", left[1], left[2]))))
        if isinstance(left, tuple) and left[0] == "idiv" and isinstance(left[2], int) and left[2] > 0 and isinstance(right, int):
            _, a, n = left
            if relation in (">", ">="):
                ways.append((">=", a, n * (right + (relation == ">"))))
            if relation in ("<", "<="):
                ways.append(("<", a, n * (right + (relation == "<="))))
        return self.random.choice(ways)

    def narrower(self, condition):
        """One that implies it, if it is an inequality with a number."""
        relation, left, right = condition
        if isinstance(right, int) and relation in (">", ">=", "<", "<="):
            return (relation, left, right + self.random.randrange(4) * (1 if relation in (">", ">=") else -1))
        return self.random.choice((condition, ("==", left, right) if relation in ("<=", ">=") else condition))

    def wrong(self, condition):
        """One that may not imply it; nothing, where it is left out."""
        relation, left, right = condition
        ways = [None, (relation, left, ("+", right, self.random.choice((-1, 1))) if not isinstance(right, int) else right + self.random.choice((-1, 1)))]
        if relation == "==":
            ways.append((self.random.choice(("<=", ">=")), left, right))
        if relation in ("<", ">"):
            ways.append((relation + "=", left, right))
        return self.random.choice(ways)

    def set(self):
        source = [self.condition() for _ in range(self.random.choice((1, 2, 2, 3, 3, 4, 5, 6)))]
        ranges = [(">=", name, least) for name, least in self.least.items()] + [("<=", name, most) for name, most in self.most.items()]
        is_wrong = self.random.random() < 0.45
        spoiled = self.random.randrange(len(source)) if is_wrong else None
        target = []
        for at, condition in enumerate(source):
            way = self.random.random()
            if at == spoiled:
                target.append(self.wrong(condition))
            elif way < 0.8:
                target.append(self.rewritten(condition))
            else:
                narrowed = self.narrower(condition)
                target.append(narrowed if value(narrowed, self.sizes) else self.rewritten(condition))
        return ranges + [condition for condition in target if condition], source


def recorded(seed):
    target, source = Draw(seed).set()
    assertions = []
    solver = z3.Solver()
    solver.set(timeout=TIMEOUT_MS)
    solver.add([in_z3(condition, assertions) for condition in target])
    solver.add(z3.Not(z3.And([in_z3(condition, assertions) for condition in source])))
    solver.add(assertions)
    verdict = {"sat": "counterexample", "unsat": "proved", "unknown": "unknown"}[str(solver.check())]
    return f"{verdict} {' '.join(map(text, target))} => {' '.join(map(text, source))}"


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with ProcessPoolExecutor(2) as pool:
        for line in pool.map(recorded, range(count), chunksize=CHUNK):
            print(line)


if __name__ == "__main__":
    main()
