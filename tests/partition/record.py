#!/usr/bin/env python3
"""What PyTorch saves for the scripts of this folder: writes `scripts.json`.

    python tests/partition/record.py [NAME ...]      (with PyTorch 2.15; all scripts where none is named)

Per compilation with a backward: the names of what is saved, in order, and the value of the first cut; none is made where a budget
of 0 leaves nothing to decide."""

import contextlib
import io
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def record(name):
    """Runs one script in this process."""
    import torch._functorch.partitioners as partitioners

    seen, cuts = [], []
    cut, split = partitioners.minimum_cut, partitioners.min_cut_rematerialization_partition

    def first_cut(*args, **kwargs):
        found = cut(*args, **kwargs)
        cuts.append(found[0])
        return found

    def partition(joint, inputs, *args, num_fwd_outputs, **kwargs):
        cuts.clear()
        forward, backward = split(joint, inputs, *args, num_fwd_outputs=num_fwd_outputs, **kwargs)
        saved = [node.name for node in next(n for n in forward.graph.nodes if n.op == "output").args[0][num_fwd_outputs:]]
        seen.append({"saved": saved, "cut": cuts[0] if cuts else None})
        return forward, backward

    partitioners.minimum_cut = first_cut
    import torch._dynamo.backends.debugging as backends

    backends.min_cut_rematerialization_partition = partition
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile((HERE / f"scripts/{name}.py").read_text(), f"{name}.py", "exec"), {"__name__": "__main__"})
    return seen


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(record(sys.argv[2])))
        sys.exit()
    file = HERE / "scripts.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    for name in sys.argv[1:] or sorted(path.stem for path in (HERE / "scripts").glob("*.py")):
        run = subprocess.run([sys.executable, "-W", "ignore", __file__, "--one", name], capture_output=True, text=True, check=True)
        known[name] = json.loads(run.stdout)
    file.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
