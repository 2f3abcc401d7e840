//! Which sizes of an input are symbolic, and the symbols that stand for them.
//!
//! The rules are PyTorch's: sizes zero and one are numbers, equal sizes share a symbol unless the script marked the dimension,
//! a symbol is named after where its size is found. Without a mark a dimension is static until it has been seen to vary.

use crate::dynamo::settings::switch_of;
use crate::graph::SourceName;
use crate::shape::{Expr, ShapeEnv, SymFloat, SymInt, Symbol, SymbolInfo};
use crate::tensor::{Geometry, Tensor};
use std::collections::HashMap;

/// What the script said about a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DimMark {
    /// `mark_dynamic`, with the bounds it gave.
    Dynamic(Option<i64>, Option<i64>),
    /// `maybe_mark_dynamic`, with the bounds it gave, or what a compiled graph says of a tensor that it returned.
    Maybe(Option<i64>, Option<i64>),
    /// `mark_static`
    Static,
    /// `mark_unbacked`, with the bounds it gave.
    Unbacked(Option<i64>, Option<i64>),
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
    /// Whether a module has it as a plain attribute: it lives as long as the module, but its sizes may vary.
    pub is_held: bool,
    /// Whether it is a parameter.
    pub is_parameter: bool,
    /// Whether it is a Python float, handed over as a tensor.
    pub is_number: bool,
    /// The tensor, by its number, where it is an attribute of the graph and no input: that of an optimizer.
    pub attribute: Option<u64>,
    /// Whether it is such an attribute because parameters become constants.
    pub is_frozen: bool,
    /// Marked dimensions.
    pub marks: Vec<(usize, DimMark)>,
    /// PyTorch's number for a source: SHA-256 of its name, modulo 100, for the size in each dimension (for the number it holds, where
    /// it has none), then for each stride, then for the offset.
    pub numbers: Vec<u32>,
}

impl InputSource {
    /// With what the compiled graph that returned the tensor says of its sizes, and that these dimensions were dynamic where it was
    /// `saved`. No guard depends on that.
    pub(in crate::dynamo) fn propagated(&self, t: &Tensor, saved: &[usize]) -> std::borrow::Cow<'_, InputSource> {
        let is_new = |d: &usize| {
            let outranked = |mark: &DimMark| matches!(mark, DimMark::Dynamic(..) | DimMark::Unbacked(..) | DimMark::Maybe(..));
            (t.is_dynamic_dim(*d) || saved.contains(d)) && !self.marks.iter().any(|(known, mark)| known == d && outranked(mark))
        };
        let told: Vec<(usize, DimMark)> = (0..t.dim()).filter(is_new).map(|d| (d, DimMark::Maybe(None, None))).collect();
        if told.is_empty() {
            return std::borrow::Cow::Borrowed(self);
        }
        let marks = told.into_iter().chain(self.marks.iter().copied()).collect();
        std::borrow::Cow::Owned(InputSource { marks, ..self.clone() })
    }

    /// What the script calls it.
    pub(in crate::dynamo) fn called(&self) -> std::rc::Rc<SourceName> {
        std::rc::Rc::new(SourceName::of_source(&self.source, self.is_parameter))
    }

    fn number(&self, position: usize) -> u32 {
        self.numbers.get(position).copied().unwrap_or(0)
    }
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
    /// A symbol of its own within bounds whose value counts as unknown until the program runs.
    Unknown(Option<i64>, Option<i64>),
}

/// How an input's sizes and strides are treated.
#[derive(Clone, Debug)]
pub struct Treatment {
    /// Per dimension.
    pub dims: Vec<Dim>,
    /// Strides that have varied while all sizes stayed.
    pub varying_strides: Vec<bool>,
}

/// A stride that an input had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stride {
    Number(i64),
    /// The elements of that dimension come after one another.
    After(usize),
}

/// What an input looked like when something was compiled; `None` for what has varied.
#[derive(Clone)]
struct Seen {
    sizes: Vec<Option<i64>>,
    strides: Vec<Option<Stride>>,
    /// The number of dimensions has varied: then every size has.
    is_of_any_rank: bool,
}

