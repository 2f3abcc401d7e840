//! What Dynamo says at a graph break: a title, an explanation, hints, and what it was about.

use crate::span::Source;

/// Why a graph breaks.
#[derive(Clone, Debug, Default)]
pub struct Unsupported {
    title: String,
    explanation: String,
    hints: Vec<String>,
    context: String,
    /// PyTorch's number of the kind of break.
    number: u32,
    /// Whether it gives the function up, whatever its number says.
    pub(super) ends_function: bool,
    /// Whether that goes for the function that it happens in alone, not for those that call it.
    spares_callers: bool,
    /// Whether it happens in what an instruction reads before it does its work.
    precedes_instruction: bool,
    /// Whether what breaks the graph gives a tensor's number, or several.
    gives_number: bool,
    /// Whether PyTorch breaks no graph there: the function goes on behind any instruction.
    is_own: bool,
    /// Whether it stands in the body of a function that is called as a whole.
    is_in_body: bool,
}

/// Not a number of PyTorch's: what is said of it is an exception of its own there.
const DATA_DEPENDENT: u32 = u32::MAX;

/// PyTorch's number 7, where that does not give the function up: the call of a builtin.
pub(super) const SKIPPED_BUILTIN: u32 = u32::MAX - 7;

pub(super) const FUNDAMENTAL: &str = "This graph break is fundamental - it is unlikely that Dynamo will ever be able to trace through your code. Consider finding a workaround.";

impl Unsupported {
    pub(super) fn new(
        number: u32,
        title: impl Into<String>,
        explanation: impl Into<String>,
        context: impl Into<String>,
        hints: &[&str],
    ) -> Self {
        Unsupported {
            number,
            title: title.into(),
            explanation: explanation.into(),
            context: context.into(),
            hints: hints.iter().map(|h| (*h).to_owned()).collect(),
            ends_function: false,
            spares_callers: false,
            precedes_instruction: false,
            gives_number: false,
            is_own: false,
            is_in_body: false,
        }
    }

    /// `tensor.item()`
    pub fn item() -> Self {
        Self::new(
            124,
            "Unsupported Tensor.item() call with capture_scalar_outputs=False",
            "Dynamo does not support tracing `Tensor.item()` with config.capture_scalar_outputs=False.",
            "call_method TensorVariable() item () {}",
            &[
                "Set `torch._dynamo.config.capture_scalar_outputs = True` or `export TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1` to include these operations in the captured graph.",
            ],
        )
    }

    /// A call that takes a number off a tensor.
    pub fn data_dependent_operator(operator: &str) -> Self {
        Self::new(
            33,
            "Data dependent operator",
            format!("Operator `{operator}` has a non-Tensor output whose value is dependent on the data of Tensor inputs."),
            operator,
            &["Enable tracing of data-dependent output operators with `torch._dynamo.config.capture_scalar_outputs = True`"],
        )
    }

    /// A decision on a number that only the run knows. The title is what PyTorch says first.
    pub fn data_dependent(expression: &str, size_like: &[String], is_decision: bool) -> Self {
        let size_like = if size_like.is_empty() { "none".to_owned() } else { size_like.join(", ") };
        let (asked, advice) = if is_decision {
            (
                "guard on",
                "\nconsider using data-dependent friendly APIs such as guard_or_false, guard_or_true and statically_known_true. If this was caused by Python `not` on a symbolic boolean, use torch.sym_not() or an equivalent comparison instead; Python `not` cannot be overloaded outside Dynamo bytecode tracing.",
            )
        } else {
            ("extract specialized integer from", "\n")
        };
        Self::new(
            DATA_DEPENDENT,
            format!(
                "Consider annotating your code using torch._check*(). Could not {asked} data-dependent expression {expression} (unhinted: {expression}).  (Size-like symbols: {size_like})\n{advice}"
            ),
            "",
            expression,
            &[],
        )
    }

