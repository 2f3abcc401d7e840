//! Arguments that functions of the library take: each is used, or the list here says why it makes no difference.

use ruff_python_ast::{Stmt, StmtFunctionDef};
use ruff_python_parser::parse_module;
use ruff_text_size::Ranged;
use std::path::Path;

use super::script::report;

/// Functions (what their paths begin with), arguments, and why they make no difference here.
const NO_EFFECT: &[(&str, &str, &str)] = &[
    ("torch.nn.attention.flex_attention.noop_mask", "head token_q token_kv", "a mask that leaves nothing out looks at no position"),
    ("torch.export._archive.", "opset_version expected_opset_version", "PyTorch takes and ignores them"),
    ("torch.utils.flop_counter.", "args kwargs out_shape self_shape grad_out_shape", "a formula gets all that its operator is called with"),
    ("torch.accelerator.", "device", "there is no accelerator"),
    ("torch._numpy.", "hermitian optimize overwrite_input", "PyTorch takes and ignores them: they say how the same numbers are computed"),
    ("torch.autograd.function.Function.__init__", "args kwargs", "PyTorch takes and ignores them"),
    ("torch.autograd.functional.", "vectorize strategy outer_jacobian_strategy", "say how the same numbers are computed"),
    (
        "torch.autograd.gradcheck.gradcheck",
        "nondet_tol check_undefined_grad fast_mode",
        "the slow check of what is deterministic says more",
    ),
    ("torch.autograd.graph.save_on_cpu", "device_type", "everything is on the CPU"),
    ("torch.autograd.profiler.", "args kwargs", "no time is measured"),
    ("torch.autograd.variable.Variable", "volatile", "PyTorch ignores it"),
    ("torch.compiler.nested_compile_region", "max_reuse_entries reuse_hash_fn", "regions are traced into their callers, none is reused"),
    ("torch.cuda.", "device including_emulation", "there are no CUDA devices"),
    ("torch.distributed.init_process_group", "backend init_method timeout args kwargs", "there is one process"),
    ("torch.distributions.", "intermediates y", "PyTorch's transforms take what some of them need"),
    ("torch.export.", "strict decompose_custom_triton_ops", "programs are traced the same way; there is no Triton"),
    ("torch.export.export_for_training", "_", "is what export is"),
    ("torch.fx.", "tracer_extras sort attr module_qualified_name enable", "PyTorch's own classes take them for those of a script"),
    ("torch.fx.passes.split_module.split_module", "root_m", "PyTorch does not ask it either: the graph module has all attributes"),
    ("torch.fx.graph.Graph.eliminate_dead_code", "impure_random", "calls that draw numbers are kept or not by their operator"),
    ("torch.fx.node.Node.is_impure", "impure_random", "calls that draw numbers are kept or not by their operator"),
    ("torch.fx.interpreter.", "args kwargs target", "PyTorch's own methods take them for those of a script"),
    ("torch.fx.graph_module.GraphModule.print_readable", "colored _", "what is printed has no colours"),
    ("torch.export.unflatten.InterpreterModule.print_readable", "colored", "what is printed has no colours"),
    ("torch.export.unflatten.UnflattenedModule.print_readable", "colored", "what is printed has no colours"),
    ("torch.fx.graph.Graph.python_code", "_", "says how PyTorch writes its own code"),
    ("torch.fx.graph_module.GraphModule.__new__", "args kwargs", "are those of its initialization"),
    ("torch.fx.experimental.proxy_tensor.make_fx", "record_module_stack record_stack_traces", "stacks are recorded in any case"),
    ("torch.fx.experimental.symbolic_shapes.", "source verbose skip", "say what is logged"),
    ("torch.jit.", "kwargs the_type", "nothing is scripted"),
    ("torch._higher_order_ops.utils.register_fake", "skip_cache", "what results look like is not cached"),
    ("torch._higher_order_ops.utils.", "pre_dispatch", "a body is run, not traced, to see what it writes to"),
    ("torch.library.", "lib allow_override tags", "registrations last as long as the script"),
    ("torch.nn.attention.sdpa_kernel", "set_priority", "there is one kernel"),
    ("torch.nn.modules._functions.", "ctx", "autograd gives it"),
    ("torch.nn.modules.linear.Identity", "args kwargs", "PyTorch takes and ignores them"),
    ("torch.nn.parallel.", "device_ids output_device dim module args kwargs", "there are no devices to spread over"),
    ("torch.nn.utils.", "inputs t", "methods that a script may replace"),
    (
        "torch.profiler.",
        "activities schedule on_trace_ready kwargs args wait warmup active repeat skip_first dir_name worker_name use_gzip",
        "no time is measured",
    ),
    ("torch.random.fork_rng", "devices device_type", "the CPU has the one generator"),
    ("torch.serialization.", "mmap pickle_protocol", "say how a file is written and read"),
    ("torch.testing._comparison.", "dtype_precisions", "a method of PyTorch's own tests"),
    ("torch.testing._internal.", "outer_size outer_stride requires_grad", "PyTorch's own test class ignores them"),
    ("torch.utils._config_module.ConfigModule.save_config_portable", "readonly_values", "says what may be cached"),
    ("torch.utils._python_dispatch.is_in_torch_dispatch_mode", "include_infra_modes", "the compiler's own modes are none of Python's"),
    ("torch.utils._pytree.register_pytree_node", "options", "names and keys that nothing here asks for"),
    (
        "torch.utils.data.dataloader.DataLoader",
        "worker_init_fn multiprocessing_context pin_memory_device in_order",
        "there are no worker processes",
    ),
    ("torch.utils.data.sampler.Sampler", "data_source", "PyTorch ignores it"),
    ("torch._decomp.register_decomposition", "unsafe", "says what PyTorch wraps around it"),
    ("torch._dynamo.compiled_autograd.", "has_post_hooks", "the compiler's own call"),
    ("torch._dynamo.exc.", "first_useful_frame", "the compiler's own exceptions"),
    ("torch._dynamo.testing.", "example_inputs", "backends are given them"),
    ("torch._functorch.aot_autograd.", "enable_log cudagraphs boxed_forward_device_index", "there are no logs in files and no CUDA graphs"),
    ("torch._functorch.compilers.", "_", "compilers are given examples"),
    ("torch._functorch.partitioners.min_cut", "compiler", "says whose operators are taken for cheap: there is one list"),
    ("torch._inductor.list_mode_options", "dynamic", "PyTorch ignores it"),
    ("torch._library.infer_schema.infer_schema", "tags", "tags are no part of a schema"),
    ("torch._removed.", "input out eigenvectors upper", "the functions only say that they were removed"),
    ("torch._subclasses.", "trace", "says what is logged"),
    (
        "torch._tensor.Tensor.",
        "memory_format non_blocking device eigenvectors upper",
        "everything is on the CPU, or the method only says that it was removed",
    ),
];

