//! Reading a graph from the text that torch.fx prints: `print_readable`, `code`, or a log of them.
//!
//! `print_readable(parse(text))` is the text again. Comments give source lines, backward marks and recompute tags;
//! annotations give values; releases are not read, they follow from the uses. A text without annotations gives a graph
//! without values. What is not understood is an error that names the line and what was expected there.

use super::annotation::{Symbols, annotation};
use super::cursor::Cursor;
use super::literal::operator_of;
use super::print::{on_one_line, recompute_name};
use super::{Arg, FakeValue, Graph, Meta, NodeId, Opcode, Recompute, Shown, Target};
use diagnostics::error::{Error, Result};
use diagnostics::source::Source;
use diagnostics::span::Span;
use shape::{ShapeEnv, SymInt};
use std::collections::HashMap;

/// A graph that was read, and the symbols in its sizes.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The graph.
    pub graph: Graph,
    /// Its symbols, each named as in the text.
    pub env: ShapeEnv,
}

/// Reads the first graph in a text. `hint` gives the numbers that symbols stand for, where they are known.
///
/// # Errors
/// `ValueError`, naming the line and what was expected there.
pub fn parse(text: &str, hint: &dyn Fn(&str) -> Option<i64>) -> Result<Parsed> {
    let lines: Vec<Line> = text
        .lines()
        .enumerate()
        .map(|(i, raw)| {
            let raw = strip_log_prefix(raw);
            let content = raw.trim_start_matches(' ');
            Line { number: i + 1, indent: raw.len() - content.len(), text: content.trim_end() }
        })
        .filter(|l| !l.text.is_empty())
        .collect();
    let mut reader = Reader { lines, at: 0, symbols: Symbols::new(hint) };
    let graph = reader.start()?;
    graph.validate()?;
    Ok(Parsed { graph, env: reader.symbols.env })
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
}

/// A parameter of `forward`.
struct Parameter<'a> {
    name: &'a str,
    value: Option<FakeValue>,
}

struct Reader<'a> {
    lines: Vec<Line<'a>>,
    at: usize,
    symbols: Symbols<'a>,
}

