//! The command line: what it prints where, and its exit status.

use std::process::{Command, Output};

use aot_playground::report::Report;

/// A script of this text, in a file.
fn file(name: &str, script: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, script).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Runs the program on a script of this text.
fn run(name: &str, script: &str, arguments: &[&str]) -> Output {
    command(&[&["run", &file(name, script)], arguments].concat())
}

fn command(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_aot-playground")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_script_prints_and_fails_as_under_python() {
    let output = run("fails.py", "import sys\nprint('out')\nprint('err', file=sys.stderr)\nint('x')\n", &[]);
    assert_eq!(text(&output.stdout), "out\n");
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("err\nTraceback (most recent call last):\n"), "{stderr}");
    assert!(stderr.ends_with("ValueError: invalid literal for int() with base 10: 'x'\n"), "{stderr}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(run("exits.py", "import sys\nsys.exit(7)\n", &[]).status.code(), Some(7));
    assert_eq!(run("fine.py", "x = 1\n", &[]).status.code(), Some(0));
}

#[test]
fn json_is_one_report() {
    let output = run("report.py", "print('out')\n1 / 0\n", &["--json", "--backend", "inductor"]);
    let report: Report = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report.stdout, "out\n");
    assert!(report.finished && report.seconds > 0.0);
    let exception = report.exception.unwrap();
    assert_eq!((exception.kind.as_str(), exception.message.as_str()), ("ZeroDivisionError", "division by zero"));
    assert_eq!(text(&output.stderr), exception.traceback);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_run_explains_what_it_came_to() {
    let script = "import torch
class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        self.step += 1
        y = (x * self.weight).sin()
        return y * self.step + y.sum().item()

f = torch.compile(Counter())
for _ in range(3):
    f(torch.ones(8, 4)).sum().backward()
print('counted')
";
    let output = run("explained.py", script, &["--explain"]);
    assert_eq!((text(&output.stdout), output.status.code()), ("counted\n", Some(0)));
    let stderr = text(&output.stderr);
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.starts_with("compilation ") || line.starts_with("compilation 0 ")).collect();
    let want = "compilation 0 (Counter): Peak 660 B at cos: 260 B from line 11, 256 B from line 10, 144 B from 2 other places; budget 0.5: 660 B.
compilation 0 (Counter): Activations kept for the backward: 0 B; eager mode keeps 128 B, 128 B more.
self.step == k (line 9): 2 of 2 cache misses of Counter [0]; set torch._dynamo.config.allow_unspec_int_on_nn_module = True
graph break at line 11: Unsupported Tensor.item() call with capture_scalar_outputs=False, 3 times
  Set `torch._dynamo.config.capture_scalar_outputs = True` or `export TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1` to include these operations in the captured graph.
  https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0124.html";
    assert_eq!(lines.join("\n"), want);
}

#[test]
fn a_time_limit_ends_a_script() {
    let output = run("endless.py", "while True: pass\n", &["--time-limit", "0.2"]);
    assert!(text(&output.stderr).ends_with("TimeLimitExceeded: the script ran longer than its time limit of 0.2 s\n"));
    assert_eq!(output.status.code(), Some(1));
}

/// What one instruction of the interpreter does, or one kernel, hears of no limit: the run ends without it.
#[test]
fn a_time_limit_ends_what_cannot_be_interrupted() {
    const SCRIPTS: &[(&str, &str)] = &[
        ("power", "print('begun', flush=True)\nx = 10 ** 10 ** 8\n"),
        ("expression", "import re\nprint('begun')\nre.match('(a*)*b', 'a' * 40)\n"),
        ("product", "import torch\nprint('begun')\nx = torch.ones(3000, 3000)\nfor _ in range(100): x = x @ x\n"),
        ("sort", "print('begun')\nsorted(range(10**8), key=lambda i: -i)\n"),
        ("swallowed", "print('begun')\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass\n"),
        ("prints", "print('begun')\nwhile True: print(1)\n"),
    ];
    for (name, script) in SCRIPTS {
        let output = run(&format!("{name}.py"), script, &["--time-limit", "1"]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(text(&output.stdout).starts_with("begun\n"), "{name}: {}", text(&output.stdout));
        let stderr = text(&output.stderr);
        assert!(stderr.ends_with("TimeLimitExceeded: the script ran longer than its time limit of 1 s\n"), "{name}: {stderr}");
    }
}

/// What passes the memory limit is an error of PyTorch's allocator: the script's to handle, or, where it cannot be told, its end.
#[test]
fn a_memory_limit_is_an_error_with_the_bytes_asked() {
    const WORDS: &str =
        "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate";
    let handled = "kept = []\ntry:\n    while True: kept.append(bytes(1000))\nexcept RuntimeError:\n    kept.clear()\n    print('on')\n";
    let output = run("handled.py", handled, &["--memory-limit", "100"]);
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("on\n", ""));
    const SCRIPTS: &[(&str, &str, &str)] = &[
        ("tensors", "import torch\nprint('begun')\nkept = [torch.ones(2**20) for _ in range(1000)]\n", "4194304 bytes"),
        ("list", "print('begun')\nx = [0] * 10**9\n", "8000000000 bytes"),
        ("text", "print('begun')\ns = 'a'\nwhile True: s += s\n", "134217728 bytes"),
        ("tape", "import torch\nprint('begun')\nx = torch.ones(3, requires_grad=True)\nwhile True: x = x.sin()\n", "bytes"),
        ("graph", "import torch\nprint('begun')\n@torch.compile\ndef f(x):\n    while True: x = x.sin()\nf(torch.ones(3))\n", "bytes"),
    ];
    for (name, script, bytes) in SCRIPTS {
        let output = run(&format!("memory_{name}.py"), script, &["--memory-limit", "100", "--time-limit", "60"]);
        assert_eq!((text(&output.stdout), output.status.code()), ("begun\n", Some(1)), "{name}");
        let stderr = text(&output.stderr);
        assert!(stderr.contains(WORDS) && stderr.contains(bytes), "{name}: {stderr}");
    }
}

