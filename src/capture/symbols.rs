//! Which sizes of an input are symbolic, and the symbols that stand for them.
//!
//! The rules are PyTorch's: sizes zero and one are numbers, equal sizes share a symbol unless the script marked the dimension,
//! a symbol is named after where its size is found. Without a mark a dimension is static until it has been seen to vary.

use crate::shape::{Expr, ShapeEnv, SymFloat, SymInt, Symbol, SymbolInfo};
use crate::tensor::Geometry;
use std::collections::HashMap;

/// What the script said about a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DimMark {
    /// `mark_dynamic`, with the bounds it gave.
    Dynamic(Option<i64>, Option<i64>),
    /// `maybe_mark_dynamic`
    Maybe,
    /// `mark_static`
    Static,
}

/// Where an input is found, and what is known of it there.
#[derive(Clone, Debug, Default)]
pub struct InputSource {
    /// Its placeholder: `L_x_`.
    pub name: String,
    /// As guards say it: `L['x']`.
    pub source: String,
    /// Whether its sizes never vary: a parameter, or a tensor of a module.
    pub is_static: bool,
    /// Whether it is a parameter.
    pub is_parameter: bool,
    /// Whether it is a Python float, handed over as a tensor.
    pub is_number: bool,
    /// The tensor, by its number, where it is an attribute of the graph and no input: that of an optimizer.
    pub attribute: Option<u64>,
    /// Marked dimensions.
    pub marks: Vec<(usize, DimMark)>,
    /// PyTorch's number for a source: SHA-256 of its name, modulo 100, for each dimension; for the number it holds, where it has none.
    pub numbers: Vec<u32>,
}

/// How a dimension is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    /// A number.
    Static,
    /// A symbol, shared with equal sizes.
    Shared,
    /// A symbol of its own within bounds.
    Own(Option<i64>, Option<i64>),
}

/// The sizes that inputs had when something was compiled; `None` for a size that has varied.
#[derive(Default)]
pub struct SeenSizes(HashMap<(usize, String), Vec<Option<i64>>>);

impl SeenSizes {
    /// How each dimension of an input is treated. `dynamic` is that of `torch.compile`.
    pub fn plan(&self, place: usize, input: &InputSource, sizes: &[SymInt], dynamic: Option<bool>) -> Vec<Dim> {
        let seen = self.0.get(&(place, input.source.clone())).filter(|s| s.len() == sizes.len());
        (0..sizes.len())
            .map(|d| {
                let varies = seen.is_some_and(|s| s[d].is_none() || s[d] != sizes[d].as_int());
                match input.marks.iter().find(|(i, _)| *i == d).map(|(_, m)| *m) {
                    Some(DimMark::Dynamic(min, max)) => Dim::Own(min, max),
                    Some(DimMark::Static) => Dim::Static,
                    _ if input.is_static => Dim::Static,
                    Some(DimMark::Maybe) => Dim::Shared,
                    None if dynamic != Some(false) && varies => Dim::Own(None, None),
                    None if dynamic == Some(true) => Dim::Shared,
                    None => Dim::Static,
                }
            })
            .collect()
    }

    /// Remembers the sizes of an input that is compiled for.
    pub fn note(&mut self, place: usize, input: &InputSource, sizes: &[SymInt]) {
        let now = sizes.iter().enumerate().map(|(d, s)| {
            let marked = input.marks.iter().any(|(i, m)| *i == d && matches!(m, DimMark::Dynamic(..)));
            if marked { None } else { s.as_int() }
        });
        let seen = self.0.entry((place, input.source.clone())).or_insert_with(|| now.clone().collect());
        if seen.len() != sizes.len() {
            *seen = now.collect();
            return;
        }
        for (old, new) in seen.iter_mut().zip(now) {
            if *old != new {
                *old = None;
            }
        }
    }
}

/// Where a symbol's value is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The size of an input, by its position among the inputs, in a dimension.
    Size(usize, usize),
    /// Its stride.
    Stride(usize, usize),
    /// A Python number of the call.
    Number,
    /// The number that an input of one element holds.
    Item(usize),
}

/// A symbol, and where its value is read.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The symbol.
    pub symbol: Symbol,
    /// Where.
    pub at: Place,
}

/// The symbols of one region.
#[derive(Default)]
pub struct Symbols {
    /// What is known of them.
    pub env: ShapeEnv,
    /// Where each is read.
    pub witnesses: Vec<Witness>,
    shared: HashMap<i64, SymInt>,
}

