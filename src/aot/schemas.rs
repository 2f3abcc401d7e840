//! The types of AOTAutograd's pipeline: what is known of a function's inputs and outputs, how it is compiled, and what a stage hands to
//! the next. Stages import these and the stages below them, never one above.

use super::subclass::{self, MaybeSubclass, SubclassCreationMeta};
use crate::autograd::{ViewSteps, meta};
use crate::decompositions::Table;
use crate::dispatch::{OpEntry, Value};
use crate::error::{Error, Result};
use crate::graph::{FakeValue, Graph, SourceName};
use crate::partition::{PartitionConfig, Partitioned, Study};
use crate::report::Difference;
use crate::shape::SymInt;
use crate::span::Source;
use crate::tensor::{Device, Dtype, MathBits, Tensor, TensorSpec};
use std::rc::Rc;

/// A function on tensors that may be run several times.
pub type Function = Rc<dyn Fn(&[Tensor]) -> Result<Vec<Value>>>;

/// A compiled graph. The callee empties the list of inputs, so that what it consumes can be freed.
pub trait GraphCallable {
    /// Runs it.
    fn call(&self, inputs: &mut Vec<Value>) -> Result<Vec<Value>>;
}

/// Turns a graph with fake example inputs into something callable.
pub type GraphCompiler = Rc<dyn Fn(Graph, &[Value]) -> Result<Rc<dyn GraphCallable>>>;

/// Splits a joint graph, given the number of the forward's outputs and the inputs that live as long as the model (a script's
/// own `partition_fn`). Where a partitioner of ours did it in the end, what it decided comes along.
pub type PartitionFn = Rc<dyn Fn(&Graph, usize, &[usize]) -> Result<(Graph, Graph, Option<crate::report::Partition>)>>;

/// What calls are taken apart by: gives what a call comes to, or `None` where it stays as it is.
pub type Decompose = Rc<dyn Fn(&'static OpEntry, &[Value]) -> Result<Option<Value>>>;

/// Says where the script is.
pub type Provider = fn() -> Option<Source>;

/// How callers' inputs become those of the compiled function.
pub type Adapt = Rc<dyn Fn(Vec<Tensor>) -> Result<Vec<Tensor>>>;

/// A function with other inputs than its caller gives.
pub struct Adapted {
    /// The function of the new inputs.
    pub function: Function,
    /// The new inputs.
    pub inputs: Vec<InputSpec>,
    /// From the caller's inputs to the new ones.
    pub adapt: Adapt,
    /// The same as code, on the list `args`.
    pub code: String,
}

/// What identifies an input among the others of a call; 0 where it is not known.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// The tensor.
    pub tensor: u64,
    /// Its storage.
    pub storage: u64,
    /// How many of its elements the storage holds.
    pub storage_elements: i64,
    /// The tensor it is a view of.
    pub base: Option<Rc<InputSpec>>,
}

/// What is known of an input before tracing.
#[derive(Clone, Debug)]
pub struct InputSpec {
    /// Its tensor.
    pub spec: TensorSpec,
    /// Whether it requires grad.
    pub requires_grad: bool,
    /// Whether it is a leaf.
    pub is_leaf: bool,
    /// Whether it lives as long as the model: a module's parameter or buffer.
    pub is_static: bool,
    /// What it is, if it is no tensor: a symbolic size, or a number, text or None that the graph has for a constant. `spec` is then that
    /// of what holds its place in lists of tensors.
    pub plain: Option<Value>,
    /// What it is made of, where it is of a class of the script's.
    pub subclass: MaybeSubclass,
    /// Its conjugate and negative bits, and whether it is a zero tensor.
    pub math_bits: MathBits,
    /// What it has in common with other inputs.
    pub identity: Identity,
    /// What the script calls it.
    pub called: Option<Rc<SourceName>>,
}