    /// What `torch._dynamo.exc.UserError` says of it, where it is the script's to mend.
    pub fn user_error(&self, source: Option<&Source>) -> Option<String> {
        let place = source.filter(|_| self.number == DATA_DEPENDENT)?;
        let marks = place.marks().map_or_else(String::new, |m| format!("\n    {m}"));
        let (line, title) = (place.line(), &self.title);
        Some(format!(
            "{title}\nCaused by: {code}  # {file}:{line} in {function}\nFor more information, run with TORCH_LOGS=\"dynamic\"\n\nUser Stack (most recent call last):\n  (snipped, see stack below for prefix)\n  File \"{file}\", line {line}, in {function}\n    {code}{marks}\n\nFor C++ stack trace, run with TORCHDYNAMO_EXTENDED_DEBUG_CPP=1\nFor more information about this error, see: https://pytorch.org/docs/main/generated/exportdb/index.html#constrain-as-size-example{}",
            super::user_code::from_user_code(Some(place)),
            code = place.code,
            file = place.file,
            function = place.function,
        ))
    }

    /// `if tensor:`; `condition` says how the tensor was computed: the place, and the call.
    pub fn branch(condition: Option<(&Source, String)>) -> Self {
        let mut explanation =
            "Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`). Dynamo does not support tracing dynamic control flow."
                .to_owned();
        if let Some((place, call)) = condition {
            explanation.push_str(&format!(
                "\n\n      The branch condition involves a tensor computed as follows:\n        # File \"{}\", line {}, in {}, code: {}\n        {call}\n    ",
                place.file, place.line(), place.function, place.code
            ));
        }
        Self::new(
            170,
            "Data-dependent branching",
            explanation,
            "attempted to jump with TensorVariable()",
            &[
                "For the common pattern `if tensor_cond: x = transform(x)` (e.g. clamping inf/nan values), consider making the code branchless by always applying the transform. Operations like torch.clamp, torch.nan_to_num, and torch.where are typically no-ops on well-behaved inputs and compile without graph breaks.",
                FUNDAMENTAL,
                "Use `torch.cond` to express dynamic control flow.",
            ],
        )
    }

    /// A call of a builtin; `types` are those of its arguments, and what Dynamo calls them.
    pub fn builtin(name: &str, types: &[String], kinds: &[String]) -> Self {
        let list: Vec<String> = types.iter().map(|t| format!("'{t}'")).collect();
        let list = list.join(", ");
        let kinds: Vec<String> = kinds.iter().map(|k| format!("<class 'torch._dynamo.variables.{k}'>")).collect();
        Self::new(
            59,
            "Failed to trace builtin operator",
            format!("Dynamo does not know how to trace builtin operator `{name}` with argument types [{list}] (has_kwargs False)"),
            format!("builtin {name} [{}] False", kinds.join(", ")),
            &[
                &format!(
                    "Avoid calling builtin `{name}` with argument types [{list}]. Consider using an equivalent alternative function/method to `{name}`."
                ),
                "If you are attempting to call a logging function (e.g. `print`), you can try adding it to `torch._dynamo.config.reorderable_logging_functions`.",
                "Please report an issue to PyTorch.",
            ],
        )
    }

    /// `torch._dynamo.graph_break(msg)`
    pub fn requested(message: Option<&str>) -> Self {
        let shown = message.map_or_else(|| "None".to_owned(), ToOwned::to_owned);
        let args = message.map_or_else(String::new, |m| format!("ConstantVariable(str: '{m}')"));
        Self::new(
            25,
            "Call to `torch._dynamo.graph_break()`",
            format!("User-inserted graph break. Message: {shown}"),
            format!("Called `torch._dynamo.graph_break()` with args `[{args}]`, kwargs `{{}}`"),
            &["Remove the `torch._dynamo.graph_break()` call."],
        )
    }

    /// A call of a function that `torch.compiler.disable` keeps out.
    pub fn disabled(function: &str, reason: Option<&str>) -> Self {
        Self::new(
            98,
            "Skip calling `torch.compiler.disable()`d function",
            format!(
                "Skip calling function `{function}` since it was wrapped with `torch.compiler.disable` (reason: {})",
                reason.unwrap_or("None")
            ),
            function,
            &["Remove the `torch.compiler.disable` call"],
        )
    }

