//! `OpEntry`: everything the project knows about one operator overload, in one place.
//!
//! An entry says its schema, tags, shape rule (or how it is composed of others) and derivative; what is not there yet is
//! absent, not wrong. Each backend has one lowering for it, registered beside the backend.

use super::{Schema, Type, Value};
use diagnostics::error::{Error, Result};
use shape::SymInt;
use tensor::{Dtype, Geometry, Tensor, TensorSpec};

/// Properties of an operator, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tags(pub u32);

impl Tags {
    /// Result elements depend on the same elements of the broadcast inputs.
    pub const POINTWISE: Tags = Tags(1);
    /// Part of PyTorch's core set.
    pub const CORE: Tags = Tags(2);
    /// Sums, maxima, norms over dimensions.
    pub const REDUCTION: Tags = Tags(4);
    /// Draws random numbers (PyTorch's `nondeterministic_seeded`).
    pub const RANDOM: Tags = Tags(8);
    /// The shape of the result depends on values.
    pub const DYNAMIC_SHAPE: Tags = Tags(16);
    /// The result is or needs a Python value read from a tensor.
    pub const DATA_DEPENDENT: Tags = Tags(32);
    /// A Python number is taken where the schema says Tensor (`torch.add(x, 2)`).
    pub const NUMBERS_AS_TENSORS: Tags = Tags(64);
    /// Makes a tensor from no tensor.
    pub const FACTORY: Tags = Tags(128);
    /// Its derivative holds for complex numbers too.
    pub const COMPLEX_GRAD: Tags = Tags(256);
    /// Its results are holomorphic functions of its inputs, and its formula is the one of the real case: conjugates of the
    /// incoming gradients go in, and conjugates of what comes out are the gradients.
    pub const HOLOMORPHIC: Tags = Tags(512);
    /// It does something that its results do not show, in an order that counts: compiled graphs hand a token from one such call to
    /// the next.
    pub const ORDERED: Tags = Tags(1024);

    /// Whether every bit of `other` is set.
    pub fn has(self, other: Tags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Tags {
    type Output = Tags;
    fn bitor(self, other: Tags) -> Tags {
        Tags(self.0 | other.0)
    }
}

/// A call: an operator and all of its arguments, defaults filled in, in the schema's order.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The operator.
    pub entry: &'static OpEntry,
    /// One value per argument of the schema.
    pub args: &'a [Value],
}

impl<'a> Call<'a> {
    /// The argument of a name that the schema has; `None` otherwise.
    pub fn get(&self, name: &str) -> &'a Value {
        const NONE: &Value = &Value::None;
        self.entry.schema.position(name).and_then(|i| self.args.get(i)).unwrap_or(NONE)
    }
    /// A tensor argument.
    pub fn tensor(&self, name: &str) -> Result<&'a Tensor> {
        self.get(name).tensor().map_err(|e| self.explain(name, e))
    }
    /// A tensor argument that may be `None`.
    pub fn opt_tensor(&self, name: &str) -> Option<&'a Tensor> {
        self.get(name).as_tensor()
    }
    /// A list of tensors.
    pub fn tensors(&self, name: &str) -> Result<Vec<Tensor>> {
        self.get(name).tensors().map_err(|e| self.explain(name, e))
    }
    /// An integer.
    pub fn int(&self, name: &str) -> Result<i64> {
        self.get(name).int().map_err(|e| self.explain(name, e))
    }
    /// An integer, perhaps symbolic.
    pub fn sym_int(&self, name: &str) -> Result<SymInt> {
        self.get(name).sym_int().map_err(|e| self.explain(name, e))
    }
    /// Integers.
    pub fn ints(&self, name: &str) -> Result<Vec<i64>> {
        self.get(name).ints().map_err(|e| self.explain(name, e))
    }
    /// Integers, perhaps symbolic.
    pub fn sym_ints(&self, name: &str) -> Result<Vec<SymInt>> {
        self.get(name).sym_ints().map_err(|e| self.explain(name, e))
    }
    /// A float.
    pub fn float(&self, name: &str) -> Result<f64> {
        self.get(name).float().map_err(|e| self.explain(name, e))
    }
    /// A boolean.
    pub fn bool(&self, name: &str) -> Result<bool> {
        self.get(name).bool().map_err(|e| self.explain(name, e))
    }
    /// A string.
    pub fn str(&self, name: &str) -> Result<&'a str> {
        self.get(name).str().map_err(|e| self.explain(name, e))
    }
    /// A dtype; `None` where none is given.
    pub fn dtype(&self, name: &str) -> Result<Option<Dtype>> {
        self.get(name).dtype().map_err(|e| self.explain(name, e))
    }

    fn explain(&self, name: &str, error: Error) -> Error {
        Error { message: format!("{}(): argument '{name}': {}", self.entry.schema.name, error.message), ..error }
    }
}

