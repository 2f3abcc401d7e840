//! `OpEntry`: everything the project knows about one operator overload, in one place.
//!
//! An entry says its schema, tags, shape rule (or how it is composed of others) and derivative; what is not there yet is
//! absent, not wrong. Each backend has one lowering for it, registered beside the backend.

use super::saved_fields::SavedFields;
use super::{Batch, Schema, Type, Value};
use diagnostics::error::{Error, Result};
use operator_classes::OpClasses;
use shape::SymInt;
use tensor::{Dtype, Geometry, Tensor, TensorSpec};

/// Properties of an operator, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tags(pub u32);

impl Tags {
    /// PyTorch's tag `pointwise`: result elements depend on the same elements of the broadcast inputs.
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
    /// It reads a conjugate as it is (PyTorch's fallthrough for the key `Conjugate`).
    pub const CONJ_FALLTHROUGH: Tags = Tags(2048);
    /// It reads a negative as it is (PyTorch's fallthrough for the key `Negative`).
    pub const NEG_FALLTHROUGH: Tags = Tags(4096);
    /// It asks nothing of the elements of a zero tensor (PyTorch's fallthrough for the key `ZeroTensor`).
    pub const ZERO_FALLTHROUGH: Tags = Tags(8192);
    /// Elementwise as well, though PyTorch does not tag it `pointwise`.
    pub const ELEMENTWISE: Tags = Tags(16384);
    /// Composed of others here, and in PyTorch a kernel of its own, or taken apart wherever a graph is exported.
    pub const APART_IN_EXPORT: Tags = Tags(32768);

    /// Whether every bit of `other` is set.
    pub fn has(self, other: Tags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Those that are among others.
    pub fn only(self, others: Tags) -> Tags {
        Tags(self.0 & others.0)
    }

    /// Those that are not among others.
    pub fn without(self, others: Tags) -> Tags {
        Tags(self.0 & !others.0)
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
    /// How `vmap` calls it, where it is said: [`OpEntry::batch`].
    pub batch: Option<Batch>,
    /// What it is composed of where a transform is in force, though it is whole elsewhere or composed of others.
    pub under_transforms: Option<fn(&Call) -> Result<Value>>,
    /// In which dtype autocast runs it.
    pub autocast: Option<CastPolicy>,
    /// What a partitioner may do with its calls, beyond what its tags and schema say: [`OpEntry::classes`].
    pub classes: OpClasses,
    /// How calls with complex tensors come of its kernel for real ones; `None` where they have a kernel of their own, or none.
    pub complex: Option<Complex>,
    /// Dtypes that PyTorch's kernel refuses.
    pub refuses: Vec<Refusal>,
    /// What it does, in a line; empty where nobody wrote one.
    pub doc: &'static str,
    /// Whether it is a method of tensors, where it is said: [`OpEntry::is_method`].
    pub method: Option<bool>,
}

impl OpEntry {
    /// An entry of which nothing else is said yet. The error says what is wrong with the signature.
    pub(super) fn new(namespace: &str, signature: &str, rule: Rule) -> std::result::Result<Self, String> {
        let schema = Schema::parse(signature)?;
        let overload = if schema.overload.is_empty() { "default" } else { &schema.overload };
        let name: &'static str = format!("{namespace}.{}.{overload}", schema.name).leak();
        Ok(OpEntry {
            id: 0,
            name,
            schema,
            tags: Tags::default(),
            rule,
            derivative: None,
            not_differentiable: false,
            non_differentiable_results: &[],
            view_dtype: None,
            looks: None,
            counts_elements: false,
            forward: None,
            batch: None,
            under_transforms: None,
            autocast: None,
            classes: OpClasses::default(),
            complex: None,
            refuses: Vec::new(),
            doc: "",
            method: None,
        })
    }

    /// Whether this is its signature-style name: `add.Tensor`, `mm`.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.schema.text.strip_prefix(name).is_some_and(|rest| rest.starts_with('('))
    }

    /// How `vmap` calls it: as it says, or elementwise where it is that, or item by item.
    pub fn batch(&self) -> Batch {
        let unsaid = if self.is_elementwise() { Batch::Elementwise } else { Batch::ByItem };
        self.batch.unwrap_or(unsaid)
    }

    /// Whether a kernel or a rule of it computes every element of the result from the same elements of the broadcast inputs.
    pub fn is_elementwise(&self) -> bool {
        let is_whole = !matches!(self.rule, Rule::Composite(_) | Rule::Data);
        self.tags.has(Tags::ELEMENTWISE) || self.tags.has(Tags::POINTWISE) && is_whole
    }

    /// Whether calls of it are methods of tensors: PyTorch says so of each operator; here one is where its first argument is
    /// `self`, but for functions of modules (`special_`, `fft_`), operators by their dimensions and views that are copies, and
    /// where the entry says otherwise.
    pub fn is_method(&self) -> bool {
        const MODULES: [&str; 4] = ["special_", "fft_", "linalg_", "upsample_"];
        const KINDS: [&str; 4] = ["1d", "2d", "3d", "_copy"];
        let name = self.base_name();
        let of_module = || MODULES.iter().any(|p| name.starts_with(p)) || KINDS.iter().any(|k| name.ends_with(k));
        let takes_self = self.schema.arguments.first().is_some_and(|a| a.name == "self" && a.ty == Type::Tensor);
        takes_self && self.method.unwrap_or_else(|| name.starts_with('_') || !of_module())
    }

    /// What a partitioner may do with its calls. Pointwise operators are recomputable, and so are views that are free; what draws
    /// random numbers is so tagged, and what shares memory says so in its schema. What writes to an argument is of no class: it stays
    /// where it is.
    pub fn classes(&self) -> OpClasses {
        if self.is_mutable() {
            return OpClasses::default();
        }
        let mut classes = self.classes;
        // PyTorch's list has the pointwise operators that a script can call: none of its primitives, none of its private ones.
        let is_public = self.namespace() == "aten" && (!self.schema.name.starts_with('_') || self.schema.name.starts_with("__"));
        if self.tags.has(Tags::POINTWISE) && is_public || classes.has(OpClasses::VIEW) {
            classes = classes | OpClasses::RECOMPUTABLE;
        }
        if self.tags.has(Tags::RANDOM) {
            classes = classes | OpClasses::SEEDED;
        }
        if self.schema.arguments.iter().any(|a| a.alias.is_some() && !a.mutated) {
            classes = classes | OpClasses::ALIASING;
        }
        classes
    }

    /// `aten`: the part of its name before the first dot.
    pub fn namespace(&self) -> &'static str {
        self.name.split('.').next().unwrap_or_default()
    }
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

/// What autocast does with an operator's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastPolicy {
    /// Casts them to the short dtype (PyTorch's `lower_precision_fp`).
    LowerPrecisionFp,
    /// Casts them to float32 (PyTorch's `fp32`).
    Fp32,
    /// Casts them to the widest dtype among them (PyTorch's `promote`).
    Promote,
}

