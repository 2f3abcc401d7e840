//! Builds entries: an operator's family says its signature and rule, then, in the same statement, what else holds of it.

use super::entry::{Backward, Call, CastPolicy, Complex, Derivative, Dual, Forward, ForwardFormula, Grads, OpEntry, Refusal, Rule, Tags};
use super::saved_fields::{SavedFields, parse_table};
use super::{Batch, Value};
use diagnostics::error::Result;
use operator_classes::OpClasses;
use std::collections::HashMap;
use tensor::{Dtype, Tensor, TensorSpec};

/// Builds entries; see the families in `operators`.
pub struct OpBuilder {
    /// Entries in the order of registration, functional first.
    pub(super) entries: Vec<OpEntry>,
    /// The entry that is spoken of.
    at: usize,
    /// What nodes save, by name.
    saved_fields: HashMap<&'static str, SavedFields>,
}

impl OpBuilder {
    /// No entries.
    pub fn new() -> Self {
        OpBuilder { entries: Vec::new(), at: 0, saved_fields: HashMap::new() }
    }

    /// Starts an entry of the `aten` namespace: PyTorch's signature string and how results come about.
    pub fn op(&mut self, schema: &str, rule: Rule) -> &mut Self {
        self.namespaced("aten", schema, rule)
    }

    /// Starts an entry of another namespace.
    pub fn namespaced(&mut self, namespace: &'static str, schema: &str, rule: Rule) -> &mut Self {
        let entry = OpEntry::new(namespace, schema, rule).unwrap_or_else(|e| panic!("the catalogue's own signature: {e}"));
        self.push(entry)
    }