impl InputSpec {
    /// Of a tensor.
    pub fn of(t: &Tensor) -> Result<Self> {
        let base = match meta::base(t) {
            Some(base) if !base.is_fake() => Some(Rc::new(InputSpec::of(&base)?)),
            _ => None,
        };
        let identity = Identity {
            tensor: t.id(),
            storage: t.storage().id(),
            storage_elements: t.storage().nbytes().hint().unwrap_or(0) / t.dtype().itemsize() as i64,
            base,
        };
        // A view whose history cannot be made again is no leaf.
        let is_leaf = meta::grad_fn(t).is_ok_and(|made| made.is_none());
        let subclass = SubclassCreationMeta::of(t)?;
        let (spec, requires_grad, math_bits) = (t.spec(), meta::requires_grad(t), t.math_bits());
        Ok(InputSpec { spec, requires_grad, is_leaf, is_static: false, plain: None, subclass, math_bits, identity, called: None })
    }

    /// Of what is no tensor.
    pub fn of_plain(value: Value) -> Self {
        let spec = TensorSpec::contiguous(Vec::new(), Dtype::Int64, Device::CPU);
        InputSpec {
            spec,
            requires_grad: false,
            is_leaf: false,
            is_static: false,
            plain: Some(value),
            subclass: None,
            math_bits: MathBits::default(),
            identity: Identity::default(),
            called: None,
        }
    }

    /// Of a symbolic size.
    pub fn of_symbol(size: &SymInt) -> Self {
        Self::of_plain(Value::Int(size.clone()))
    }

    /// The symbolic size that it is.
    pub fn symbol(&self) -> Option<&SymInt> {
        match &self.plain {
            Some(Value::Int(size @ SymInt::Sym(..))) => Some(size),
            _ => None,
        }
    }

    /// What a function is called with where the input is `t`: for a size, while it is traced, its symbol; where it runs, the number.
    pub fn argument(&self, t: &Tensor) -> Value {
        match (&self.plain, self.symbol()) {
            (None, _) => Value::from(t),
            (Some(plain), None) => plain.clone(),
            (Some(_), Some(size)) if t.is_fake() => Value::Int(size.clone()),
            (Some(_), Some(size)) => {
                t.with_slice(|held: &[i64]| held.first().copied()).ok().flatten().map_or(Value::Int(size.clone()), Value::from)
            }
        }
    }
}

/// What tracing and the runtime wrappers obey, by PyTorch's names in `torch._functorch.config`.
#[derive(Clone, Copy, Debug)]
pub struct Switches {
    /// `functionalize_rng_ops`: random numbers by Philox, which a CUDA device has, and the CPU does not.
    pub functionalize_rng_ops: bool,
    /// `donated_buffer`: a backward may overwrite what was saved for it alone, so it refuses to keep its graph.
    pub donated_buffer: bool,
    /// `force_non_lazy_backward_lowering`: backwards are compiled with their forwards.
    pub force_non_lazy_backward_lowering: bool,
    /// `guess_tangent_strides_as_outputs`: tangents are expected with their value's strides, otherwise contiguous.
    pub guess_tangent_strides_as_outputs: bool,
    /// `unlift_effect_tokens`
    pub unlift_effect_tokens: bool,
    /// `enable_complex_wrapper`
    pub enable_complex_wrapper: bool,
    /// `disable_guess_zero_tangent_for_mutated_input_subclass`
    pub disable_guess_zero_tangent_for_mutated_input_subclass: bool,
    /// `is_non_builtin_to_include`
    pub is_non_builtin_to_include: bool,
    /// `fake_tensor_propagate_real_tensors`
    pub fake_tensor_propagate_real_tensors: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Switches {
            functionalize_rng_ops: false,
            donated_buffer: true,
            force_non_lazy_backward_lowering: false,
            guess_tangent_strides_as_outputs: true,
            unlift_effect_tokens: false,
            enable_complex_wrapper: false,
            disable_guess_zero_tangent_for_mutated_input_subclass: false,
            is_non_builtin_to_include: false,
            fake_tensor_propagate_real_tensors: false,
        }
    }
}

