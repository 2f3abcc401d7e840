"""Writes tests/data/settings.txt: the settings of PyTorch 2.15, a line for each: its module, name, default and environment variables."""
import ast
import importlib
import importlib.util
import warnings

MODULES = "torch._functorch.config torch._dynamo.config torch._inductor.config torch.fx.experimental._config torch.compiler.config".split()
# Defaults that depend on the machine.
OF_MACHINE = {"base_dir", "debug_dir_root", "compile_threads", "cutlass.cutlass_dir", "cuda.cutlass_dir", "xpu.cutlass_dir"}


def shown(value):
    return "{" + ", ".join(sorted(map(repr, value))) + "}" if isinstance(value, set) and value else repr(value)


def variables(body, prefix=""):
    """Names of the environment variables that an assignment in a file of settings reads, by the setting."""
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            yield from variables(statement.body, f"{statement.name}.")
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            found = []
            for node in ast.walk(statement.value):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.environ.get", "os.getenv", "get_tristate_env"):
                    found.append(node.args[0].value)
                if isinstance(node, ast.keyword) and (node.arg or "").startswith("env_name"):
                    found += [name.value for name in ast.walk(node.value) if isinstance(name, ast.Constant)]
            yield prefix + ast.unparse(target), [name for name in dict.fromkeys(found) if name not in ("CI", "CXX")]


warnings.simplefilter("ignore")
for name in MODULES:
    module = importlib.import_module(name)
    tree = ast.parse(open(importlib.util.find_spec(name).origin).read())
    read = {setting: names for setting, names in variables(tree.body) if names}
    for setting, entry in module._config.items():
        default = entry.alias or ("of the machine" if setting in OF_MACHINE else shown(entry.default))
        print(name, setting, default, " ".join(read.get(setting, []) if setting not in OF_MACHINE else []), sep="\t")