impl Seen {
    fn of(geometry: &Geometry) -> Self {
        let numbers = |list: &[SymInt]| list.iter().map(SymInt::as_int).collect::<Vec<_>>();
        let (sizes, strides) = (numbers(&geometry.sizes), numbers(&geometry.strides));
        let product = |d: usize| Some(sizes[d]? * strides[d]?);
        let inferred = |d: usize, stride: i64| (0..sizes.len()).find(|other| *other != d && product(*other) == Some(stride));
        let stride = |d: usize| strides[d].map(|n| inferred(d, n).map_or(Stride::Number(n), Stride::After));
        Seen { strides: (0..strides.len()).map(stride).collect(), sizes, is_of_any_rank: false }
    }

    fn merge(&mut self, now: Seen) {
        fn varied<T: PartialEq>(old: &mut [Option<T>], new: Vec<Option<T>>) {
            old.iter_mut().zip(new).filter(|(old, new)| **old != *new).for_each(|(old, _)| *old = None);
        }
        self.is_of_any_rank |= self.sizes.len() != now.sizes.len();
        varied(&mut self.sizes, now.sizes);
        varied(&mut self.strides, now.strides);
    }
}

/// What the sizes and numbers of calls are remembered of: a place in a code, with the codes of the functions that it closes over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CodeId {
    /// The place.
    pub place: usize,
    /// The functions, by number: zero for none.
    pub closure: usize,
}

/// What inputs looked like when something was compiled.
#[derive(Default)]
pub struct SeenSizes(HashMap<(CodeId, String), Seen>);

impl SeenSizes {
    /// Whether a tensor was an input from there.
    pub fn has(&self, at: CodeId, source: &str) -> bool {
        self.0.keys().any(|(known_at, known)| *known_at == at && known == source)
    }

    /// How an input is treated. `dynamic` is that of `torch.compile`; where there was a number before (`was_number`), all sizes have
    /// varied.
    pub fn plan(&self, at: CodeId, input: &InputSource, geometry: &Geometry, dynamic: Option<bool>, was_number: bool) -> Treatment {
        let sizes = &geometry.sizes;
        let shares = use_duck_shape();
        let mut seen = self.0.get(&(at, input.source.clone())).cloned();
        if let Some(seen) = &mut seen {
            seen.merge(Seen::of(geometry));
        }
        let dim = |d: usize| {
            let varies = was_number || seen.as_ref().is_some_and(|s| s.is_of_any_rank || s.sizes[d].is_none());
            match input.marks.iter().find(|(i, _)| *i == d).map(|(_, m)| *m) {
                Some(DimMark::Dynamic(min, max)) => Dim::Own(min, max),
                Some(DimMark::Unbacked(min, max)) => Dim::Unknown(min, max),
                Some(DimMark::Static) => Dim::Static,
                _ if input.is_static => Dim::Static,
                Some(DimMark::Maybe(min, max)) => Dim::Own(min, max),
                None if dynamic != Some(false) && varies => Dim::Own(None, None),
                None if dynamic == Some(true) && shares => Dim::Shared,
                None if dynamic == Some(true) => Dim::Own(None, None),
                None => Dim::Static,
            }
        };
        let may_vary = dynamic != Some(false) && !input.is_static;
        let stayed = seen.as_ref().filter(|s| may_vary && !s.is_of_any_rank && s.sizes.iter().all(Option::is_some));
        let varying_strides = (0..sizes.len()).map(|d| stayed.is_some_and(|s| s.strides[d].is_none()));
        Treatment { dims: (0..sizes.len()).map(dim).collect(), varying_strides: varying_strides.collect() }
    }

    /// Remembers what an input looks like that is compiled for.
    pub fn note(&mut self, at: CodeId, input: &InputSource, geometry: &Geometry) {
        let mut now = Seen::of(geometry);
        let marked = input.marks.iter().filter(|(_, mark)| matches!(mark, DimMark::Dynamic(..)));
        marked.filter(|(d, _)| *d < geometry.sizes.len()).for_each(|(d, _)| now.sizes[*d] = None);
        match self.0.get_mut(&(at, input.source.clone())) {
            Some(seen) => seen.merge(now),
            None => drop(self.0.insert((at, input.source.clone()), now)),
        }
    }
}

/// Whether equal sizes share a symbol (`torch.fx.experimental._config.use_duck_shape`).
fn use_duck_shape() -> bool {
    switch_of(SETTINGS, "use_duck_shape").unwrap_or(true)
}