impl<'a> Reader<'a> {
    fn cursor(&self) -> Cursor<'a> {
        match self.lines.get(self.at) {
            Some(line) => Cursor::new(line.text, line.number),
            None => Cursor::new("", self.lines.last().map_or(1, |l| l.number + 1)),
        }
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
                self.class(&mut graph)?;
                Ok(graph)
            }
            None => {
                let mut graph = Graph::new("GraphModule");
                self.function(&mut graph)?;
                Ok(graph)
            }
        }
    }

    fn class(&mut self, graph: &mut Graph) -> Result<()> {
        self.at += 1;
        let Some(indent) = self.lines.get(self.at).filter(|l| l.text.starts_with("def forward(")).map(|l| l.indent) else {
            return Err(self.cursor().expected("`def forward(self, ...):`"));
        };
        self.function(graph)?;
        while let Some(name) = self.lines.get(self.at).filter(|l| l.indent == indent).and_then(|l| class_name(l.text)) {
            let mut subgraph = Graph::new(name);
            self.class(&mut subgraph)?;
            graph.subgraphs.push((name.into(), subgraph));
        }
        Ok(())
    }

    fn function(&mut self, graph: &mut Graph) -> Result<()> {
        let indent = self.lines[self.at].indent;
        let mut header = self.cursor();
        header.expect("def forward(")?;
        let parameters = self.parameters(&mut header)?;
        self.at += 1;
        let joint = matches!(parameters.as_slice(), [a, b] if a.name == "primals" && b.name == "tangents");
        graph.joint_signature = joint && self.lines.get(self.at..).unwrap_or_default().iter().take(2).any(is_flatten);
        let mut names = HashMap::new();
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
                let mut cursor = Cursor::new(value, number);
                let wrapped = cursor.eat("pytree.tree_unflatten(");
                let value = cursor.value(&names)?;
                if wrapped {
                    cursor.expect(", self._out_spec)")?;
                }
                graph.set_output(value);
                break;
            } else {
                self.statement(graph, &mut names, &place, Cursor::new(text, number))?;
            }
        }
        gather_results(graph);
        Ok(())
    }

    /// The parameters after `self`.
    fn parameters(&mut self, cursor: &mut Cursor<'a>) -> Result<Vec<Parameter<'a>>> {
        let mut parameters = Vec::new();
        while !cursor.eat("):") {
            let Some(name) = cursor.identifier() else { return Err(cursor.expected("a parameter")) };
            if cursor.eat(" : ") {
                cursor.path();
            }
            let value = self.typed(cursor)?;
            if name != "self" {
                parameters.push(Parameter { name, value });
            }
            if !cursor.eat(", ") && !cursor.starts_with("):") {
                return Err(cursor.expected("`, ` or `):`"));
            }
        }
        Ok(parameters)
    }

    /// `: "..."`, where it is there.
    fn typed(&mut self, cursor: &mut Cursor<'a>) -> Result<Option<FakeValue>> {
        if !cursor.eat(": \"") {
            return Ok(None);
        }
        let text = cursor.take_while(|c| c != '"');
        let line = self.lines.get(self.at.min(self.lines.len() - 1)).map_or(1, |l| l.number);
        cursor.expect("\"")?;
        annotation(text, line, &mut self.symbols).map(Some)
    }

    /// Plain inputs; `l_x_ = L_x_` below the header names the node of the parameter `L_x_`.
    fn inputs(&mut self, graph: &mut Graph, parameters: Vec<Parameter<'a>>, names: &mut HashMap<String, NodeId>) -> Result<()> {
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
            let id = graph.placeholder(name, Meta { value: parameter.value, ..Meta::default() });
            graph.node_mut(id).target = Target::Name(parameter.name.into());
            self.bind(graph, names, name, id)?;
        }
        Ok(())
    }

    /// The inputs of a joint graph: `a: "..."; b: "...";` where they are typed, then the line that unpacks the trees.
    fn joint_inputs(&mut self, graph: &mut Graph, names: &mut HashMap<String, NodeId>) -> Result<()> {
        let mut types = HashMap::new();
        if !is_flatten(&self.lines[self.at]) {
            let mut cursor = self.cursor();
            while !cursor.at_end() {
                let Some(name) = cursor.identifier() else { return Err(cursor.expected("an input")) };
                types.insert(name, self.typed(&mut cursor)?);
                cursor.expect(";")?;
                cursor.eat(" ");
            }
            self.at += 1;
        }
        let mut cursor = self.cursor();
        while let Some(name) = cursor.identifier() {
            let id = graph.placeholder(name, Meta { value: types.remove(name).flatten(), ..Meta::default() });
            self.bind(graph, names, name, id)?;
            cursor.expect(",")?;
            cursor.eat(" ");
        }
        cursor.expect("= fx_pytree.tree_flatten_spec(")?;
        self.at += 1;
        Ok(())
    }

    fn bind(&self, graph: &Graph, names: &mut HashMap<String, NodeId>, name: &str, id: NodeId) -> Result<()> {
        let given = &graph.node(id).name;
        if **given != *name || names.insert(name.to_owned(), id).is_some() {
            let line = self.lines.get(self.at.saturating_sub(1)).map_or(1, |l| l.number);
            return Err(Error::value(format!("line {line}: expected a name that is free, found `{name}`")));
        }
        Ok(())
    }

    /// `name: "type" = call`, or one of the two forms that change a value in place.
    fn statement(&mut self, graph: &mut Graph, names: &mut HashMap<String, NodeId>, place: &Place, start: Cursor<'a>) -> Result<()> {
        let mut cursor = start.clone();
        let Some(name) = cursor.identifier() else { return Err(start.expected("`name = call`")) };
        let value = self.typed(&mut cursor)?;
        let in_place = match value {
            None if !cursor.starts_with(" = ") => self.in_place(names, &start)?,
            _ => None,
        };
        let (name, value, call) = match in_place {
            Some((call, mut after)) => {
                let Some(name) = after.identifier() else { return Err(after.expected("a name")) };
                let value = self.typed(&mut after)?;
                (name, value, call)
            }
            None => {
                cursor.expect(" = ")?;
                let call = expression(&mut cursor, names, value.as_ref())?;
                if !cursor.at_end() && !(cursor.starts_with(";  ") && cursor.rest().ends_with(" = None")) {
                    return Err(cursor.expected("the end of the call"));
                }
                (name, value, call)
            }
        };
        let meta = Meta {
            value,
            source: place.source.clone(),
            is_backward: place.is_backward,
            recompute: place.recompute,
            checkpoint_region: place.checkpoint_region,
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
    fn in_place(&self, names: &HashMap<String, NodeId>, start: &Cursor<'a>) -> Result<Option<(Call, Cursor<'a>)>> {
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

fn is_flatten(line: &Line) -> bool {
    line.text.contains(" = fx_pytree.tree_flatten_spec(")
}

/// The right side of an assignment.
struct Call {
    attribute: Option<String>,
    target: Target,
    args: Vec<Arg>,
    kwargs: Vec<(std::rc::Rc<str>, Arg)>,
}

/// The path of an attribute of `self`: `self.a.b`, with `getattr(self.a, "0")` where a part is no identifier.
fn owned(cursor: &mut Cursor<'_>) -> Result<String> {
    let mut path = String::new();
    if cursor.eat("getattr(") {
        path = owned(cursor)?;
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

fn expression(cursor: &mut Cursor<'_>, names: &HashMap<String, NodeId>, value: Option<&FakeValue>) -> Result<Call> {
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
        let attribute = Some(owned(cursor)?);
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
                    None if is_of_graphs(path) => Target::Torch { op: "".into(), shown: Shown::Function(path.into()) },
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

/// What a comment line says; `None` for one that says nothing of nodes.
fn comment(text: &str) -> Option<Place> {
    let mut rest = text.strip_prefix("# ")?;
    let mut place = Place::default();
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
    let (location, function) = location.split_once(" in ")?;
    let (file, line) = location.rsplit_once(':')?;
    let line = line.parse().ok()?;
    let span = Span { line, column: 0, end_line: line, end_column: 0 };
    // As it is printed: characters that end a line, or turn what follows around, are blanks, and a line ends in none.
    let code = on_one_line(code).trim_end().into();
    place.source = Some(Source { span, file: file.into(), function: function.into(), code, indent: 0, library_line: None });
    Some(place)
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
