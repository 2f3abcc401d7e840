//! The classes of operators that the min-cut partitioner's rules speak of.
//!
//! Which operators are in PyTorch's lists, their entries say (`operator_classes`); here are the questions about nodes of a graph. Classes
//! are of overload packets (`aten.add` for every `aten.add.*`), as PyTorch's are.

use graph::{Node, Opcode, Target};
use operator_classes::OpClasses;

/// Arithmetic on symbolic numbers, by the name in Python's `operator` module or below `torch.`; recomputable as well.
pub const SYMBOLIC: &str = "\
    abs add and_ ceil eq floor floordiv ge gt le lshift lt mod mul ne neg or_ pos pow round rshift sub sym_acos sym_asin \
    sym_atan sym_cos sym_cosh sym_float sym_ite sym_log2 sym_max sym_min sym_not sym_sin sym_sinh sym_sqrt sym_tan sym_tanh \
    truediv trunc xor";

/// Overloads that are kept for what they do.
const EFFECTS: &[&str] = &[
    "aten._assert_async.msg",
    "aten._assert_scalar.default",
    "aten._assert_tensor_metadata.default",
    "aten._print.default",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
];

/// `aten.mm` of a call of `aten.mm.default`.
pub fn packet(node: &Node) -> Option<&str> {
    let op = node.op()?;
    op.rsplit_once('.').map(|(packet, _)| packet)
}

/// The class of a name.
pub fn class_named(name: &str) -> Option<OpClasses> {
    Some(match name {
        "recomputable" => OpClasses::RECOMPUTABLE,
        "view" => OpClasses::VIEW,
        "random" => OpClasses::RANDOM,
        "compute_intensive" => OpClasses::COMPUTE_INTENSIVE,
        "never_merged" => OpClasses::NEVER_MERGED,
        "seeded" => OpClasses::SEEDED,
        "aliasing" => OpClasses::ALIASING,
        _ => return None,
    })
}

/// Whether an overload packet (`aten.mm`) is of a class.
pub fn has_class(packet: &str, class: OpClasses) -> bool {
    operator_classes::of(packet).has(class)
}

fn is_of(class: OpClasses, node: &Node) -> bool {
    packet(node).is_some_and(|p| has_class(p, class))
}

/// Whether a call may be computed again.
pub fn is_recomputable(node: &Node) -> bool {
    match (node.opcode, &node.target) {
        (Opcode::Call, Target::Getitem) => true,
        (Opcode::Call, Target::Operator(name)) => SYMBOLIC.split_ascii_whitespace().any(|n| n == &**name),
        _ => is_of(OpClasses::RECOMPUTABLE, node),
    }
}

/// Whether a call can be part of a fused kernel.
pub fn is_fusible(node: &Node) -> bool {
    is_recomputable(node) || is_random(node)
}

/// Whether a call is a view that costs nothing.
pub fn is_view(node: &Node) -> bool {
    is_of(OpClasses::VIEW, node)
}

/// Whether a call is one of the random operators that may be fused.
pub fn is_random(node: &Node) -> bool {
    is_of(OpClasses::RANDOM, node)
}

/// Whether a call is too costly to recompute.
pub fn is_compute_intensive(node: &Node) -> bool {
    is_of(OpClasses::COMPUTE_INTENSIVE, node)
}

/// Whether two equal calls must stay two: random ones, and `aten.empty`.
pub fn is_never_merged(node: &Node) -> bool {
    is_of(OpClasses::NEVER_MERGED, node)
}

/// Whether a call draws random numbers.
pub fn is_seeded(node: &Node) -> bool {
    is_of(OpClasses::SEEDED, node)
}

/// Whether a call's result shares the storage of its first argument.
pub fn is_aliasing(node: &Node) -> bool {
    is_of(OpClasses::ALIASING, node) || is_mutable(node)
}

/// Whether a call changes an argument, by the naming rule of in-place operators: `copy_`, `__iadd__`, out variants.
pub fn is_mutable(node: &Node) -> bool {
    let Some(op) = node.op() else { return false };
    let mut parts = op.rsplitn(3, '.');
    let (overload, name) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let dunder = name.starts_with("__") && name.ends_with("__");
    overload == "out" || overload.ends_with("_out") || (dunder && name.starts_with("__i")) || (!dunder && name.ends_with('_'))
}

/// Whether a call is kept although nobody reads it (torch.fx's `is_impure`).
pub fn is_impure(node: &Node, random_is_impure: bool) -> bool {
    match node.opcode {
        Opcode::Placeholder | Opcode::Output => true,
        Opcode::GetAttr => false,
        Opcode::Call => is_mutable(node) || (random_is_impure && is_seeded(node)) || node.op().is_some_and(|op| EFFECTS.contains(&op)),
    }
}
