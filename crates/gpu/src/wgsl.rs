//! Scalar expressions as WGSL text.
//!
//! An [`Emitter`] writes one kernel's body: loads and calls become `let`s, each once per scope; everything else is written
//! in place. Sizes and strides are constants in the text: a plan is for one set of sizes. Storages have numbers in it, `b0`, `b1`, in
//! the order in which they are met.

use super::library;
use loops::address::{Address, address, own_address};
use loops::language::{Kind, Ty, View, X, coord, int, row_major};
use std::collections::HashMap;
use std::fmt::Write;
use tensor::Dtype;

/// How a type is written in expressions.
pub fn name_of(ty: Ty) -> &'static str {
    match ty {
        Ty::Float => "f32",
        Ty::Int => "i32",
        Ty::Bool => "bool",
    }
}

/// How it is written in storage: a bool is a `u32` that is 0 or 1.
fn stored(ty: Ty) -> &'static str {
    match ty {
        Ty::Float => "f32",
        Ty::Int => "i32",
        Ty::Bool => "u32",
    }
}

/// A storage as a kernel binds it.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Index of the storage in the program.
    pub storage: usize,
    /// Whether the kernel reads it.
    pub read: bool,
    /// Whether the kernel writes to it.
    pub write: bool,
    /// Its name in the kernel.
    pub name: String,
    /// Its element type in storage.
    pub ty: &'static str,
}

/// Writes the body of a kernel.
#[derive(Default)]
pub struct Emitter {
    /// Storages that are bound, in order.
    pub bindings: Vec<Binding>,
    scopes: Vec<HashMap<String, String>>,
    text: String,
    next: usize,
    /// Values that this thread has computed itself.
    registers: HashMap<(usize, Address), (String, Ty)>,
    /// Names of the coordinates of the element being computed.
    pub coords: Vec<String>,
    /// Sizes of the coordinates.
    pub sizes: Vec<i64>,
    /// Names of the coordinates of the reduction.
    pub overs: Vec<String>,
    /// The element's row-major position, where it is known.
    pub linear: Option<String>,
}

impl Emitter {
    /// An empty body.
    pub fn new() -> Self {
        Emitter { scopes: vec![HashMap::new()], ..Emitter::default() }
    }

    /// Writes one line at the current depth.
    pub fn line(&mut self, text: &str) {
        let depth = self.scopes.len();
        let _ = writeln!(self.text, "{:1$}{text}", "", depth * 2);
    }

    /// Writes a line that opens a block; what is named inside is forgotten when it closes.
    pub fn open(&mut self, text: &str) {
        self.line(text);
        self.scopes.push(HashMap::new());
    }

    /// Opens a loop for each dimension of more than one turn; gives how many. Their variables are `{stem}0`, `{stem}1` and so on.
    pub fn open_loops(&mut self, stem: &str, sizes: &[i64]) -> usize {
        self.overs.clear();
        let mut opened = 0;
        for (d, size) in sizes.iter().enumerate() {
            if *size == 1 {
                self.overs.push("0".to_owned());
            } else {
                self.open(&format!("for (var {stem}{d} = 0; {stem}{d} < {size}; {stem}{d} += 1) {{"));
                self.overs.push(format!("{stem}{d}"));
                opened += 1;
            }
        }
        opened
    }

    /// Enters the turns of each dimension from one turn of them all.
    pub fn unravel_turn(&mut self, turn: &str, sizes: &[i64]) {
        self.overs = digits(turn, sizes).into_iter().map(|text| self.named("p", text)).collect();
    }

    /// Closes a block.
    pub fn close(&mut self) {
        self.scopes.pop();
        self.line("}");
    }

    /// The body. What is written after it is another one, of the same kernel: it has the same bindings and nothing else in common.
    pub fn take_body(&mut self) -> String {
        let (bindings, next) = (std::mem::take(&mut self.bindings), self.next);
        std::mem::replace(self, Emitter { bindings, next, ..Emitter::new() }).text
    }

    /// A fresh name. No stem is that of a loop's variable (`k0`, `r0`), which it would hide.
    pub fn fresh(&mut self, stem: &str) -> String {
        self.next += 1;
        format!("{stem}{}", self.next)
    }