    /// A change of an input's geometry in place.
    pub fn inplace_view(name: &str, method: &str) -> Self {
        Self::new(
            148,
            "Unsupported function call (delayed)",
            format!(
                "Dynamo determined that a graph break should occur when calling `L['{name}'].{method}`. Reason: Getting an inplace view on a graph input is not supported"
            ),
            format!(
                "source: AttrSource(base=LocalSource(local_name='{name}', is_input=True, dynamism=None, is_derefed_cell_contents=False), member='{method}')"
            ),
            &[
                "Avoid mutating a graph input's tensor metadata with in-place view ops. If the mutation is only needed inside the compiled region, replace the in-place call with an out-of-place view, for example `x = x.transpose(1, 2)` instead of `x.transpose_(1, 2)`.",
                "If you need to mutate the input tensor's metadata, move the in-place view call outside `torch.compile`.",
            ],
        )
    }

    /// An operator whose result has a size that its values decide.
    pub fn dynamic_shape(operator: &str) -> Self {
        let operator = operator.trim_end_matches(".default");
        Self::new(
            36,
            "Dynamic shape operator",
            format!("Operator `{operator}.default`'s output shape depends on input Tensor data."),
            format!("{operator}.default"),
            &["Enable tracing of dynamic shape operators with `torch._dynamo.config.capture_dynamic_output_shape_ops = True`"],
        )
    }

    /// `loss.backward()`
    pub fn backward() -> Self {
        Self::new(
            123,
            "Unsupported Tensor.backward() call",
            "Dynamo currently does not support tracing `Tensor.backward()` when trace_autograd_ops is off.",
            "call_method TensorVariable() backward None None None None",
            &["Set torch._dynamo.trace_autograd_ops=True"],
        )
    }

    /// `torch.autograd.grad(...)`, of something that the graph itself computes or not.
    pub fn grad(of_intermediate: bool) -> Self {
        let reason = Self::new(
            9186,
            "using `torch.autograd.grad` with `torch._dynamo.config.trace_autograd_ops=False`",
            "Attempted to call `torch.autograd.grad` with config `torch._dynamo.config.trace_autograd_ops` set to `False`.",
            "trace_autograd_ops=False",
            &["Change `torch._dynamo.config.trace_autograd_ops` to `True`."],
        );
        Unsupported { ends_function: of_intermediate, ..reason }
    }

    /// `torch.nn.Parameter(tensor)` of what the graph computes.
    pub fn parameter() -> Self {
        Self::new(
            264,
            "Attempted to use `torch.nn.Parameter()` constructor with Dynamo",
            "Dynamo does not support this",
            "",
            &[
                "Try to construct `torch.nn.Parameter()` outside the compiled region.",
                "If this is not possible, turn `graph_break_on_nn_param_ctor` off",
                "It may be possible to write Dynamo tracing rules for this code. Please report an issue to PyTorch if you encounter this graph break often and it is causing performance issues.",
            ],
        )
    }

    /// `tensor.requires_grad_()` of an input.
    pub fn requires_grad() -> Self {
        Self::new(
            125,
            "Unsupported Tensor.requires_grad_() call",
            "Dynamo does not support changes to a Tensor's `requires_grad` through calling `requires_grad_()`.",
            "call_method TensorVariable() requires_grad_",
            &[],
        )
    }

    /// `torch.ones(2, requires_grad=True)`, and whatever else makes a tensor: the function, and what it was called with.
    pub fn leaf(function: &str, args: &str, kwargs: &str) -> Self {
        Self::new(
            225,
            "Attempted to use tensor creation function with requires_grad=True",
            "Dynamo does not support this.",
            format!("fn=<built-in method {function} of type object>, args=[{args}], kwargs={{{kwargs}}}"),
            &[
                "Create the tensor outside the compiled region.",
                "Do not set `requires_grad=True`.",
                "It may be possible to write Dynamo tracing rules for this code. Please report an issue to PyTorch if you encounter this graph break often and it is causing performance issues.",
            ],
        )
    }

