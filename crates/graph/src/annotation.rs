//! Reading type annotations: `f32[s77, 4][4, 1]cpu`, `Sym(2*s77)`.

use super::FakeValue;
use super::cursor::{Cursor, device_type};
use diagnostics::error::Result;
use shape::{Bitwise, ShapeEnv, SymInt, SymbolInfo};
use tensor::{Device, Dtype, TensorSpec};

/// The symbols of a text: made when first met.
pub(super) struct Symbols<'a> {
    pub(super) env: ShapeEnv,
    pub(super) hint: &'a dyn Fn(&str) -> Option<i64>,
    known: std::collections::HashMap<String, SymInt>,
}

impl<'a> Symbols<'a> {
    pub(super) fn new(hint: &'a dyn Fn(&str) -> Option<i64>) -> Self {
        Symbols { env: ShapeEnv::default(), hint, known: Default::default() }
    }

    fn symbol(&mut self, name: &str) -> SymInt {
        let (env, hint) = (&self.env, self.hint);
        // A backed size is at least two: PyTorch makes zero and one numbers.
        let lower = if name.starts_with('s') { 2 } else { 0 };
        let make = || env.symbol(name, SymbolInfo { origin: name.to_owned(), hint: hint(name), lower, upper: i64::MAX });
        self.known.entry(name.to_owned()).or_insert_with(make).clone()
    }
}

/// What an annotation says of a value.
pub(super) fn annotation(text: &str, line: usize, symbols: &mut Symbols) -> Result<FakeValue> {
    let mut cursor = Cursor::new(text, line);
    let is_condition = |inner: &&str| ["Eq(", "Ne("].iter().any(|f| inner.starts_with(f)) || inner.contains(['<', '>']);
    if let Some(condition) = text.strip_prefix("Sym(").and_then(|t| t.strip_suffix(')')).filter(is_condition) {
        return Ok(FakeValue::Condition(condition.into()));
    }
    if cursor.eat("Sym(") {
        let value = sum(&mut cursor, symbols)?;
        cursor.expect(")")?;
        return Ok(FakeValue::Int(value));
    }
    let value = tensor(&mut cursor, symbols)?;
    if !cursor.at_end() {
        return Err(cursor.expected("the end of the type"));
    }
    Ok(value)
}

/// `f32[s77, 4][4, 1]cpu`
fn tensor(cursor: &mut Cursor, symbols: &mut Symbols) -> Result<FakeValue> {
    let start = cursor.clone();
    let short = cursor.take_while(|c| c.is_ascii_alphanumeric());
    let Some(dtype) = Dtype::ALL.iter().copied().find(|d| d.short() == short) else {
        return Err(start.expected("a type such as `f32[2, 3][3, 1]cpu` or `Sym(s77)`"));
    };
    let sizes = sizes(cursor, symbols)?;
    let strides = if cursor.starts_with("[") { Some(self::sizes(cursor, symbols)?) } else { None };
    let device = match cursor.take_while(|c| c.is_alphanumeric()) {
        "" => Device::CPU,
        name => Device {
            kind: device_type(name).ok_or_else(|| cursor.expected("a known device"))?,
            index: if cursor.eat(":") { cursor.integer().and_then(|i| u8::try_from(i).ok()) } else { None },
        },
    };
    Ok(FakeValue::Tensor(match strides {
        Some(strides) => TensorSpec::strided(sizes, strides, dtype, device),
        None => TensorSpec::contiguous(sizes, dtype, device),
    }))
}

pub(super) fn sizes(cursor: &mut Cursor, symbols: &mut Symbols) -> Result<Vec<SymInt>> {
    cursor.expect("[")?;
    let mut sizes = Vec::new();
    while !cursor.eat("]") {
        sizes.push(sum(cursor, symbols)?);
        if !cursor.eat(", ") && !cursor.starts_with("]") {
            return Err(cursor.expected("`, ` or `]`"));
        }
    }
    Ok(sizes)
}

