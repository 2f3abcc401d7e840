"""What PyTorch logs of some cases, shortened: the test data of crates/trace.

    logs.py FOLDER                 runs the programs below under TORCH_TRACE and TORCH_LOGS, and writes their logs to FOLDER
    logs.py FOLDER --shorten FILE ...   shortens logs that another version of PyTorch wrote (folders named after it hold them)

FOLDER holds the programs that are no cases (described.py, failing.py, two_ranks.py). What no test reads is left out: timing events, descriptions of tensors, PyTorch's own frames in stacks, most counters.
"""

import glob
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parent.parent.parent
PROGRAMS = ["01_mlp", "06_dropout_sdpa", "10_input_mutation", "21_dynamic_true", "36_compiled_autograd", "37_two_tensor_subclass", "40_graph_break"]
# Programs whose text is recorded as well.
AS_TEXT = ["06_dropout_sdpa", "10_input_mutation", "40_graph_break"]
LOGS = "graph_code,aot_joint_graph,aot_graphs,guards,recompiles,graph_breaks"
LEFT_OUT = {"chromium_event", "describe_storage", "describe_tensor", "describe_source", "dump_file"}
COUNTERS = {"compile_id", "co_name", "co_filename", "co_firstlineno", "fail_type", "fail_reason", "restart_reasons"}
RUN = """
import sys, torch
whole = torch.compile
def compile(model=None, **k):
    k.setdefault("backend", "aot_eager")
    return whole(model, **k) if model is not None else (lambda m: whole(m, **k))
torch.compile = compile
exec(__builtins__.compile(open({path!r}).read(), {path!r}, "exec"), {{"__name__": "__main__", "__file__": {path!r}}})
"""


def shorten_record(record, strings):
    kind = next(iter(record))
    if kind == "str" or kind in LEFT_OUT:
        return None
    if kind.endswith("compilation_metrics"):
        metrics = record[kind]
        keep = lambda k, v: k in COUNTERS or k.endswith(("compile_time_us", "_count", "compile_time_s"))
        record[kind] = {k: v for k, v in metrics.items() if keep(k, v) and v not in (None, [])}
    value = record[kind]
    for stack in ("stack", "user_stack"):
        if isinstance(value, dict) and stack in value:
            frames = value[stack]
            value[stack] = [] if kind != "dynamo_start" and stack == "stack" else frames[-1:]
    return record


def shorten_trace(text):
    out, lines, i, strings, used = [], text.split("\n"), 0, {}, set()
    while i < len(lines):
        head, j = lines[i], i + 1
        while j < len(lines) and lines[j].startswith("\t"):
            j += 1
        at = head.find("] {")
        if at >= 0:
            prefix, record = head[: at + 2], json.loads(head[at + 2 :])
            if "str" in record:
                strings[record["str"][1]] = record["str"][0]
            payload = lines[i + 1 : j]
            name = record.get("artifact", {}).get("name", "")
            kept = None if name.endswith("BYTECODE") else shorten_record(record, strings)
            if kept:
                if "dynamo_cpp_guards_str" in kept:
                    payload = payload[:12]
                if name == "aot_autograd_runtime_wrappers":
                    payload = payload[:8]
                if name == "dynamo_graph_break_reason":
                    end = next((k for k, l in enumerate(payload) if "Traceback (most" in l), len(payload))
                    payload = payload[:end]
                if "has_payload" in kept:
                    kept["has_payload"] = hashlib.md5("\n".join(l[1:] for l in payload).encode()).hexdigest()
                for place in [f for v in kept.values() if isinstance(v, dict) for s in ("stack", "user_stack") for f in v.get(s, [])]:
                    number = place.get("filename")
                    if number in strings and number not in used:
                        used.add(number)
                        out.append(prefix + json.dumps({"str": [strings[number], number]}))
                out += [prefix + json.dumps(kept), *payload]
        i = j
    return "\n".join(out) + "\n"


def shorten_text(text):
    kept, guards = [], 0
    for line in text.splitlines():
        is_guard = "__guards" in line
        guards = guards + 1 if is_guard else 0
        if not is_guard or guards <= 12:
            kept.append(line)
    return "\n".join(kept) + "\n"


def clean(text, folder):
    site = str(pathlib.Path(sys.prefix))
    text = text.replace(str(folder), "/home/user/project").replace(site, "/venv")
    return re.sub(r"/(?:root|tmp|opt)/[\w./-]*?(?=/(?:lib|torch|python))", "/venv", text)


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    if sys.argv[2:3] == ["--shorten"]:
        for path in map(pathlib.Path, sys.argv[3:]):
            shorten = shorten_trace if path.suffix == ".log" or ".trace" in path.name else shorten_text
            (out / path.name).write_text(shorten(path.read_text()))
        return
    for name in PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, name + ".py")
            path.write_text((ROOT / "tests/cases/conformance" / path.name).read_text())
            run = lambda extra: subprocess.run(
                [sys.executable, "-c", RUN.format(path=str(path))], env=os.environ | extra, capture_output=True, text=True, check=True
            )
            run({"TORCH_TRACE": folder + "/trace"})
            trace = clean(pathlib.Path(glob.glob(folder + "/trace/*.log")[0]).read_text(), folder)
            (out / f"{name}.trace.txt").write_text(shorten_trace(trace))
            if name in AS_TEXT:
                (out / f"{name}.torch_logs.txt").write_text(shorten_text(clean(run({"TORCH_LOGS": LOGS}).stderr, folder)))
    for name, launcher in (("described", []), ("failing", []), ("two_ranks", ["-m", "torch.distributed.run", "--nproc_per_node", "2"])):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, name + ".py")
            path.write_text((out / path.name).read_text())
            trace = os.environ | {"TORCH_TRACE": folder + "/trace"}
            subprocess.run([sys.executable, *launcher, path], env=trace, capture_output=True, check=True)
            for log in sorted(glob.glob(folder + "/trace/*.log")):
                rank = re.search(r"rank_\d+", log)
                target = out / f"ranks/{rank[0]}.txt" if rank else out / f"{name}.trace.txt"
                target.parent.mkdir(exist_ok=True)
                target.write_text(shorten_trace(clean(pathlib.Path(log).read_text(), folder)))


if __name__ == "__main__":
    main()