    /// `tensor.data = value` where the graph cannot hold it: of a tensor of its own, or with another dtype or shape.
    pub fn set_data(same_dtype: bool, same_shape: bool) -> Self {
        let context = "setattr(TensorVariable(), ConstantVariable(str: 'data'), TensorVariable())";
        let advice = "Don't mutate `.data` on this tensor, or move the mutation out of `torch.compile` region";
        if !same_dtype {
            let explanation = "Dynamo only supports mutating `.data` of tensor to a new one with the same dtype";
            return Self::new(220, "Failed to mutate tensor data attribute to different dtype", explanation, context, &[advice]);
        }
        if !same_shape {
            return Self::new(
                6602,
                "setattr() on Tensor.data with different shape",
                "Dynamo does not trace shape-changing `.data` mutations on differentiable tensors. AOTAutograd assumes graph input metadata is stable while building the backward graph.",
                context,
                &[
                    "It may be possible to write Dynamo tracing rules for this code. Please report an issue to PyTorch if you encounter this graph break often and it is causing performance issues.",
                ],
            );
        }
        let explanation = "Dynamo only supports mutating `.data` of tensor created outside `torch.compile` region";
        Self::new(56, "Failed to mutate tensor data attribute", explanation, context, &[advice])
    }

    /// `tensor.random_()`: what it was called with.
    pub fn random(args: &str, kwargs: &str) -> Self {
        Self::new(
            107,
            "Tensor.random_ op",
            "This is currently not supported.",
            format!("Tensor.random_(args=({args}), kwargs={{{kwargs}}})"),
            &[
                "Use the out-of-place version of this op",
                "It may be possible to write Dynamo tracing rules for this code. Please report an issue to PyTorch if you encounter this graph break often and it is causing performance issues.",
            ],
        )
    }

    /// `tensor.retain_grad()`
    pub fn retain_grad() -> Self {
        Self::new(
            108,
            "Tensor.retain_grad() with AOTDispatcher",
            "`Tensor.retain_grad()` does not work with AOTDispatcher.",
            "tp_getattro_impl TensorVariable() retain_grad",
            &[],
        )
    }

    /// `tensor.tolist()` of numbers that are no integers.
    pub fn tolist() -> Self {
        Self::new(
            109,
            "Tensor.tolist() with non-integer tensor",
            "Dynamo currently does not support tracing `tolist()` on non-integer tensors.",
            "call_method TensorVariable() to_list",
            &["Ensure the input tensor to `tolist()` is an integer type (e.g., int8, int16, int32, int64)."],
        )
    }

    /// A call of one of PyTorch's recurrent modules: the text of its source, and the source as Python shows it.
    pub fn rnn(source: &str, shown: &str) -> Self {
        let why = "Dynamo does not support RNN, GRU, or LSTM. Set torch._dynamo.config.allow_rnn=True to enable experimental support for RNN, GRU, and LSTM in Dynamo";
        Self::new(
            148,
            "Unsupported function call (delayed)",
            format!("Dynamo determined that a graph break should occur when calling `{source}`. Reason: {why}\n"),
            format!("source: {shown}"),
            &[],
        )
    }

    /// A module with backward hooks.
    pub fn module_backward_hooks() -> Self {
        Self::new(
            83,
            "Module-level backwards hooks require compiled autograd.",
            "",
            "",
            &["Enable compiled autograd by setting torch._dynamo.config.compiled_autograd = True."],
        )
    }

    /// A C function that Dynamo knows nothing of.
    pub fn unknown_builtin(function: &str, module: &str) -> Self {
        Self::new(
            SKIPPED_BUILTIN,
            "Attempted to call function marked as skipped",
            format!(
                "Dynamo does not know how to trace the builtin `{module}.{function}.` This function is either a Python builtin (e.g. _warnings.warn) or a third-party C/C++ Python extension (perhaps created with pybind)."
            ),
            format!(
                "module: {module}, qualname: {function}, skip reason: cannot determine source file for {} (likely a C extension or builtin)",
                if module.starts_with('<') { "" } else { module }
            ),
            &[
                "If it is a Python builtin, please file an issue on GitHub so the PyTorch team can add support for it and see the next case for a workaround.",
                "If it is a third-party C/C++ Python extension, please either wrap it into a PyTorch-understood custom operator (see https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html for more details) or, if it is traceable, use `torch.compiler.allow_in_graph`.",
            ],
        )
    }

