//! Reading the right side of an assignment.

use super::cursor::{Cursor, Names};
use super::literal::operator_of;
use super::{Arg, FakeValue, NodeId, Shown, Target};
use diagnostics::error::Result;
use std::rc::Rc;

/// The right side of an assignment.
pub(super) struct Call {
    pub(super) attribute: Option<String>,
    pub(super) target: Target,
    pub(super) args: Vec<Arg>,
    pub(super) kwargs: Vec<(Rc<str>, Arg)>,
}

/// The path of an attribute of `self`: `self.a.b`, with `getattr(self.a, "0")` where a part is no identifier.
fn owned(cursor: &mut Cursor<'_>, depth: usize) -> Result<String> {
    let mut path = String::new();
    if depth < 64 && cursor.eat("getattr(") {
        path = owned(cursor, depth + 1)?;
        cursor.expect(", ")?;
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&cursor.string()?);
        cursor.expect(")")?;
    } else {
        cursor.expect("self")?;
    }
    while cursor.eat(".") {
        let name = cursor.identifier().ok_or_else(|| cursor.expected("the name of an attribute"))?;
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
    }
    Ok(path)
}

pub(super) fn expression<'a>(cursor: &mut Cursor<'a>, names: &Names<'a>, value: Option<&FakeValue>) -> Result<Call> {
    let done = |target, args| Ok(Call { attribute: None, target, args, kwargs: Vec::new() });
    // Sizes are computed by Python's operators in every graph; tensors only in captured ones.
    let is_tensor = matches!(value, Some(FakeValue::Tensor(_)));
    let by_symbol = |symbol: &str, unary: &'static str| match (is_tensor, operator_of(symbol)) {
        (false, Some(name)) if unary.is_empty() => Target::Operator(name.into()),
        (false, _) if !unary.is_empty() => Target::Operator(unary.into()),
        _ => Target::Torch { op: "".into(), shown: Shown::Operator(symbol.into()) },
    };
    for (symbol, name) in [("~", "invert"), ("-", "neg"), ("+", "pos")] {
        let mut ahead = cursor.clone();
        if ahead.eat(symbol) && ahead.clone().identifier().is_some_and(|n| names.contains_key(n)) {
            let operand = ahead.value(names)?;
            if ahead.at_end() || ahead.starts_with(";  ") {
                *cursor = ahead;
                return done(by_symbol(symbol, name), vec![operand]);
            }
        }
    }
    if cursor.starts_with("self.") || cursor.starts_with("getattr(self") || cursor.starts_with("getattr(getattr(") {
        let start = cursor.clone();
        let attribute = Some(owned(cursor, 0)?);
        if cursor.is_lenient() && cursor.starts_with("(") {
            let module = &start.rest()[..start.rest().len() - cursor.rest().len()];
            cursor.expect("(")?;
            let (args, kwargs) = cursor.arguments(names)?;
            let target = Target::Torch { op: "".into(), shown: Shown::Function(module.into()) };
            return Ok(Call { attribute: None, target, args, kwargs });
        }
        return Ok(Call { attribute, target: Target::Getitem, args: Vec::new(), kwargs: Vec::new() });
    }
    let mut ahead = cursor.clone();
    if let Some(path) = ahead.path()
        && (ahead.starts_with("(") || path.contains('.'))
    {
        let object = path.split_once('.').and_then(|(first, rest)| names.get(first).map(|id| (*id, rest)));
        if ahead.eat("(") {
            let (mut args, kwargs) = ahead.arguments(names)?;
            let target = match (path.strip_prefix("torch.ops."), object) {
                (Some(op), _) => match op.strip_prefix("higher_order.") {
                    Some(name) => Target::HigherOrder(name.into()),
                    None => Target::Op(op.into()),
                },
                (None, Some((id, method))) => {
                    args.insert(0, Arg::Node(id));
                    Target::Torch { op: "".into(), shown: Shown::Method(method.into()) }
                }
                (None, None) => match path.strip_prefix("torch.").filter(|name| name.starts_with("sym_") || name.starts_with("_sym_")) {
                    Some(name) => Target::Operator(name.into()),
                    None if path.starts_with("math_") || path == "round" => Target::Operator(path.into()),
                    None if is_of_graphs(path) || cursor.is_lenient() => {
                        Target::Torch { op: "".into(), shown: Shown::Function(path.into()) }
                    }
                    None => return Err(cursor.expected("a function of PyTorch's")),
                },
            };
            *cursor = ahead;
            return Ok(Call { attribute: None, target, args, kwargs });
        }
        if let Some((id, field)) = object {
            *cursor = ahead;
            let target = Target::Torch { op: "".into(), shown: Shown::Function("getattr".into()) };
            return done(target, vec![Arg::Node(id), Arg::Str(field.into())]);
        }
    }
    let start = cursor.clone();
    let left = cursor.value(names)?;
    if cursor.eat("[") {
        let index = cursor.value(names)?;
        cursor.expect("]")?;
        return done(Target::Getitem, vec![left, index]);
    }
    if !cursor.eat(" ") {
        return Err(start.expected("a call, an operator or `x[...]`"));
    }
    let symbol = cursor.take_while(|c| c != ' ');
    if operator_of(symbol).is_none() {
        return Err(start.expected("a call, an operator or `x[...]`"));
    }
    cursor.expect(" ")?;
    let right = cursor.value(names)?;
    done(by_symbol(symbol, ""), vec![left, right])
}

/// Whether graphs that torch.fx prints call functions of this name: PyTorch's, or of a module that the name begins with. Nothing of
/// Python's own is among them, nor of other modules': what is read may be printed again as a file to run.
fn is_of_graphs(path: &str) -> bool {
    let is_wrapped = |prefix| path.starts_with(prefix) && !path.contains('.');
    path.starts_with("torch.") || path == "getattr" || ["torch_", "_operator_", "__main___"].into_iter().any(is_wrapped)
}

/// What nothing here understands, taken as it is written: the nodes that it names are its arguments.
pub(super) fn text<'a>(written: &'a str, names: &Names<'a>) -> Call {
    let mut args: Vec<NodeId> = Vec::new();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    for word in written.split(|c| !is_part(c)).filter(|word| !word.is_empty()) {
        args.extend(names.get(word).filter(|id| !args.contains(id)).copied().into_iter().collect::<Vec<_>>());
    }
    let target = Target::Torch { op: "".into(), shown: Shown::Text(written.into()) };
    Call { attribute: None, target, args: args.into_iter().map(Arg::Node).collect(), kwargs: Vec::new() }
}