    fn push(&mut self, entry: OpEntry) -> &mut Self {
        self.at = self.entries.len();
        self.entries.push(entry);
        self
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|e| e.is_named(name))
    }

    /// Goes on with an entry that was started before, by its signature-style name: `add.Tensor`, `mm`.
    pub fn at(&mut self, name: &str) -> &mut Self {
        self.at = self.find(name).unwrap_or_else(|| panic!("the catalogue has no operator {name}"));
        self
    }

    fn last(&mut self) -> &mut OpEntry {
        &mut self.entries[self.at]
    }

    /// Adds properties.
    pub fn tags(&mut self, tags: Tags) -> &mut Self {
        let last = self.last();
        last.tags = last.tags | tags;
        self
    }

    /// Says in a line what the operator does.
    pub fn doc(&mut self, doc: &'static str) -> &mut Self {
        self.last().doc = doc;
        self
    }

    /// Says that the operator is a function of a module alone, not a method of tensors.
    pub fn function(&mut self) -> &mut Self {
        self.last().method = Some(false);
        self
    }

    /// Says that the operator is a method of tensors, whatever its name looks like.
    pub fn method(&mut self) -> &mut Self {
        self.last().method = Some(true);
        self
    }

    /// Says what a partitioner may do with calls, beyond what tags and schema say.
    pub fn classes(&mut self, classes: OpClasses) -> &mut Self {
        let last = self.last();
        last.classes = last.classes | classes;
        self
    }

    /// Says in which dtype autocast runs the operator.
    pub fn autocast(&mut self, policy: CastPolicy) -> &mut Self {
        self.last().autocast = Some(policy);
        self
    }

    /// Says how `vmap` calls the operator.
    pub fn batch(&mut self, batch: Batch) -> &mut Self {
        self.last().batch = Some(batch);
        self
    }

    /// Says what the operator is composed of where a transform is in force.
    pub fn under_transforms(&mut self, composed: fn(&Call) -> Result<Value>) -> &mut Self {
        self.last().under_transforms = Some(composed);
        self
    }

    /// Says how calls with complex tensors come of the kernel for real ones.
    pub fn complex(&mut self, complex: Complex) -> &mut Self {
        self.last().complex = Some(complex);
        self
    }

    /// Says which dtypes PyTorch's kernel refuses, and its words; [`Refusal`] has the notation.
    pub fn refuses(&mut self, dtypes: &'static str, words: &'static str) -> &mut Self {
        self.last().refuses.push(Refusal { dtypes, words });
        self
    }

    /// Gives the entry its derivative.
    pub fn grad(&mut self, node: &'static str, saves: &'static [&'static str], formula: fn(&Backward) -> Result<Grads>) -> &mut Self {
        self.last().derivative = Some(Derivative { node, saves, serves: &[], formula, fields: None });
        self
    }

    /// Says what nodes save: a [table](super::saved_fields).
    pub fn saved_fields(&mut self, table: &'static str) -> &mut Self {
        self.saved_fields = parse_table(table);
        self
    }

    /// Says which saved inputs serve the gradient of one other input alone.
    pub fn serves(&mut self, pairs: &'static [(&'static str, &'static str)]) -> &mut Self {
        if let Some(derivative) = &mut self.last().derivative {
            derivative.serves = pairs;
        }
        self
    }

    /// Says that results never require grad.
    pub fn not_differentiable(&mut self) -> &mut Self {
        self.last().not_differentiable = true;
        self
    }

    /// Says which results do not require grad.
    pub fn indices_without_grad(&mut self, results: &'static [usize]) -> &mut Self {
        self.last().non_differentiable_results = results;
        self
    }

    /// Says that the derivative needs to know how many elements the first argument has.
    pub fn counts_elements(&mut self) -> &mut Self {
        self.last().counts_elements = true;
        self
    }

    /// Forward derivative: the operator is linear in the tensors of these arguments (PyTorch's `auto_linear`).
    pub fn auto_linear(&mut self, arguments: &'static [&'static str]) -> &mut Self {
        self.last().forward = Some(Forward::Linear(arguments));
        self
    }

    /// Forward derivative: each element of the result depends on one of this argument (PyTorch's `auto_element_wise`).
    pub fn auto_element_wise(&mut self, argument: &'static str) -> &mut Self {
        self.last().forward = Some(Forward::Elementwise(argument));
        self
    }

    /// Forward derivative: what the operator is composed of where its arguments are dual numbers.
    pub fn composed_forward(&mut self, composed: fn(&Call) -> Result<Value>) -> &mut Self {
        self.last().forward = Some(Forward::Composed(composed));
        self
    }

    /// Forward derivative: the formula of the result's tangent, and what it reads of tangents (`self_t`) and primals (`self_p`).
    pub fn forward(&mut self, reads: &'static [&'static str], formula: fn(&Dual) -> Result<Tensor>) -> &mut Self {
        self.forward_of(0, reads, formula)
    }

    /// Forward derivative: the formula of the tangent of one of the results.
    pub fn forward_of(&mut self, result: usize, reads: &'static [&'static str], formula: fn(&Dual) -> Result<Tensor>) -> &mut Self {
        let formula = ForwardFormula { result, reads, formula };
        match &mut self.last().forward {
            Some(Forward::Formulas(all)) => all.push(formula),
            other => *other = Some(Forward::Formulas(vec![formula])),
        }
        self
    }

    /// Says what the results look like where values are not known: [`Rule::Data`] alone has none.
    pub fn looks_like(&mut self, specs: fn(&Call) -> Result<Vec<Option<TensorSpec>>>) -> &mut Self {
        self.last().looks = Some(specs);
        self
    }

    /// Says which dtype the view reads its base's bytes as.
    pub fn reads_as(&mut self, dtype: fn(&Call) -> Result<Dtype>) -> &mut Self {
        self.last().view_dtype = Some(dtype);
        self
    }

    /// Adds the in-place form: `add_.Tensor` of `add.Tensor`, with the same derivative.
    pub fn inplace(&mut self) -> &mut Self {
        let functional = self.last();
        let text = &functional.schema.text;
        let (head, rest) = text.split_at(text.find(['.', '(']).unwrap_or(text.len()));
        let of: &'static str = text[..text.find('(').unwrap_or(text.len())].to_owned().leak();
        let rest = rest.replacen("(Tensor self", "(Tensor(a!) self", 1);
        let (arguments, _) = rest.rsplit_once("->").unwrap_or((&rest, ""));
        // `add_`, but `__ilshift__`.
        let schema = match head.strip_prefix("__") {
            Some(dunder) => format!("__i{dunder}{arguments}-> Tensor(a!)"),
            None => format!("{head}_{arguments}-> Tensor(a!)"),
        };
        let made = OpEntry::new(functional.namespace(), &schema, Rule::Inplace(of));
        let entry = OpEntry {
            tags: functional.tags.without(Shared::FALLTHROUGH),
            derivative: functional.derivative,
            not_differentiable: functional.not_differentiable,
            ..made.unwrap_or_else(|e| panic!("the catalogue's own signature: {e}"))
        };
        self.push(entry)
    }

    /// Adds an operator `NAME_copy` for every overload of these views, which is differentiated like the view.
    pub fn copies(&mut self, views: &[&str], rule: Rule) {
        let mut made: Vec<OpEntry> = Vec::new();
        for view in self.entries.iter().filter(|e| e.is_view() && views.contains(&e.base_name())) {
            let dot = if view.schema.overload.is_empty() { "" } else { "." };
            let name = format!("{}_copy{dot}{}", view.base_name(), view.schema.overload);
            if self.find(&name).is_some() {
                continue;
            }
            let rest = &view.schema.text[view.schema.text.find('(').unwrap_or_default()..];
            let schema = format!("{name}{}", rest.replace("(a -> *)", "").replace("(a)", ""));
            made.push(OpEntry {
                derivative: view.derivative.map(Derivative::of_copy),
                not_differentiable: view.not_differentiable,
                non_differentiable_results: view.non_differentiable_results,
                ..OpEntry::new(view.namespace(), &schema, rule).unwrap_or_else(|e| panic!("the catalogue's own signature: {e}"))
            });
        }
        self.entries.extend(made);
    }

    /// The derivative of an entry that was started before, by its signature-style name.
    pub fn derivative_of(&self, name: &str) -> Option<Derivative> {
        self.entries[self.find(name)?].derivative
    }

    /// The names of its arguments.
    pub fn argument_names(&self, name: &str) -> Vec<String> {
        let found = self.find(name).map(|at| &self.entries[at]);
        found.map_or_else(Vec::new, |e| e.schema.arguments.iter().map(|a| a.name.clone()).collect())
    }

    /// The finished entries: what one overload of a name says holds of the others that do not say it, and what a functional form
    /// says, of its in-place form.
    pub(super) fn finish(mut self) -> Vec<OpEntry> {
        let mut packets: HashMap<String, Shared> = HashMap::new();
        for entry in &self.entries {
            packets.entry(entry.packet().to_owned()).or_default().take(entry);
        }
        let functional: HashMap<usize, usize> = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(i, entry)| match entry.rule {
                Rule::Inplace(of) => Some((i, self.find(of)?)),
                _ => None,
            })
            .collect();
        for entry in &mut self.entries {
            if let Some(shared) = packets.get(entry.packet()) {
                shared.give(entry);
            }
            if let Some(shared) = entry.packet().strip_suffix('_').and_then(|functional| packets.get(functional)) {
                entry.tags = entry.tags | shared.tags.only(Tags::COMPLEX_GRAD | Tags::HOLOMORPHIC);
            }
        }
        for (inplace, of) in functional {
            let batch = self.entries[of].batch.filter(|b| matches!(b, Batch::Elementwise | Batch::Shifted));
            let entry = &mut self.entries[inplace];
            entry.batch = entry.batch.or(batch);
        }
        let saved_fields: &'static HashMap<&'static str, SavedFields> = Box::leak(Box::new(self.saved_fields));
        for derivative in self.entries.iter_mut().filter_map(|entry| entry.derivative.as_mut()) {
            derivative.fields = saved_fields.get(derivative.node_name().as_str());
        }
        self.entries
    }
}

