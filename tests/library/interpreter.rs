//! What has no counterpart in CPython: the time limit, absent packages, several runs of one interpreter, source spans.

use crate::script;
use aot_playground::python::{Interpreter, RunOptions, span};
use aot_playground::report::{Event, Report, Span};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

fn run_with(interpreter: &Interpreter, program: &str, options: &RunOptions) -> (Report, i32) {
    let run = script::run_in(interpreter, program, options);
    (run.report, run.status)
}

fn run(interpreter: &Interpreter, program: &str) -> (Report, i32) {
    run_with(interpreter, program, &RunOptions::default())
}

#[test]
fn time_limit() {
    let interpreter = Interpreter::new();
    let options = RunOptions { time_limit: Some(Duration::from_millis(200)), ..RunOptions::default() };
    for program in [
        "while True: pass",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n    finally: x = 1",
        "import time\ntime.sleep(60)",
        "def f():\n    while True:\n        yield 1\nsum(f())",
    ] {
        let started = Instant::now();
        let (report, status) = run_with(&interpreter, program, &options);
        let exception = report.exception.expect(program);
        assert_eq!((exception.kind.as_str(), status), ("TimeLimitExceeded", 1), "{program}");
        assert_eq!(exception.message, "the script ran longer than its time limit of 0.2 s");
        assert!(exception.span.is_some(), "{program}");
        assert!(started.elapsed() < Duration::from_secs(20), "{program}");
        let (report, status) = run_with(&interpreter, "print('next')", &options);
        assert_eq!((report.stdout.as_str(), status), ("next\n", 0));
    }
}

#[test]
fn a_traceback_of_the_time_limit_names_each_frame_once() {
    let program = "def f():\n    while True:\n        pass\ntry:\n    f()\nexcept BaseException:\n    pass\n";
    let options = RunOptions { time_limit: Some(Duration::from_millis(100)), ..RunOptions::default() };
    let (report, _) = run_with(&Interpreter::new(), program, &options);
    let traceback = report.exception.unwrap().traceback;
    assert_eq!(traceback.matches("in <module>").count(), 1, "{traceback}");
    assert_eq!(traceback.matches("in f").count(), 1, "{traceback}");
}

#[test]
fn absent_packages_that_are_not_used() {
    let program = "
import scipy as np
import matplotlib.pyplot as plt
from torchvision import datasets, transforms
from tqdm.auto import tqdm

def load(path: str, scale: np.ndarray | None = None) -> np.ndarray:
    return np.load(path)

try:
    import wandb
except ImportError:
    wandb = None
print([i for i in tqdm(range(3), desc='steps')], wandb)
for use in (lambda: load('x'), lambda: plt.plot([1]), lambda: datasets.MNIST('.'), lambda: np.pi * 2, lambda: isinstance(1, np.ndarray)):
    try:
        use()
    except ImportError as e:
        print(type(e).__name__, e, e.name)
class Set(datasets.VisionDataset): pass
";
    let (report, status) = run(&Interpreter::new(), program);
    let absent = |package: &str, what: &str| {
        let top = package.split('.').next().unwrap_or_default();
        format!(
            "ModuleNotFoundError No module named '{package}' (the package '{top}' is not available in the playground): '{what}' is used {package}\n"
        )
    };
    let expected = [
        "[0, 1, 2] None\n".to_owned(),
        absent("scipy", "scipy.load"),
        absent("matplotlib.pyplot", "matplotlib.pyplot.plot"),
        absent("torchvision", "torchvision.datasets.MNIST"),
        absent("scipy", "scipy.pi"),
        absent("scipy", "scipy.ndarray"),
    ];
    assert_eq!(report.stdout, expected.concat());
    assert_eq!(status, 1);
    assert!(report.exception.is_some_and(|e| e.message.contains("'torchvision.datasets.VisionDataset' is used")));
}

/// Whoever refuses a value names its class: a name that is absent is named by whatever it is given to.
#[test]
fn absent_names_say_what_they_are() {
    let program = "
import scipy, torch
x = torch.ones(3)
for use in (lambda: x[..., scipy.newaxis], lambda: torch.ones(3, dtype=scipy.float32), lambda: ','.join([scipy.name])):
    try:
        use()
    except Exception as e:
        print(type(e).__name__, str(e).split('(got ')[-1])
";
    let (report, _) = run(&Interpreter::new(), program);
    assert_eq!(
        report.stdout,
        "IndexError scipy.newaxis, which is not available in the playground)
TypeError ones(): argument 'dtype' must be torch.dtype, not scipy.float32, which is not available in the playground
TypeError sequence item 0: expected str instance, scipy.name, which is not available in the playground found
"
    );
}

#[test]
fn absent_packages() {
    let program = "
for name in ['scipy', 'numpy.fft', 'torchvision.transforms', 'socket', 'torch.nothing', 'unheard_of']:
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        print(error, error.name)
";
    let (report, _) = run(&Interpreter::new(), program);
    assert_eq!(
        report.stdout,
        "No module named 'scipy' (the package 'scipy' is not available in the playground) scipy
No module named 'numpy.fft' (this part of numpy is not available in the playground) numpy.fft
No module named 'torchvision' (the package 'torchvision' is not available in the playground) torchvision
No module named 'socket' (this part of the standard library is not available in the playground) socket
No module named 'torch.nothing' (this part of PyTorch is not available in the playground; operators.html lists what is) torch.nothing
No module named 'unheard_of' unheard_of
"
    );
}