impl Switches {
    /// Whether a function may be compiled under them: some are refused where they would matter.
    ///
    /// # Errors
    ///
    /// The setting, by its name.
    pub(super) fn check(&self, inputs: &[InputSpec], metadata: &ViewAndMutationMeta) -> Result<()> {
        let is_complex = |i: &InputSpec| i.spec.dtype.is_complex();
        refuse(self.unlift_effect_tokens && metadata.has_token, "unlift_effect_tokens", "functions with effects")?;
        refuse(self.enable_complex_wrapper && inputs.iter().any(is_complex), "enable_complex_wrapper", "complex inputs")?;
        let mutates_subclass = metadata.runtime_mutated().iter().any(|i| metadata.subclass_inp_meta[*i].is_some());
        refuse(
            self.disable_guess_zero_tangent_for_mutated_input_subclass && mutates_subclass,
            "disable_guess_zero_tangent_for_mutated_input_subclass",
            "inputs of a tensor subclass that are written to",
        )
    }

    /// Whether a traced graph may be compiled under them.
    ///
    /// # Errors
    ///
    /// The setting, by its name.
    pub(super) fn check_graph(&self, graph: &Graph) -> Result<()> {
        let is_builtin = |op: &str| ["aten.", "prims.", "prim.", "inductor.", "inductor_prims."].iter().any(|own| op.starts_with(own));
        let has_others = || graph.nodes().filter_map(|n| n.op()).any(|op| !is_builtin(op));
        refuse(self.is_non_builtin_to_include && has_others(), "is_non_builtin_to_include", "operators of the script's own")?;
        let is_unknown = |value: &FakeValue| match value {
            FakeValue::Int(i) => i.hint().is_none(),
            FakeValue::Tensor(spec) => spec.geometry.sizes.iter().any(|size| size.hint().is_none()),
            _ => false,
        };
        let has_unknown = || graph.nodes().filter_map(|n| n.meta.value.as_ref()).any(is_unknown);
        let wanted = self.fake_tensor_propagate_real_tensors && has_unknown();
        refuse(wanted, "fake_tensor_propagate_real_tensors", "numbers that only the values of tensors say")
    }
}

fn refuse(is_refused: bool, name: &str, what: &str) -> Result<()> {
    match is_refused {
        true => Err(Error::not_implemented(format!("torch._functorch.config.{name} = True is not supported in the playground for {what}"))),
        false => Ok(()),
    }
}

/// What a script does to a graph between two of the compiler's steps.
pub type GraphPass = Rc<dyn Fn(Graph) -> Result<Graph>>;

/// Passes of a script's, by PyTorch's names.
#[derive(Clone, Default)]
pub struct CustomPasses {
    /// `torch._functorch.config.joint_custom_pass`: on a joint graph, before Inductor's passes.
    pub joint: Option<GraphPass>,
    /// `torch._inductor.config.joint_custom_pre_pass`: before Inductor's passes, where they run.
    pub joint_pre: Option<GraphPass>,
    /// `torch._inductor.config.joint_custom_post_pass`: after them.
    pub joint_post: Option<GraphPass>,
}

/// How an inference graph is frozen.
#[derive(Clone)]
pub struct Freezing {
    /// The parameters and buffers, each with the place where the script keeps it: the function's first inputs.
    pub parameters: Vec<(Tensor, String)>,
    /// `torch._inductor.config.layout_optimization`: weights of convolutions are laid out channels last.
    pub layout_optimization: bool,
    /// `torch._inductor.config.cpp.weight_prepack`: weights are packed, which shares no memory with the parameters.
    pub weight_prepack: bool,
    /// Is told when a graph was frozen.
    pub frozen: Rc<dyn Fn(&FrozenGraph) -> Result<()>>,
}

/// A constant of a frozen graph.
#[derive(Clone, Debug)]
pub struct FrozenConstant {
    /// Its node.
    pub node: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// The parameters that it was computed from, by the places where the script keeps them.
    pub parameters: Vec<String>,
    /// The operators that it was computed by.
    pub operators: Vec<String>,
}

/// A graph whose parameters are constants.
#[derive(Clone)]
pub struct FrozenGraph {
    /// The graph.
    pub graph: Graph,
    /// Which inputs are left.
    pub preserved: Vec<usize>,
    /// Its constants, in order.
    pub constants: Vec<FrozenConstant>,
    /// How many calls it has less than before.
    pub folded_calls: usize,
    /// How long computing the constants took, in seconds.
    pub seconds: f64,
}