    /// A function of a file that is never traced, called by the script; `rule` is PyTorch's entry for the file.
    pub fn skipped(function: &str, module: &str, rule: &str) -> Self {
        let mut hints = vec![format!("Avoid calling the function `{function}`.")];
        if rule != "torch/_dynamo" {
            hints.push(format!(
                "Apply `@torch._dynamo.dont_skip_tracing` to the function `{function}` to force tracing into the function. More graph breaks may occur as a result of attempting to trace into the function."
            ));
            hints.push("Please file an issue to PyTorch.".to_owned());
        }
        let hints: Vec<&str> = hints.iter().map(String::as_str).collect();
        Self::new(
            SKIPPED_BUILTIN,
            "Attempted to call function marked as skipped",
            format!("Dynamo developers have intentionally marked that the function `{function}` in file `{rule}.py` should not be traced."),
            format!("module: {module}, qualname: {function}, skip reason: file matches MOD_SKIPLIST ({rule})"),
            &hints,
        )
    }

    /// A function of `torch` that gives something else than a tensor.
    pub fn non_tensor(kind: &str, function: &str) -> Self {
        Self::new(
            208,
            "torch.* op returned non-Tensor",
            "torch.* ops that return a non-Tensor cannot be traced into the Dynamo FX graph output\n",
            format!("example_value type: {kind}; op: call_function; target: <built-in function {function}>"),
            &[],
        )
    }

    /// A method of a tensor that gives none.
    pub fn non_tensor_method(kind: &str, name: &str) -> Self {
        let context = format!("example_value type: {kind}; op: call_method; target: {name}");
        Unsupported { context, ..Self::non_tensor(kind, name) }
    }

    /// `tensor.is_inference()`
    pub fn is_inference() -> Self {
        Self::new(45, "Encountered tensor.is_inference() during tracing", "tensor.is_inference() is not supported", "", &[FUNDAMENTAL])
    }

    /// `torch.is_inference_mode_enabled()`
    pub fn inference_mode() -> Self {
        Self::new(
            46,
            "Encountered torch.is_inference_mode_enabled during tracing",
            "torch.is_inference_mode_enabled() is not supported",
            "",
            &[
                FUNDAMENTAL,
                "Avoid using `tensor.is_inference()` and `torch.is_inference_mode_enabled()` in your compile code. This is primarily used in conjunction with `torch.inference_mode`. Consider using `torch.no_grad` instead because `torch.no_grad` leads to same improvements as `inference_mode` when `torch.compile` is used.",
            ],
        )
    }

    /// A custom function is given one tensor twice.
    pub fn duplicate_input() -> Self {
        Self::new(
            6297,
            "autograd.Function.apply: duplicate tensor input",
            "Dynamo does not support tracing autograd.Function.apply when the same tensor is passed to multiple forward inputs.",
            "",
            &[
                "It may be possible to write Dynamo tracing rules for this code. Please report an issue to PyTorch if you encounter this graph break often and it is causing performance issues.",
            ],
        )
    }

    /// A call with an argument that no graph holds: a generator.
    pub fn proxy(args: &str) -> Self {
        Self::new(
            55,
            "Failed to convert args/kwargs to proxy",
            "Missing `as_proxy()` implementation for some arg/kwarg.\n",
            format!("call_function args: {args}"),
            &[],
        )
    }

    /// A method of a generator.
    pub fn generator(method: &str) -> Self {
        Self::new(
            7650,
            "torch.Generator method",
            format!("torch.Generator.{method}() is a stateful RNG operation that cannot be soundly traced in the FX graph."),
            format!("torch.Generator.{method}"),
            &[FUNDAMENTAL],
        )
    }

    /// `torch.Generator()`
    pub fn opaque(class: &str) -> Self {
        Self::new(
            363,
            "An opaque object was created in the middle of the program.",
            "Opaque objects cannot be created inside the torch.compile region. They must be created before entering the compiled function.",
            format!("Opaque object type: <class '{class}'>."),
            &["Please create the opaque object before calling torch.compile and pass it in as an argument or as a global variable."],
        )
    }