/// How an operator's results come about.
#[derive(Clone, Copy)]
pub enum Rule {
    /// New tensors of these specs (`None`: that result is undefined); a kernel fills them.
    Fresh(fn(&Call) -> Result<Vec<Option<TensorSpec>>>),
    /// Views of the first tensor argument, of these geometries. No kernel is needed.
    View(fn(&Call) -> Result<Vec<Geometry>>),
    /// Composed of other operators and not seen by autograd or tracing (PyTorch's CompositeImplicitAutograd).
    Composite(fn(&Call) -> Result<Value>),
    /// Writes the result of the named functional overload into `self` (the first argument) and returns it.
    Inplace(&'static str),
    /// Changes the geometry of `self` in place and returns it (`t_`).
    InplaceView(fn(&Call) -> Result<Geometry>),
    /// The kernel makes the whole result, because its shape or value depends on data; a fake tensor has none.
    Data,
    /// The script that defined the operator says it.
    Script,
}

/// Everything known about one overload.
pub struct OpEntry {
    /// Its index in the registry.
    pub id: usize,
    /// `aten.add.Tensor`, as printed below `torch.ops.`.
    pub name: &'static str,
    /// Its signature.
    pub schema: Schema,
    /// Its properties.
    pub tags: Tags,
    /// How its results come about.
    pub rule: Rule,
    /// Its derivative; `None` where it has none (yet): differentiating it is an error, unless it is marked as not differentiable.
    pub derivative: Option<Derivative>,
    /// Whether its results never require grad (comparisons, indices).
    pub not_differentiable: bool,
    /// Indices of results that do not require grad though others do (the indices of `max.dim`).
    pub non_differentiable_results: &'static [usize],
    /// The dtype of a view that reads its base's bytes as another one (`view.dtype`).
    pub view_dtype: Option<fn(&Call) -> Result<Dtype>>,
    /// What the results look like where values are not known, for an entry whose rule is its values.
    pub looks: Option<fn(&Call) -> Result<Vec<Option<TensorSpec>>>>,
    /// Whether its derivative needs to know how many elements the first argument has, which is asked when it is called.
    pub counts_elements: bool,
    /// Its forward derivative, where it is said; elsewhere that is computed by its derivative, twice.
    pub forward: Option<Forward>,
}

impl OpEntry {
    /// Whether it writes to an argument.
    pub fn is_mutable(&self) -> bool {
        self.schema.arguments.iter().any(|a| a.mutated)
    }
    /// Whether its results are views of its first argument.
    pub fn is_view(&self) -> bool {
        matches!(self.rule, Rule::View(_))
    }
    /// `add`: the name without overload.
    pub fn base_name(&self) -> &str {
        &self.schema.name
    }
    /// `aten.add`: the full name without overload.
    pub fn packet(&self) -> &'static str {
        self.name.rsplit_once('.').map_or(self.name, |(packet, _)| packet)
    }
    /// `aten::add.Tensor`, `aten::mm`: the name as messages have it.
    pub fn qualified_name(&self) -> String {
        self.name.replacen('.', "::", 1).trim_end_matches(".default").to_owned()
    }
    /// The name that graphs' nodes start from: `rshift` for `__rshift__`.
    pub fn node_name(&self) -> &str {
        let name = self.base_name();
        name.strip_prefix("__").and_then(|n| n.strip_suffix("__")).unwrap_or(name)
    }
    /// Whether its result is a list of tensors rather than several results.
    pub fn returns_list(&self) -> bool {
        matches!(self.schema.returns.as_slice(), [only] if matches!(only.ty, Type::List(..)))
    }
}

