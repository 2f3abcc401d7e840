//! What a cache entry is guarded on: facts about Python values, and tensors that are read without an operator.

use std::collections::HashMap;
use std::rc::Rc;

use rustpython_vm::{AsObject, PyObjectRef, VirtualMachine};

use super::failures::Holder;
use super::guard::{Fact, Kind};
use crate::dynamo::source::{Locals, Source};
use crate::dynamo::symbolic_convert::Realized;
use crate::python::native::tensor::{TensorBase, to_tensor};
use crate::report::Guard;
use crate::tensor::Tensor;

/// What a cache entry is guarded on, and the numbers that are symbols in it.
#[derive(Default)]
pub struct Needs {
    /// Facts.
    pub facts: Vec<Fact>,
    /// Where the numbers are found.
    pub dynamic: Vec<Rc<Source>>,
    /// What they were in the call that it was made for.
    pub replaced: Vec<(Rc<Source>, PyObjectRef)>,
    /// Tensors that are realized without an operator.
    pub realized: Vec<Realized>,
    /// Values that a script's filter of guards does not want guarded: they are what they were, whatever they have become.
    pub unguarded: Vec<(Rc<Source>, PyObjectRef)>,
}

impl Needs {
    /// Without facts that the function reads behind an instruction of its own, at which its graph ends, or in what it calls there.
    pub fn until(&self, position: usize) -> Needs {
        let is_read = |fact: &&Fact| fact.read.is_none_or(|(at, called)| at < position || at == position && !called);
        Needs {
            facts: self.facts.iter().filter(is_read).cloned().collect(),
            dynamic: self.dynamic.clone(),
            replaced: self.replaced.clone(),
            realized: self.realized.clone(),
            unguarded: self.unguarded.clone(),
        }
    }

    /// And these.
    pub fn and(&self, more: Needs) -> Needs {
        Needs {
            facts: self.facts.iter().cloned().chain(more.facts).collect(),
            dynamic: self.dynamic.iter().cloned().chain(more.dynamic).collect(),
            replaced: self.replaced.iter().cloned().chain(more.replaced).collect(),
            realized: self.realized.clone(),
            unguarded: self.unguarded.iter().cloned().chain(more.unguarded).collect(),
        }
    }

    /// What an unguarded value has become, and what it counts as.
    pub fn outdated(&self, locals: &Locals, vm: &VirtualMachine) -> Vec<(Rc<Source>, PyObjectRef, PyObjectRef)> {
        let row = |(source, was): &(Rc<Source>, PyObjectRef)| {
            let now = source.value(locals, vm).filter(|now| !now.is(was) && !vm.bool_eq(now, was).unwrap_or(false))?;
            Some((source.clone(), now, was.clone()))
        };
        self.unguarded.iter().filter_map(row).collect()
    }

    /// Which values are modules, by where they are found.
    pub fn modules(&self, vm: &VirtualMachine) -> HashMap<String, Holder> {
        self.facts.iter().filter_map(|f| Some((f.source.text(vm), f.holder(vm)?))).collect()
    }

    /// As the report shows them.
    pub fn guards(&self, vm: &VirtualMachine) -> Vec<Guard> {
        self.facts.iter().map(|f| Guard { text: f.text(vm), span: f.place.as_ref().map(|p| p.span.clone()) }).collect()
    }
}

/// Tensors that a call realizes without an operator, by the instructions that do it, in their order.
pub fn realized(needs: &Needs, locals: &Locals, vm: &VirtualMachine) -> Vec<(Rc<[usize]>, Tensor)> {
    let found = |(source, way): &Realized| Some((way.clone(), to_tensor(&*source.value(locals, vm)?)?));
    let mut found: Vec<_> = needs.realized.iter().filter_map(found).collect();
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found
}

/// Objects that have a source, other than tensors, each with its position among those that are guarded.
pub fn guarded(needs: &Needs, locals: &Locals, vm: &VirtualMachine) -> HashMap<usize, usize> {
    let mut found = HashMap::new();
    for fact in needs.facts.iter().filter(|f| matches!(f.kind, Kind::Type(_) | Kind::Length(_) | Kind::Entries(_) | Kind::Contains(..))) {
        if let Some(object) = fact.source.value(locals, vm).filter(|o| o.downcast_ref::<TensorBase>().is_none()) {
            let next = found.len();
            found.entry(object.get_id()).or_insert(next);
        }
    }
    found
}
