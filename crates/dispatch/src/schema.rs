//! Schemas: PyTorch's own signature strings, parsed.
//!
//! `add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`: name, overload, arguments with type, alias
//! annotation and default, results.

/// The type of an argument or result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// `Tensor`
    Tensor,
    /// `int` and `SymInt`
    Int,
    /// `float`
    Float,
    /// `bool`
    Bool,
    /// `Scalar`: a Python number.
    Scalar,
    /// `str`
    Str,
    /// `ScalarType`
    Dtype,
    /// `Device`
    Device,
    /// `Layout`
    Layout,
    /// `MemoryFormat`
    MemoryFormat,
    /// `Generator`
    Generator,
    /// `Dimname`, which only names overloads that are not offered.
    Dimname,
    /// `T?`
    Optional(Box<Type>),
    /// `T[]`, with its fixed length where it has one.
    List(Box<Type>, Option<usize>),
}

/// A default value.
#[derive(Clone, Debug, PartialEq)]
pub enum Default {
    /// `None`
    None,
    /// `True`, `False`
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string, or a name such as `Mean` that stands for an integer.
    Str(String),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A list of booleans.
    Bools(Vec<bool>),
    /// `contiguous_format`
    ContiguousFormat,
    /// `long`: the integers that the operator makes where nothing else is said.
    Long,
}

/// One argument.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its default, where it has one.
    pub default: Option<Default>,
    /// Whether it may be given by keyword only.
    pub kwarg_only: bool,
    /// The alias set: `a` in `Tensor(a!)`.
    pub alias: Option<char>,
    /// Whether it is written to: the `!` in `Tensor(a!)`.
    pub mutated: bool,
}

/// One result.
#[derive(Clone, Debug)]
pub struct Return {
    /// Its type.
    pub ty: Type,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// The alias set it shares with an argument.
    pub alias: Option<char>,
}

/// A parsed signature.
#[derive(Clone, Debug)]
pub struct Schema {
    /// `add`
    pub name: String,
    /// `Tensor`; empty for the default overload.
    pub overload: String,
    /// The signature as it was written.
    pub text: String,
    /// Arguments, keyword-only ones last.
    pub arguments: Vec<Argument>,
    /// Results.
    pub returns: Vec<Return>,
}

impl Schema {
    /// Parses PyTorch's notation. An error names what is malformed; signatures are part of the program, not of its input.
    pub fn parse(text: &str) -> Result<Schema, String> {
        let (head, results) = text.rsplit_once("->").ok_or_else(|| format!("no result: {text}"))?;
        let open = head.find('(').ok_or_else(|| format!("no arguments: {text}"))?;
        let close = head.rfind(')').ok_or_else(|| format!("unclosed: {text}"))?;
        let (name, overload) = head[..open].split_once('.').unwrap_or((&head[..open], ""));
        let (mut kwarg_only, mut arguments) = (false, Vec::new());
        let inside = head.get(open + 1..close).ok_or_else(|| format!("unclosed: {text}"))?;
        for part in split(inside) {
            if part == "*" {
                kwarg_only = true;
                continue;
            }
            let (declaration, default) = match part.split_once('=') {
                Some((d, v)) => (d, Some(v)),
                None => (part, None),
            };
            let (ty, name) = declaration.rsplit_once(' ').ok_or_else(|| format!("unnamed argument {part}: {text}"))?;
            let (ty, alias, mutated) = parse_type(ty)?;
            let default = default.map(|d| parse_default(d, &ty)).transpose()?;
            arguments.push(Argument { name: name.to_owned(), ty, default, kwarg_only, alias, mutated });
        }
        let results = results.trim();
        let inner = results.strip_prefix('(').and_then(|r| r.strip_suffix(')'));
        let mut returns = Vec::new();
        for part in inner.map_or_else(|| vec![results], split) {
            let (ty, name) = match part.rsplit_once(' ') {
                Some((ty, name)) => (ty, Some(name.to_owned())),
                None => (part, None),
            };
            let (ty, alias, _) = parse_type(ty)?;
            returns.push(Return { ty, name, alias });
        }
        Ok(Schema { name: name.to_owned(), overload: overload.to_owned(), text: text.to_owned(), arguments, returns })
    }

