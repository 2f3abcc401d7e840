//! What must hold of the interpreter's module in a browser, in a page and in a worker alike.

use std::cell::RefCell;
use std::rc::Rc;

use aot_playground::report::{Event, GraphView, Report};
use aot_playground::web::interpreter;
use wasm_bindgen::prelude::*;

/// Runs a script through the exported function, as a worker does, and folds the events it hears of.
fn run(program: &str) -> Report {
    let report = Rc::new(RefCell::new(Report::default()));
    let heard = report.clone();
    let sink = Closure::<dyn FnMut(JsValue)>::new(move |event: JsValue| {
        let event: Event = match event.as_string() {
            Some(json) => serde_json::from_str(&json).expect("an event's JSON is an event"),
            None => serde_wasm_bindgen::from_value(event).expect("an event crosses and comes back"),
        };
        heard.borrow_mut().fold(event);
    });
    let options = js_sys::Object::new();
    js_sys::Reflect::set(&options, &"backend".into(), &"aot_eager".into()).expect("an object takes a property");
    interpreter::run(program, options.into(), sink.as_ref().unchecked_ref::<js_sys::Function>().clone()).expect("the run takes place");
    drop(sink);
    Rc::try_unwrap(report).expect("the sink is gone").into_inner()
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
    let fetch = js_sys::Function::new_no_args("throw new Error('asked')");
    interpreter::set_library_source(fetch);
    let report = run("import datetime, torch.distributions.normal as n\nprint(datetime.date(2026, 1, 2), n.__name__, n.Normal.__module__)");
    assert_eq!((report.exception, report.stdout.as_str()), (None, "2026-01-02 torch.distributions.normal torch.distributions.normal\n"));
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
