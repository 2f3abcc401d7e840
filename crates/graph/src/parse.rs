//! Reading a graph from the text that torch.fx prints: `print_readable`, `code`, or a log of them.
//!
//! `print_readable(parse(text))` is the text again. Comments give source lines, backward marks and recompute tags;
//! annotations give values; releases are not read, they follow from the uses. A text without annotations gives a graph
//! without values. What is not understood is an error that names the line and what was expected there.
//!
//! [`read`] takes what any release of PyTorch logs of any program: types, constants and calls that nothing here knows stay as they are
//! written, and [`Parsed::style`] says how the text is laid out.

use super::annotation::{Symbols, annotation};
use super::cursor::{Cursor, Names};
use super::expression::{Call, expression, text as text_call};
use super::foreign::{WrittenType, foreign};
use super::literal::operator_of;
use super::print::{annotation as printed, on_one_line, recompute_name};
use super::{Annotation, Arg, FakeValue, Graph, Meta, NodeId, Opcode, Recompute, Shown, Style, Target};
use diagnostics::error::{Error, Result};
use diagnostics::source::Source;
use diagnostics::span::Span;
use shape::{ShapeEnv, SymInt};
use std::collections::HashMap;
use std::rc::Rc;

/// A graph that was read, and the symbols in its sizes.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The graph.
    pub graph: Graph,
    /// Its symbols, each named as in the text.
    pub env: ShapeEnv,
    /// How it was printed: `print_readable(graph, style)` is its text again, but for comments.
    pub style: Style,
    /// Whether the text has types.
    pub has_types: bool,
}

/// Reads the first graph in a text. `hint` gives the numbers that symbols stand for, where they are known.
///
/// # Errors
/// `ValueError`, naming the line and what was expected there.
pub fn parse(text: &str, hint: &dyn Fn(&str) -> Option<i64>) -> Result<Parsed> {
    let lines = text.lines().enumerate().map(|(i, raw)| (i + 1, strip_log_prefix(raw)));
    Reader::new(lines, hint, false).first()
}

/// Reads the first graph in lines that were taken out of a log, each with its number, as PyTorch of any version wrote it.
///
/// # Errors
/// `ValueError`, naming the line and what was expected there.
pub fn read<'a>(lines: impl Iterator<Item = (usize, &'a str)>, hint: &'a dyn Fn(&str) -> Option<i64>) -> Result<Parsed> {
    Reader::new(lines, hint, true).first()
}

/// Reads a size: `s77`, `2*s77 + 1`. `hint` gives the numbers that symbols stand for, where they are known.
///
/// # Errors
/// `ValueError`, saying what was expected.
pub fn parse_size(text: &str, hint: &dyn Fn(&str) -> Option<i64>) -> Result<SymInt> {
    match annotation(&format!("Sym({text})"), 1, &mut Symbols::new(hint))? {
        FakeValue::Int(size) => Ok(size),
        _ => Err(Error::value(format!("{text} is no size"))),
    }
}

/// Reads a type: `f32[2, s77][s77, 1]cpu`.
///
/// # Errors
/// `ValueError`, saying what was expected.
pub fn parse_type(text: &str, hint: &dyn Fn(&str) -> Option<i64>) -> Result<FakeValue> {
    annotation(text, 1, &mut Symbols::new(hint))
}

struct Line<'a> {
    number: usize,
    indent: usize,
    text: &'a str,
}

/// `V1120 15:51:52.107000 7031 torch/.../graph_compile.py:1844] [0/0] [__aot_joint_graph] ` is no part of the text.
fn strip_log_prefix(raw: &str) -> &str {
    let mut start = raw.bytes();
    let level = start.next().is_some_and(|b| b"VDIWEC".contains(&b));
    if !level || !start.by_ref().take(4).all(|b| b.is_ascii_digit()) {
        return raw;
    }
    let Some(tag) = raw.find("[__") else { return raw };
    let after = raw[tag..].find(']').map_or("", |end| &raw[tag + end + 1..]);
    after.strip_prefix(' ').unwrap_or(after)
}

/// Name in `class NAME(torch.nn.Module):`, also where a path stands before it.
fn class_name(text: &str) -> Option<&str> {
    let head = text.strip_suffix("(torch.nn.Module):")?;
    head.strip_prefix("class ").or_else(|| head.rsplit_once(" class ").map(|(_, name)| name))
}