/// The module of settings of symbolic sizes.
pub const SETTINGS: &str = "torch.fx.experimental._config";

/// Where a symbol's value is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The size of an input, by its position among the inputs, in a dimension.
    Size(usize, usize),
    /// Its stride.
    Stride(usize, usize),
    /// Where its elements begin.
    Offset(usize),
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

/// The symbols of one graph.
#[derive(Default)]
pub struct Symbols {
    /// What is known of them.
    pub env: ShapeEnv,
    /// Where each is read.
    pub witnesses: Vec<Witness>,
    shared: HashMap<i64, SymInt>,
    /// Whether sizes zero and one are symbols, too.
    keeps_small: bool,
    /// For a number that was taken, one after it up to which all are.
    after: HashMap<u32, u32>,
}

impl Symbols {
    /// Those of a graph that is captured, under the settings of translation validation.
    pub fn of_trace() -> Self {
        let mut symbols = Symbols::default();
        let is_on = |name| switch_of(SETTINGS, name).unwrap_or(false);
        if is_on("translation_validation") {
            symbols.env.log_operations();
        }
        if is_on("inject_EVALUATE_EXPR_flip_equality_TESTING_ONLY") {
            symbols.env.flip_equalities();
        }
        if is_on("backed_size_oblivious") {
            symbols.keep_small_sizes();
            symbols.env.set_size_oblivious();
        }
        symbols
    }

    /// Makes symbols of sizes zero and one, too, and lets other sizes become them.
    pub fn keep_small_sizes(&mut self) {
        self.keeps_small = true;
    }

    /// The least size that is a symbol.
    fn least(&self) -> i64 {
        if self.keeps_small { 0 } else { 2 }
    }

    /// A symbol for a number within bounds, named after a source; one that equal numbers share where it `is_shared`.
    pub fn named(&mut self, number: u32, info: SymbolInfo, is_shared: bool) -> SymInt {
        let value = info.hint.unwrap_or_default();
        if let Some(known) = self.shared.get(&value).filter(|_| is_shared) {
            return known.clone();
        }
        let symbol = self.symbol(number, info, Place::Number);
        if is_shared {
            self.shared.insert(value, symbol.clone());
        }
        symbol
    }

    /// The geometry of an input with symbols for its dynamic sizes and strides, and the symbols that are new.
    pub fn geometry(&mut self, input: &InputSource, index: usize, real: &Geometry, plan: &Treatment) -> (Geometry, Vec<SymInt>) {
        let mut made = Vec::new();
        let mut sizes = Vec::new();
        for (d, (size, dim)) in real.sizes.iter().zip(&plan.dims).enumerate() {
            if let Dim::Unknown(lower, upper) = dim {
                let (lower, upper) = (lower.unwrap_or(0).max(0), upper.unwrap_or(i64::MAX));
                let symbol = self.env.unbacked_input(&format!("{}.size()[{d}]", input.source), lower, upper);
                if let Some(name) = symbol.expr().as_symbol() {
                    self.witnesses.push(Witness { symbol: name.clone(), at: Place::Size(index, d) });
                }
                made.push(symbol.clone());
                sizes.push(symbol);
                continue;
            }
            let (Some(n), false) = (size.as_int().filter(|n| *n >= self.least()), *dim == Dim::Static) else {
                sizes.push(size.clone());
                continue;
            };
            if let (Dim::Shared, Some(known)) = (dim, self.shared.get(&n)) {
                sizes.push(known.clone());
                continue;
            }
            let (lower, upper) = match dim {
                Dim::Own(lower, upper) => (lower.unwrap_or(self.least()).max(self.least()), upper.unwrap_or(i64::MAX)),
                _ => (self.least(), i64::MAX),
            };
            let info = SymbolInfo { origin: format!("{}.size()[{d}]", input.source), hint: Some(n), lower, upper };
            let symbol = self.symbol(input.number(d), info, Place::Size(index, d));
            if *dim == Dim::Shared {
                self.shared.insert(n, symbol.clone());
            }
            made.push(symbol.clone());
            sizes.push(symbol);
        }
        let strides = self.strides(input, index, real, &sizes, plan, &mut made);
        let has_offset = plan.dims.iter().any(|dim| *dim != Dim::Static);
        let mut offset = real.offset.clone();
        if let Some(number) = real.offset.as_int().filter(|n| has_offset && *n > 1) {
            offset = match self.shared.get(&number) {
                Some(known) => known.clone(),
                None => {
                    let origin = format!("{}.storage_offset()", input.source);
                    let info = SymbolInfo { origin, hint: Some(number), lower: 2, upper: i64::MAX };
                    let symbol = self.symbol(input.number(2 * sizes.len().max(1)), info, Place::Offset(index));
                    self.shared.insert(number, symbol.clone());
                    made.push(symbol.clone());
                    symbol
                }
            };
        }
        (Geometry { sizes, strides, offset }, made)
    }

