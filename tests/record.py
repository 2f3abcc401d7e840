#!/usr/bin/env python3
"""Records what PyTorch 2.15 does: the expected texts of the cases, and the data of other tests.

    python tests/record.py [PATTERN ...] [--jobs N] [--list] [--missing]

with a Python 3.11 that has PyTorch 2.15, numpy, networkx, scipy, tabulate, tqdm, einops, packaging and z3-solver. PATTERN is a part of `TOPIC/NAME` (a case of
tests/cases) or of `data/NAME` (recorders/data.py lists them); without one, everything is recorded. `--list` only names what would be,
`--missing` leaves out cases that have a recording.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from recorders import cases, data  # noqa: E402


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("patterns", nargs="*", metavar="PATTERN")
    options.add_argument("--jobs", type=int, default=2, help="programs recorded at once")
    options.add_argument("--list", action="store_true", help="only names of what would be recorded")
    options.add_argument("--missing", action="store_true", help="only cases without a recording")
    options = options.parse_args()
    patterns = options.patterns or [""]
    if options.list:
        names = [f"{topic}/{script.stem}" for topic, _, script in cases.all_cases()] + [f"data/{name}" for name in data.DATA]
        print(*(name for name in names if any(pattern in name for pattern in patterns)), sep="\n")
        return
    failed = cases.record(patterns, options.jobs, options.missing)
    failed += data.record(patterns)
    for name in failed:
        print("FAILED", name)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