/// What a comment says of the nodes below it.
#[derive(Clone, Default)]
struct Place {
    source: Option<Source>,
    is_backward: bool,
    recompute: Option<Recompute>,
    checkpoint_region: Option<u32>,
    annotation: Option<Rc<Annotation>>,
}

/// A parameter of `forward`.
struct Parameter<'a> {
    name: &'a str,
    value: Option<FakeValue>,
    written: Option<Rc<str>>,
    default: Option<Arg>,
    descriptors: Option<Vec<Rc<str>>>,
}

struct Reader<'a> {
    lines: Vec<Line<'a>>,
    at: usize,
    symbols: Symbols<'a>,
    /// Whether what is not understood stays as it is written.
    lenient: bool,
    style: Style,
    has_types: bool,
}

/// Classes in classes, at most.
const MOST_NESTED: usize = 64;

impl<'a> Reader<'a> {
    fn new(lines: impl Iterator<Item = (usize, &'a str)>, hint: &'a dyn Fn(&str) -> Option<i64>, lenient: bool) -> Self {
        let mut style = Style::FULL;
        let line = |(number, raw): (usize, &'a str)| {
            let content = raw.trim_start_matches(' ');
            Line { number, indent: raw.len() - content.len(), text: content.trim_end() }
        };
        let is_text = |line: &Line<'a>| {
            // A release that indents blank lines does so throughout.
            style.indented_blanks |= line.text.is_empty() && line.indent >= 8;
            !line.text.is_empty()
        };
        let lines = lines.map(line).filter(is_text).collect();
        Reader { lines, at: 0, symbols: Symbols::new(hint), lenient, style, has_types: false }
    }

    fn first(mut self) -> Result<Parsed> {
        let graph = self.start()?;
        graph.validate()?;
        Ok(Parsed { graph, env: self.symbols.env, style: self.style, has_types: self.has_types })
    }