#[test]
fn runs_do_not_see_each_other() {
    let interpreter = Interpreter::new();
    let program = "
import builtins, dataclasses, logging, os, random, sys, torch, typing
print(hasattr(builtins, 'leak'), hasattr(torch, 'leak'), 'leak' in globals(), 'LEAK' in os.environ, len(logging.root.handlers))
print(sys.getrecursionlimit(), len(sys.meta_path) > 2, sys.stdout is sys.__stdout__, len)
builtins.leak = torch.leak = leak = 1
os.environ['LEAK'] = '1'
logging.basicConfig()
sys.setrecursionlimit(50)
sys.meta_path.clear()
sys.stdout = None
@dataclasses.dataclass
class Node:
    me: typing.Any = None
node = Node()
node.me = node
builtins.len = lambda x: 99
";
    let expected = "False False False False 0\n1000 True True <built-in function len>\n";
    for _ in 0..3 {
        let (report, status) = run(&interpreter, program);
        assert_eq!((report.stdout.as_str(), status), (expected, 0), "{:?}", report.exception);
        interpreter.warm_up();
    }
}

/// A compiled call watches what is warned of and logged; the next script's messages are its own.
#[test]
fn messages_after_a_run_that_compiled() {
    let interpreter = Interpreter::new();
    let compiles = "import logging, torch, warnings\ntorch.compile(lambda x: x + 1)(torch.ones(1))";
    let warns = "import logging, warnings\nwarnings.warn('seen')\nlogging.warning('logged')";
    for _ in 0..2 {
        assert_eq!(run(&interpreter, compiles).1, 0);
        let (report, status) = run(&interpreter, warns);
        let stderr = "script.py:2: UserWarning: seen\n  warnings.warn('seen')\nWARNING:root:logged\n";
        assert_eq!((report.stderr.as_str(), status), (stderr, 0));
    }
}

#[test]
fn a_run_within_a_run_is_refused() {
    let interpreter = Rc::new(Interpreter::new());
    let inner = interpreter.clone();
    let seen = Rc::new(RefCell::new(None));
    let answer = seen.clone();
    let sink = move |event| {
        if matches!(event, Event::Stdout { .. }) {
            *answer.borrow_mut() = Some(run(&inner, "print(1)").0);
        }
    };
    interpreter.run("print(0)", "script.py", &RunOptions::default(), Rc::new(sink));
    let exception = seen.take().and_then(|report: Report| report.exception).unwrap();
    assert_eq!(exception.traceback, "RuntimeError: another script is running\n");
}

/// Where the script was at each line it printed: innermost place, then the stack of functions.
fn places(program: &str) -> Vec<(Span, &'static str, String, Vec<&'static str>)> {
    let places = Rc::new(RefCell::new(Vec::new()));
    let seen = places.clone();
    let sink = move |event| {
        if matches!(event, Event::Stdout { .. }) {
            let here = span::here().unwrap();
            assert_eq!(span::span().as_ref(), Some(&here.span));
            let stack = span::stack().iter().map(|place| place.function).collect();
            seen.borrow_mut().push((here.span.clone(), here.function, here.code().to_owned(), stack));
        }
    };
    Interpreter::new().run(program, "script.py", &RunOptions::default(), Rc::new(sink));
    assert!(span::here().is_none());
    places.take()
}

#[test]
fn spans() {
    let program = "\
import contextlib, sys
def f(x):
    y = 1 + (print(x) or 2); return y
é = [f(1), print('two'),
     print(
       'three')]
with contextlib.redirect_stdout(sys.stdout): print('four')
list(map(print, ['five']))
";
    let span = |line, column, end_line, end_column| Span { line, column, end_line, end_column, file: None };
    let module = vec!["<module>"];
    assert_eq!(
        places(program),
        [
            (span(3, 13, 3, 21), "f", "y = 1 + (print(x) or 2); return y".to_owned(), vec!["<module>", "f"]),
            (span(4, 11, 4, 23), "<module>", "é = [f(1), print('two'),".to_owned(), module.clone()),
            (span(5, 5, 6, 15), "<module>", "print(".to_owned(), module.clone()),
            (span(7, 45, 7, 58), "<module>", "with contextlib.redirect_stdout(sys.stdout): print('four')".to_owned(), module.clone()),
            (span(8, 0, 8, 26), "<module>", "list(map(print, ['five']))".to_owned(), module),
        ]
    );
}

#[test]
fn spans_of_exceptions() {
    let interpreter = Interpreter::new();
    let span = |program| run(&interpreter, program).0.exception.unwrap().span.unwrap();
    assert_eq!(span("x = 1\ny = x + None\n"), Span { line: 2, column: 4, end_line: 2, end_column: 12, file: None });
    assert_eq!(span("import json\njson.loads('{')\n"), Span { line: 2, column: 0, end_line: 2, end_column: 15, file: None });
    assert_eq!(span("while True print(1)\n"), Span { line: 1, column: 11, end_line: 1, end_column: 16, file: None });
}

/// The interpreter trusts the bytecode that it runs: none but its own compiler's reaches it.
#[test]
fn bytecode_of_a_script_is_refused() {
    let program = r#"
import copy, marshal, types
def f(x): return x + 1
code = f.__code__
print(code.replace(co_name="g", co_firstlineno=7).co_name)
for way in (lambda: code.replace(co_code=bytes(20)), lambda: code.__replace__(co_consts=()), lambda: types.CodeType(1), lambda: marshal.loads(b"c")):
    try:
        print(way())
    except NotImplementedError as error:
        print(error)
"#;
    let refused = "the playground runs no bytecode but that of its own compiler\n";
    assert_eq!(script::report(program).stdout, format!("g\n{}", refused.repeat(4)));
}
