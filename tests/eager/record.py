"""Writes what PyTorch prints for the scripts beside this file. Run it with a Python that has PyTorch: `python tests/eager/record.py`,
or with names of scripts, for those alone."""

import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).parent
names = sys.argv[1:] or sorted(path.stem for path in here.glob("*.py") if path.stem != "record")
for name in names:
    script = here / f"{name}.py"
    done = subprocess.run([sys.executable, "-W", "ignore", str(script)], capture_output=True, text=True, check=True)
    (here / f"{name}.stdout").write_text(done.stdout)
