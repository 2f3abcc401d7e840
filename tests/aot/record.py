"""What PyTorch prints for the scripts of this folder, and the graphs that AOTAutograd makes of them with its default partitioner.

    python tests/aot/record.py > tests/aot/recorded.json

with a Python that has PyTorch 2.15.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "support"))
from pytorch_graphs import run


def record(path):
    stdout, traced, parts = run(path.read_text())
    return {"name": path.stem, "stdout": stdout, "graphs": traced, "parts": parts}


scripts = sorted(path for path in HERE.glob("*.py") if path.name != "record.py")
sys.stdout.write("[\n" + ",\n".join(json.dumps(record(path)) for path in scripts) + "\n]\n")
