//! Kinds of graph breaks that the library's Python code asks for by name.

use super::unsupported::Unsupported;

/// Makes the reason of a kind from what was given with it.
type Make = fn(&[Option<String>]) -> Unsupported;

/// Every kind, by its name. What a title says stands with the kind, so that a name that is none is no title by mistake.
const KINDS: &[(&str, Make)] = &[
    ("backward", |_| Unsupported::backward()),
    ("branch", |_| Unsupported::branch(None)),
    ("builtin", |args| {
        let kind = [format!("functions.{}", text(args, 2))];
        Unsupported::builtin(text(args, 0), &[text(args, 1).to_owned()], &kind)
    }),
    ("check_message", |_| check_message()),
    ("context_manager", |args| Unsupported::context_manager(text(args, 0))),
    ("deepcopy", |_| deepcopy()),
    ("disabled", |args| Unsupported::disabled(text(args, 0), given(args, 1))),
    ("higher_order_operator", |args| Unsupported::higher_order_operator(text(args, 0))),
    ("logging", |args| {
        let shown: Vec<String> = args.iter().skip(2).flatten().cloned().collect();
        Unsupported::logging(text(args, 0), text(args, 1), &shown)
    }),
    ("module_backward_hooks", |_| Unsupported::module_backward_hooks()),
    ("numpy", |args| Unsupported::numpy(text(args, 0))),
    ("not_inlined", |args| Unsupported::not_inlined(text(args, 0), text(args, 1))),
    ("requested", |args| Unsupported::requested(given(args, 0))),
    ("non_tensor", |args| Unsupported::non_tensor(text(args, 0), text(args, 1))),
    ("skipped", |args| Unsupported::skipped(text(args, 0), text(args, 1), text(args, 2))),
    ("titled", |args| Unsupported::other(text(args, 0))),
    ("unknown_builtin", |args| Unsupported::unknown_builtin(text(args, 0), text(args, 1))),
    ("warning", |_| Unsupported::warning()),
];

/// The message of a `torch._check` is a function of what the call computes.
fn check_message() -> Unsupported {
    Unsupported::new(
        9158,
        "Can't convert torch._check*() message closure",
        "The message argument of torch._check*() must be a function whose closure variables are Python constants.",
        "NestedUserFunctionVariable()",
        &[
            "Remove closure variables that reference non-constant values, e.g. remove references to tensor `x` in `lambda: f'{x} failed check'`",
            "It may be possible to write Dynamo tracing rules for this code. Please report an issue to PyTorch if you encounter this graph break often and it is causing performance issues.",
        ],
    )
}

/// `copy.deepcopy` of a tensor, or of what holds one.
fn deepcopy() -> Unsupported {
    Unsupported::new(
        4198,
        "Attempted to copy.deepcopy a tensor",
        "Dynamo does not support copy.deepcopy() on tensors.",
        "copy.deepcopy(TensorVariable())",
        &["Avoid calling copy.deepcopy() on tensors inside compiled regions."],
    )
}

fn given(args: &[Option<String>], i: usize) -> Option<&str> {
    args.get(i)?.as_deref()
}

fn text(args: &[Option<String>], i: usize) -> &str {
    given(args, i).unwrap_or_default()
}

/// The reason of a kind; `None` where there is no such kind.
pub fn reason(kind: &str, args: &[Option<String>]) -> Option<Unsupported> {
    KINDS.iter().find(|(name, _)| *name == kind).map(|(_, make)| make(args))
}