/// How compiled functions are held against eager mode.
#[derive(Clone)]
pub struct Checking {
    /// Why calls of this function are not made again, where they are not.
    pub refusal: Option<String>,
    /// Why none is made again now.
    pub refusal_now: fn() -> Option<String>,
    /// Whether graphs are run again where they differ, to find the node: a script's own compiler is not called twice.
    pub runs_graphs_again: bool,
    /// Is told of every call: whether it is the backward's, and what came of it.
    pub tell: Rc<dyn Fn(bool, Outcome)>,
}

/// What came of one call.
pub enum Outcome {
    /// Every value is eager mode's.
    Same,
    /// The first that is not.
    Different(Difference),
    /// It was not made again, and why.
    NotCompared(String),
}

/// How to compile.
#[derive(Clone)]
pub struct Config {
    /// What tracing and the runtime wrappers obey.
    pub switches: Switches,
    /// The script's own passes.
    pub custom_passes: CustomPasses,
    /// Whether it is a function that Dynamo captured: a tracing context knows what is compiled.
    pub is_captured: bool,
    /// Whether mutations of inputs stay in the graph where they can.
    pub keep_input_mutations: bool,
    /// How joint graphs are split.
    pub partition: PartitionConfig,
    /// What operators are taken apart by as they are traced.
    pub decompositions: Option<&'static Table>,
    /// What operators are taken apart by before that: rules of the script's.
    pub script_decompositions: Option<Decompose>,
    /// Inductor's passes on the graph before it is split or compiled.
    pub passes: Option<Passes>,
    /// Whether, and how, graphs without a backward are frozen.
    pub freezing: Option<Freezing>,
    /// A partitioner of the script's own.
    pub partition_fn: Option<PartitionFn>,
    /// Whether random numbers that the backward draws again are those of the forward even where PyTorch's are not.
    pub replay_random: bool,
    /// Compiles forwards.
    pub fw_compiler: GraphCompiler,
    /// Compiles backwards.
    pub bw_compiler: GraphCompiler,
    /// Compiles graphs without a backward.
    pub inference_compiler: GraphCompiler,
    /// Asked when a graph is traced: whether it will be traced again, and is of no use.
    pub is_outdated: Option<Rc<dyn Fn() -> bool>>,
    /// Holds what is compiled against eager mode.
    pub check: Option<Checking>,
    /// Sees what was made, as soon as it is.
    pub observer: Option<Rc<dyn Fn(&Artifacts)>>,
}

impl Config {
    /// Where a graph will be traced again, it is seen, and that is all.
    pub(super) fn stop_if_outdated(&self, traced: &Rc<Graph>, is_joint: bool, metadata: &ViewAndMutationMeta) -> Result<()> {
        if !self.is_outdated.as_ref().is_some_and(|f| f()) {
            return Ok(());
        }
        if let Some(observer) = &self.observer {
            let (traced, metadata) = (traced.clone(), metadata.clone());
            let (prologue, epilogue) = (String::new(), String::new());
            observer(&Artifacts {
                traced,
                is_joint,
                metadata,
                partitioned: None,
                study: None,
                prologue,
                epilogue,
                is_abandoned: true,
                frozen: None,
            });
        }
        Err(Error::runtime("the graph will be traced again"))
    }
}

/// What one compilation made.
pub struct Artifacts {
    /// The joint graph, or the inference graph.
    pub traced: Rc<Graph>,
    /// Whether it is a joint graph.
    pub is_joint: bool,
    /// Mutation and aliasing.
    pub metadata: ViewAndMutationMeta,
    /// The joint graph in two.
    pub partitioned: Option<Partitioned>,
    /// The joint graph, to be asked about later.
    pub study: Option<Rc<Study>>,
    /// What happens to the caller's inputs before the graph, as code.
    pub prologue: String,
    /// What happens to what the graph returned, as code.
    pub epilogue: String,
    /// Whether it is traced again, with numbers for floats that were symbols.
    pub is_abandoned: bool,
    /// The graph with its parameters as constants.
    pub frozen: Option<Rc<FrozenGraph>>,
}