/// The derivative of an operator, written once in terms of operators. It serves eager backward and joint tracing alike.
#[derive(Clone, Copy)]
pub struct Derivative {
    /// Name of the autograd node, without number: `AddBackward`.
    pub node: &'static str,
    /// Inputs and results (`result`, `result1`, ...) whose values the formula reads. A saved result prints as a `detach` node.
    pub saves: &'static [&'static str],
    /// Saved inputs that serve the gradient of one other input alone, and that input: without it they are not saved.
    pub serves: &'static [(&'static str, &'static str)],
    /// The formula.
    pub formula: fn(&Backward) -> Result<Grads>,
}

/// How the tangents of results come of those of arguments.
#[derive(Clone)]
pub enum Forward {
    /// It is linear in the tensors of these arguments: its result on their tangents.
    Linear(&'static [&'static str]),
    /// Each element of the result depends on one of this argument: the formula of the gradient, on the tangent.
    Elementwise(&'static str),
    /// Formulas, one for each result that has a tangent.
    Formulas(Vec<ForwardFormula>),
    /// On dual numbers it is composed of other operators.
    Composed(fn(&Call) -> Result<Value>),
}

/// The tangent of one result.
#[derive(Clone, Copy)]
pub struct ForwardFormula {
    /// Which result.
    pub result: usize,
    /// What it reads of arguments, tangents (`self_t`) and primals (`self_p`), in the schema's order.
    pub reads: &'static [&'static str],
    /// The formula.
    pub formula: fn(&Dual) -> Result<Tensor>,
}

/// What the formula of a tangent sees.
pub struct Dual<'a> {
    /// The operator.
    pub entry: &'static OpEntry,
    /// Its arguments.
    pub args: &'a [Value],
    /// Its results.
    pub results: &'a [Option<Tensor>],
    /// The tangents and primals that it reads.
    pub read: Vec<(&'static str, Value)>,
}

impl<'a> Dual<'a> {
    /// A tangent or a primal: a tensor, or a number that stands for one, or a list.
    pub fn value(&self, name: &str) -> Result<&Value> {
        let found = self.read.iter().find(|(n, _)| *n == name).map(|(_, value)| value);
        found.ok_or_else(|| Error::runtime(format!("{}: the tangent's formula does not say that it reads {name}", self.entry.name)))
    }
    /// A tangent or a primal that is a tensor.
    pub fn t(&self, name: &str) -> Result<&Tensor> {
        self.value(name)?.tensor()
    }
    /// One that may be none.
    pub fn opt(&self, name: &str) -> Result<Option<&Tensor>> {
        Ok(self.value(name)?.as_tensor())
    }
    /// An argument as it was given.
    pub fn arg(&self, name: &str) -> &'a Value {
        Call { entry: self.entry, args: self.args }.get(name)
    }
    /// All arguments as a call, for its typed accessors.
    pub fn call(&self) -> Call<'a> {
        Call { entry: self.entry, args: self.args }
    }
    /// A result.
    pub fn result(&self, index: usize) -> Result<&Tensor> {
        let found = self.results.get(index).and_then(Option::as_ref);
        found.ok_or_else(|| Error::runtime(format!("{}: there is no result {index}", self.entry.name)))
    }
}

/// What a derivative formula sees.
pub struct Backward<'a> {
    /// The operator.
    pub entry: &'static OpEntry,
    /// Its arguments; tensors that were not saved are `None` here.
    pub args: &'a [Value],
    /// Per argument the specs of its tensors: one for a tensor, several for a list, none otherwise.
    pub specs: &'a [Vec<TensorSpec>],
    /// Saved results, `None` where a result was not saved.
    pub results: &'a [Option<Tensor>],
    /// Specs of the results.
    pub result_specs: &'a [Option<TensorSpec>],
    /// Gradients of the results; `None` is a gradient that is zero.
    pub grads: &'a [Option<Tensor>],
    /// Per argument, whether its gradient is asked for.
    pub needs: &'a [bool],
}

