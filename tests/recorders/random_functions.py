"""What PyTorch makes of the functions of tests/library/random_functions.rs whose compiled form does not show what they show.

That test writes the functions as scripts. A line per function: its seed, and that it fails as it is, that it fails compiled, or what
it shows compiled.
"""

import os
import pathlib
import runpy
import subprocess
import tempfile
import warnings


def line(found):
    """Per tensor whether it requires grad, whether it is a leaf, the inputs it is; per list of numbers its sum and a weighted sum."""
    words = []
    for item in found:
        if item and isinstance(item[0], bool):
            grad, leaf, _, _, same = item
            words.append(("r" if grad else "-") + ("l" if leaf else "-") + "".join(str(i) for i, is_it in enumerate(same) if is_it))
        elif item is None:
            words.append("none")
        else:
            words.append(f"{sum(item):.6g}/{sum(x * (1 + i % 3) for i, x in enumerate(item)):.6g}")
    return " ".join(words)


def main():
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory() as folder:
        test = ["cargo", "test", "--quiet", "--test", "library", "random_functions"]
        subprocess.run(test, env=os.environ | {"RANDOM_FUNCTIONS_SCRIPTS": folder}, stdout=subprocess.DEVNULL, check=True)
        for path in sorted(pathlib.Path(folder).glob("*.py")):
            kind, found = runpy.run_path(str(path))["outcome"]()
            # A fault of PyTorch's own, where an input that is given twice is written to in the graph.
            if kind == "refuses" and found == "IndexError: list index out of range":
                kind = "fails"
            if kind != "same":
                print(f"{path.stem}: {line(found) if kind == 'differs' else kind}", flush=True)


if __name__ == "__main__":
    main()