impl Symbols {
    /// The geometry of an input with symbols for its dynamic sizes, and the symbols that are new.
    pub fn geometry(&mut self, input: &InputSource, index: usize, real: &Geometry, dims: &[Dim]) -> (Geometry, Vec<SymInt>) {
        let mut made = Vec::new();
        let mut sizes = Vec::new();
        for (d, (size, dim)) in real.sizes.iter().zip(dims).enumerate() {
            let (Some(n), false) = (size.as_int().filter(|n| *n > 1), *dim == Dim::Static) else {
                sizes.push(size.clone());
                continue;
            };
            if let (Dim::Shared, Some(known)) = (dim, self.shared.get(&n)) {
                sizes.push(known.clone());
                continue;
            }
            let symbol = self.symbol(input, index, d, n, *dim);
            if *dim == Dim::Shared {
                self.shared.insert(n, symbol.clone());
            }
            made.push(symbol.clone());
            sizes.push(symbol);
        }
        let strides = strides(real, &sizes);
        (Geometry { sizes, strides, offset: real.offset.clone() }, made)
    }

    fn symbol(&mut self, input: &InputSource, index: usize, dim: usize, hint: i64, kind: Dim) -> SymInt {
        let mut number = input.numbers.get(dim).copied().unwrap_or(0);
        while self.env.has_symbol(&format!("s{number}")) {
            number += 1;
        }
        let (lower, upper) = match kind {
            Dim::Own(lower, upper) => (lower.unwrap_or(2).max(2), upper.unwrap_or(i64::MAX)),
            _ => (2, i64::MAX),
        };
        let name = format!("s{number}");
        let info = SymbolInfo { origin: format!("{}.size()[{dim}]", input.source), hint: Some(hint), lower, upper };
        let size = self.env.symbol(&name, info);
        self.witnesses.push(Witness { symbol: Symbol(name.as_str().into()), at: Place::Size(index, dim) });
        size
    }

    /// A symbol for the number that an input holds, which is `value` in this call.
    pub fn item(&mut self, input: &InputSource, index: usize, value: i64) -> SymInt {
        let source = format!("{}.item()", input.source);
        let size = self.number(&source, input.numbers.first().copied().unwrap_or(0), value);
        if let Some(witness) = self.witnesses.last_mut() {
            witness.at = Place::Item(index);
        }
        size
    }

    /// A symbol for a Python float; `number` is that of its source.
    pub fn float(&mut self, source: &str, mut number: u32, value: f64) -> SymFloat {
        while self.env.has_symbol(&format!("zf{number}")) {
            number += 1;
        }
        self.env.float_symbol(&format!("zf{number}"), source.to_owned(), value)
    }

    /// A symbol for a Python number; `number` is that of its source.
    pub fn number(&mut self, source: &str, mut number: u32, value: i64) -> SymInt {
        while self.env.has_symbol(&format!("s{number}")) {
            number += 1;
        }
        let name = format!("s{number}");
        let info = SymbolInfo { origin: source.to_owned(), hint: Some(value), lower: i64::MIN, upper: i64::MAX };
        let size = self.env.symbol(&name, info);
        self.witnesses.push(Witness { symbol: Symbol(name.as_str().into()), at: Place::Number });
        size
    }
}

/// Strides in terms of sizes, from the innermost outwards: each is the product that it equals, else a number.
fn strides(real: &Geometry, sizes: &[SymInt]) -> Vec<SymInt> {
    if sizes.iter().all(|s| s.as_int().is_some()) {
        return real.strides.clone();
    }
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|d| (real.strides[*d].as_int(), std::cmp::Reverse(*d)));
    let mut strides = real.strides.clone();
    let mut products: HashMap<i64, SymInt> = HashMap::new();
    for d in order {
        let Some(stride) = real.strides[d].as_int() else { continue };
        if stride > 1
            && let Some(product) = products.get(&stride)
        {
            strides[d] = product.clone();
        }
        if let Some(n) = real.sizes[d].as_int() {
            products.entry(stride * n).or_insert_with(|| &strides[d] * &sizes[d]);
        }
    }
    strides
}

/// The value of a size where its symbols have these values.
pub fn value_of(size: &SymInt, values: &HashMap<Symbol, i64>) -> Option<i64> {
    match size {
        SymInt::Int(i) => Some(*i),
        SymInt::Sym(..) => evaluate(&size.expr(), values),
    }
}

/// The value of an expression where its symbols have these values.
pub fn evaluate(expr: &Expr, values: &HashMap<Symbol, i64>) -> Option<i64> {
    expr.evaluate(&|s| values.get(s).copied())
}
