"""Writes random programs of views, writes, aliases, `detach` and `no_grad` into tests/cases/random_programs, a script per seed.

    python tests/recorders/random_programs.py [SEED ...]

Without seeds, those that are there are written again. They are what is left of the seeds below 360: programs that PyTorch refuses, or
whose graphs compute nothing, were left out, since there is nothing to compare.
"""

import pathlib
import random
import sys

class Body:
    """The lines of a function, and its variables: name, shape, whether autograd sees writes to it."""

    def __init__(self, r, live):
        self.r, self.live, self.lines, self.count = r, live, [], 0

    def bind(self, text, shape, plain, no_grad=False):
        name = f"v{self.count}"
        self.count += 1
        if no_grad:
            self.lines.append("with torch.no_grad():")
            self.lines.append(f"    {name} = {text}")
        else:
            self.lines.append(f"{name} = {text}")
        self.live.append((name, shape, plain and not no_grad))

    def view(self, name, shape, plain):
        r = self.r
        if len(shape) == 2:
            a, b = shape
            kinds = [
                (f"{name}.t()", (b, a)),
                (f"{name}[{r.randrange(a)}]", (b,)),
                (f"{name}[:, {r.randrange(b)}]", (a,)),
                (f"{name}.view(-1)" if r.random() < 0.3 else f"{name}.reshape(-1)", (a * b,)),
                (f"{name}.transpose(0, 1)", (b, a)),
                (f"{name}.diagonal()", (min(a, b),)),
                (f"{name}.narrow(1, 0, {max(1, b - 1)})", (a, max(1, b - 1))),
            ]
        else:
            (a,) = shape
            kinds = [
                (f"{name}.unsqueeze(0)", (1, a)),
                (f"{name}[1:]", (a - 1,)) if a > 1 else (f"{name}[0:]", (a,)),
                (f"{name}.expand(2, {a})", (2, a)),
                (f"{name}.view(-1)", (a,)),
            ]
        kinds.append((f"{name}.view_as({name})", shape))
        kinds.append((f"{name}.unsqueeze(-1).squeeze(-1)", shape))
        text, new = r.choice(kinds)
        self.bind(text, new, plain and "reshape" not in text)

    def step(self):
        r = self.r
        name, shape, plain = r.choice(self.live)
        other = r.choice([v for v in self.live if v[1] == shape])[0]
        number = r.choice([0.5, 2, -1])
        match r.randrange(14):
            case 0:
                self.bind(f"{name}.sin()", shape, True, r.random() < 0.15)
            case 1:
                self.bind(f"{name} * {other}", shape, True, r.random() < 0.1)
            case 2:
                self.bind(f"{name}.detach()", shape, False)
            case 3 | 4 | 5 | 6:
                self.view(name, shape, plain)
            case 7:
                self.bind(f"{name} + {number}", shape, True)
            case 8 if len(shape) == 2:
                i = self.count
                self.count += 2
                self.lines.append(f"v{i}, v{i + 1} = {name}.split([1, {shape[1] - 1}], 1)" if shape[1] > 1 else f"v{i} = v{i + 1} = {name}")
                if shape[1] > 1:
                    self.live += [(f"v{i}", (shape[0], 1), False), (f"v{i + 1}", (shape[0], shape[1] - 1), False)]
            case 9 if len(shape) == 2:
                self.bind(f"{name}.unbind(0)[{r.randrange(shape[0])}]", (shape[1],), False)
            case kind:
                write = [
                    f"{name}.mul_({number})",
                    f"{name}.add_({other})",
                    f"{name}.sin_()",
                    f"{name}[0] = {number}",
                    f"{name}.copy_({other})",
                    f"{name}.fill_({number})",
                    f"{name}.zero_()",
                ][kind % 7]
                if not plain or r.random() < 0.1:
                    self.lines += ["with torch.no_grad():", f"    {write}"]
                else:
                    self.lines.append(write)


def program(seed):
    r = random.Random(seed)
    lines = ["import torch", ""]
    differentiable = r.random() < 0.7
    related = r.random() < 0.3
    lines.append(f"leaf = torch.arange(24.).div(24){'.requires_grad_()' if differentiable else ''}")
    lines.append("base = leaf.clone()")
    live, inputs = [], []
    for i in range(r.randrange(1, 4)):
        name = f"a{i}"
        if related:
            start = r.choice([0, 6, 12])
            made = f"base[{start}:{start + 12}].view(3, 4)"
        else:
            made = r.choice(["torch.arange(12.).view(3, 4)", "leaf.view(2, 3, 4)[0].clone()", "leaf.view(2, 3, 4)[1].clone()", "torch.linspace(0, 1, 12).view(3, 4).requires_grad_()"])
        lines.append(f"{name} = {made}")
        inputs.append(name)
        live.append((name, (3, 4), True))
    body = Body(r, list(live))
    for _ in range(r.randrange(3, 10)):
        body.step()
    outputs = []
    for _ in range(r.randrange(1, 4)):
        name = r.choice(body.live)[0]
        outputs.append(name if r.random() < 0.8 else f"{name} * 3")
    lines += ["", f"def f({', '.join(inputs)}):"]
    lines += [f"    {line}" for line in body.lines]
    lines += [f"    return {', '.join(outputs)},", ""]
    lines += [
        f"outs = torch.compile(f)({', '.join(inputs)})",
        "print([(o.requires_grad, o.is_leaf) for o in outs])",
        f"print([any(o is a for a in ({', '.join(inputs)},)) for o in outs])",
        f"for t in (*outs, {', '.join(inputs)}):",
        "    print(t.detach().mul(64).round().tolist())",
        "wanted = [o.sum() for o in outs if o.requires_grad]",
        "if wanted:",
        "    sum(wanted).backward()",
        f"for t in (leaf, {', '.join(inputs)}):",
        "    if t.is_leaf and t.grad is not None:",
        "        print('grad', t.grad.mul(64).round().tolist())",
        "with torch.no_grad():",
        "    outs[0].detach().add_(1)",
        f"for t in (*outs, {', '.join(inputs)}):",
        "    print(t.detach().mul(64).round().tolist())",
    ]
    return "\n".join(lines) + "\n"


def main():
    folder = pathlib.Path(__file__).parent.parent / "cases/random_programs"
    known = [int(path.stem.removeprefix("seed_")) for path in folder.glob("seed_*.py")]
    for seed in map(int, sys.argv[1:]) if sys.argv[1:] else known:
        (folder / f"seed_{seed:03}.py").write_text(program(seed))


if __name__ == "__main__":
    main()