    fn cursor(&self) -> Cursor<'a> {
        match self.lines.get(self.at) {
            Some(line) => self.cursor_at(line.text, line.number),
            None => self.cursor_at("", self.lines.last().map_or(1, |l| l.number + 1)),
        }
    }

    fn cursor_at(&self, text: &'a str, line: usize) -> Cursor<'a> {
        if self.lenient { Cursor::lenient(text, line) } else { Cursor::new(text, line) }
    }

    /// The first graph: a class, or a function alone.
    fn start(&mut self) -> Result<Graph> {
        let found = self.lines.iter().position(|l| class_name(l.text).is_some() || l.text.starts_with("def forward("));
        let Some(at) = found else {
            return Err(self.cursor().expected("`class NAME(torch.nn.Module):` or `def forward(self, ...):`"));
        };
        self.at = at;
        match class_name(self.lines[at].text) {
            Some(name) => {
                let mut graph = Graph::new(name);
                self.class(&mut graph, 0)?;
                Ok(graph)
            }
            None => {
                let mut graph = Graph::new("GraphModule");
                self.function(&mut graph)?;
                Ok(graph)
            }
        }
    }

    fn class(&mut self, graph: &mut Graph, depth: usize) -> Result<()> {
        self.at += 1;
        let Some(indent) = self.lines.get(self.at).filter(|l| l.text.starts_with("def forward(")).map(|l| l.indent) else {
            return Err(self.cursor().expected("`def forward(self, ...):`"));
        };
        self.function(graph)?;
        while let Some(name) = self.lines.get(self.at).filter(|l| l.indent == indent).and_then(|l| class_name(l.text)) {
            if depth == MOST_NESTED {
                return Err(self.cursor().expected("fewer classes in each other"));
            }
            let mut subgraph = Graph::new(name);
            self.class(&mut subgraph, depth + 1)?;
            graph.subgraphs.push((name.into(), subgraph));
        }
        Ok(())
    }

    fn function(&mut self, graph: &mut Graph) -> Result<()> {
        let indent = self.lines[self.at].indent;
        let mut header = self.cursor();
        header.expect("def forward(")?;
        let expanded = self.lenient && header.at_end();
        let parameters = match expanded {
            true => self.parameter_lines()?,
            false => self.parameters(&mut header)?,
        };
        self.style.expanded |= expanded;
        self.at += 1;
        let joint = matches!(parameters.as_slice(), [a, b] if a.name == "primals" && b.name == "tangents");
        let rest = self.lines.get(self.at..).unwrap_or_default();
        let unpacks = match expanded {
            true => rest.iter().find(|line| !is_input_line(line)).is_some_and(is_flatten),
            false => rest.iter().take(2).any(is_flatten),
        };
        graph.joint_signature = joint && unpacks;
        let mut names = Names::default();
        match graph.joint_signature {
            true => self.joint_inputs(graph, &mut names)?,
            false => self.inputs(graph, parameters, &mut names)?,
        }
        let mut place = Place::default();
        loop {
            let Some(line) = self.lines.get(self.at).filter(|l| l.indent > indent) else {
                return Err(self.cursor().expected("`return`"));
            };
            let (text, number) = (line.text, line.number);
            self.at += 1;
            if text.starts_with('#') {
                place = comment(text).unwrap_or(place);
            } else if let Some(value) = text.strip_prefix("return ") {
                let mut cursor = self.cursor_at(value, number);
                let wrapped = cursor.eat("pytree.tree_unflatten(");
                let (value, descriptors) = match self.lenient && matches!(cursor.rest(), "(" | "[") {
                    true => self.returned_lines(cursor.rest(), &names)?,
                    false => {
                        let value = cursor.value(&names)?;
                        if wrapped {
                            cursor.expect(", self._out_spec)")?;
                        }
                        (value, None)
                    }
                };
                let id = graph.set_output(value);
                graph.node_mut(id).meta.descriptors = descriptors;
                break;
            } else {
                self.statement(graph, &mut names, &place, self.cursor_at(text, number))?;
            }
        }
        gather_results(graph);
        Ok(())
    }

    /// The parameters after `self`.
    fn parameters(&mut self, cursor: &mut Cursor<'a>) -> Result<Vec<Parameter<'a>>> {
        let mut parameters = Vec::new();
        while !cursor.eat("):") {
            if cursor.is_lenient() && cursor.starts_with(") -> ") {
                break;
            }
            let parameter = self.parameter(cursor)?;
            parameters.extend(parameter);
            if !cursor.eat(", ") && !cursor.starts_with(")") {
                return Err(cursor.expected("`, ` or `):`"));
            }
        }
        Ok(parameters)
    }

    /// The parameters after `self`, each on a line of its own, with its descriptor; ends at the line that closes the head.
    fn parameter_lines(&mut self) -> Result<Vec<Parameter<'a>>> {
        let mut parameters = Vec::new();
        loop {
            self.at += 1;
            let mut cursor = self.cursor();
            if cursor.starts_with(")") {
                return Ok(parameters);
            }
            let parameter = self.parameter(&mut cursor)?;
            cursor.expect(",")?;
            let descriptors = cursor.eat("  # ").then(|| vec![cursor.rest().into()]);
            parameters.extend(parameter.map(|p| Parameter { descriptors, ..p }));
        }
    }

    /// `name`, `name: "type"`, `name : type`, with a default; `None` for `self`.
    fn parameter(&mut self, cursor: &mut Cursor<'a>) -> Result<Option<Parameter<'a>>> {
        if cursor.is_lenient() {
            cursor.take_while(|c| c == '*');
        }
        let Some(name) = cursor.identifier() else { return Err(cursor.expected("a parameter")) };
        let before = cursor.clone();
        let mut written = None;
        if cursor.eat(" : ") {
            match cursor.is_lenient() {
                true => {
                    cursor.take_type();
                    written = Some(before.rest()[..before.rest().len() - cursor.rest().len()].into());
                }
                false => drop(cursor.path()),
            }
        }
        let (value, other) = self.typed(cursor)?;
        let default = if cursor.is_lenient() && cursor.eat(" = ") { Some(cursor.value(&Names::default())?) } else { None };
        Ok((name != "self").then_some(Parameter { name, value, written: other.or(written), default, descriptors: None }))
    }

    /// The values of `return (`, a line each, with their descriptors; ends after the line that closes them.
    fn returned_lines(&mut self, open: &str, names: &Names<'a>) -> Result<(Arg, Option<Vec<Rc<str>>>)> {
        let (mut items, mut descriptors) = (Vec::new(), Vec::new());
        loop {
            let mut cursor = self.cursor();
            self.at += 1;
            if cursor.starts_with(if open == "(" { ")" } else { "]" }) {
                let value = if open == "(" { Arg::Tuple(items) } else { Arg::List(items) };
                return Ok((value, Some(descriptors)));
            }
            items.push(cursor.value(names)?);
            cursor.expect(",")?;
            descriptors.push(if cursor.eat("  # ") { cursor.rest().into() } else { "".into() });
        }
    }

    /// `: "..."`, where it is there: the value, and the type as it is written, where the value would print otherwise.
    fn typed(&mut self, cursor: &mut Cursor<'a>) -> Result<(Option<FakeValue>, Option<Rc<str>>)> {
        let before = cursor.rest();
        let quoted = cursor.eat(": \"");
        if !quoted && !(self.lenient && cursor.eat(": ")) {
            return Ok((None, None));
        }
        let text = match quoted {
            true => {
                let text = cursor.take_while(|c| c != '"');
                cursor.expect("\"")?;
                text
            }
            // Before types were quoted.
            false => cursor.take_type(),
        };
        let line = cursor.line();
        let value = annotation(text, line, &mut self.symbols);
        if !self.lenient {
            return value.map(|v| (Some(v), None));
        }
        if !self.has_types
            && let Ok(FakeValue::Tensor(_)) = &value
        {
            self.has_types = true;
            self.style.quotes = quoted;
            self.style.strides = text.contains("][");
            self.style.devices = !text.ends_with(']');
        }
        let WrittenType { value, is_exact } = match value {
            // Without symbols in it, what prints is what was read.
            Ok(value) => WrittenType { is_exact: self.prints_as(text, quoted, &value), value: Some(value) },
            Err(_) => foreign(text, line, &mut self.symbols),
        };
        let written = &before[..before.len() - cursor.rest().len()];
        Ok((value, (!is_exact).then(|| written.into())))
    }

    /// Whether a value prints as the type that it was read from.
    fn prints_as(&self, text: &str, quoted: bool, value: &FakeValue) -> bool {
        let style = self.style;
        if quoted != style.quotes {
            return false;
        }
        if let FakeValue::Tensor(spec) = value {
            let alike = text.contains("][") == style.strides && text.ends_with(']') != style.devices;
            let numbers = |sizes: &[SymInt]| sizes.iter().all(|size| size.as_int().is_some());
            if alike && numbers(&spec.geometry.sizes) && numbers(&spec.geometry.strides) {
                return true;
            }
        }
        printed(value, style).is_some_and(|again| again == text)
    }

    /// Plain inputs; `l_x_ = L_x_` below the header names the node of the parameter `L_x_`.
    fn inputs(&mut self, graph: &mut Graph, parameters: Vec<Parameter<'a>>, names: &mut Names<'a>) -> Result<()> {
        let mut renamed: HashMap<&str, &str> = HashMap::new();
        while let Some((new, old)) = self.lines.get(self.at).and_then(|l| l.text.split_once(" = ")) {
            if !parameters.iter().any(|p| p.name == old) {
                break;
            }
            renamed.insert(old, new);
            self.at += 1;
        }
        for parameter in parameters {
            let name = renamed.get(parameter.name).copied().unwrap_or(parameter.name);
            let Parameter { value, written, default, descriptors, .. } = parameter;
            let id = graph.placeholder(name, Meta { value, written_type: written, descriptors, ..Meta::default() });
            let node = graph.node_mut(id);
            node.target = Target::Name(parameter.name.into());
            node.args.extend(default);
            self.bind(graph, names, name, id)?;
        }
        Ok(())
    }

    /// The inputs of a joint graph: `a: "..."; b: "...";` where they are typed, then the line that unpacks the trees.
    fn joint_inputs(&mut self, graph: &mut Graph, names: &mut Names<'a>) -> Result<()> {
        let mut types = HashMap::new();
        while self.lines.get(self.at).is_some_and(|line| !is_flatten(line)) {
            let mut cursor = self.cursor();
            while !cursor.at_end() && !cursor.starts_with("#") {
                let Some(name) = cursor.identifier() else { return Err(cursor.expected("an input")) };
                let (value, written) = self.typed(&mut cursor)?;
                let mut meta = Meta { value, written_type: written, ..Meta::default() };
                if self.style.expanded && cursor.eat("  # ") {
                    meta.descriptors = Some(vec![cursor.rest().into()]);
                    types.insert(name, meta);
                    break;
                }
                types.insert(name, meta);
                if !cursor.eat(";") && !(self.style.expanded && cursor.at_end()) {
                    return Err(cursor.expected("`;`"));
                }
                cursor.eat(" ");
            }
            self.at += 1;
        }
        let mut cursor = self.cursor();
        while let Some(name) = cursor.identifier() {
            // Until types were quoted, they stood here.
            let (value, written) = self.typed(&mut cursor)?;
            let before = types.remove(name).unwrap_or_default();
            let id =
                graph.placeholder(name, Meta { value: before.value.or(value), written_type: before.written_type.or(written), ..before });
            self.bind(graph, names, name, id)?;
            cursor.expect(",")?;
            cursor.eat(" ");
        }
        cursor.expect("= fx_pytree.tree_flatten_spec(")?;
        self.at += 1;
        Ok(())
    }

    fn bind(&self, graph: &mut Graph, names: &mut Names<'a>, name: &'a str, id: NodeId) -> Result<()> {
        let same = *graph.node(id).name == *name || (self.lenient && graph.give_name(id, name));
        if !same || names.insert(name, id).is_some() {
            let line = self.lines.get(self.at.saturating_sub(1)).map_or(1, |l| l.number);
            return Err(Error::value(format!("line {line}: expected a name that is free, found `{name}`")));
        }
        Ok(())
    }

    /// `name: "type" = call`, or one of the two forms that change a value in place.
    fn statement(&mut self, graph: &mut Graph, names: &mut Names<'a>, place: &Place, start: Cursor<'a>) -> Result<()> {
        let mut cursor = start.clone();
        let Some(name) = cursor.identifier() else { return Err(start.expected("`name = call`")) };
        let (value, written) = self.typed(&mut cursor)?;
        let in_place = match value {
            None if !cursor.starts_with(" = ") => self.in_place(names, &start)?,
            _ => None,
        };
        let (name, value, written, call) = match in_place {
            Some((call, mut after)) => {
                let Some(name) = after.identifier() else { return Err(after.expected("a name")) };
                let (value, written) = self.typed(&mut after)?;
                (name, value, written, call)
            }
            None => {
                cursor.expect(" = ")?;
                let right = cursor.rest();
                let call = expression(&mut cursor, names, value.as_ref()).and_then(|call| {
                    let ends = cursor.at_end() || (cursor.starts_with(";  ") && cursor.rest().ends_with(" = None"));
                    if ends { Ok(call) } else { Err(cursor.expected("the end of the call")) }
                });
                let call = match call {
                    Err(_) if self.lenient => {
                        let released = right.rfind(";  ").filter(|_| right.ends_with(" = None"));
                        text_call(&right[..released.unwrap_or(right.len())], names)
                    }
                    call => call?,
                };
                (name, value, written, call)
            }
        };
        let meta = Meta {
            value,
            source: place.source.clone(),
            is_backward: place.is_backward,
            recompute: place.recompute,
            checkpoint_region: place.checkpoint_region,
            written_type: written,
            annotation: place.annotation.clone(),
            ..Meta::default()
        };
        let id = match call {
            Call { attribute: Some(path), .. } => {
                let id = graph.get_attr(name, meta);
                graph.node_mut(id).target = Target::Name(path.into());
                id
            }
            Call { target, args, kwargs, .. } => graph.call(name, target, args, kwargs, meta),
        };
        self.bind(graph, names, name, id)
    }

    /// `x += y;  name = x` and `x[i] = y;  name = x`.
    #[allow(clippy::type_complexity)]
    fn in_place(&self, names: &Names<'a>, start: &Cursor<'a>) -> Result<Option<(Call, Cursor<'a>)>> {
        let mut cursor = start.clone();
        let object = match cursor.identifier().and_then(|n| names.get(n)) {
            Some(id) => Arg::Node(*id),
            None => return Ok(None),
        };
        let mut args = vec![object];
        let symbol = if cursor.eat("[") {
            args.push(cursor.value(names)?);
            cursor.expect("] = ")?;
            "[]="
        } else {
            cursor.expect(" ")?;
            let symbol = cursor.take_while(|c| c != ' ');
            if !symbol.ends_with('=') || operator_of(symbol).is_none() {
                return Err(start.expected("`name = call`"));
            }
            cursor.expect(" ")?;
            symbol
        };
        args.push(cursor.value(names)?);
        cursor.expect(";  ")?;
        let target = Target::Torch { op: "".into(), shown: Shown::Operator(symbol.into()) };
        Ok(Some((Call { attribute: None, target, args, kwargs: Vec::new() }, cursor)))
    }
}

/// Whether a line of an expanded head is an input with its type.
fn is_input_line(line: &Line) -> bool {
    !line.text.starts_with('#') && !is_flatten(line) && line.text.split_once(':').is_some_and(|(name, _)| !name.contains(' '))
}

fn is_flatten(line: &Line) -> bool {
    line.text.contains(" = fx_pytree.tree_flatten_spec(")
}

/// What a comment line says; `None` for one that says nothing of nodes.
fn comment(text: &str) -> Option<Place> {
    let mut rest = text.strip_prefix("# ")?;
    let mut place = Place::default();
    if let Some(after) = rest.strip_prefix("Annotation: ") {
        let (shown, after) = after.split_at(end_of_braces(after)?);
        place.annotation = Some(Rc::new(Annotation { shown: shown.to_owned(), memory_budget: None }));
        rest = after.strip_prefix(' ')?;
    }
    let tag = |name: &str| {
        [Recompute::MustSave, Recompute::PreferSave, Recompute::MustRecompute, Recompute::PreferRecompute]
            .into_iter()
            .find(|t| recompute_name(*t) == name)
    };
    if let Some(after) = rest.strip_prefix("ac_graph_id: ") {
        let (number, after) = after.split_once(' ')?;
        place.checkpoint_region = Some(number.parse().ok()?);
        rest = after;
        if let Some(after) = rest.strip_prefix("- ") {
            let (name, after) = after.split_once(' ')?;
            place.recompute = Some(tag(name)?);
            rest = after;
        }
    } else if let Some(after) = rest.strip_prefix("recompute: ") {
        let (name, after) = after.split_once(' ')?;
        place.recompute = Some(tag(name)?);
        rest = after;
    }
    if rest == "No stacktrace found for following nodes" {
        return Some(place);
    }
    if let Some(after) = rest.strip_prefix("Backward of forward node: ") {
        place.is_backward = true;
        rest = after;
    }
    let (location, code) = rest.strip_prefix("File: ")?.split_once(", code: ").or_else(|| {
        // A line of code that is empty leaves nothing after the colon once blanks are trimmed.
        rest.strip_prefix("File: ")?.strip_suffix(", code:").map(|l| (l, ""))
    })?;
    // Until PyTorch 2.2 the function was not named.
    let (location, function) = location.split_once(" in ").unwrap_or((location, ""));
    let (file, line) = location.rsplit_once(':')?;
    let line = line.parse().ok()?;
    let span = Span { line, column: 0, end_line: line, end_column: 0, file: None };
    // As it is printed: characters that end a line, or turn what follows around, are blanks, and a line ends in none.
    let code = on_one_line(code).trim_end().into();
    place.source = Some(Source { span, file: file.into(), function: function.into(), code, indent: 0, library_line: None });
    Some(place)
}

/// Where the dictionary that a text begins with ends.
fn end_of_braces(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0usize, None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '{') => depth += 1,
            (None, '}') if depth <= 1 => return Some(at + 1),
            (None, '}') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

/// A call of several results prints without a type: its value is put together from what is taken out of it.
fn gather_results(graph: &mut Graph) {
    let mut results: HashMap<NodeId, Vec<(usize, FakeValue)>> = HashMap::new();
    for node in graph.nodes().filter(|n| n.opcode == Opcode::Call && n.target == Target::Getitem) {
        if let ([Arg::Node(of), Arg::Int(i)], Some(value)) = (node.args.as_slice(), &node.meta.value)
            && let Ok(i) = usize::try_from(*i)
            && i < 1 << 16
        {
            results.entry(*of).or_default().push((i, value.clone()));
        }
    }
    for (id, found) in results {
        if graph.node(id).meta.value.is_some() {
            continue;
        }
        let count = found.iter().map(|(i, _)| i + 1).max().unwrap_or(0);
        let mut list = vec![FakeValue::None; count];
        for (i, value) in found {
            list[i] = value;
        }
        graph.node_mut(id).meta.value = Some(FakeValue::List(list));
    }
}