    /// Strides in terms of sizes, from the innermost outwards: each is the product that it equals; where there is none, it is a symbol
    /// if sizes are or if it has varied, else a number.
    fn strides(
        &mut self,
        input: &InputSource,
        index: usize,
        real: &Geometry,
        sizes: &[SymInt],
        plan: &Treatment,
        made: &mut Vec<SymInt>,
    ) -> Vec<SymInt> {
        let is_dynamic = plan.dims.iter().any(|dim| *dim != Dim::Static);
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|d| (real.strides[*d].as_int(), std::cmp::Reverse(*d)));
        let mut strides = real.strides.clone();
        let mut products: HashMap<i64, SymInt> = HashMap::new();
        for d in order {
            let (Some(stride), Some(size)) = (real.strides[d].as_int(), real.sizes[d].as_int()) else { continue };
            let product = |next: usize| Some(real.sizes.get(next)?.as_int()? * real.strides.get(next)?.as_int()?);
            let varies = plan.varying_strides.get(d).copied().unwrap_or(false);
            let known = products.get(&stride).filter(|_| !varies);
            if !matches!(stride, 0 | 1) || product(d + 1) == Some(stride) {
                strides[d] = match known.or_else(|| self.shared.get(&stride).filter(|_| is_dynamic && !varies)) {
                    Some(known) => known.clone(),
                    None if stride > 1 && (is_dynamic || varies) => {
                        let info =
                            SymbolInfo { origin: format!("{}.stride()[{d}]", input.source), hint: Some(stride), lower: 2, upper: i64::MAX };
                        let symbol = self.symbol(input.number(sizes.len() + d), info, Place::Stride(index, d));
                        if !varies {
                            self.shared.insert(stride, symbol.clone());
                        }
                        made.push(symbol.clone());
                        symbol
                    }
                    None => SymInt::Int(stride),
                };
            }
            products.insert(stride * size, &strides[d] * &sizes[d]);
        }
        strides
    }

    /// Integers and floats have numbers of one kind.
    fn is_taken(&self, number: u32) -> bool {
        ["s", "zf"].iter().any(|kind| self.env.has_symbol(&format!("{kind}{number}")))
    }

    /// The first free number from one on. There are a hundred to begin from: thousands of symbols stand in a few long rows.
    fn free_number(&mut self, from: u32) -> u32 {
        let (mut number, mut passed) = (from, Vec::new());
        while self.is_taken(number) {
            passed.push(number);
            number = self.after.get(&number).copied().unwrap_or(number + 1);
        }
        self.after.extend(passed.into_iter().map(|taken| (taken, number)));
        number
    }

    fn symbol(&mut self, number: u32, info: SymbolInfo, at: Place) -> SymInt {
        let number = self.free_number(number);
        let name = format!("s{number}");
        let size = self.env.symbol(&name, info);
        self.witnesses.push(Witness { symbol: Symbol(name.as_str().into()), at });
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
    pub fn float(&mut self, source: &str, number: u32, value: f64) -> SymFloat {
        let number = self.free_number(number);
        self.env.float_symbol(&format!("zf{number}"), source.to_owned(), value)
    }

    /// A symbol that sizes are calculated from; `number` is that of its name.
    pub fn root(&mut self, number: u32, info: SymbolInfo) -> SymInt {
        self.symbol(number, info, Place::Number)
    }

    /// A symbol for a Python number; `number` is that of its source.
    pub fn number(&mut self, source: &str, number: u32, value: i64) -> SymInt {
        let info = SymbolInfo { origin: source.to_owned(), hint: Some(value), lower: i64::MIN, upper: i64::MAX };
        self.symbol(number, info, Place::Number)
    }
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
