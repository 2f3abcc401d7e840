//! Operators on lists of tensors. Shapes and derivatives are those of the operator that each tensor goes through.

use diagnostics::error::{Error, Result};
use dispatch::foreach::{args_of_each, each, functional_of_each, name_of_each};
use dispatch::t;
use dispatch::{Backward, Call, Grad, Grads, OpBuilder, Rule, Schema, Type};
use tensor::{Tensor, TensorSpec};

/// Functions of one tensor.
const UNARY: &str = "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round \
                     rsqrt sigmoid sign sin sinh sqrt tan tanh trunc";

/// What is applied to tensors and numbers, with the arguments after `self`. A number may come as a tensor, so that a call with a tensor
/// is tried before.
const ARITHMETIC: &[(&str, &[(&str, &str)])] = &[
    ("add", &[("Tensor", SCALED), ("Scalar", "Scalar scalar"), ("ScalarList", SCALARS), ("List", SCALED_LIST)]),
    ("sub", &[("Scalar", "Scalar scalar"), ("ScalarList", SCALARS), ("List", SCALED_LIST)]),
    ("mul", &[("Tensor", "Tensor other"), ("Scalar", "Scalar scalar"), ("ScalarList", SCALARS), ("List", "Tensor[] other")]),
    ("div", &[("Tensor", "Tensor other"), ("Scalar", "Scalar scalar"), ("ScalarList", SCALARS), ("List", "Tensor[] other")]),
    ("clamp_max", &[("Scalar", "Scalar scalar"), ("ScalarList", SCALARS), ("List", "Tensor[] other")]),
    ("clamp_min", &[("Scalar", "Scalar scalar"), ("ScalarList", SCALARS), ("List", "Tensor[] other")]),
    ("maximum", &[("Scalar", "Scalar scalar"), ("ScalarList", SCALARS), ("List", "Tensor[] other")]),
    ("minimum", &[("Scalar", "Scalar scalar"), ("ScalarList", SCALARS), ("List", "Tensor[] other")]),
    ("addcdiv", PRODUCTS),
    ("addcmul", PRODUCTS),
    (
        "lerp",
        &[
            ("Scalar", "Tensor[] tensors1, Scalar weight"),
            ("ScalarList", "Tensor[] tensors1, Scalar[] weight"),
            ("List", "Tensor[] tensors1, Tensor[] weights"),
        ],
    ),
    ("pow", &[("Scalar", "Scalar exponent"), ("ScalarList", "Scalar[] exponent"), ("List", "Tensor[] exponent")]),
];
const SCALARS: &str = "Scalar[] scalars";
const SCALED: &str = "Tensor other, *, Scalar alpha=1";
const SCALED_LIST: &str = "Tensor[] other, *, Scalar alpha=1";
const PRODUCTS: &[(&str, &str)] = &[
    ("Tensor", "Tensor[] tensor1, Tensor[] tensor2, Tensor scalars"),
    ("Scalar", "Tensor[] tensor1, Tensor[] tensor2, Scalar value=1"),
    ("ScalarList", "Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars"),
];

fn specs(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let mut specs = Vec::new();
    for one in each(call, false)? {
        let Rule::Fresh(rule) = one.entry.rule else {
            return Err(Error::not_implemented(format!("{}: {} has no shape rule of its own", call.entry.name, one.entry.name)));
        };
        specs.extend(rule(&Call { entry: one.entry, args: &one.args })?);
    }
    Ok(specs)
}

