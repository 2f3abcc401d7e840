#!/usr/bin/env python3
"""Fetches the packages of src/python/packages.txt by pip, and writes each as one JSON file into target/packages: its Python files by path,
its version and its licence. What is there already is left alone.

    python3 scripts/packages.py
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "src/python/packages.txt"
TARGET = ROOT / "target/packages"


def lines():
    """Name and requirement of each package."""
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.partition("==")[0], line


def of_wheel(wheel, requirement):
    """What is kept of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        text = lambda name: archive.read(name).decode()
        info = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = dict(line.split(": ", 1) for line in text(info).split("\n\n")[0].splitlines() if ": " in line)
        is_licence = lambda name: ".dist-info/" in name and name.rpartition("/")[2].upper().startswith(("LICENSE", "LICENCE", "COPYING"))
        is_kept = lambda name: name.endswith(".py") and "/tests/" not in name
        return {
            "requirement": requirement,
            "name": metadata["Name"],
            "version": metadata["Version"],
            "licence": metadata.get("License-Expression") or metadata["License"],
            "licence_texts": [text(name) for name in names if is_licence(name)],
            "files": {name: text(name) for name in sorted(names) if is_kept(name)},
        }


def main():
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, requirement in lines():
        target = TARGET / f"{name}.json"
        if target.exists() and json.loads(target.read_text())["requirement"] == requirement:
            continue
        with tempfile.TemporaryDirectory() as folder:
            asked = pathlib.Path(folder) / "requirements.txt"
            asked.write_text(requirement + "\n")
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
            subprocess.run([*pip, "--dest", folder, "--requirement", asked], check=True)
            (wheel,) = pathlib.Path(folder).glob("*.whl")
            target.write_text(json.dumps(of_wheel(wheel, requirement)))
        print(f"{target.relative_to(ROOT)}: {requirement.split()[0]}")


if __name__ == "__main__":
    try:
        main()
    except (subprocess.CalledProcessError, OSError) as error:
        sys.exit(f"scripts/packages.py: {error}")
