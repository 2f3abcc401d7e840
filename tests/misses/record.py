#!/usr/bin/env python3
"""What PyTorch prints for the scripts of this folder, and which guards it says failed when it compiled again: writes `recorded.json`.

    python tests/misses/record.py      (with PyTorch 2.15)

A failed guard is told by `TORCH_LOGS=recompiles`, an entry a line; what stands behind it (`# code  # place`) is left out, and for the
addresses of objects there is `ID`. Scripts are named without their folder."""

import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Where a script names no backend it is the one that the tests use.
SETUP = """
import functools, runpy, sys, torch
torch.compile = functools.partial(torch.compile, backend="aot_eager")
runpy.run_path(sys.argv[1], run_name="__main__")
"""
REASON = re.compile(r"\[__recompiles\]     - (\d+/\d+: .*)")


def record(name):
    path = os.path.join(HERE, f"{name}.py")
    env = {**os.environ, "TORCH_LOGS": "recompiles", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run([sys.executable, "-c", SETUP, path], capture_output=True, text=True, env=env)
    misses = []
    for line in ran.stderr.splitlines():
        if "Recompiling function" in line:
            misses.append([])
        elif found := REASON.search(line):
            misses[-1].append(re.sub(r"\d{9,}", "ID", re.split(r" +# ", found[1])[0].rstrip()))
    return {"name": name, "stdout": ran.stdout.replace(HERE + os.sep, ""), "misses": misses}


if __name__ == "__main__":
    names = sorted(f[:-3] for f in os.listdir(HERE) if f.endswith(".py") and f != "record.py")
    with open(os.path.join(HERE, "recorded.json"), "w") as file:
        json.dump([record(name) for name in names], file, indent=1)
        file.write("\n")