    /// Names the value of an expression, once per scope.
    fn name(&mut self, stem: &str, source: String) -> String {
        if let Some(name) = self.scopes.iter().rev().find_map(|s| s.get(&source)) {
            return name.clone();
        }
        let name = self.fresh(stem);
        self.line(&format!("let {name} = {source};"));
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(source, name.clone());
        }
        name
    }

    fn bind(&mut self, storage: usize, dtype: Dtype, write: bool) -> String {
        if let Some(binding) = self.bindings.iter_mut().find(|b| b.storage == storage) {
            binding.read |= !write;
            binding.write |= write;
            return binding.name.clone();
        }
        let name = format!("b{}", self.bindings.len());
        let ty = stored(Ty::of(dtype).unwrap_or(Ty::Float));
        self.bindings.push(Binding { storage, read: !write, write, name: name.clone(), ty });
        name
    }

    /// Enters the coordinates of an element of the given sizes from its row-major position.
    pub fn unravel(&mut self, linear: &str, sizes: &[i64]) {
        self.linear = Some(linear.to_owned());
        self.sizes = sizes.to_vec();
        self.coords = digits(linear, sizes);
    }

    fn address_text(&mut self, view: &View, index: &[X]) -> String {
        if let (Some(Address::Flat(offset)), Some(linear)) = (address(view, index, &self.sizes), self.linear.clone()) {
            return if offset == 0 { linear } else { format!("{linear} + {offset}") };
        }
        let (fixed, turning) = self.parts(view, index);
        let Some(turning) = turning else { return strip(self.x(&fixed)) };
        let fixed = self.fixed(&fixed);
        let turning = strip(self.x(&turning));
        let turning = self.named("p", turning);
        if fixed == "0" { turning } else { format!("{fixed} + {turning}") }
    }

    /// An address in two parts: what is the same in every turn of the loop, and what is not, where there is any.
    fn parts(&self, view: &View, index: &[X]) -> (X, Option<X>) {
        let (mut number, mut fixed, mut turning) = (view.offset, int(0), None);
        let mut add = |term: &X, factor: i64| match &term.0.kind {
            Kind::Int(value) => number += i64::from(*value) * factor,
            Kind::Coord(d) if self.coords.get(*d).is_none_or(|text| text == "0") => {}
            Kind::Over(d) if self.overs.get(*d).is_some_and(|text| text == "0") => {}
            _ => {
                let term = term.clone() * int(factor);
                if turns(&term) {
                    turning = Some(turning.take().map_or(term.clone(), |sum: X| sum + term));
                } else {
                    fixed = &fixed + &term;
                }
            }
        };
        index.iter().zip(&view.strides).for_each(|(x, stride)| terms(x, *stride, &mut add));
        let fixed = if number < 0 { fixed - int(-number) } else { fixed + int(number) };
        (fixed, turning)
    }

    /// The part of an address that is the same in every turn of a loop: a name, or a number.
    fn fixed(&mut self, fixed: &X) -> String {
        let text = strip(self.x(fixed));
        self.named("o", text)
    }

    /// A text's name, where it is more than a name or a number.
    pub fn named(&mut self, stem: &str, text: String) -> String {
        if text.chars().all(|c| c.is_alphanumeric() || c == '_') { text } else { self.name(stem, text) }
    }

    /// Names what an expression needs and no turn of a loop changes: to be called before the loop is opened, where its names stay.
    pub fn hoist(&mut self, x: &X) {
        match &x.0.kind {
            Kind::Coord(d) => {
                self.coord_text(*d);
            }
            Kind::Load(view, index) => {
                index.iter().for_each(|i| self.hoist(i));
                if let (fixed, Some(_)) = self.parts(view, index) {
                    self.fixed(&fixed);
                }
            }
            Kind::Infix(_, a, b) => [a, b].into_iter().for_each(|x| self.hoist(x)),
            Kind::Call(_, args) => args.iter().for_each(|x| self.hoist(x)),
            Kind::Prefix(_, a) | Kind::Cast(a) => self.hoist(a),
            Kind::Select(c, a, b) => [c, a, b].into_iter().for_each(|x| self.hoist(x)),
            Kind::Float(_) | Kind::Int(_) | Kind::Bool(_) | Kind::Over(_) => {}
        }
    }

    /// The text of an expression: a name, a number, or something in parentheses.
    pub fn x(&mut self, x: &X) -> String {
        match &x.0.kind {
            Kind::Float(v) if v.is_nan() => "nan()".to_owned(),
            Kind::Float(v) if v.is_infinite() => if *v > 0.0 { "inf()" } else { "(-inf())" }.to_owned(),
            Kind::Float(v) if *v < 0.0 || (*v == 0.0 && v.is_sign_negative()) => format!("({v:?}f)"),
            Kind::Float(v) => format!("{v:?}f"),
            Kind::Int(i32::MIN) => "i32(-2147483647 - 1)".to_owned(),
            Kind::Int(v) if *v < 0 => format!("({v})"),
            Kind::Int(v) => v.to_string(),
            Kind::Bool(v) => v.to_string(),
            Kind::Coord(d) => self.coord_text(*d),
            Kind::Over(d) => self.overs.get(*d).cloned().unwrap_or_else(|| "0".to_owned()),
            Kind::Load(view, index) => self.load(view, index),
            Kind::Infix("&&", ..) => self.conjunction(x),
            Kind::Infix(op, a, b) => {
                let (a, b) = (self.x(a), self.x(b));
                // Both sides are values without effects, and a branch costs more than either.
                let op = if *op == "||" { "|" } else { op };
                self.short(format!("({a} {op} {b})"))
            }
            Kind::Call(name, args) => {
                let is_constant = |a: &X| matches!(a.0.kind, Kind::Float(_) | Kind::Int(_));
                // WGSL refuses a call of constants that overflows.
                let all = args.iter().all(is_constant);
                let argument = |(i, a): (usize, &X), e: &mut Self| match (strip(e.x(a)), a.ty()) {
                    (text, Ty::Float) if all && i == 0 => format!("variable({text})"),
                    (text, Ty::Int) if all && i == 0 => format!("variable_int({text})"),
                    (text, _) => text,
                };
                let args: Vec<String> = args.iter().enumerate().map(|a| argument(a, self)).collect();
                self.name("t", format!("{}({})", library::callee(name), args.join(", ")))
            }
            Kind::Prefix(op, a) => {
                let a = self.x(a);
                format!("({op}{a})")
            }
            Kind::Select(c, a, b) => {
                let (c, a, b) = (strip(self.x(c)), strip(self.x(a)), strip(self.x(b)));
                self.short(format!("select({b}, {a}, {c})"))
            }
            Kind::Cast(a) => {
                let text = self.x(a);
                match (a.ty(), x.ty()) {
                    (Ty::Float, Ty::Bool) => format!("({text} != 0.0f)"),
                    (Ty::Int, Ty::Bool) => format!("({text} != 0)"),
                    (_, to) => format!("{}({})", name_of(to), strip(text)),
                }
            }
        }
    }

    /// Conditions that all hold, without branches: each has a name, since other elements often ask the same. `0 <= p` and `p < n` are
    /// one comparison of what has no sign.
    fn conjunction(&mut self, x: &X) -> String {
        let mut conditions = Vec::new();
        self.conditions(x, &mut conditions);
        let mut texts: Vec<String> = Vec::new();
        for condition in &conditions {
            let limit = condition.split_once(" < ").filter(|(place, _)| conditions.contains(&format!("{place} >= 0")));
            texts.push(match limit {
                Some((place, limit)) if limit.parse::<u32>().is_ok() => format!("u32({place}) < {limit}u"),
                _ if condition.strip_suffix(" >= 0").is_some_and(|place| has_limit(&conditions, place)) => continue,
                _ => condition.clone(),
            });
        }
        let named: Vec<String> = texts.into_iter().map(|text| self.named("t", text)).collect();
        match named.as_slice() {
            [one] => one.clone(),
            all => format!("({})", all.join(" & ")),
        }
    }

    fn conditions(&mut self, x: &X, found: &mut Vec<String>) {
        if let Kind::Infix("&&", a, b) = &x.0.kind {
            self.conditions(a, found);
            self.conditions(b, found);
            return;
        }
        let text = strip(self.x(x));
        if !found.contains(&text) {
            found.push(text);
        }
    }

    fn coord_text(&mut self, d: usize) -> String {
        let text = self.coords.get(d).cloned().unwrap_or_else(|| "0".to_owned());
        if text.contains(['/', '%']) { self.name("c", text) } else { text }
    }

    /// Long texts get a name, so that lines stay readable and nothing is written twice.
    fn short(&mut self, text: String) -> String {
        if text.len() > 72 { self.name("t", strip(text)) } else { text }
    }

    fn load(&mut self, view: &View, index: &[X]) -> String {
        if let Some(at) = address(view, index, &self.sizes)
            && let Some((name, _)) = self.registers.get(&(view.storage, at))
        {
            return name.clone();
        }
        let buffer = self.bind(view.storage, view.dtype, false);
        let at = self.address_text(view, index);
        let load = format!("{buffer}[{at}]");
        match Ty::of(view.dtype) {
            Some(Ty::Bool) => self.name("v", format!("{load} != 0u")),
            _ => self.name("v", load),
        }
    }

    /// Computes an element, named for later members of the kernel, and rounded to what the dtype can hold.
    pub fn define(&mut self, out: &View, value: &str, ty: Ty) -> String {
        let to = Ty::of(out.dtype).unwrap_or(Ty::Float);
        let value = match (ty, to) {
            (Ty::Float, Ty::Bool) => format!("{value} != 0.0f"),
            (Ty::Int, Ty::Bool) => format!("{value} != 0"),
            (a, b) if a == b => value.to_owned(),
            (_, to) => format!("{}({})", name_of(to), value),
        };
        let value = match out.dtype {
            Dtype::Float16 => format!("round_f16({value})"),
            Dtype::BFloat16 => format!("round_bf16({value})"),
            Dtype::UInt8 => format!("({value}) & 255"),
            Dtype::Int8 => format!("(({value}) << 24u) >> 24u"),
            Dtype::Int16 => format!("(({value}) << 16u) >> 16u"),
            _ => value,
        };
        let name = self.name("x", strip(value));
        if let Some(at) = own_address(out) {
            self.registers.insert((out.storage, at), (name.clone(), to));
        }
        name
    }

    /// A value that has been computed is met at another address too: what is known of a row, in a loop over its elements.
    pub fn meet(&mut self, value: &View, at: Address) {
        let known = own_address(value).and_then(|own| self.registers.get(&(value.storage, own)).cloned());
        if let Some(known) = known {
            self.registers.insert((value.storage, at), known);
        }
    }

    /// Writes a named element to its storage.
    pub fn store(&mut self, out: &View, name: &str) {
        let buffer = self.bind(out.storage, out.dtype, true);
        let index: Vec<X> = (0..out.dim()).map(coord).collect();
        let at = self.address_text(out, &index);
        match Ty::of(out.dtype) {
            Some(Ty::Bool) => self.line(&format!("{buffer}[{at}] = select(0u, 1u, {name});")),
            _ => self.line(&format!("{buffer}[{at}] = {name};")),
        }
    }
}