impl std::default::Default for OpBuilder {
    fn default() -> Self {
        Self::new()
    }
}

/// What holds of all overloads of a name.
#[derive(Default)]
struct Shared {
    doc: &'static str,
    autocast: Option<CastPolicy>,
    refuses: Vec<Refusal>,
    tags: Tags,
    method: Option<bool>,
}

impl Shared {
    /// Tags that are a name's rather than an overload's.
    const TAGS: Tags = Tags(Tags::COMPLEX_GRAD.0 | Tags::HOLOMORPHIC.0 | Self::FALLTHROUGH.0);
    /// Those that do not hold of the in-place form.
    const FALLTHROUGH: Tags = Tags(Tags::CONJ_FALLTHROUGH.0 | Tags::NEG_FALLTHROUGH.0 | Tags::ZERO_FALLTHROUGH.0);

    fn take(&mut self, entry: &OpEntry) {
        self.doc = if self.doc.is_empty() { entry.doc } else { self.doc };
        self.autocast = self.autocast.or(entry.autocast);
        if self.refuses.is_empty() {
            self.refuses.clone_from(&entry.refuses);
        }
        self.tags = self.tags | entry.tags.only(Self::TAGS);
        self.method = self.method.or(entry.method);
    }

    fn give(&self, entry: &mut OpEntry) {
        entry.doc = self.doc;
        entry.autocast = self.autocast;
        entry.refuses.clone_from(&self.refuses);
        entry.tags = entry.tags | self.tags;
        entry.method = self.method;
    }
}
