//! What must hold of the interpreter's module in a browser, in a page and in a worker alike.

use std::cell::RefCell;
use std::rc::Rc;

use aot_playground::report::protocol::{FromInterpreter, ToInterpreter, Told};
use aot_playground::report::{GraphView, Report};
use aot_playground::web::{from_js, interpreter, to_js};

/// What crosses, as it comes out on the other side.
fn crossed(message: &FromInterpreter) -> FromInterpreter {
    from_js(to_js(message).expect("a message crosses")).expect("a message crosses back")
}

/// Has a script run as a worker does, and folds the events that it tells.
fn run(program: &str) -> Report {
    let report = Rc::new(RefCell::new((Report::default(), 0)));
    let heard = report.clone();
    let message = r#"{"type": "run", "run": 7, "program": "", "files": [], "options": {"backend": "aot_eager"}}"#;
    let message = js_sys::JSON::parse(message).expect("this is JSON");
    js_sys::Reflect::set(&message, &"program".into(), &program.into()).expect("an object takes a property");
    let message: ToInterpreter = from_js(message).expect("this is a message");
    interpreter::handle(message, move |answer| match crossed(&answer) {
        FromInterpreter::Event { run: 7, event: Told::Text(json) } => {
            heard.borrow_mut().0.fold(serde_json::from_str(&json).expect("an event's JSON is an event"));
        }
        FromInterpreter::Event { run: 7, event: Told::Event(event) } => heard.borrow_mut().0.fold(event),
        FromInterpreter::Done { run: 7, .. } => heard.borrow_mut().1 += 1,
        other => panic!("{other:?}"),
    });
    let (report, done) = report.take();
    assert_eq!(done, 1);
    report
}

pub fn prints() {
    let report = run("print('one')\nprint('zwölf')\n");
    assert_eq!((report.stdout.as_str(), report.exception, report.finished), ("one\nzwölf\n", None, true));
}

pub fn raises() {
    let report = run("x = 1\nraise ValueError('no')\n");
    let exception = report.exception.expect("the script raised");
    assert_eq!((exception.kind.as_str(), exception.message.as_str()), ("ValueError", "no"));
    assert_eq!(exception.span.map(|span| span.line), Some(2));
}

pub fn forgets() {
    run("x = 1\n");
    let exception = run("print(x)\n").exception.expect("a run sees nothing of the last");
    assert_eq!(exception.kind, "NameError");
}

pub fn survives_recursion() {
    let exception = run("def f():\n    return f()\nf()\n").exception.expect("recursion ends");
    assert_eq!(exception.kind, "RecursionError");
    assert_eq!(run("print(2)").stdout, "2\n");
}

pub fn imports_what_is_not_carried() {
    let exception = run("import datetime").exception.expect("nothing gives the rest of the library yet");
    assert_eq!(exception.kind, "ImportError");
    assert!(exception.message.contains("the rest of the library could not be fetched"), "{}", exception.message);
    // This module was not split: what it would fetch it has in itself.
    interpreter::set_library_source(|| Err("asked".to_owned()));
    let report = run("import datetime, torch.distributions.normal as n\nprint(datetime.date(2026, 1, 2), n.__name__, n.Normal.__module__)");
    assert_eq!((report.exception, report.stdout.as_str()), (None, "2026-01-02 torch.distributions.normal torch.distributions.normal\n"));
}

/// What the system gives natively, the library must have in itself here: every module is imported, and those that read `errno`,
/// environment, files and clocks are used.
pub fn has_the_standard_library() {
    interpreter::set_library_source(|| Err("asked".to_owned()));
    let listed = include_str!("../../../src/python/stdlib.txt").lines().filter(|line| line.ends_with(".py"));
    let names = listed.map(|line| line.trim_end_matches(".py").trim_end_matches("/__init__").replace('/', "."));
    let imports: String =
        names.map(|name| format!("try:\n    import {name}\nexcept BaseException as e:\n    print('{name}', type(e), e)\n")).collect();
    let report = run(&imports);
    assert_eq!((report.exception, report.stdout.as_str()), (None, ""));
    let report = run(include_str!("../../cases/python/errno_argparse.py"));
    let expected = include_str!("../../cases/python/errno_argparse.expected");
    assert_eq!(report.exception, None);
    let body = expected.split_once("=== stdout").and_then(|(_, rest)| rest.split_once('\n')).map_or("", |(_, body)| body);
    assert_eq!(report.stdout.trim_end(), body.split("\n=== ").next().unwrap_or_default().trim_end());
}

/// Sizes that no address of 32 bits reaches are refused with their bytes, as in PyTorch.
pub fn says_which_memory_is_not_there() {
    let program = "import torch\nfor n in (10**10, 2**32, 2**60):\n    try:\n        torch.zeros(n)\n    except RuntimeError as e:\n        print(str(e).partition('tried to allocate ')[2])\n";
    let words = |bytes: u64| format!("{bytes} bytes. Error code 12 (Cannot allocate memory)\n");
    assert_eq!(run(program).stdout, [40_000_000_000, 4 << 32, 4 << 60].map(words).concat());
}

pub fn compiles() {
    let program =
        "import torch\n@torch.compile\ndef f(x):\n    return (x.sin() * 2).sum()\nf(torch.ones(3, requires_grad=True)).backward()\n";
    let report = run(program);
    assert_eq!(report.exception, None);
    let [compilation] = report.compilations.as_slice() else { panic!("{} compilations", report.compilations.len()) };
    let text = |graph: &Option<GraphView>| graph.as_ref().map(|graph| graph.readable.clone()).unwrap_or_default();
    assert!(text(&compilation.forward).contains("torch.ops.aten.sin.default(primals_1)"));
    assert!(text(&compilation.backward).contains("torch.ops.aten.cos.default(primals_1)"));
    let parts: Vec<_> = report.runs.iter().map(|run| run.part.as_str()).collect();
    assert_eq!(parts, ["forward", "backward"]);
}

pub fn refuses_what_is_no_message() {
    let error = from_js::<ToInterpreter>("nonsense".into()).expect_err("this is no message");
    assert!(error.starts_with("a message that cannot be read"), "{error}");
}

/// Where there is no worker, nothing can be served, and that is said.
pub fn serves_workers_alone() {
    assert_eq!(
        interpreter::serve_interpreter(String::new(), wasm_bindgen::JsValue::UNDEFINED, true, Vec::new()),
        Err("this is no worker".into())
    );
}