/// Whether one of the conditions is that a place lies before a number.
fn has_limit(conditions: &[String], place: &str) -> bool {
    conditions.iter().any(|c| c.split_once(" < ").is_some_and(|(p, limit)| p == place && limit.parse::<u32>().is_ok()))
}

/// The terms of a sum, each with the number that it is multiplied by.
fn terms(x: &X, factor: i64, found: &mut dyn FnMut(&X, i64)) {
    match &x.0.kind {
        Kind::Infix("+", a, b) => {
            terms(a, factor, found);
            terms(b, factor, found);
        }
        Kind::Infix("-", a, b) => {
            terms(a, factor, found);
            terms(b, -factor, found);
        }
        Kind::Infix("*", a, b) => match (a.as_int(), b.as_int()) {
            (Some(times), _) => terms(b, factor * times, found),
            (_, Some(times)) => terms(a, factor * times, found),
            _ => found(x, factor),
        },
        _ => found(x, factor),
    }
}

/// Whether a value depends on the turn of the loop.
fn turns(x: &X) -> bool {
    match &x.0.kind {
        Kind::Over(_) => true,
        Kind::Load(_, index) => index.iter().any(turns),
        Kind::Infix(_, a, b) => turns(a) || turns(b),
        Kind::Call(_, args) => args.iter().any(turns),
        Kind::Prefix(_, a) | Kind::Cast(a) => turns(a),
        Kind::Select(c, a, b) => turns(c) || turns(a) || turns(b),
        Kind::Float(_) | Kind::Int(_) | Kind::Bool(_) | Kind::Coord(_) => false,
    }
}

/// A row-major position taken apart into coordinates, as texts.
pub fn digits(linear: &str, sizes: &[i64]) -> Vec<String> {
    let strides = row_major(sizes);
    let first = sizes.iter().position(|s| *s != 1);
    sizes
        .iter()
        .zip(&strides)
        .enumerate()
        .map(|(d, (size, stride))| match (*size, *stride) {
            (1, _) => "0".to_owned(),
            (_, 1) if first == Some(d) => linear.to_owned(),
            (size, 1) => format!("{linear} % {size}"),
            (_, stride) if first == Some(d) => format!("{linear} / {stride}"),
            (size, stride) => format!("({linear} / {stride}) % {size}"),
        })
        .collect()
}

/// Without the outermost parentheses.
pub fn strip(text: String) -> String {
    let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) else { return text };
    let mut depth = 0i32;
    for c in inner.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth < 0 {
            return text;
        }
    }
    inner.to_owned()
}