/// Which passes run, by PyTorch's names in `torch._inductor.config`.
#[derive(Clone, Debug)]
pub struct Passes {
    /// `use_joint_graph_passes`
    pub use_joint_graph_passes: bool,
    /// `joint_graph_constant_folding`
    pub joint_graph_constant_folding: bool,
    /// `pattern_matcher`
    pub pattern_matcher: bool,
    /// `fallback_random`: random numbers are drawn as in eager mode.
    pub fallback_random: bool,
}

impl Default for Passes {
    fn default() -> Self {
        Passes { use_joint_graph_passes: true, joint_graph_constant_folding: true, pattern_matcher: true, fallback_random: false }
    }
}

/// Who applies an input's mutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutationType {
    /// Nobody: it is not mutated.
    NotMutated,
    /// The compiled graph, by a trailing `copy_`.
    MutatedInGraph,
    /// The runtime, after the graph.
    MutatedOutGraph,
}

impl MutationType {
    /// PyTorch's name.
    pub fn name(self) -> &'static str {
        match self {
            MutationType::NotMutated => "NOT_MUTATED",
            MutationType::MutatedInGraph => "MUTATED_IN_GRAPH",
            MutationType::MutatedOutGraph => "MUTATED_OUT_GRAPH",
        }
    }
}

/// What is known of an input.
#[derive(Clone, Debug)]
pub struct InputInfo {
    /// Whether it is a leaf.
    pub is_leaf: bool,
    /// Whether its values change.
    pub mutates_data: bool,
    /// Whether its geometry changes.
    pub mutates_metadata: bool,
    /// Whether it is given other memory (`t.data = other`), which holds its new values.
    pub data_replaced: bool,
    /// Every write is one that autograd cannot see.
    pub mutations_hidden_from_autograd: bool,
    /// Every write was under no_grad.
    pub mutations_under_no_grad_or_inference_mode: bool,
    /// Whether it requires grad.
    pub requires_grad: bool,
    /// Who applies the mutation.
    pub mutation_type: MutationType,
    /// Lines that write to it.
    pub written_at: Vec<Source>,
    /// Its value when the function has returned.
    pub spec: TensorSpec,
}

impl InputInfo {
    /// Who applies its mutation.
    pub fn applied_by(&self, keep_input_mutations: bool) -> MutationType {
        let unseen = self.mutations_hidden_from_autograd || self.mutations_under_no_grad_or_inference_mode;
        // Autograd does not see other memory either.
        let in_graph =
            self.data_replaced || keep_input_mutations && self.mutates_data && ((!self.mutates_metadata && !self.requires_grad) || unseen);
        match (self.mutates_data || self.mutates_metadata || self.data_replaced, in_graph) {
            (false, _) => MutationType::NotMutated,
            (true, true) => MutationType::MutatedInGraph,
            (true, false) => MutationType::MutatedOutGraph,
        }
    }
}

/// What an output aliases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputType {
    /// Nothing.
    NonAlias,
    /// An input, as a view of it.
    AliasOfInput,
    /// It is an input.
    IsInput,
    /// An intermediate that is returned for its sake.
    AliasOfIntermediateSaveAsOutput,
    /// An intermediate that is returned already for another output's sake.
    AliasOfIntermediate,
    /// An intermediate that is an output itself.
    AliasOfIntermediateBaseIsUserOutput,
    /// An intermediate nobody else sees: hidden from autograd.
    UnsafeViewAlias,
    /// A view made by a custom function.
    CustomFunctionView,
}

impl OutputType {
    /// PyTorch's name.
    pub fn name(self) -> &'static str {
        match self {
            OutputType::NonAlias => "non_alias",
            OutputType::AliasOfInput => "alias_of_input",
            OutputType::IsInput => "is_input",
            OutputType::AliasOfIntermediateSaveAsOutput => "alias_of_intermediate_save_as_output",
            OutputType::AliasOfIntermediate => "alias_of_intermediate",
            OutputType::AliasOfIntermediateBaseIsUserOutput => "alias_of_intermediate_base_is_user_output",
            OutputType::UnsafeViewAlias => "unsafe_view_alias",
            OutputType::CustomFunctionView => "custom_function_view",
        }
    }

    /// Whether the runtime makes the output anew from what it aliases.
    pub fn is_regenerated(self) -> bool {
        match self {
            OutputType::AliasOfInput
            | OutputType::IsInput
            | OutputType::AliasOfIntermediateSaveAsOutput
            | OutputType::AliasOfIntermediate
            | OutputType::AliasOfIntermediateBaseIsUserOutput => true,
            OutputType::NonAlias | OutputType::UnsafeViewAlias | OutputType::CustomFunctionView => false,
        }
    }

    /// Whether the runtime makes the output anew from an input.
    pub fn is_of_input(self) -> bool {
        match self {
            OutputType::AliasOfInput | OutputType::IsInput => true,
            OutputType::NonAlias
            | OutputType::AliasOfIntermediateSaveAsOutput
            | OutputType::AliasOfIntermediate
            | OutputType::AliasOfIntermediateBaseIsUserOutput
            | OutputType::UnsafeViewAlias
            | OutputType::CustomFunctionView => false,
        }
    }
}

