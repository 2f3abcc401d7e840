"""Writes what PyTorch logs of compiled.py, without the names of PyTorch's own files and without its metadata."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent.parent / "e2e/recorded"

with tempfile.TemporaryDirectory() as folder:
    script = pathlib.Path(folder, "script.py")
    # What the page's plain torch.compile stands for.
    script.write_text((HERE / "compiled.py").read_text().replace("@torch.compile\n", '@torch.compile(backend="aot_eager")\n'))
    wanted = {"TORCH_LOGS": "aot_joint_graph,aot_graphs", "TORCH_LOGS_FORMAT": "%(message)s", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    run = subprocess.run([sys.executable, script], env=os.environ | wanted, capture_output=True, text=True, check=True)

logged = run.stderr[run.stderr.index("TRACED GRAPH") :].replace(str(script), "script.py")
logged = re.sub(r"^aot_config id: .*\n", "", logged, flags=re.MULTILINE)
logged = re.sub(r"^ \S+ (?=class \w+\(torch\.nn\.Module\):$)", " ", logged, flags=re.MULTILINE)
sys.stdout.write(logged)