    /// Position of an argument.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.arguments.iter().position(|a| a.name == name)
    }
}

/// Splits at commas outside brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|p| !p.is_empty());
    parts
}

fn parse_type(text: &str) -> Result<(Type, Option<char>, bool), String> {
    let text = text.trim();
    if let Some(inner) = text.strip_suffix('?') {
        let (ty, alias, mutated) = parse_type(inner)?;
        return Ok((Type::Optional(Box::new(ty)), alias, mutated));
    }
    if let Some(inner) = text.strip_suffix(']') {
        let (inner, length) = inner.rsplit_once('[').ok_or_else(|| format!("bad type {text}"))?;
        let (ty, alias, mutated) = parse_type(inner)?;
        return Ok((Type::List(Box::new(ty), length.parse().ok()), alias, mutated));
    }
    if let Some(inner) = text.strip_suffix(')') {
        let (inner, alias) = inner.rsplit_once('(').ok_or_else(|| format!("bad type {text}"))?;
        let (ty, ..) = parse_type(inner)?;
        return Ok((ty, alias.chars().next(), alias.contains('!')));
    }
    let ty = match text {
        "Tensor" => Type::Tensor,
        "int" | "SymInt" => Type::Int,
        "float" => Type::Float,
        "bool" => Type::Bool,
        "Scalar" => Type::Scalar,
        "str" => Type::Str,
        "ScalarType" => Type::Dtype,
        "Device" => Type::Device,
        "Layout" => Type::Layout,
        "MemoryFormat" => Type::MemoryFormat,
        "Generator" => Type::Generator,
        "Dimname" => Type::Dimname,
        other => return Err(format!("unknown type {other}")),
    };
    Ok((ty, None, false))
}

fn parse_default(text: &str, ty: &Type) -> Result<Default, String> {
    let bad = || format!("bad default {text}");
    let inner = match ty {
        Type::Optional(inner) => inner,
        other => other,
    };
    Ok(match text {
        "None" => Default::None,
        "True" => Default::Bool(true),
        "False" => Default::Bool(false),
        "contiguous_format" => Default::ContiguousFormat,
        "Mean" => Default::Int(1),
        "Sum" => Default::Int(2),
        "long" => Default::Long,
        _ if text.starts_with('[') => {
            let items = split(text[1..].strip_suffix(']').ok_or_else(bad)?);
            if items.iter().any(|i| matches!(*i, "True" | "False")) {
                Default::Bools(items.iter().map(|i| *i == "True").collect())
            } else {
                Default::Ints(items.iter().map(|i| i.parse().map_err(|_| bad())).collect::<Result<_, _>>()?)
            }
        }
        _ if text.starts_with(['\'', '"']) => Default::Str(text[1..].strip_suffix(['\'', '"']).ok_or_else(bad)?.to_owned()),
        _ => match (inner, text.parse::<i64>(), text.parse::<f64>()) {
            (Type::List(_, n), Ok(i), _) => Default::Ints(vec![i; n.unwrap_or(1)]),
            (Type::Float, _, Ok(f)) => Default::Float(f),
            (_, Ok(i), _) => Default::Int(i),
            (_, _, Ok(f)) => Default::Float(f),
            _ => return Err(bad()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_signatures_are_errors() {
        for text in [
            "",
            "f",
            "f() ->",
            "f)( -> Tensor",
            "f(Tensor) -> Tensor",
            "f(str s=') -> Tensor",
            "f(int[] n=[) -> Tensor",
            "f(Thing x) -> Tensor",
        ] {
            assert!(Schema::parse(text).is_err(), "{text}");
        }
        assert_eq!(Schema::parse("f() -> ()").map(|s| s.returns.len()), Ok(0));
    }
}