#[test]
fn limits_hold_of_questions_too() {
    let script = file("asked.py", "while True: pass\n");
    let output = command(&["ask", &script, r#"{"ask": "curve"}"#, "--time-limit", "0.2"]);
    assert!(text(&output.stderr).contains("TimeLimitExceeded"), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
    let output = command(&["run", &script, "--memory-limit", "much"]);
    assert_eq!(
        (text(&output.stderr).lines().next(), output.status.code()),
        (Some("aot-playground: 'much' is no number of megabytes"), Some(2))
    );
}

#[test]
fn deep_recursion_ends_in_an_exception() {
    let output = run("deep.py", "import sys\nsys.setrecursionlimit(10**6)\ndef f(n):\n    return f(n + 1)\nf(0)\n", &[]);
    assert!(text(&output.stderr).contains("RecursionError: maximum recursion depth exceeded"), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn usage() {
    for (arguments, complaint) in [
        (&["run"][..], "no script given"),
        (&[], "no command given"),
        (&["walk", "x.py"], "unknown command 'walk'"),
        (&["run", "x.py", "--fast"], "--fast"),
        (&["run", "x.py", "y.py"], "y.py"),
        (&["run", "x.py", "--backend", "magic"], "unknown backend 'magic'"),
        (&["run", "x.py", "--time-limit", "soon"], "'soon' is no number of seconds"),
        (&["run", "no-such-script.py"], "can't open file 'no-such-script.py'"),
    ] {
        let output = command(arguments);
        assert!(text(&output.stderr).contains(complaint), "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    assert!(text(&command(&["--help"]).stdout).contains("Usage:"));
    assert!(text(&command(&["--version"]).stdout).contains(env!("CARGO_PKG_VERSION")));
}

const COMPILED: &str =
    "import torch\n@torch.compile\ndef f(x):\n    return (x.sin() * 2).sum()\nf(torch.ones(3, requires_grad=True)).backward()\n";

#[test]
fn graphs_are_emitted_in_other_forms() {
    let emit = |arguments: &[&str]| {
        let output = run("emitted.py", COMPILED, arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    let logs = emit(&["--emit", "logs"]);
    for title in [
        " ===== Joint graph 0 =====\n class inner_f(torch.nn.Module):",
        " ===== Forward graph 0 =====\n class GraphModule",
        "Backward graph 0",
    ] {
        assert!(logs.contains(title), "{logs}");
    }
    assert!(emit(&["--emit", "dot", "--graph", "backward"]).starts_with("digraph {\n"));
    assert!(emit(&["--emit", "table", "--graph", "joint"]).contains("aten.sin.default"));
    let python = emit(&["--emit", "python"]);
    assert!(python.starts_with("\"\"\"The forward graph of compilation 0. Runs with PyTorch 2.15.0.\"\"\"\n"), "{python}");
    assert!(python.contains("\nclass GraphModule(torch.nn.Module):\n    def forward(self, primals_1: \"f32[3][1]cpu\"):\n"), "{python}");
}

#[test]
fn what_cannot_be_emitted_is_said() {
    for (arguments, message) in [
        (&["--emit", "poem"][..], "cannot emit 'poem'"),
        (&["--emit", "dot", "--graph", "sideways"], "unknown graph 'sideways'"),
        (&["--emit", "dot", "--graph", "inference"], "compilation 0 has no inference graph"),
        (&["--emit", "dot", "--compilation", "3"], "there is no compilation 3: 1 were made"),
        (&["--graph", "joint"], "--graph and --compilation choose what --emit prints"),
    ] {
        let output = run("not_emitted.py", COMPILED, arguments);
        assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn a_question_is_answered_in_json() {
    let script = file("asked.py", COMPILED);
    let ask = |compilation: &str| {
        let output = command(&["ask", &script, r#"{"ask": "curve", "points": 2}"#, "--compilation", compilation]);
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (answer["answer"].as_str().unwrap().to_owned(), output.status.code())
    };
    assert_eq!(ask("0"), ("curve".to_owned(), Some(0)));
    assert_eq!(ask("99"), ("failed".to_owned(), Some(1)));
}

/// A folder of this name with these files.
fn modules(name: &str, files: &[(&str, &str)]) -> String {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    for (file, text) in files {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder.to_str().unwrap().to_owned()
}

/// A zip archive of this name with these files, compressed.
fn wheel(name: &str, files: &[(&str, &[u8])]) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    for (file, bytes) in files {
        archive.start_file(*file, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut archive, bytes).unwrap();
    }
    archive.finish().unwrap();
    path.to_str().unwrap().to_owned()
}

const HELPER: &str = "def half(x):\n    return x / zero\n";

#[test]
fn modules_are_imported_from_folders_and_archives() {
    let folder = modules("beside", &[("settings.py", "zero = 0\n"), ("notes.txt", "secret"), (".hidden/inner.py", "")]);
    let archive = wheel("helpers-1.0-py3-none-any.whl", &[("helpers/__init__.py", HELPER.as_bytes()), ("helpers/_C.so", b"\x7fELF")]);
    let script = "import sys, settings, helpers
print([entry.rsplit('/', 1)[-1] for entry in sys.path])
for name in ('helpers._C', 'inner', 'notes'):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        print(error)
try:
    open(sys.path[0] + '/notes.txt')
except FileNotFoundError as error:
    print(type(error).__name__)
helpers.zero = settings.zero
helpers.half(1)
";
    let output = run("imports.py", script, &["--module-path", &folder, "--module-path", &archive]);
    let want = "['beside', 'helpers-1.0-py3-none-any.whl']
No module named 'helpers._C'
No module named 'inner'
No module named 'notes'
FileNotFoundError
";
    assert_eq!(text(&output.stdout), want);
    let stderr = text(&output.stderr);
    let place =
        format!("  File \"{archive}/helpers/__init__.py\", line 2, in half\n    return x / zero\nZeroDivisionError: division by zero\n");
    assert!(stderr.ends_with(&place), "{stderr}");
}

#[test]
fn a_module_path_that_cannot_be_read_is_refused() {
    let bomb = wheel("bomb.whl", &[("big.py", &vec![b'#'; 65 << 20])]);
    let latin = modules("latin", &[]);
    std::fs::create_dir_all(&latin).unwrap();
    std::fs::write(format!("{latin}/letters.py"), b"# \xe9\n").unwrap();
    let script = file("none.py", "print('runs')\n");
    for (path, why) in [
        (bomb.as_str(), "bomb.whl unpacks to more than 64 MB of Python files"),
        (latin.as_str(), "'letters.py' is not UTF-8"),
        (script.as_str(), "it is no folder, wheel or zip"),
    ] {
        let output = command(&["run", &script, "--module-path", path]);
        assert_eq!((text(&output.stdout), output.status.code()), ("", Some(2)));
        assert!(text(&output.stderr).contains(&format!("--module-path {path}: {why}\n")), "{}", text(&output.stderr));
    }
}

#[test]
fn scripts_are_made_smaller() {
    let script =
        file("shrinks.py", "import sys\nx = [1, 2, 3]\nfor i in x:\n    print('item', i)\nprint('out', file=sys.stderr)\nsys.exit(3)\n");
    let output = command(&["minimize", &script, "--keep", "text:item"]);
    assert_eq!((text(&output.stdout), output.status.code()), ("print('item')\n", Some(0)));
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("1 statements of 6, ") && stderr.lines().count() == 1, "{stderr}");
    let smallest = file("smallest.py", "");
    let output = command(&["minimize", &script, "--keep", "text:out", "-o", &smallest]);
    assert_eq!((text(&output.stdout), output.status.code()), ("", Some(0)));
    assert_eq!(std::fs::read_to_string(&smallest).unwrap(), "print('out')\n");
    for (arguments, status, why) in [
        (&["minimize", &script, "--keep", "exception"][..], 1, "no exception ends the script"),
        (&["minimize", &script, "--keep", "all"], 2, "cannot keep 'all'; there are exception, text:TEXT, operator:NAME and differs:eager"),
        (&["minimize", &script], 2, "no --keep given"),
        (&["minimize", "absent.py", "--keep", "exception"], 3, "can't open file 'absent.py'"),
    ] {
        let output = command(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "");
    }
}

/// What does not end, or ends the interpreter, ends one try.
#[test]
fn scripts_that_do_not_end_are_tries() {
    let script = "import sys
running = 3
while running:
    running -= 1
n = 10
n = 3
print(7 ** 10 ** n > 1)
def deeper(n):
    return deeper(n + 1) if n < 10 else n
deeper(0)
print('done')
raise SystemError('kept')
";
    let output = command(&["minimize", &file("hangs.py", script), "--keep", "exception"]);
    assert_eq!(text(&output.stdout), "raise SystemError('kept')\n", "{}", text(&output.stderr));
}
