//! Compiled functions held against eager mode.
//!
//! A call of a compiled function is made once more: the function that was traced, on copies of the inputs, through the whole of dispatch.
//! Its outputs, what it left in its inputs and, when the backward runs, its gradients are compared with those of the compiled call.
//! Nothing of it shows: random numbers, modes and sequence numbers are put back, and nothing that is the script's own is called.

mod compare;
mod copies;
mod locate;

use super::interpret::watch;
use super::like::copied;
use super::schemas::{Checking, Function, Outcome, ViewAndMutationMeta};
use crate::autograd::{BackwardOptions, WithoutSavedTensorHooks, gradient_edge, peek_seq_nr, run_backward, set_seq_nr};
use crate::dispatch::{Exclude, Key, Modes, Value, has_layer, modes, set_modes};
use crate::error::Result;
use crate::graph::Graph;
use crate::report::{Difference, DifferingNode};
use crate::tensor::Tensor;
use crate::tensor::random::default_generator;
use crate::transforms::levels;
use compare::difference;
use copies::Copies;
use std::cell::Cell;
use std::rc::Rc;

thread_local! {
    /// Whether a call is made again.
    static RUNS_AGAIN: Cell<bool> = const { Cell::new(false) };
}

/// Whether a graph runs only to be compared.
pub fn runs_again() -> bool {
    RUNS_AGAIN.get()
}

/// What a call finds around itself, and what a second one must leave as it was.
struct Surroundings {
    generator: Vec<u8>,
    modes: Modes,
    seq_nr: u64,
}

impl Surroundings {
    fn now() -> Self {
        Surroundings { generator: default_generator().state_bytes(), modes: modes(), seq_nr: peek_seq_nr() }
    }

    fn restore(&self) {
        // It is the state of this very generator.
        let _ = default_generator().restore(&self.generator);
        set_modes(self.modes);
        set_seq_nr(self.seq_nr);
    }

    /// Makes a call once more where it was made first, and goes back to where the script is.
    fn again<R>(&self, call: impl FnOnce() -> Result<R>) -> Result<R> {
        let now = Surroundings::now();
        let (_hooks, _above) = (WithoutSavedTensorHooks::new(), Exclude::down_to(Key::Capture));
        self.restore();
        let before = RUNS_AGAIN.replace(true);
        let outcome = call();
        RUNS_AGAIN.set(before);
        now.restore();
        outcome
    }
}

/// Holds one compiled function against eager mode.
pub struct Check {
    /// Who wants to know.
    pub checking: Checking,
    /// The function, of the caller's inputs.
    pub function: Function,
    /// The same of the inputs of the runtime wrapper.
    pub adapted: Function,
    /// What is known of those.
    pub metadata: ViewAndMutationMeta,
    /// The graph as it was traced.
    pub traced: Rc<Graph>,
    /// Whether that is a joint graph.
    pub is_joint: bool,
}

/// What is kept of a call until its backward runs.
pub struct Gradients {
    check: Rc<Check>,
    inputs: Copies,
    before: Surroundings,
}

impl Check {
    /// Makes a compiled call, and compares what it gives.
    ///
    /// # Errors
    /// Those of the compiled call.
    pub fn around(&self, inputs: Vec<Tensor>, call: &dyn Fn(Vec<Tensor>) -> Result<Vec<Value>>) -> Result<Vec<Value>> {
        if runs_again() {
            return call(inputs);
        }
        if let Some(reason) = self.refusal(&inputs) {
            (self.checking.tell)(false, Outcome::NotCompared(reason));
            return call(inputs);
        }
        let (copies, before) = (Copies::of(&inputs)?, Surroundings::now());
        let outputs = call(inputs.clone())?;
        let compared = self.compare(&copies, &before, &inputs, &outputs);
        let outcome = match compared {
            Ok(None) => Outcome::Same,
            Ok(Some((value, how))) => {
                let node = self.locate(&copies, &before, call);
                Outcome::Different(Difference { part: self.part().to_owned(), value, how, node })
            }
            Err(error) => Outcome::NotCompared(format!("eager mode raises: {}", error.message)),
        };
        (self.checking.tell)(false, outcome);
        Ok(outputs)
    }