impl Backward<'_> {
    fn position(&self, name: &str) -> Result<usize> {
        self.entry.schema.position(name).ok_or_else(|| Error::runtime(format!("{}: no argument {name}", self.entry.name)))
    }
    /// The gradient of the first result.
    pub fn grad(&self) -> Result<&Tensor> {
        self.grads.first().and_then(Option::as_ref).ok_or_else(|| Error::runtime(format!("{}: no gradient came", self.entry.name)))
    }
    /// A saved input.
    pub fn saved(&self, name: &str) -> Result<&Tensor> {
        self.args[self.position(name)?].as_tensor().ok_or_else(|| Error::runtime(format!("{}: {name} was not saved", self.entry.name)))
    }
    /// A saved input that may have been `None`.
    pub fn opt_saved(&self, name: &str) -> Result<Option<&Tensor>> {
        Ok(self.args[self.position(name)?].as_tensor())
    }
    /// A saved result.
    pub fn result(&self, index: usize) -> Result<&Tensor> {
        self.results
            .get(index)
            .and_then(Option::as_ref)
            .ok_or_else(|| Error::runtime(format!("{}: result {index} was not saved", self.entry.name)))
    }
    /// An argument that is no tensor.
    pub fn arg(&self, name: &str) -> &Value {
        Call { entry: self.entry, args: self.args }.get(name)
    }
    /// All arguments as a call, for its typed accessors.
    pub fn call(&self) -> Call<'_> {
        Call { entry: self.entry, args: self.args }
    }
    /// The spec of a tensor argument, saved or not.
    pub fn spec(&self, name: &str) -> Result<&TensorSpec> {
        self.specs[self.position(name)?].first().ok_or_else(|| Error::runtime(format!("{}: {name} is no tensor", self.entry.name)))
    }
    /// The sizes of a tensor argument, saved or not.
    pub fn sizes(&self, name: &str) -> Result<Vec<SymInt>> {
        Ok(self.spec(name)?.geometry.sizes.clone())
    }
    /// Whether the gradient of an argument is asked for.
    pub fn needs(&self, name: &str) -> bool {
        self.position(name).is_ok_and(|i| self.needs[i])
    }
}

/// The gradient of one argument.
#[derive(Clone, Default)]
pub enum Grad {
    /// Zero, or not asked for.
    #[default]
    None,
    /// Of a tensor.
    Tensor(Tensor),
    /// Of a list of tensors.
    List(Vec<Option<Tensor>>),
}

/// Gradients of the arguments, one per argument of the schema.
pub struct Grads(pub Vec<Grad>);

impl Grads {
    /// None yet.
    pub fn new(b: &Backward) -> Self {
        Grads(vec![Grad::None; b.entry.schema.arguments.len()])
    }
    /// Computes the gradient of an argument, if it is asked for. Formulas run in the order of these calls.
    pub fn set(&mut self, b: &Backward, name: &str, formula: impl FnOnce() -> Result<Tensor>) -> Result<()> {
        let i = b.position(name)?;
        if b.needs[i] {
            self.0[i] = Grad::Tensor(formula()?);
        }
        Ok(())
    }
    /// Stores a gradient that may be undefined.
    pub fn put(&mut self, b: &Backward, name: &str, grad: Option<Tensor>) -> Result<()> {
        let i = b.position(name)?;
        if b.needs[i] {
            self.0[i] = grad.map_or(Grad::None, Grad::Tensor);
        }
        Ok(())
    }
    /// The gradient of the one differentiable argument.
    pub fn one(b: &Backward, name: &str, formula: impl FnOnce() -> Result<Tensor>) -> Result<Self> {
        let mut grads = Grads::new(b);
        grads.set(b, name, formula)?;
        Ok(grads)
    }
}

/// Builds entries; see the families in the crate `operators`.
pub struct OpBuilder {
    /// Signature strings and what belongs to them, functional first.
    pub(super) entries: Vec<Pending>,
}

pub(super) struct Pending {
    pub(super) namespace: &'static str,
    pub(super) schema: String,
    pub(super) tags: Tags,
    pub(super) rule: Rule,
    pub(super) derivative: Option<Derivative>,
    pub(super) not_differentiable: bool,
    pub(super) non_differentiable_results: &'static [usize],
    pub(super) view_dtype: Option<fn(&Call) -> Result<Dtype>>,
    pub(super) counts_elements: bool,
    pub(super) forward: Option<Forward>,
    pub(super) looks: Option<fn(&Call) -> Result<Vec<Option<TensorSpec>>>>,
}

impl Pending {
    /// An entry of which nothing else is said yet.
    pub(super) fn new(namespace: &'static str, schema: &str, rule: Rule) -> Self {
        Pending {
            namespace,
            schema: schema.to_owned(),
            tags: Tags::default(),
            rule,
            derivative: None,
            not_differentiable: false,
            non_differentiable_results: &[],
            view_dtype: None,
            counts_elements: false,
            forward: None,
            looks: None,
        }
    }
}