struct Unused {
    function: String,
    argument: String,
}

fn look(statements: &[Stmt], prefix: &str, tokens: &[std::ops::Range<usize>], source: &str, found: &mut Vec<Unused>, in_class: bool) {
    for statement in statements {
        match statement {
            Stmt::ClassDef(class) if !class.name.starts_with('_') => {
                look(&class.body, &format!("{prefix}.{}", class.name), tokens, source, found, true);
            }
            Stmt::FunctionDef(function) => look_at(function, prefix, tokens, source, found, in_class),
            _ => {}
        }
    }
}

fn look_at(
    function: &StmtFunctionDef,
    prefix: &str,
    tokens: &[std::ops::Range<usize>],
    source: &str,
    found: &mut Vec<Unused>,
    in_class: bool,
) {
    let name = function.name.as_str();
    if name.starts_with('_') && !matches!(name, "__init__" | "__new__") {
        return;
    }
    let is_docstring = |s: &Stmt| matches!(s, Stmt::Expr(e) if e.value.is_string_literal_expr());
    let body: Vec<&Stmt> = function.body.iter().filter(|s| !is_docstring(s)).collect();
    let Some((first, last)) = body.first().zip(body.last()) else { return };
    if let [Stmt::Raise(_)] = body[..] {
        return;
    }
    let (start, end) = (usize::from(first.start()), usize::from(last.end()));
    let used: Vec<&str> = tokens.iter().filter(|r| r.start >= start && r.end <= end).map(|r| &source[(*r).clone()]).collect();
    let is_static = function.decorator_list.iter().any(|d| source[d.range()].contains("staticmethod"));
    let parameters = &function.parameters;
    let plain = parameters.iter_non_variadic_params().map(|p| p.parameter.name.as_str());
    let several = [&parameters.vararg, &parameters.kwarg].into_iter().flatten().map(|p| p.name.as_str());
    let arguments = plain.skip(usize::from(in_class && !is_static)).filter(|a| !a.starts_with('_')).chain(several);
    for argument in arguments.filter(|a| !used.contains(a) && !used.contains(&"locals")) {
        found.push(Unused { function: format!("{prefix}.{name}"), argument: argument.to_owned() });
    }
}

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        if entry.is_dir() {
            files(&entry, found);
        } else if entry.extension().is_some_and(|e| e == "py") {
            found.push(entry);
        }
    }
}

