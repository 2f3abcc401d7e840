"""Recordings that are no cases: what operators answer, lists of names, a log. Each is written by a program of this folder."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
OPERATORS = "crates/operators/tests/operators/data"

# Name: the program and its arguments. `OUT` is the file written, relative to the project's folder; without it, standard output is
# written there.
DATA = {
    **{
        name: ([f"operators/{name}.py", "OUT"], f"{OPERATORS}/{name}.json")
        for name in ("answers", "draws", "derivatives", "derivatives_pointwise", "indexing", "printing")
    },
    **{
        f"operators_{family}": (["operators/operators.py", family, "OUT"], f"{OPERATORS}/operators_{family}.json")
        for family in ("views", "scatters", "joining", "gathering", "advanced", "sorting")
    },
    **{
        f"nn_{family}": (["operators/nn/record.py", str(HERE / f"operators/nn/{family}.py"), "OUT"], f"tests/data/nn_operators/{family}.json")
        for family in ("images", "layers", "linalg", "loss", "matrix", "pooling", "sequence")
    },
    "exported_programs": (["exported_programs.py"], "tests/cases/export/files_of_pytorch.modules/exported_programs.py"),
    "guard_sets": (["guard_sets.py"], "crates/validator/tests/validator/guard_sets.txt"),
    "decompositions": (["operators/decompositions.py"], "tests/data/decompositions.json"),
    "random_functions": (["random_functions.py"], "tests/data/random_functions.txt"),
    "saved_fields": (["saved_fields.py"], "crates/operators/src/saved_fields.txt"),
    "op_sets": (["operators/op_sets.py"], "crates/partition/tests/partition/op_sets.txt"),
    "pytorch_names": (["pytorch_names.py"], "src/python/torch/_names.py"),
    "settings": (["settings.py"], "tests/data/settings.txt"),
    "signatures": (["signatures.py"], "tests/data/signatures.txt"),
    "logs": (["logs.py", "OUT"], "crates/trace/tests/trace/logs"),
    "page_logs": (["page_logs.py"], "tests/e2e/recorded/aot_graphs.txt"),
}


def record(patterns):
    """Writes the data that one of `patterns` is part of; the names of those that failed."""
    failed = []
    for name, (arguments, target) in DATA.items():
        if not any(pattern in f"data/{name}" for pattern in patterns):
            continue
        program = [sys.executable, str(HERE / arguments[0])] + [str(ROOT / target) if a == "OUT" else a for a in arguments[1:]]
        ran = subprocess.run(program, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        if ran.returncode:
            failed.append(f"data/{name}")
        elif "OUT" not in arguments:
            (ROOT / target).write_text(ran.stdout)
        print(f"data/{name}", flush=True)
    return failed
