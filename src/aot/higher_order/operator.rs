//! The table of higher-order operators: operators that take functions or other operators.
//!
//! Each says what a call in a graph comes to; the interpreter asks here, and knows none of them. A body runs through the whole dispatch
//! stack, so that what traces below records its operators in place of the call, unless the operator says how it is traced itself.

use crate::aot::trace::{Tracer, current_tracer, replace_tracers};
use crate::dispatch::{Exclude, Key, Modes, OpEntry, Value, fill_args, lookup, modes, set_modes};
use crate::error::{Error, Result};
use crate::graph::{Arg, FakeValue, Graph, NodeId};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::OnceLock;

/// What a call comes to.
pub type Implementation = fn(&HigherOrderCall) -> Result<Value>;

/// A higher-order operator.
pub struct HigherOrderOperator {
    /// Its name below `torch.ops.higher_order.`.
    pub name: &'static str,
    /// Runs a call.
    pub run: Implementation,
    /// Traces a call on fake tensors, its bodies becoming subgraphs, and gives it a node that differentiates it. Without this, what
    /// `run` calls is traced.
    pub trace: Option<Implementation>,
}

/// A call of one in a graph.
pub struct HigherOrderCall<'g> {
    /// The operator's name.
    pub name: &'g str,
    /// The bodies among its arguments, in order.
    pub subgraphs: Vec<&'g Graph>,
    /// Its arguments; nothing stands for bodies and operators.
    pub args: Vec<Value>,
    /// The same as the graph has them.
    pub written: &'g [Arg],
    /// Those that are given by name.
    pub keywords: Vec<(&'g str, Value)>,
    /// The operator among its arguments, and where it stands.
    pub operator: Option<(usize, &'g str)>,
    /// Whether the tracer learns where the calls of a body come from.
    pub tell: bool,
    /// What it gave when the graph was captured.
    pub captured: Option<&'g FakeValue>,
}

impl<'g> HigherOrderCall<'g> {
    /// Its bodies, as many as it takes.
    pub fn bodies<const N: usize>(&self) -> Result<[&'g Graph; N]> {
        self.subgraphs.clone().try_into().map_err(|_| unsupported(self.name))
    }

    /// The operator that it takes, and its arguments after that.
    pub fn given_operator(&self) -> Result<(&'static OpEntry, &[Value])> {
        let (at, name) = self.operator.ok_or_else(|| Error::runtime("a higher-order operator lacks its operator"))?;
        Ok((operator(name)?, self.args.get(at + 1..).unwrap_or_default()))
    }

    /// Calls the operator that it takes on the arguments after it.
    pub fn call_operator(&self) -> Result<Value> {
        let (entry, args) = self.given_operator()?;
        crate::dispatch::call(entry, fill_args(entry, args.to_vec(), &self.keywords)?)
    }
}

static TABLE: OnceLock<Vec<&'static HigherOrderOperator>> = OnceLock::new();

/// Fills the table, once.
pub fn register(operators: impl FnOnce() -> Vec<&'static HigherOrderOperator>) {
    TABLE.get_or_init(operators);
}

/// The names of all.
pub fn names() -> Vec<&'static str> {
    TABLE.get().into_iter().flatten().map(|operator| operator.name).collect()
}

/// A call of an operator of the script's own in a graph.
pub struct ScriptOperatorCall<'g> {
    /// The operator's name.
    pub name: &'g str,
    /// The nodes of the bodies among its arguments, with the bodies.
    pub bodies: Vec<(NodeId, &'g Graph)>,
    /// Its arguments; nothing stands for bodies and operators.
    pub args: Vec<Value>,
    /// The same as the graph has them.
    pub written: &'g [Arg],
    /// Those that are given by name.
    pub keywords: Vec<(&'g str, Value)>,
    /// The same as the graph has them.
    pub written_keywords: &'g [(Rc<str>, Arg)],
}

/// Runs a call of an operator of the script's own.
pub type ScriptOperators = fn(&ScriptOperatorCall) -> Result<Value>;

thread_local! {
    static OF_SCRIPT: Cell<Option<ScriptOperators>> = const { Cell::new(None) };
}

/// Says who runs operators of the script's own.
pub fn serve_script_operators(run: ScriptOperators) {
    OF_SCRIPT.set(Some(run));
}

/// Who runs an operator that the table does not have.
pub fn of_script(name: &str) -> Option<ScriptOperators> {
    OF_SCRIPT.get().filter(|_| known(name).is_err())
}

thread_local! {
    /// The tracer whose calls are run as well, while tensors that are made are fake ones.
    static ON_VALUES: RefCell<Option<Rc<Tracer>>> = const { RefCell::new(None) };
}

fn known(name: &str) -> Result<&'static HigherOrderOperator> {
    let known = TABLE.get().and_then(|table| table.iter().find(|operator| operator.name == name));
    known.copied().ok_or_else(|| unsupported(name))
}

/// Runs or traces a call.
pub fn call(call: &HigherOrderCall) -> Result<Value> {
    let operator = known(call.name)?;
    match operator.trace {
        Some(trace) if modes().fake => trace(call),
        Some(trace) if current_tracer().is_some() => {
            let before = (set_modes(Modes { fake: true, ..modes() }), ON_VALUES.replace(current_tracer()));
            let traced = trace(call);
            set_modes(Modes { fake: before.0.fake, ..modes() });
            ON_VALUES.set(before.1);
            traced
        }
        _ => (operator.run)(call),
    }
}

/// Whether a call that is traced is run as well: what it computes stands for what was traced.
pub fn runs_traced_calls() -> bool {
    let runs = |tracer: Rc<Tracer>| ON_VALUES.with_borrow(|own| own.as_ref().is_some_and(|own| Rc::ptr_eq(own, &tracer)));
    current_tracer().is_some_and(|tracer| !modes().fake || runs(tracer))
}

/// Runs a call without its being traced, or differentiated.
pub fn run_untraced(call: &HigherOrderCall) -> Result<Value> {
    let operator = known(call.name)?;
    let before = set_modes(Modes { fake: false, grad: false, ..modes() });
    let on_values = ON_VALUES.take();
    let result = {
        let _unseen = Exclude::also(Key::Trace);
        let tracers = replace_tracers(Vec::new());
        let result = (operator.run)(call);
        replace_tracers(tracers);
        result
    };
    ON_VALUES.set(on_values);
    set_modes(Modes { fake: before.fake, grad: before.grad, ..modes() });
    result
}

fn unsupported(name: &str) -> Error {
    Error::not_implemented(format!("the higher-order operator {name} is not supported yet"))
}

/// The catalogue's entry of an operator.
pub fn operator(name: &str) -> Result<&'static OpEntry> {
    lookup(name).ok_or_else(|| Error::not_implemented(format!("the operator {name} is not in the catalogue")))
}
