"""Writes what PyTorch prints for the scripts beside this file, or in another folder. Run it with a Python that has PyTorch:
`python tests/eager/record.py [--folder tests/captured]`, or with names of scripts, for those alone."""

import pathlib
import re
import subprocess
import sys

arguments = sys.argv[1:]
here = pathlib.Path(arguments[1]) if arguments[:1] == ["--folder"] else pathlib.Path(__file__).parent
names = arguments[2 if arguments[:1] == ["--folder"] else 0 :] or sorted(path.stem for path in here.glob("*.py") if path.stem != "record")
for name in names:
    script = here / f"{name}.py"
    # In the folder, so that what prints the script's name prints no path.
    done = subprocess.run([sys.executable, "-W", "ignore", script.name], cwd=here, capture_output=True, text=True, check=True)
    # Where PyTorch lies is not part of what it prints.
    printed = re.sub(r'(File:? "?)\S*/site-packages/torch/\S*?(\w+\.py)', r"\1\2", done.stdout.replace(f"{here.resolve()}/", ""))
    (here / f"{name}.stdout").write_text(printed)