    /// A function of a file that is never traced, called by one that is.
    pub fn not_inlined(function: &str, module: &str) -> Self {
        Self::new(
            8,
            "Attempted to inline function marked as skipped",
            format!("Dynamo developers have intentionally marked that the function `{function}` should not be traced."),
            format!("qualname: {function}, name: {function}, skip reason: file matches MOD_SKIPLIST ({module})"),
            &[&format!("Avoid calling the function `{function}`.")],
        )
    }

    /// An operator of the script's own that takes functions.
    pub fn higher_order_operator(name: &str) -> Self {
        let said = Self::new(
            306,
            "unsupported HigherOrderOperator",
            format!("Unable to create higher order operator variable for {name}."),
            name,
            &["This is likely to be a Dynamo bug. Please report an issue to PyTorch."],
        );
        Unsupported { ends_function: true, spares_callers: true, ..said }
    }

    /// Anything else, with a title that says it.
    pub fn other(title: &str) -> Self {
        Self::new(0, title, "", "", &[])
    }

    /// A function that a higher-order operator takes changes what Dynamo calls that.
    pub fn unsafe_side_effect(variable: &str) -> Self {
        Self::new(
            67,
            "HOP: Unsafe side effect",
            "Mutating a variable from outside the scope of this HOP is not supported.",
            format!("Attempted to mutate {variable}"),
            &[
                "If the HOP is activation checkpointing (torch.utils.checkpoint.checkpoint), this points to a side effect in forward method. Eager activation checkpointing replays that side-effect while recomputing the forward in the backward. If you are ok with side-effect not replayed in the backward, try setting `torch._dynamo.config.skip_fwd_side_effects_in_bwd_under_checkpoint = True`",
            ],
        )
    }

    /// The same, where it gives an attribute another value.
    pub fn side_effect_that_stays(attribute: &str, before: &str, after: &str) -> Self {
        Self::new(
            4413,
            "HOP: Non-nullified side effect",
            format!(
                "Attribute '{attribute}' on an outer-scope object was changed from {before} to {after} inside a higher-order op subgraph. Dynamo only supports mutations that are undone before the subgraph exits (e.g., context managers that save/restore a flag). If you intentionally want this side effect, move the mutation outside of the higher-order op."
            ),
            format!("Attribute '{attribute}' was not restored to its original value"),
            &[FUNDAMENTAL],
        )
    }

    /// The same, in a function that this operator takes.
    pub fn in_operator(self, operator: &str) -> Self {
        let title = format!("{}\n  Higher Order Operator: {operator}", self.title);
        Unsupported { title, is_in_body: true, ..self }
    }

    /// A loop whose backward reads a number off a tensor, where graphs hold none: the frame is skipped.
    pub fn backward_of_loop() -> Self {
        let reason = Self::new(0, "Backend compiler exception", "The backward of while_loop reads a number off a tensor.", "", &[]);
        Unsupported { ends_function: true, ..reason }
    }

    /// A block whose begin cannot be captured: the graph ends before it, and PyTorch skips what follows in the frame.
    pub fn context_manager(name: &str) -> Self {
        Self::new(
            7,
            "Attempted to inline function marked as skipped",
            format!("Dynamo developers have intentionally marked that the function `{name}.__enter__` should not be traced."),
            "",
            &[],
        )
    }

    /// A value that lives longer than its graph, and that no code makes anew: the frame is skipped.
    pub fn not_reconstructed(variable: &str) -> Self {
        let reason = Self::new(
            92,
            "Reconstruction failure",
            format!("Dynamo has no bytecode reconstruction implemented for sourceless variable {variable}."),
            variable,
            &[
                "If Dynamo is attempting to trace a return statement and your code is attempting to return a variable that Dynamo cannot reconstruct, then remove it from the return statement.",
                "This graph break may have been caused by an earlier graph break. Resolving the earlier graph break may resolve this one.",
                "Report an issue to PyTorch if you need reconstrtuction support. Note that objects that don't have reconstruction rules may be fundamentally unreconstructable.",
            ],
        );
        Unsupported { ends_function: true, spares_callers: true, ..reason }
    }

