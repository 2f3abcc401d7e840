import torch
import torch._dynamo as dynamo

SETTINGS = {"a": 1.5}


class Options:
    alpha = 0.25

    def __init__(self):
        self.beta = 0.5


options = Options()


def told(explained):
    print(explained.graph_count, explained.graph_break_count, explained.op_count)
    for guard in explained.out_guards:
        print(guard.source.name.lower(), repr(guard.name), guard.create_fn_name(), guard.guard_types, len(guard.code_list or []))
    print(explained.compile_times.splitlines()[:2])


def plain(x, y):
    return torch.sin(x) + y


def of_values(x, n, flag=True, k=2.0, bias=None):
    if flag:
        x = x * n
    if bias is None:
        x = x + k
    return x.view(-1, x.shape[0])


def of_containers(x, given, pair):
    return x * SETTINGS["a"] + options.beta + given["k"] + pair[1] + len(pair) + torch.zeros(3)


told(dynamo.explain(plain)(torch.ones(2, 3), torch.ones(2, 3)))
told(dynamo.explain(of_values)(torch.ones(2, 3), 4))
told(dynamo.explain(of_containers)(torch.ones(2, 3), {"k": torch.ones(3)}, (1, torch.ones(3))))
lines = str(dynamo.explain(plain)(torch.ones(2), torch.ones(2))).splitlines()
print(lines[11:19])
