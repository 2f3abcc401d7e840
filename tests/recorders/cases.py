"""Which cases there are, and their recording: every program runs in a fork of a process that has imported PyTorch once."""

import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import tomllib

from . import expected

CASES = pathlib.Path(__file__).parent.parent / "cases"
COMPILATIONS = CASES.parent / "compilations"
SECONDS = 1800


def topics():
    return tomllib.loads((CASES / "topics.toml").read_text())


def all_cases():
    """Topic, its settings and script of every case."""
    for topic, settings in topics().items():
        folder = (CASES / settings["scripts"]).resolve() if "scripts" in settings else CASES / topic
        for script in sorted(folder.glob("*.py")):
            yield topic, settings, script


def backends_of(settings, script):
    """The backends that a script is recorded with: one that names its own is the same under every other."""
    backends = settings.get("backends", [])
    named = 'backend="aot_eager"' in script.read_text() and not settings.get("every_backend")
    return backends[:1] if named else backends


def forked(work, *arguments):
    """What `work` returns in a child process; whatever ends it is raised here."""
    with tempfile.TemporaryFile("w+") as answer, tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if child == 0:
            signal.alarm(SECONDS)
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            try:
                json.dump(work(*arguments), answer)
                answer.flush()
                os._exit(0)
            finally:
                import traceback

                traceback.print_exc()
                sys.stderr.flush()
                os._exit(1)
        _, status = os.waitpid(child, 0)
        if status:
            said.seek(0)
            raise RuntimeError(f"{arguments[0].name} {arguments[1:2]}: status {status}\n{said.read()[-3000:]}")
        answer.seek(0)
        return json.load(answer)


def of_cpython(script):
    """What CPython prints for a script, and its status."""
    command = [sys.executable, "-X", "no_debug_ranges", script.name]
    beside = os.environ | {"PYTHONPATH": str(script.with_suffix(".modules"))}
    ran = subprocess.run(command, cwd=script.parent, env=beside, capture_output=True, text=True)
    here = lambda text: text.replace(f"{script.parent}/", "")
    said = {"stdout": here(ran.stdout), "stderr": here(ran.stderr), "status": f"{ran.returncode}\n"}
    return {None: {item: text for item, text in said.items() if text not in ("", "0\n")} | {"stdout": said["stdout"]}}


def record_one(script, settings, target):
    from . import observe

    if settings.get("python"):
        observed = of_cpython(script)
    else:
        observed = {}
        for backend in backends_of(settings, script) or [None]:
            seen = forked(observe.observe, script, backend, settings.get("recompiles", False), settings.get("partitions", False))
            if compilations := seen.pop("compilations", None):
                folder = COMPILATIONS / target.parent.name
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{script.stem}.{backend}.json").write_text(observe.without_place(json.dumps(compilations, indent=1)) + "\n")
            observed[backend] = seen
        # Inductor's random numbers are others than those of eager mode, by design: what is printed of them is no expectation.
        printed = [items["stdout"] for items in observed.values()]
        if "inductor" in observed and observed["inductor"]["stdout"] != printed[0]:
            del observed["inductor"]["stdout"]
    target.parent.mkdir(exist_ok=True)
    target.write_text(expected.written(observed))


def record(patterns, jobs, only_missing):
    """Records the cases that one of `patterns` is part of; the names of those that failed."""
    todo = []
    for topic, settings, script in all_cases():
        target = CASES / topic / f"{script.stem}.expected"
        if any(p in f"{topic}/{script.stem}" for p in patterns) and not (only_missing and target.exists()):
            todo.append((f"{topic}/{script.stem}", settings, script, target))
    if not todo:
        return []
    from . import observe

    observe.prepare()
    failed = []
    # The children are processes; the threads wait for them.
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = {pool.submit(record_one, script, settings, target): name for name, settings, script, target in todo}
        for run in concurrent.futures.as_completed(runs):
            if error := run.exception():
                print(runs[run], error, flush=True)
                failed.append(runs[run])
            else:
                print(runs[run], flush=True)
    return failed