/// How a call with complex tensors comes of the kernel for real ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complex {
    /// It treats real and imaginary parts alike: the kernel runs on each.
    ByParts,
    /// The kernel fills the real part.
    RealPart,
    /// It is a product of the named arguments: sums of real ones, of every choice of their parts. What is added to a product (`self`
    /// beside `beta`, a bias) is added afterwards.
    Product(&'static [&'static str]),
    /// Elements count as true or false: the kernel runs on which are not zero.
    Truth,
}

/// Dtypes that PyTorch's kernel refuses.
///
/// Of dtypes, `b` is bool, `i` the other integers, `u` those but for bytes, `h` the short floats, `c` complex. The first tensor counts;
/// with `*` all tensors have to be such (a number beside a bool gives an integer), with `+` any, and `!` refuses tensors of several
/// dtypes.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// Which dtypes.
    pub dtypes: &'static str,
    /// The name of the kernel, or the message with the dtype's name for `{}`, and the last tensor's for `{2}`. A message that begins with
    /// `R:` or `T:` is a `RuntimeError` or a `TypeError`.
    pub words: &'static str,
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
    /// What PyTorch's node saves, in its order: the arguments of the node's call in a graph of compiled autograd.
    pub fields: Option<&'static SavedFields>,
}

impl Derivative {
    /// The node's name with its number. Overloads after the first say theirs themselves; what PyTorch wrote by hand has none.
    pub fn node_name(&self) -> String {
        format!("{}{}", self.node, if self.node.ends_with("Backward") { "0" } else { "" })
    }

    /// That of the operator that copies what this one shows.
    pub(super) fn of_copy(self) -> Self {
        Derivative { node: Box::leak(format!("{}_copy", self.node_name()).into_boxed_str()), ..self }
    }
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
    /// How many elements `self` has, where that was saved beside its sizes.
    pub numel: Option<SymInt>,
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
