//! What Python's `repr` prints of dataclasses: `Name(field=value, ...)`, lists, tuples, dictionaries and constants.

/// A printed value.
#[derive(Clone, Debug, PartialEq)]
pub enum Repr {
    /// `Name(1, field=2)`: the name, and the fields, unnamed ones with an empty name.
    Call(String, Vec<(String, Repr)>),
    /// `[...]`, `(...)`, `{...}` without keys.
    List(Vec<Repr>),
    /// `{key: value}`
    Dict(Vec<(Repr, Repr)>),
    /// A string.
    Str(String),
    /// Anything else as it is printed: numbers, names, `<OutputType.non_alias: 1>`.
    Atom(String),
}

impl Repr {
    /// A field of a call.
    pub fn field(&self, name: &str) -> Option<&Repr> {
        match self {
            Repr::Call(_, fields) => fields.iter().find(|(field, _)| field == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The items of a list.
    pub fn items(&self) -> &[Repr] {
        match self {
            Repr::List(items) => items,
            _ => &[],
        }
    }

    /// Whether it is `True`.
    pub fn is_true(&self) -> bool {
        matches!(self, Repr::Atom(text) if text == "True")
    }

    /// The number.
    pub fn number(&self) -> Option<i64> {
        match self {
            Repr::Atom(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// `non_alias` of `<OutputType.non_alias: 1>`.
    pub fn enumeration(&self) -> Option<&str> {
        match self {
            Repr::Atom(text) => text.strip_prefix('<')?.split_once('.')?.1.split(':').next(),
            _ => None,
        }
    }
}

/// Reads a printed value; `None` where it is cut off or too deep.
pub fn parse(text: &str) -> Option<Repr> {
    let mut reader = Reader { rest: text.trim(), depth: 0 };
    reader.value()
}

struct Reader<'a> {
    rest: &'a str,
    depth: u32,
}

impl<'a> Reader<'a> {
    fn blank(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, text: &str) -> bool {
        self.blank();
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self) -> Option<Repr> {
        self.depth += 1;
        if self.depth > 100 {
            return None;
        }
        self.blank();
        let value = match self.rest.chars().next()? {
            '[' => self.list("[", "]"),
            '(' => self.list("(", ")"),
            '{' => self.braces(),
            '\'' | '"' => self.string(),
            '<' => self.angle(),
            _ => self.word(),
        };
        self.depth -= 1;
        value
    }

    fn list(&mut self, open: &str, close: &str) -> Option<Repr> {
        self.eat(open);
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(self.value()?);
            if !self.eat(",") {
                self.blank();
                if !self.rest.starts_with(close) {
                    return None;
                }
            }
        }
        Some(Repr::List(items))
    }

    fn braces(&mut self) -> Option<Repr> {
        self.eat("{");
        let (mut entries, mut items) = (Vec::new(), Vec::new());
        while !self.eat("}") {
            let key = self.value()?;
            match self.eat(":") {
                true => entries.push((key, self.value()?)),
                false => items.push(key),
            }
            if !self.eat(",") {
                self.blank();
                if !self.rest.starts_with('}') {
                    return None;
                }
            }
        }
        Some(if items.is_empty() { Repr::Dict(entries) } else { Repr::List(items) })
    }

    /// Strings that stand beside each other are one.
    fn string(&mut self) -> Option<Repr> {
        let mut out = String::new();
        loop {
            self.blank();
            let mut chars = self.rest.char_indices();
            let Some((_, quote @ ('\'' | '"'))) = chars.next() else { return Some(Repr::Str(out)) };
            let mut end = None;
            while let Some((at, c)) = chars.next() {
                match c {
                    c if c == quote => {
                        end = Some(at + 1);
                        break;
                    }
                    '\\' => match chars.next()?.1 {
                        'n' => out.push('\n'),
                        't' => out.push('\t'),
                        other => out.push(other),
                    },
                    c => out.push(c),
                }
            }
            self.rest = &self.rest[end?..];
        }
    }

    /// `<class 'torch.Tensor'>`, `<OutputType.non_alias: 1>`
    fn angle(&mut self) -> Option<Repr> {
        let mut depth = 0;
        for (at, c) in self.rest.char_indices() {
            match c {
                '<' => depth += 1,
                '>' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let (taken, rest) = self.rest.split_at(at + 1);
                self.rest = rest;
                return Some(Repr::Atom(taken.to_owned()));
            }
        }
        None
    }

    fn word(&mut self) -> Option<Repr> {
        let end = self.rest.find([',', '(', ')', ']', '}', '=', ':', '\n']).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() {
            return None;
        }
        self.rest = rest;
        let name = name.trim_end().to_owned();
        if !self.rest.starts_with('(') {
            return Some(Repr::Atom(name));
        }
        self.rest = &self.rest[1..];
        let mut fields = Vec::new();
        while !self.eat(")") {
            let before = self.rest;
            let field = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(self.rest, |at| &self.rest[..at]);
            self.rest = &self.rest[field.len()..];
            let field = if !field.is_empty() && self.rest.starts_with('=') {
                self.rest = &self.rest[1..];
                field
            } else {
                self.rest = before;
                ""
            };
            fields.push((field.to_owned(), self.value()?));
            if !self.eat(",") {
                self.blank();
                if !self.rest.starts_with(')') {
                    return None;
                }
            }
        }
        Some(Repr::Call(name, fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dataclasses_read() {
        let text = "Meta(input_info=[Info(is_leaf=True, x=None),\n   Info(is_leaf=False)], out=[O(kind=<T.non_alias: 1>, raw=<class 'a.B'>)],\n t=[FakeTensor(..., size=())], s=['a\\n' \"b\"], d={'k': (1,)}, e=set())";
        let read = parse(text).unwrap();
        let info = read.field("input_info").unwrap().items();
        assert_eq!(info.iter().map(|i| i.field("is_leaf").unwrap().is_true()).collect::<Vec<_>>(), [true, false]);
        assert_eq!(read.field("out").unwrap().items()[0].field("kind").unwrap().enumeration(), Some("non_alias"));
        assert_eq!(read.field("s").unwrap().items(), [Repr::Str("a\nb".to_owned())]);
        assert_eq!(parse("Meta(input_info=[Info("), None);
    }
}