    fn part(&self) -> &'static str {
        if self.is_joint { "forward" } else { "inference" }
    }

    /// Why a call is not made again.
    fn refusal(&self, inputs: &[Tensor]) -> Option<String> {
        if self.checking.refusal.is_some() {
            return self.checking.refusal.clone();
        }
        let is_traced = modes().fake || levels::current().is_some() || has_layer(Key::Trace) || has_layer(Key::Functionalize);
        if is_traced || inputs.iter().any(|t| t.storage().bytes().is_err()) {
            return Some("it has no values".to_owned());
        }
        if self.metadata.requires_subclass_dispatch() {
            return Some("its tensors are of a class of the script's".to_owned());
        }
        if self.metadata.has_token || self.metadata.backward_state.is_some() {
            return Some("it has effects besides its values".to_owned());
        }
        (self.checking.refusal_now)()
    }

    /// The first value that is not eager mode's, and how it differs.
    fn compare(&self, copies: &Copies, before: &Surroundings, inputs: &[Tensor], outputs: &[Value]) -> Result<Option<(String, String)>> {
        let given = copies.make()?;
        let expected = before.again(|| (self.function)(&given))?;
        let differing = |(i, (found, expected)): (usize, (&Value, &Value))| Some((format!("output {i}"), difference(found, expected)?));
        if let Some(found) = outputs.iter().zip(&expected).enumerate().find_map(differing) {
            return Ok(Some(found));
        }
        let left = inputs.iter().zip(&given).enumerate();
        let mut left = left.filter_map(|(i, (found, expected))| {
            Some((format!("input {i} after the call"), difference(&Value::from(found), &Value::from(expected))?))
        });
        Ok(left.next())
    }

    /// Keeps what it takes to compare gradients.
    pub fn remember(self: &Rc<Self>, inputs: &[Tensor]) -> Option<Gradients> {
        if runs_again() || self.refusal(inputs).is_some() {
            return None;
        }
        Some(Gradients { check: self.clone(), inputs: Copies::of(inputs).ok()?, before: Surroundings::now() })
    }
}

impl Gradients {
    /// Compares gradients, input by input. `tangents` are the gradients of what the forward returned, by position; `again` gives what the
    /// compiled backward gives once more.
    pub fn compare(&self, tangents: &[(usize, Option<Tensor>)], found: &[Option<Tensor>], again: &dyn Fn() -> Result<Vec<Value>>) {
        let outcome = match self.expected(tangents) {
            Err(error) => Outcome::NotCompared(format!("eager mode raises in the backward: {}", error.message)),
            Ok(expected) => {
                let differing = |(i, expected): (usize, &Option<Tensor>)| {
                    // No gradient is a gradient of zeros.
                    let as_value = |t: &Option<Tensor>| t.as_ref().map_or(Value::None, Value::from);
                    let how = difference(&as_value(found.get(i)?), &as_value(expected))?;
                    Some((format!("gradient of input {i}"), how))
                };
                match expected.iter().enumerate().find_map(differing) {
                    None => Outcome::Same,
                    Some((value, how)) => {
                        let node = self.locate(again);
                        Outcome::Different(Difference { part: "backward".to_owned(), value, how, node })
                    }
                }
            }
        };
        (self.check.checking.tell)(true, outcome);
    }

    /// Eager mode's gradients, per input.
    fn expected(&self, tangents: &[(usize, Option<Tensor>)]) -> Result<Vec<Option<Tensor>>> {
        let metadata = &self.check.metadata;
        let is_written = |i: usize| metadata.input_info.get(i).is_some_and(|info| info.mutates_data || info.mutates_metadata);
        self.before.again(|| {
            set_modes(Modes { grad: true, ..modes() });
            let (leaves, given) = self.inputs.make_differentiable(&is_written)?;
            let outputs = (self.check.adapted)(&given)?;
            let returned = super::metadata::forward_returns(&metadata.input_info, &metadata.output_info, &given, &outputs);
            let mut roots = Vec::new();
            for (position, tangent) in tangents {
                if let (Some(t), Some(tangent)) = (returned.get(*position).and_then(Value::as_tensor), tangent)
                    && let Some(edge) = gradient_edge(t)?
                {
                    roots.push((edge, copied(tangent)?));
                }
            }
            let mut wanted = Vec::new();
            for (i, leaf) in leaves.iter().enumerate() {
                if let Some(leaf) = leaf
                    && let Some(edge) = gradient_edge(leaf)?
                {
                    wanted.push((i, edge));
                }
            }
            let edges: Vec<_> = wanted.iter().map(|(_, edge)| edge.clone()).collect();
            let gradients = run_backward(roots, Some(&edges), BackwardOptions::default())?;
            let mut found = vec![None; leaves.len()];
            wanted.iter().zip(gradients).for_each(|((i, _), gradient)| found[*i] = gradient);
            Ok(found)
        })
    }

    /// The first node whose value differs.
    fn locate(&self, again: &dyn Fn() -> Result<Vec<Value>>) -> Option<DifferingNode> {
        if !self.check.checking.runs_graphs_again {
            return None;
        }
        let (_, compiled) = self.before.again(|| Ok(watch(again))).ok()?;
        let inputs = self.inputs.make().ok()?;
        let given = self.check.traced.placeholders().zip(inputs).map(|(n, t)| (n.name.clone(), self.check.argument(&n.name, t)));
        let compiled = compiled?;
        let tangents = compiled.graph.placeholders().filter(|n| n.name.starts_with("tangents_"));
        let tangents = tangents.filter_map(|n| Some((n.name.clone(), compiled.values.get(&n.name)?.clone())));
        let given = given.chain(tangents).collect();
        let gradients = self.check.metadata.num_forward_returns()..usize::MAX;
        let traced = self.before.again(|| Ok(locate::run_traced(&self.check.traced, &given, gradients.clone()))).ok()??;
        locate::between(&traced, &compiled, "backward", gradients)
    }
}