impl OpBuilder {
    /// No entries.
    pub fn new() -> Self {
        OpBuilder { entries: Vec::new() }
    }

    /// Starts an entry of the `aten` namespace: PyTorch's signature string and how results come about.
    pub fn op(&mut self, schema: &str, rule: Rule) -> &mut Self {
        self.namespaced("aten", schema, rule)
    }

    /// Starts an entry of another namespace.
    pub fn namespaced(&mut self, namespace: &'static str, schema: &str, rule: Rule) -> &mut Self {
        self.entries.push(Pending::new(namespace, schema, rule));
        self
    }

    fn last(&mut self) -> &mut Pending {
        let last = self.entries.len() - 1;
        &mut self.entries[last]
    }

    /// Adds properties to the entry just started.
    pub fn tags(&mut self, tags: Tags) -> &mut Self {
        let last = self.last();
        last.tags = last.tags | tags;
        self
    }

    /// Adds an operator `NAME_copy` for every overload of these views, which is differentiated like the view.
    pub fn copies(&mut self, views: &[&str], rule: Rule) {
        let mut made = Vec::new();
        for entry in &self.entries {
            let end = entry.schema.find(['.', '(']).unwrap_or_default();
            let present = |name: &str| self.entries.iter().any(|e| e.schema.starts_with(name));
            let named = format!("{}_copy{}", &entry.schema[..end], &entry.schema[end..entry.schema.find('(').unwrap_or(end)]);
            if !matches!(entry.rule, Rule::View(_)) || !views.contains(&&entry.schema[..end]) || present(&format!("{named}(")) {
                continue;
            }
            let rest = &entry.schema[entry.schema.find('(').unwrap_or(end)..];
            let schema = format!("{named}{}", rest.replace("(a -> *)", "").replace("(a)", ""));
            made.push(Pending {
                derivative: entry.derivative,
                not_differentiable: entry.not_differentiable,
                non_differentiable_results: entry.non_differentiable_results,
                ..Pending::new(entry.namespace, &schema, rule)
            });
        }
        self.entries.extend(made);
    }

    /// Adds properties to every entry of certain names, in place or not.
    pub fn mark(&mut self, named: impl Fn(&str) -> bool, tags: Tags) {
        for entry in &mut self.entries {
            let name = entry.schema.split(['.', '(']).next().unwrap_or_default();
            if named(name) || name.strip_suffix('_').is_some_and(&named) {
                entry.tags = entry.tags | tags;
            }
        }
    }