/// Terms joined by `+` and `-`.
fn sum(cursor: &mut Cursor, symbols: &mut Symbols) -> Result<SymInt> {
    cursor.enter()?;
    let total = terms(cursor, symbols)?;
    cursor.leave();
    Ok(total)
}

fn terms(cursor: &mut Cursor, symbols: &mut Symbols) -> Result<SymInt> {
    let mut total = product(cursor, symbols)?;
    loop {
        if cursor.eat(" + ") {
            total = &total + &product(cursor, symbols)?;
        } else if cursor.eat(" - ") {
            total = &total - &product(cursor, symbols)?;
        } else {
            return Ok(total);
        }
    }
}

/// Factors joined by `*`, `//` and `%`.
fn product(cursor: &mut Cursor, symbols: &mut Symbols) -> Result<SymInt> {
    let mut total = power(cursor, symbols)?;
    loop {
        if cursor.eat("//") {
            total = total.floor_div(&power(cursor, symbols)?)?;
        } else if cursor.eat("*") {
            total = &total * &power(cursor, symbols)?;
        } else if cursor.eat(" % ") || cursor.eat("%") {
            total = total.modulo(&power(cursor, symbols)?)?;
        } else {
            return Ok(total);
        }
    }
}

fn power(cursor: &mut Cursor, symbols: &mut Symbols) -> Result<SymInt> {
    if cursor.starts_with("-") && !cursor.rest()[1..].starts_with(|c: char| c.is_ascii_digit()) {
        cursor.eat("-");
        cursor.enter()?;
        let value = &power(cursor, symbols)? * -1;
        cursor.leave();
        return Ok(value);
    }
    let base = atom(cursor, symbols)?;
    if !cursor.eat("**") {
        return Ok(base);
    }
    let exponent = cursor.integer().filter(|e| (0..64).contains(e)).ok_or_else(|| cursor.expected("a small exponent"))?;
    Ok((0..exponent).fold(SymInt::Int(1), |p, _| &p * &base))
}

fn atom(cursor: &mut Cursor, symbols: &mut Symbols) -> Result<SymInt> {
    if let Some(number) = cursor.integer() {
        return Ok(SymInt::Int(number));
    }
    if cursor.eat("(") {
        let inner = sum(cursor, symbols)?;
        cursor.expect(")")?;
        return Ok(inner);
    }
    let start = cursor.clone();
    let Some(name) = cursor.identifier() else { return Err(start.expected("a size")) };
    if !cursor.eat("(") {
        return Ok(symbols.symbol(name));
    }
    let mut args = vec![sum(cursor, symbols)?];
    while cursor.eat(", ") {
        args.push(sum(cursor, symbols)?);
    }
    cursor.expect(")")?;
    let rest = args.iter().skip(1);
    match (name, args.as_slice()) {
        ("Max", _) => Ok(rest.fold(args[0].clone(), |a, b| a.max(b))),
        ("Min", _) => Ok(rest.fold(args[0].clone(), |a, b| a.min(b))),
        ("Mod" | "PythonMod", [a, b]) => a.modulo(b),
        ("FloorDiv" | "CleanDiv", [a, b]) => a.floor_div(b),
        ("PowByNatural", [a, b]) => Ok(a.to_the(b)),
        ("Abs", [a]) => Ok(a.magnitude()),
        (_, [a, b]) if let Some(op) = bitwise(name) => Ok(a.bitwise(op, b)),
        _ => Err(start.expected("`Max`, `Min`, `Mod` or `FloorDiv`")),
    }
}

/// The operation on bits that sympy calls so.
fn bitwise(name: &str) -> Option<Bitwise> {
    let operation = name.strip_prefix("BitwiseFn_bitwise_")?;
    Bitwise::ALL.into_iter().find(|op| op.function().trim_end_matches('_') == operation)
}
