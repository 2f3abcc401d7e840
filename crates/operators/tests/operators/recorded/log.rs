//! A layer that writes calls down as `data/derivatives.py` does.

use diagnostics::error::Result;
use dispatch::{Call, Key, Layer, OpEntry, Value, call_below};
use std::cell::RefCell;
use tensor::pyfloat::python_float;

/// Writes down every call that reaches it.
#[derive(Default)]
pub struct Log(pub RefCell<Vec<String>>);

fn text(v: &Value) -> String {
    match v {
        Value::Tensor(t) => format!("T{:?}", t.sizes()),
        Value::List(items) => format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(", ")),
        Value::Bool(b) => if *b { "True" } else { "False" }.to_owned(),
        Value::Float(f) => python_float(*f),
        Value::Str(s) => format!("'{s}'"),
        Value::Dtype(d) => d.to_string(),
        other => format!("{other:?}"),
    }
}

impl Layer for Log {
    fn key(&self) -> Key {
        Key::Trace
    }
    fn wants(&self, _: &Call) -> bool {
        true
    }
    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        let skipped = ["device", "layout", "pin_memory", "memory_format"];
        let shown = entry.schema.arguments.iter().zip(&args).filter(|(a, _)| !skipped.contains(&a.name.as_str()));
        let all: Vec<String> = shown.map(|(_, v)| text(v)).collect();
        match entry.name {
            "aten.detach.default" => {}
            // What PyTorch calls instead where a mode looks on, as when these were recorded.
            "aten._reshape_alias.default" => self.0.borrow_mut().push(format!("aten.view.default({}, {})", all[0], all[1])),
            name => self.0.borrow_mut().push(format!("{name}({})", all.join(", "))),
        }
        call_below(Key::Trace, entry, args)
    }
}