/// Tells functions that take any keyword, which PyTorch's do not, and keywords that PyTorch's do not have.
const COMPARED: &str = r#"
import importlib
import inspect

# What only raises, does nothing without a device, or hands its keywords on to what is checked itself.
PASSED = ("torch.cuda.", "torch.nn.Lazy", "torch.autograd.gradgradcheck", "torch._functorch.partitioners.draw_graph")
PASSED += tuple(f"torch.export.{name}" for name in ("draft_export", "load", "save", "unflatten")) + ("torch.compiler.disable",)

for line in LINES:
    if line.startswith(PASSED):
        continue
    path, taken = line.split("\t")
    module, _, name = path.rpartition(".")
    taken = taken.split(" ")
    try:
        function = getattr(importlib.import_module(module), name)
        parameters = inspect.signature(function).parameters.values()
    except (AttributeError, ImportError, NotImplementedError, TypeError, ValueError):
        continue
    for p in parameters:
        if p.kind is p.VAR_KEYWORD and "**" not in taken:
            print(path, "takes any keyword")
        if p.kind is p.KEYWORD_ONLY and p.name not in taken and "**" not in taken and not p.name.startswith("_"):
            print(path, p.name)
"#;

#[test]
fn no_keyword_is_taken_that_pytorch_does_not_take() {
    let lines: Vec<&str> = include_str!("../data/signatures.txt").lines().collect();
    let told = report(&format!("LINES = {lines:?}\n{COMPARED}")).stdout;
    assert!(told.is_empty(), "{told}");
}

#[test]
fn arguments_that_are_taken_are_used() {
    let mut paths = Vec::new();
    files(Path::new("src/python/torch"), &mut paths);
    let mut found = Vec::new();
    for path in paths {
        let source = std::fs::read_to_string(&path).unwrap();
        let parsed = parse_module(&source).unwrap();
        let tokens: Vec<_> = parsed.tokens().iter().map(|t| usize::from(t.start())..usize::from(t.end())).collect();
        let module = path.strip_prefix("src/python").unwrap().with_extension("");
        let module = module.to_string_lossy().replace('/', ".");
        look(&parsed.syntax().body, module.trim_end_matches(".__init__"), &tokens, &source, &mut found, false);
    }
    let is_listed = |one: &Unused| {
        NO_EFFECT.iter().any(|(function, arguments, _)| {
            one.function.starts_with(function) && arguments.split(' ').any(|argument| argument == one.argument)
        })
    };
    let unused: Vec<String> = found.iter().filter(|one| !is_listed(one)).map(|one| format!("{}({})", one.function, one.argument)).collect();
    assert!(unused.is_empty(), "taken and not used:\n{}", unused.join("\n"));
}