    /// A block of a context manager that Dynamo does not know: the frame is skipped.
    pub fn entered_context_manager(class: &str, variable: &str) -> Self {
        let reason = Self::new(
            142,
            "Unsupported context manager",
            format!("Dynamo does not know how to enter a `{class}` context manager."),
            format!("Attempted SETUP_WITH/BEFORE_WITH/LOAD_SPECIAL on {variable}"),
            &[
                "Avoid using the unsupported context manager.",
                "If the context manager seems like it should be supported (e.g. torch.set_grad_enabled), then it may be the case that it was created outside the compiled region, which Dynamo does not support. Supported context managers can cross graph break boundaries only if they are local non-closure variables, or are intermediate values.",
                "File an issue to PyTorch. Simple context managers can potentially be supported, but note that context managers can't be supported in general",
            ],
        );
        Unsupported { ends_function: true, spares_callers: true, ..reason }
    }

    /// Whether it is the begin of a block that cannot be captured.
    pub fn begins_block(&self) -> bool {
        self.number == 7
    }

    /// Whether the whole frame is skipped: what comes before is not compiled, either.
    pub fn skips_frame(&self) -> bool {
        self.ends_function
    }

    /// Whether functions that call the one that is skipped go on behind the call.
    pub fn spares_callers(&self) -> bool {
        self.spares_callers
    }

    /// The same, where the whole frame is skipped.
    pub fn ending_function(self) -> Self {
        Unsupported { ends_function: true, ..self }
    }

    /// Whether it happens in what an instruction reads before it does its work: Dynamo does not resume behind that.
    pub fn precedes_instruction(&self) -> bool {
        self.precedes_instruction || self.number == 108
    }

    /// The same in what an instruction reads first: bounds of a slice, an attribute.
    pub fn before_instruction(self) -> Self {
        Unsupported { precedes_instruction: true, ..self }
    }

    /// Whether gradients are asked for: results of the graph that come of one another must not live on then, since a compiled graph
    /// does not say so of its results.
    pub fn asks_for_gradients(&self) -> bool {
        self.number == 9186
    }

    /// Whether a tensor decides which way Python goes.
    pub fn is_branch(&self) -> bool {
        self.number == 170
    }

    /// Whether what breaks the graph gives a tensor's number.
    pub fn gives_number(&self) -> bool {
        self.gives_number || matches!(self.number, 109 | 124)
    }

    /// The same, where what breaks the graph gives numbers.
    pub fn giving_number(self) -> Self {
        Unsupported { gives_number: true, ..self }
    }

    /// What PyTorch breaks no graph for.
    pub fn own(title: &str) -> Self {
        Unsupported { is_own: true, ..Self::other(title) }
    }

    /// Whether PyTorch breaks no graph there.
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// Whether what breaks the graph gives no tensor.
    pub fn gives_no_tensor(&self) -> bool {
        !self.is_in_body && self.gives_nothing()
    }

    /// The same of a call whose body it stands in.
    pub fn of_call(self) -> Self {
        Unsupported { is_in_body: true, ..self }
    }

    fn gives_nothing(&self) -> bool {
        self.is_branch()
            || self.gives_number()
            || self.number == 59 && self.context.starts_with("builtin print ")
            || self.title == "print of a Tensor"
    }

    /// Its title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// All that is said, but for the place.
    pub fn text(&self) -> String {
        if self.number == 0 || self.number == DATA_DEPENDENT {
            return self.title.clone();
        }
        let mut text = format!("{}\n  Explanation: {}\n", self.title, self.explanation);
        for hint in &self.hints {
            text.push_str(&format!("  Hint: {hint}\n"));
        }
        text.push_str(&format!(
            "\n  Developer debug context: {}\n\n For more details about this graph break, please visit: {}",
            self.context,
            self.url().unwrap_or_default()
        ));
        text
    }

    /// What is explained of it.
    pub fn explanation(&self) -> &str {
        &self.explanation
    }

    /// What is hinted at.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// PyTorch's page about breaks of this kind.
    pub fn url(&self) -> Option<String> {
        let number = if self.number == SKIPPED_BUILTIN { 7 } else { self.number };
        let is_numbered = number != 0 && number != DATA_DEPENDENT;
        is_numbered.then(|| format!("https://meta-pytorch.github.io/compile-graph-break-site/gb/gb{number:04}.html"))
    }
}