/// The derivative of each tensor's operator, argument by argument.
fn derivative(b: &Backward) -> Result<Grads> {
    let entry = functional_of_each(b.entry)?;
    let derivative =
        entry.derivative.ok_or_else(|| Error::runtime(format!("derivative for {} is not implemented", b.entry.schema.name)))?;
    let count = entry.schema.arguments.len();
    let mut grads = Grads::new(b);
    for (position, argument) in b.entry.schema.arguments.iter().enumerate().filter(|(i, _)| b.needs[*i]) {
        let mut found: Vec<Option<Tensor>> = Vec::new();
        for (i, grad) in b.grads.iter().enumerate() {
            if grad.is_none() {
                found.push(None);
                continue;
            }
            let args = args_of_each(b.entry, entry, b.args, i)?;
            let own = |(argument, specs): (&dispatch::Argument, &Vec<TensorSpec>)| match argument.ty {
                Type::List(..) => specs.get(i).cloned().into_iter().collect(),
                _ => specs.clone(),
            };
            let mut specs: Vec<Vec<TensorSpec>> = b.entry.schema.arguments.iter().zip(b.specs).map(own).collect();
            specs.resize(count, Vec::new());
            let mut needs = vec![false; count];
            needs[position] = true;
            let computed = (derivative.formula)(&Backward {
                entry,
                args: &args,
                specs: &specs,
                results: &b.results[i..=i],
                result_specs: &b.result_specs[i..=i],
                grads: &b.grads[i..=i],
                needs: &needs,
                numel: None,
            })?;
            found.push(match computed.0.into_iter().nth(position) {
                Some(Grad::Tensor(t)) => Some(t),
                _ => None,
            });
        }
        grads.0[position] = match argument.ty {
            Type::List(..) => Grad::List(found),
            // One tensor for all gets the gradients of all.
            _ => {
                let sum = |sum: Result<Option<Tensor>>, next: Tensor| match sum? {
                    Some(have) => t!("add.Tensor", have, next).map(Some),
                    None => Ok(Some(next)),
                };
                found.into_iter().flatten().fold(Ok(None), sum)?.map_or(Grad::None, Grad::Tensor)
            }
        };
    }
    Ok(grads)
}

fn leaked<T>(items: Vec<T>) -> &'static [T] {
    Box::leak(items.into_boxed_slice())
}

/// `_foreach_NAME.OVERLOAD(Tensor[] self, ...) -> Tensor[]`, and its form in place.
fn family(b: &mut OpBuilder, base: &str, overload: &str, rest: &str, in_place: bool) {
    let dot = if overload.is_empty() { "" } else { "." };
    let rest = if rest.is_empty() { String::new() } else { format!(", {rest}") };
    functional(b, base, overload, &format!("_foreach_{base}{dot}{overload}(Tensor[] self{rest}) -> Tensor[]"));
    if in_place {
        let functional: &'static str = format!("_foreach_{base}{dot}{overload}").leak();
        b.op(&format!("_foreach_{base}_{dot}{overload}(Tensor(a!)[] self{rest}) -> ()"), Rule::Inplace(functional));
    }
}

fn functional(b: &mut OpBuilder, base: &str, overload: &str, schema: &str) {
    let each = name_of_each(base, overload);
    let (of_each, names) = (b.derivative_of(&each), b.argument_names(&each));
    b.op(schema, Rule::Fresh(specs));
    let Some(of_each) = of_each else {
        b.not_differentiable();
        return;
    };
    // The same arguments are saved, by the names that they have here.
    let own: Vec<String> = Schema::parse(schema).map(|s| s.arguments.into_iter().map(|a| a.name).collect()).unwrap_or_default();
    let renamed = |name: &str| -> &'static str {
        let position = names.iter().position(|n| n == name);
        position.and_then(|i| own.get(i)).map_or("", |name| name.clone().leak())
    };
    let saves = of_each.saves.iter().map(|name| if name.starts_with("result") { "results" } else { renamed(name) }).collect();
    let serves = of_each.serves.iter().map(|(saved, other)| (renamed(saved), renamed(other))).collect();
    let camel: String = base.split('_').map(|part| part[..1].to_uppercase() + &part[1..]).collect();
    let node = match (base, overload) {
        ("pow", "ScalarAndTensor") => "ForeachPowBackward2".to_owned(),
        ("max", _) => "ForeachMaxBackward1".to_owned(),
        ("norm", _) | (_, "") => format!("Foreach{camel}Backward"),
        _ => format!("Foreach{camel}Backward0{overload}"),
    };
    b.grad(node.leak(), leaked(saves), derivative).serves(leaked(serves));
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    for (base, overloads) in ARITHMETIC {
        for (overload, rest) in *overloads {
            family(b, base, overload, rest, true);
        }
    }
    for base in UNARY.split_whitespace() {
        family(b, base, "", "", true);
    }
    family(b, "zero", "", "", true);
    family(b, "copy", "", "Tensor[] src, bool non_blocking=False", true);
    family(b, "norm", "Scalar", "Scalar ord=2, ScalarType? dtype=None", false);
    family(b, "max", "", "", false);
    family(b, "clone", "", "*, MemoryFormat? memory_format=None", false);
    family(b, "mm", "", "Tensor[] mat2", false);
    functional(b, "pow", "ScalarAndTensor", "_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]");
}
