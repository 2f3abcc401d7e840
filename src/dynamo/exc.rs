//! Calls that fail while they are captured, and what is said where nobody catches that.

use rustpython_vm::builtins::PyBaseExceptionRef;
use rustpython_vm::{AsObject, VirtualMachine};

use super::graph_breaks::unsupported::Unsupported;
use super::graph_breaks::user_code::from_user_code;
use super::output_graph::tracer::Recorder;
use crate::dispatch::{OpEntry, Rule, Value};
use crate::error::{Error, ErrorKind};
use crate::ops::shapes::default_dtype;
use crate::python::escape::escape;
use crate::python::native::tensor::{raise, said};
use crate::span::{Source, Written, current_source};
use crate::tensor::{Geometry, Tensor};

/// A call that failed.
pub struct Failure {
    /// The class of what PyTorch's rule for fake tensors raises.
    pub(in crate::dynamo) class: &'static str,
    /// What the call itself said.
    pub message: String,
    /// What is raised for it.
    pub(in crate::dynamo) raised: String,
    /// How the graph calls it, and with what.
    pub(in crate::dynamo) called: String,
    pub(in crate::dynamo) given: String,
    pub(in crate::dynamo) source: Option<Source>,
    /// The operator and what it was given, where that is what failed.
    pub(in crate::dynamo) call: Option<(&'static OpEntry, Vec<Value>)>,
}

impl Failure {
    /// What the operator says where it runs on tensors of these sizes: rules for fake tensors have words of their own. None where it says
    /// nothing, or the tensors are too large to try.
    fn in_eager_mode(&self) -> Option<Error> {
        /// Elements of all arguments together.
        const MOST: i64 = 1 << 20;
        let (entry, args) = self.call.as_ref()?;
        let mut left = MOST;
        let mut real = |t: &Tensor| {
            let mut spec = t.spec();
            spec.geometry = Geometry::contiguous(t.sizes().iter().map(|s| s.hint().unwrap_or(1).into()).collect());
            left -= spec.geometry.numel().hint().unwrap_or(MOST);
            if left < 0 { Err(Error::runtime("too large to try")) } else { Tensor::zeros(&spec) }
        };
        let args = args.iter().map(|value| value.map_tensors(&mut real)).collect::<crate::error::Result<Vec<_>>>().ok()?;
        let _eager = crate::dispatch::Exclude::down_to(crate::dispatch::Key::Autograd);
        let before = crate::dispatch::modes();
        crate::dispatch::set_modes(crate::dispatch::Modes { fake: false, ..before });
        let said = crate::dispatch::call(entry, args);
        crate::dispatch::set_modes(before);
        said.err()
    }
}

/// A value as PyTorch shows the arguments of a call that fails.
fn shown(value: &Value) -> String {
    match value {
        Value::Tensor(t) => {
            let sizes: Vec<String> = t.sizes().iter().map(ToString::to_string).collect();
            let comma = if sizes.len() == 1 { "," } else { "" };
            let grad = match super::output_graph::tracer::grad_fn(t) {
                None => String::new(),
                Some(leaf) if leaf.is_empty() => ", requires_grad=True".to_owned(),
                Some(node) => format!(", grad_fn=<{node}>"),
            };
            let dtype = if t.dtype() == default_dtype() { String::new() } else { format!(", dtype={}", t.dtype()) };
            format!("FakeTensor(..., size=({}{comma}){dtype}{grad})", sizes.join(", "))
        }
        Value::None => "None".to_owned(),
        Value::Bool(b) => if *b { "True" } else { "False" }.to_owned(),
        Value::Int(i) => i.to_string(),
        Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

/// A text as Python shows it.
fn quoted(text: &str) -> String {
    if text.contains('\'') && !text.contains('"') { format!("\"{text}\"") } else { format!("'{}'", text.replace('\'', "\\'")) }
}

impl Recorder {
    /// Remembers that a call failed.
    pub fn note_failure(&self, entry: &'static OpEntry, args: &[Value], out: &[Tensor], error: &Error) {
        // What a script's own operator raises passes through the script's functions.
        let is_own = matches!(entry.rule, Rule::Script);
        let class = match error.kind {
            // PyTorch's rules for fake tensors say so of what its kernels have not.
            ErrorKind::Runtime => "RuntimeError",
            // What begins with a name in quotes a kernel says, when the graph runs.
            ErrorKind::NotImplemented if crate::dispatch::has_kernel(entry) && !error.message.starts_with('"') => "RuntimeError",
            ErrorKind::Index if std::ptr::eq(entry, crate::dispatch::named::INDEX.get()) => "RuntimeError",
            ErrorKind::Type => "TypeError",
            ErrorKind::Value => "ValueError",
            _ => return,
        };
        if error.foreign.is_some() && !is_own {
            return;
        }
        let called = match Written::current() {
            Some(Written::Function("torch.ops.", name)) => format!("call_function {name}"),
            Some(Written::Method(name)) => format!("call_method {name}"),
            Some(Written::Function(prefix, name)) => format!("call_function {prefix}{name}"),
            _ => format!("call_function <built-in function {}>", entry.base_name()),
        };
        let last = args.iter().zip(&entry.schema.arguments).rposition(|(v, a)| match &a.default {
            Some(default) => {
                !matches!((v, default.value()), (Value::None, Value::None)) && format!("{v:?}") != format!("{:?}", default.value())
            }
            None => true,
        });
        let given: Vec<String> = args.iter().take(last.map_or(0, |l| l + 1)).map(|value| shown(&self.as_seen(value))).collect();
        let comma = if given.len() == 1 { "," } else { "" };
        let out: Vec<String> = out.iter().map(|t| self.shown_in_error(t)).collect();
        let named = match &out[..] {
            [] => String::new(),
            [one] => format!("'out': {one}"),
            several => format!("'out': ({})", several.join(", ")),
        };
        let given = format!("(*({}{comma}), **{{{named}}})", given.join(", "));
        *self.failure.borrow_mut() = Some(Failure {
            class,
            message: error.message.clone(),
            raised: error.message.clone(),
            called,
            given,
            source: current_source(),
            // What a script's own operator does is not done twice.
            call: (out.is_empty() && !is_own).then(|| (entry, args.to_vec())),
        });
    }

    /// Remembers that a function of the library's, which is one call of the graph, raised: it is shown in place of the operator that
    /// failed in it.
    pub fn note_raised(&self, called: impl FnOnce() -> String, class: &str, message: &str) {
        self.failed_call.replace(Some(message.to_owned()));
        let mut failure = self.failure.borrow_mut();
        let known = failure.as_ref().is_some_and(|f| f.message == message);
        let Some(class) = ["ValueError", "TypeError", "IndexError", "RuntimeError"].into_iter().find(|known| *known == class) else {
            return;
        };
        let (class, call) = failure.take().filter(|_| known).map_or((class, None), |f| (f.class, f.call));
        let message = message.to_owned();
        *failure = Some(Failure {
            class,
            raised: message.clone(),
            message,
            called: called(),
            given: String::new(),
            source: current_source(),
            call,
        });
    }

    /// What is raised where a call of the graph, with these arguments, failed with an exception while a whole function is captured, or with breaks.
    pub fn failed(&self, e: PyBaseExceptionRef, given: impl FnOnce() -> String, is_whole: bool, vm: &VirtualMachine) -> PyBaseExceptionRef {
        let said = said(&e, vm);
        let classes = &vm.ctx.exceptions;
        let mut noted = self.failure.borrow_mut();
        let known = noted.as_mut().filter(|f| f.message == said);
        if e.class().is(classes.index_error) && known.as_ref().is_none_or(|f| f.class == "IndexError") {
            // No exception of what is traced, as others are: the compiled call ends with it, whatever handlers there are.
            let message = format!("{}{}", self.with_hints(&said), from_user_code(current_source().as_ref()));
            let e = raise(Error::new(ErrorKind::Index, message), vm);
            escape(&e, vm);
            return e;
        }
        if e.class().is(classes.type_error) && said.contains("argument") {
            // The graph breaks before the call.
            let called = noted.take().filter(|f| f.message == said).map_or_else(String::new, |f| f.called);
            if !is_whole {
                return e;
            }
            let reason = Unsupported::type_error(called.strip_prefix("call_function ").unwrap_or(&called), &said);
            let text = format!("{}{}", reason.text(), from_user_code(current_source().as_ref()));
            let e = raise(Error::new(ErrorKind::Unsupported, text), vm);
            escape(&e, vm);
            return e;
        }
        let Some(failure) = known else { return e };
        failure.given = given();
        let raised = if is_whole {
            Error::runtime(self.explained(failure))
        } else {
            match failure.in_eager_mode() {
                Some(error) => error,
                None => return e,
            }
        };
        failure.raised = raised.message.clone();
        raise(raised, vm)
    }

    /// What Dynamo says of a call that failed.
    fn explained(&self, failure: &Failure) -> String {
        format!(
            "Dynamo failed to run FX node with fake tensors: {}{}: got {}({})",
            failure.called,
            failure.given,
            failure.class,
            quoted(&self.with_hints(&failure.message.replace("'Tensor' and", "'FakeTensor' and")))
        )
    }

    /// A tensor of the script's as PyTorch shows it among the arguments of a call that fails.
    pub fn shown_in_error(&self, t: &Tensor) -> String {
        shown(&self.as_seen(&Value::Tensor(t.clone())))
    }

    /// Remembers that an operator does not take what stands to the right of a tensor of the graph.
    pub fn note_operands(&self, symbol: &str, left: &Tensor, right: &str, kind: &str) {
        let name = match symbol {
            "+" => "add",
            "-" => "sub",
            "*" => "mul",
            "/" => "truediv",
            "//" => "floordiv",
            "%" => "mod",
            "@" => "matmul",
            _ => "pow",
        };
        let left = shown(&self.as_seen(&Value::Tensor(left.clone())));
        let symbol = if symbol == "**" { "** or pow()" } else { symbol };
        let message = format!("unsupported operand type(s) for {symbol}: 'Tensor' and '{kind}'");
        self.failed_call.replace(Some(message.clone()));
        *self.failure.borrow_mut() = Some(Failure {
            class: "TypeError",
            raised: message.clone(),
            message,
            called: format!("call_function <built-in function {name}>"),
            given: format!("(*({left}, {right}), **{{}})"),
            source: current_source(),
            call: None,
        });
    }

    /// A value with the caller's tensors replaced by their fake tensors.
    fn as_seen(&self, value: &Value) -> Value {
        match value {
            Value::Tensor(t) => {
                let index = self.output().by_real.borrow().get(&t.id()).copied();
                let fake_tensor = index.and_then(|i| self.output().inputs.borrow().get(i).map(|input| input.fake_tensor.clone()));
                Value::Tensor(fake_tensor.unwrap_or_else(|| t.clone()))
            }
            Value::List(items) => Value::List(items.iter().map(|item| self.as_seen(item)).collect()),
            other => other.clone(),
        }
    }

    /// A message with the value of every symbol that stands alone in parentheses.
    fn with_hints(&self, message: &str) -> String {
        let env = self.output().symbols.borrow().env.clone();
        let mut text = message.to_owned();
        for (symbol, info) in env.symbols() {
            if let (true, Some(value)) = (symbol.0.starts_with('s'), info.hint) {
                text = text.replace(&format!("({})", symbol.0), &format!("({}: hint = {value})", symbol.0));
            }
        }
        text
    }

    /// Remembers what the call that failed last said.
    pub fn note_failed_call(&self, error: &Error) {
        self.failed_call.replace(Some(error.message.clone()));
    }

    /// Whether the call that failed last said this: what is raised then is no statement's of the script.
    pub fn is_of_failed_call(&self, message: &str) -> bool {
        self.failed_call.borrow().as_deref() == Some(message)
    }

    /// What `torch.compile` raises for the exception of a call that failed, with this message; `None` where it comes from elsewhere.
    pub fn uncaught(&self, message: &str) -> Option<Error> {
        let failure = self.failure.take().filter(|f| f.raised == message)?;
        let reason = Unsupported::runtime_error(&self.explained(&failure));
        Some(Error::new(ErrorKind::TorchRuntime, format!("{}{}", reason.text(), from_user_code(failure.source.as_ref()))))
    }
}
