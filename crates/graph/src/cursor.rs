//! Reading generated Python code: literals and argument trees, one line at a time.

use super::{Arg, NodeId};
use diagnostics::error::{Error, Result};
use std::collections::HashMap;
use tensor::{Device, DeviceType, Dtype, Layout, MemoryFormat};

/// The nodes of a text so far, by name.
pub(super) type Names<'a> = HashMap<&'a str, NodeId>;

/// Brackets in brackets, at most.
const MOST_NESTED: u8 = 64;

/// A place in one line of text.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    rest: &'a str,
    line: usize,
    /// Whether constants that nothing here has stay as they are written.
    lenient: bool,
    depth: u8,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, line: usize) -> Self {
        Cursor { rest: text, line, lenient: false, depth: 0 }
    }

    pub(super) fn lenient(text: &'a str, line: usize) -> Self {
        Cursor { lenient: true, ..Cursor::new(text, line) }
    }

    pub(super) fn is_lenient(&self) -> bool {
        self.lenient
    }

    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// Goes one bracket deeper.
    pub(super) fn enter(&mut self) -> Result<()> {
        if self.depth == MOST_NESTED {
            return Err(self.expected("fewer brackets in each other"));
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Takes a type that stands without quotes: up to what ends a parameter or a name, outside of brackets.
    pub(super) fn take_type(&mut self) -> &'a str {
        let mut depth = 0usize;
        let ends = |(_, c): &(usize, char)| {
            match c {
                '[' | '(' => depth += 1,
                ']' | ')' if depth > 0 => depth -= 1,
                ',' | ';' | ')' | ' ' if depth == 0 => return true,
                _ => {}
            }
            false
        };
        let end = self.rest.char_indices().find(ends).map_or(self.rest.len(), |(at, _)| at);
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    pub(super) fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.rest.starts_with(text)
    }

    /// Takes the text if it comes next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<()> {
        if self.eat(text) { Ok(()) } else { Err(self.expected(&format!("`{text}`"))) }
    }

    /// An error that names the line, what was expected and what is there.
    pub(super) fn expected(&self, what: &str) -> Error {
        let found: String = self.rest.chars().take(40).collect();
        let found = if found.is_empty() { "the end of the line".to_owned() } else { format!("`{found}`") };
        Error::value(format!("line {}: expected {what}, found {found}", self.line))
    }

    /// Takes characters while they satisfy the test.
    pub(super) fn take_while(&mut self, test: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !test(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Takes an identifier, if one comes next.
    pub(super) fn identifier(&mut self) -> Option<&'a str> {
        if !self.rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return None;
        }
        Some(self.take_while(|c| c.is_alphanumeric() || c == '_'))
    }

    /// Takes `a.b.c`, if an identifier comes next.
    pub(super) fn path(&mut self) -> Option<&'a str> {
        if !self.rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return None;
        }
        Some(self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '.'))
    }

    /// Takes an integer, sign included, if one comes next.
    pub(super) fn integer(&mut self) -> Option<i64> {
        let mut ahead = self.clone();
        let negative = ahead.eat("-");
        let digits = ahead.take_while(|c| c.is_ascii_digit());
        let value: i64 = digits.parse().ok()?;
        *self = ahead;
        Some(if negative { -value } else { value })
    }

    /// An argument: a literal, the name of a node, or a tree of them.
    pub(super) fn value(&mut self, names: &Names) -> Result<Arg> {
        self.enter()?;
        let start = self.clone();
        let value = self.any_value(names).or_else(|error| {
            *self = start;
            self.unknown(names).ok_or(error)
        });
        self.leave();
        value
    }

    fn any_value(&mut self, names: &Names) -> Result<Arg> {
        match self.rest.chars().next() {
            Some('(') => {
                if let Some(complex) = self.complex() {
                    return Ok(complex);
                }
                self.eat("(");
                Ok(Arg::Tuple(self.items(")", names)?))
            }
            Some('[') => {
                self.eat("[");
                Ok(Arg::List(self.items("]", names)?))
            }
            Some('{') => {
                self.eat("{");
                self.entries(names).map(Arg::Dict)
            }
            Some('\'' | '"') => self.string_as_written(),
            Some(c) if c.is_ascii_digit() || c == '-' => self.number_as_written(),
            _ => self.word(names),
        }
    }

    /// A text; of a log, one that prints with other quotes or escapes stays as it is written.
    fn string_as_written(&mut self) -> Result<Arg> {
        let before = self.rest;
        let text = self.string()?;
        let written = &before[..before.len() - self.rest.len()];
        if self.lenient && super::literal::str_repr(&text) != written {
            return Ok(Arg::Text(written.into()));
        }
        Ok(Arg::Str(text.into()))
    }

    /// A number; of a log, one that prints with other digits stays as it is written.
    fn number_as_written(&mut self) -> Result<Arg> {
        let before = self.rest;
        let number = self.number()?;
        let written = &before[..before.len() - self.rest.len()];
        match number {
            Arg::Float(f) if self.lenient && super::literal::float_repr(f) != written => Ok(Arg::Text(written.into())),
            number => Ok(number),
        }
    }

    /// A constant that nothing here has, up to where it ends outside of its own brackets. It may not name a node: that would be lost.
    fn unknown(&mut self, names: &Names) -> Option<Arg> {
        if !self.lenient {
            return None;
        }
        let (mut depth, mut quote, mut escaped) = (0usize, None, false);
        let ends = |(_, c): &(usize, char)| {
            match (quote, *c) {
                _ if escaped => escaped = false,
                (Some(_), '\\') => escaped = true,
                (Some(open), c) if c == open => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(*c),
                (None, '[' | '(' | '{') => depth += 1,
                (None, ']' | ')' | '}') if depth > 0 => depth -= 1,
                (None, ']' | ')' | '}' | ',' | ';') => return depth == 0,
                _ => {}
            }
            false
        };
        let end = self.rest.char_indices().find(ends).map_or(self.rest.len(), |(at, _)| at);
        let (text, rest) = self.rest.split_at(end);
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let names_node = text.split(|c| !is_part(c)).any(|word| names.contains_key(word));
        if text.is_empty() || text.contains(" = ") || depth > 0 || names_node {
            return None;
        }
        self.rest = rest;
        Some(Arg::Text(text.into()))
    }

    /// Comma-separated values up to the closing bracket, which is taken.
    fn items(&mut self, close: &str, names: &Names) -> Result<Vec<Arg>> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(self.value(names)?);
            if !self.eat(", ") && !self.eat(",") && !self.starts_with(close) {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
        }
        Ok(items)
    }

    /// `'key': value`, separated by commas, up to the closing brace, which is taken.
    fn entries(&mut self, names: &Names) -> Result<Vec<(std::rc::Rc<str>, Arg)>> {
        let mut entries = Vec::new();
        while !self.eat("}") {
            let key = self.string()?;
            self.expect(": ")?;
            entries.push((key.into(), self.value(names)?));
            if !self.eat(", ") && !self.starts_with("}") {
                return Err(self.expected("`,` or `}`"));
            }
        }
        Ok(entries)
    }

    /// Positional and keyword arguments up to the closing parenthesis, which is taken.
    #[allow(clippy::type_complexity)]
    pub(super) fn arguments(&mut self, names: &Names) -> Result<(Vec<Arg>, Vec<(std::rc::Rc<str>, Arg)>)> {
        let (mut args, mut kwargs) = (Vec::new(), Vec::new());
        while !self.eat(")") {
            let mut ahead = self.clone();
            let key = ahead.identifier();
            match key.filter(|_| ahead.eat(" = ") || (ahead.eat("=") && !ahead.starts_with("="))) {
                Some(key) => {
                    *self = ahead;
                    kwargs.push((key.into(), self.value(names)?));
                }
                None => args.push(self.value(names)?),
            }
            if !self.eat(", ") && !self.starts_with(")") {
                return Err(self.expected("`,` or `)`"));
            }
        }
        Ok((args, kwargs))
    }

    fn number(&mut self) -> Result<Arg> {
        let start = self.clone();
        let negative = self.eat("-");
        if self.eat("inf") {
            return Ok(Arg::Float(if negative { f64::NEG_INFINITY } else { f64::INFINITY }));
        }
        if self.eat("nan") {
            return Ok(Arg::Float(f64::NAN));
        }
        self.take_while(|c| c.is_ascii_digit());
        let mut float = false;
        if self.eat(".") {
            float = true;
            self.take_while(|c| c.is_ascii_digit());
        }
        if self.starts_with("e") {
            float = true;
            self.eat("e");
            let _ = self.eat("-") || self.eat("+");
            self.take_while(|c| c.is_ascii_digit());
        }
        let text = &start.rest[..start.rest.len() - self.rest.len()];
        let parsed = if float { text.parse().ok().map(Arg::Float) } else { text.parse().ok().map(Arg::Int) };
        parsed.ok_or_else(|| start.expected("a number"))
    }

    /// `(1+2j)`
    fn complex(&mut self) -> Option<Arg> {
        let mut ahead = self.clone();
        ahead.eat("(");
        let as_float = |arg: Arg| match arg {
            Arg::Int(i) => Some(i as f64),
            Arg::Float(f) => Some(f),
            _ => None,
        };
        let re = as_float(ahead.number().ok()?)?;
        let negative = ahead.starts_with("-");
        if !negative && !ahead.eat("+") {
            return None;
        }
        let im = as_float(ahead.number().ok()?)?;
        if !ahead.eat("j)") {
            return None;
        }
        *self = ahead;
        Some(Arg::Complex(re, im))
    }

    /// A text between quotes, without them.
    pub(super) fn string(&mut self) -> Result<String> {
        let start = self.clone();
        let mut chars = self.rest.char_indices();
        let quote = chars.next().map(|(_, c)| c);
        let mut out = String::new();
        while let Some((at, c)) = chars.next() {
            if Some(c) == quote {
                self.rest = &self.rest[at + 1..];
                return Ok(out);
            }
            if c != '\\' {
                out.push(c);
                continue;
            }
            match chars.next().map(|(_, c)| c) {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some(kind @ ('x' | 'u' | 'U')) => {
                    let digits = match kind {
                        'x' => 2,
                        'u' => 4,
                        _ => 8,
                    };
                    let hex: String = chars.by_ref().take(digits).map(|(_, c)| c).collect();
                    let code = u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32);
                    out.push(code.ok_or_else(|| start.expected("a string with valid escapes"))?);
                }
                Some(other) => out.push(other),
                None => break,
            }
        }
        Err(start.expected("a string with a closing quote"))
    }

    /// A name: a constant, `torch.float32`, `device(...)`, `slice(...)`, or a node.
    fn word(&mut self, names: &Names) -> Result<Arg> {
        let start = self.clone();
        let Some(path) = self.path() else { return Err(start.expected("a value")) };
        let call = |cursor: &mut Self| cursor.expect("(").and_then(|()| cursor.arguments(names));
        Ok(match path {
            "None" => Arg::None,
            "True" => Arg::Bool(true),
            "False" => Arg::Bool(false),
            "inf" => Arg::Float(f64::INFINITY),
            "nan" => Arg::Float(f64::NAN),
            "Ellipsis" => Arg::Ellipsis,
            "torch.strided" => Arg::Layout(Layout::Strided),
            "torch.contiguous_format" => Arg::MemoryFormat(MemoryFormat::Contiguous),
            "torch.preserve_format" => Arg::MemoryFormat(MemoryFormat::Preserve),
            "torch.channels_last" => Arg::MemoryFormat(MemoryFormat::ChannelsLast),
            "torch.channels_last_3d" => Arg::MemoryFormat(MemoryFormat::ChannelsLast3d),
            "slice" if self.starts_with("(") => match <[Arg; 3]>::try_from(call(self)?.0) {
                Ok(parts) => Arg::Slice(Box::new(parts)),
                Err(_) => return Err(start.expected("`slice(start, stop, step)`")),
            },
            "complex" if self.starts_with("(") => match call(self)?.0.as_slice() {
                [Arg::Float(re), Arg::Float(im)] => Arg::Complex(*re, *im),
                _ => return Err(start.expected("`complex(real, imaginary)`")),
            },
            "device" if self.starts_with("(") => {
                let (_, fields) = call(self)?;
                let mut device = Device::CPU;
                for (key, value) in fields {
                    match (&*key, value) {
                        ("type", Arg::Str(kind)) => device.kind = device_type(&kind).ok_or_else(|| start.expected("a known device"))?,
                        ("index", Arg::Int(index)) => device.index = u8::try_from(index).ok(),
                        _ => return Err(start.expected("`device(type='...', index=...)`")),
                    }
                }
                Arg::Device(device)
            }
            _ => match (names.get(path), path.strip_prefix("torch.").and_then(Dtype::parse)) {
                (Some(node), _) => Arg::Node(*node),
                (None, None) if path.starts_with("torch.ops.") => Arg::Op(path["torch.ops.".len()..].into()),
                (None, Some(dtype)) => Arg::Dtype(dtype),
                (None, None) => return Err(start.expected("a constant or a value computed above")),
            },
        })
    }
}

/// The kind of device of a name.
pub(super) fn device_type(name: &str) -> Option<DeviceType> {
    match name {
        "cpu" => Some(DeviceType::Cpu),
        "cuda" => Some(DeviceType::Cuda),
        "meta" => Some(DeviceType::Meta),
        _ => None,
    }
}