    /// Gives the entry just started its derivative.
    pub fn grad(&mut self, node: &'static str, saves: &'static [&'static str], formula: fn(&Backward) -> Result<Grads>) -> &mut Self {
        self.last().derivative = Some(Derivative { node, saves, serves: &[], formula });
        self
    }

    /// Gives an entry that was started before its derivative, by its signature-style name.
    pub fn derive(&mut self, name: &str, node: &'static str, saves: &'static [&'static str], formula: fn(&Backward) -> Result<Grads>) {
        let found = self.entries.iter_mut().find(|e| e.schema.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')));
        let entry = found.unwrap_or_else(|| panic!("the catalogue has no operator {name} to derive"));
        entry.derivative = Some(Derivative { node, saves, serves: &[], formula });
    }

    fn started(&mut self, name: &str) -> &mut Pending {
        let found = self.entries.iter_mut().find(|e| e.schema.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')));
        found.unwrap_or_else(|| panic!("the catalogue has no operator {name} to derive"))
    }

    /// Says that an entry that was started before is linear in the tensors of these arguments.
    pub fn linear(&mut self, name: &str, arguments: &'static [&'static str]) {
        self.started(name).forward = Some(Forward::Linear(arguments));
    }

    /// Says that each element of the result of an entry that was started before depends on one of this argument.
    pub fn elementwise(&mut self, name: &str, argument: &'static str) {
        self.started(name).forward = Some(Forward::Elementwise(argument));
    }

    /// Says what an entry that was started before is composed of where its arguments are dual numbers.
    pub fn compose_forward(&mut self, name: &str, composed: fn(&Call) -> Result<Value>) {
        self.started(name).forward = Some(Forward::Composed(composed));
    }

    /// Gives an entry that was started before the formula of its result's tangent.
    pub fn forward(&mut self, name: &str, reads: &'static [&'static str], formula: fn(&Dual) -> Result<Tensor>) {
        self.forward_of(name, 0, reads, formula);
    }

    /// Gives an entry that was started before the formula of the tangent of one of its results.
    pub fn forward_of(&mut self, name: &str, result: usize, reads: &'static [&'static str], formula: fn(&Dual) -> Result<Tensor>) {
        let formula = ForwardFormula { result, reads, formula };
        match &mut self.started(name).forward {
            Some(Forward::Formulas(all)) => all.push(formula),
            other => *other = Some(Forward::Formulas(vec![formula])),
        }
    }

    /// The derivative of an entry that was started before, by its signature-style name.
    pub fn derivative_of(&self, name: &str) -> Option<Derivative> {
        self.entries.iter().find(|e| e.schema.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')))?.derivative
    }

    /// The names of its arguments.
    pub fn argument_names(&self, name: &str) -> Vec<String> {
        let found = self.entries.iter().find(|e| e.schema.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')));
        let schema = found.and_then(|e| Schema::parse(&e.schema).ok());
        schema.map_or_else(Vec::new, |s| s.arguments.into_iter().map(|a| a.name).collect())
    }

    /// Says which saved inputs of the entry just started serve the gradient of one other input alone.
    pub fn serves(&mut self, pairs: &'static [(&'static str, &'static str)]) -> &mut Self {
        if let Some(derivative) = &mut self.last().derivative {
            derivative.serves = pairs;
        }
        self
    }

    /// Says that results of the entry just started never require grad.
    pub fn not_differentiable(&mut self) -> &mut Self {
        self.last().not_differentiable = true;
        self
    }

    /// Says which results of the entry just started do not require grad.
    pub fn indices_without_grad(&mut self, results: &'static [usize]) -> &mut Self {
        self.last().non_differentiable_results = results;
        self
    }

    /// Says that the derivative of the entry just started needs to know how many elements the first argument has.
    pub fn counts_elements(&mut self) -> &mut Self {
        self.last().counts_elements = true;
        self
    }

    /// Says what the results of the entry just started look like where its values are not known: [`Rule::Data`] alone has none.
    pub fn looks_like(&mut self, specs: fn(&Call) -> Result<Vec<Option<TensorSpec>>>) -> &mut Self {
        self.last().looks = Some(specs);
        self
    }

    /// Says which dtype the view just started reads its base's bytes as.
    pub fn reads_as(&mut self, dtype: fn(&Call) -> Result<Dtype>) -> &mut Self {
        self.last().view_dtype = Some(dtype);
        self
    }

    /// Adds the in-place form of the entry just started: `add_.Tensor` of `add.Tensor`, with the same derivative.
    pub fn inplace(&mut self) -> &mut Self {
        let functional = self.last();
        let (namespace, tags, derivative, never) =
            (functional.namespace, functional.tags, functional.derivative, functional.not_differentiable);
        let schema = &functional.schema;
        let name_end = schema.find(['.', '(']).unwrap_or(schema.len());
        let full = &schema[..schema.find('(').unwrap_or(schema.len())];
        let functional_name: &'static str = Box::leak(full.to_owned().into_boxed_str());
        let rest = schema[name_end..].replacen("(Tensor self", "(Tensor(a!) self", 1);
        let (arguments, _) = rest.rsplit_once("->").unwrap_or((&rest, ""));
        // `add_`, but `__ilshift__`.
        let inplace = match schema[..name_end].strip_prefix("__") {
            Some(dunder) => format!("__i{dunder}{arguments}-> Tensor(a!)"),
            None => format!("{}_{arguments}-> Tensor(a!)", &schema[..name_end]),
        };
        self.entries.push(Pending {
            namespace,
            schema: inplace,
            tags,
            rule: Rule::Inplace(functional_name),
            derivative,
            not_differentiable: never,
            non_differentiable_results: &[],
            view_dtype: None,
            counts_elements: false,
            forward: None,
            looks: None,
        });
        self
    }
}

impl std::default::Default for OpBuilder {
    fn default() -> Self {
        Self::new()
    }
}