/// What is known of an output.
#[derive(Clone)]
pub struct OutputInfo {
    /// What it aliases.
    pub output_type: OutputType,
    /// Which input, output or intermediate base.
    pub base_idx: Option<usize>,
    /// Whether it requires grad.
    pub requires_grad: bool,
    /// Whether a tangent is traced for it.
    pub requires_grad_for_backward: bool,
    /// View operators that regenerate it from what it aliases.
    pub steps: ViewSteps,
    /// Its tensor, where it is one.
    pub spec: Option<TensorSpec>,
    /// The intermediate that is returned for its sake.
    pub base: Option<TensorSpec>,
}

/// The result of the analysis.
#[derive(Clone)]
pub struct ViewAndMutationMeta {
    /// Per input.
    pub input_info: Vec<InputInfo>,
    /// Per output.
    pub output_info: Vec<OutputInfo>,
    /// Intermediates returned for the sake of outputs that view them.
    pub num_intermediate_bases: usize,
    /// Whether mutations of inputs stay in the graph where they can.
    pub keep_input_mutations: bool,
    /// Whether calls are made whose order counts: a token goes through the graph.
    pub has_token: bool,
    /// Where hooks stay calls in the backward: before which input the state stands that they are in.
    pub backward_state: Option<usize>,
    /// Whether grad mode was changed for good: its value after the function.
    pub grad_enabled_mutation: Option<bool>,
    /// Per input, what it is made of.
    pub subclass_inp_meta: Vec<MaybeSubclass>,
    /// The same of what the forward returns before saved values.
    pub subclass_fw_graph_out_meta: Vec<MaybeSubclass>,
    /// Inputs that live as long as the model.
    pub static_inputs: Vec<usize>,
    /// What the runtime wrappers obey.
    pub switches: Switches,
}

impl ViewAndMutationMeta {
    /// Inputs whose mutation the runtime applies, in order.
    pub fn runtime_mutated(&self) -> Vec<usize> {
        (0..self.input_info.len()).filter(|i| self.input_info[*i].mutation_type == MutationType::MutatedOutGraph).collect()
    }

    /// How many tokens the graph takes before its inputs and gives before its outputs.
    pub fn num_tokens(&self) -> usize {
        usize::from(self.has_token)
    }

    /// How many values the forward returns before saved ones, without its token.
    pub fn num_forward_returns(&self) -> usize {
        self.subclass_fw_graph_out_meta.iter().map(subclass::count).sum()
    }

    /// Whether an input or an output is of a class of the script's.
    pub fn requires_subclass_dispatch(&self) -> bool {
        self.subclass_inp_meta.iter().chain(&self.subclass_fw_graph_out_meta).any(Option::is_some)
    }

    /// Where the state that hooks are in stands among the inputs of the graph, without its token.
    pub fn state_place(&self) -> Option<usize> {
        self.backward_state.map(|state| self.subclass_inp_meta[..state].iter().map(subclass::count).sum())
    }

    /// Where the tensors that an input is made of stand among those of the graph, without its token.
    pub fn graph_inputs(&self, input: usize) -> std::ops::Range<usize> {
        let is_behind_state = self.backward_state.is_some_and(|state| state <= input);
        let first = self.subclass_inp_meta[..input].iter().map(subclass::count).sum::<usize>() + usize::from(is_behind_state);
        first..first + subclass::count(&self.subclass_inp_meta[input])
    }
}
