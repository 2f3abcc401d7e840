//! Which compiled functions are held against eager mode, and whom it is told.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::aot::schemas::{Checking, Config, Outcome};
use crate::dispatch::{Rule, lookup};
use crate::graph::{Graph, Target};
use crate::python::current::{current, emit};
use crate::python::native::tensor::has_mode;
use crate::report::{Check, Event};

/// How functions are checked, where the run is to check them. `compilation` is the number of the compilation, once it is known.
pub fn checking(compilation: Rc<Cell<u32>>) -> Option<Checking> {
    if !current()?.options.check {
        return None;
    }
    let found = RefCell::new(Check::default());
    Some(Checking {
        refusal: None,
        refusal_now: || {
            let is_asked = rustpython_vm::vm::thread::with_current_vm(has_mode);
            is_asked.then(|| "a dispatch mode of the script's is on".to_owned())
        },
        runs_graphs_again: true,
        tell: Rc::new(move |is_backward, outcome| {
            let mut check = found.borrow_mut();
            check.compilation = compilation.get();
            match outcome {
                Outcome::Same => check.compared(is_backward, None),
                Outcome::Different(difference) => check.compared(is_backward, Some(difference)),
                Outcome::NotCompared(reason) => check.not_compared(reason),
            }
            emit(Event::Checked { check: check.clone() });
        }),
    })
}

/// Calls of a function are made again only where it is a captured graph, and nothing in it is the script's own code.
pub fn look_at(config: &mut Config, graph: Option<&Graph>) {
    if let Some(checking) = &mut config.check {
        checking.refusal = match graph {
            Some(graph) => own_code(graph),
            None => Some("the script's own function would be called twice".to_owned()),
        };
    }
}

/// What of a captured graph is the script's own code, which a second run would call.
fn own_code(graph: &Graph) -> Option<String> {
    let of_node = graph.nodes().find_map(|node| match &node.target {
        Target::HigherOrder(name) if name.starts_with("register_hook") => Some("its hooks are the script's own".to_owned()),
        target => {
            let op = target.op()?;
            let is_own = lookup(op).is_some_and(|entry| matches!(entry.rule, Rule::Script));
            is_own.then(|| format!("the operator {op} is the script's own"))
        }
    });
    of_node.or_else(|| graph.subgraphs.iter().find_map(|(_, body)| own_code(body)))
}
