//! A graph as the Python code torch.fx generates for it: `print_readable` with types and source lines, or plain `code`.
//!
//! Invariants: a value is released (`x = None`) on the line of its last reader, or on its own line where nobody reads it;
//! a comment stands where the place in the script changes; subgraphs follow as nested classes. [`super::parse`] reads the
//! text back. What a script may call as it likes (attributes, files, annotations) stays on its line and in its quotes.

use super::literal::{arg_repr, escaped, is_printable, symbol_of};
use super::{Arg, FakeValue, Graph, Node, NodeId, Opcode, Recompute, Shown, Target};
use shape::SymInt;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// What `print_readable` shows of each value, and how releases of PyTorch laid it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Strides beside sizes.
    pub strides: bool,
    /// Devices.
    pub devices: bool,
    /// Types between quotes, as since PyTorch 2.2.
    pub quotes: bool,
    /// Inputs and returned values one a line, with their descriptors, as traces show AOTAutograd's graphs (`expanded_def=True`).
    pub expanded: bool,
    /// Blank lines indented as their neighbours, as until PyTorch 2.5.
    pub indented_blanks: bool,
}

impl Style {
    /// `print_readable(include_stride=True, include_device=True)`, as the logs show graphs.
    pub const FULL: Style = Style { strides: true, devices: true, quotes: true, expanded: false, indented_blanks: false };
    /// `print_readable()`.
    pub const PLAIN: Style = Style { strides: false, devices: false, ..Style::FULL };
}

/// A printed graph.
#[derive(Clone, Debug, Default)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// Indexed by node id: the line of the text, counted from 0, that defines the node. Subgraphs' nodes are not in it.
    pub line_of_node: Vec<Option<u32>>,
    /// Where each `forward` stands: the graph's, then those of its subgraphs, each before its own.
    pub functions: Vec<FunctionLines>,
}

/// Lines of the text, counted from 0, that are a `forward`. The last of them returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionLines {
    /// The first.
    pub first: u32,
    /// The first after those that take the inputs.
    pub body: u32,
    /// The first that is none of them.
    pub end: u32,
}

/// `gm.print_readable(include_stride=True, include_device=True)`.
pub fn readable(graph: &Graph) -> String {
    print_readable(graph, Style::FULL).text
}

/// `gm.print_readable(...)`, with the line of each node.
pub fn print_readable(graph: &Graph, style: Style) -> Printed {
    let mut lines = Lines::default();
    class(graph, &graph.class_name, style, 0, &mut lines);
    lines.finish(graph)
}

/// `gm.code`.
pub fn code(graph: &Graph) -> String {
    let mut lines = Lines::default();
    function(graph, None, 0, &mut lines);
    format!("\n\n\n{}    ", lines.text)
}

/// Lines written so far.
#[derive(Default)]
struct Lines {
    text: String,
    count: u32,
    /// Lines of the outermost graph's nodes.
    nodes: Vec<(NodeId, u32)>,
    functions: Vec<FunctionLines>,
}

impl Lines {
    /// Adds a line (or several, joined by newlines); a blank one carries no indentation.
    fn push(&mut self, indent: usize, line: &str) {
        for one in line.split('\n') {
            if !one.is_empty() {
                self.text.extend(std::iter::repeat_n(' ', indent));
                self.text.push_str(one);
            }
            self.text.push('\n');
            self.count += 1;
        }
    }

    /// Adds a blank line.
    fn blank(&mut self, indent: usize, style: Option<Style>) {
        let indent = if style.is_some_and(|s| s.indented_blanks) { indent } else { 0 };
        self.text.extend(std::iter::repeat_n(' ', indent));
        self.push(0, "");
    }

    fn finish(self, graph: &Graph) -> Printed {
        let mut line_of_node = vec![None; graph.arena_len()];
        for (id, line) in self.nodes {
            line_of_node[id.0 as usize] = Some(line);
        }
        Printed { text: self.text, line_of_node, functions: self.functions }
    }
}

fn class(graph: &Graph, name: &str, style: Style, indent: usize, lines: &mut Lines) {
    lines.push(indent, &format!("class {}(torch.nn.Module):", class_name(name)));
    function(graph, Some(style), indent + 4, lines);
    let own = std::mem::take(&mut lines.nodes);
    for (name, subgraph) in &graph.subgraphs {
        lines.blank(indent + 4, Some(style));
        class(subgraph, name, Style { expanded: false, ..style }, indent + 4, lines);
    }
    lines.nodes = own;
}

/// The `forward` function; with a style, with types and comments.
fn function(graph: &Graph, style: Option<Style>, indent: usize, lines: &mut Lines) {
    let releases = releases(graph);
    let annotate = |node: &Node| annotated(node, style);
    let parameters: Vec<(&Node, String)> = graph.placeholders().map(|n| (n, parameter(n))).collect();
    let signature_line = lines.count;
    let body = indent + 4;
    let expanded = style.is_some_and(|s| s.expanded);
    if graph.joint_signature {
        if expanded {
            lines.push(indent, "def forward(");
            ["self,", "primals,", "tangents,"].into_iter().for_each(|line| lines.push(body, line));
            lines.push(indent, "):");
        } else {
            lines.push(indent, "def forward(self, primals, tangents):");
        }
        joint_inputs(&parameters, &annotate, style, body, lines);
    } else if expanded {
        lines.push(indent, "def forward(");
        lines.push(body, "self,");
        for (node, name) in &parameters {
            let default = node.args.first().map(|a| format!(" = {}", arg_repr(graph, a))).unwrap_or_default();
            lines.nodes.push((node.id, lines.count));
            lines.push(body, &format!("{name}{}{default},{}", annotate(node), described(node, 0)));
        }
        lines.push(indent, "):");
    } else {
        lines.nodes.extend(parameters.iter().map(|(n, _)| (n.id, signature_line)));
        lines.push(indent, &signature(graph, style));
    }
    let after_inputs = lines.count;
    let mut place: Option<String> = None;
    let mut first = true;
    for node in graph.nodes() {
        if style.is_some() && !matches!(node.opcode, Opcode::Placeholder | Opcode::Output) {
            let here = comment(node);
            if place.as_ref() != Some(&here) {
                // The blank line before a comment is left out at the top of the body.
                if !first {
                    lines.blank(body, style);
                }
                lines.push(body, &here);
                place = Some(here);
                first = false;
            }
        }
        let text = match node.opcode {
            Opcode::Placeholder => {
                let raw = parameter(node);
                if *raw == *node.name {
                    continue;
                }
                format!("{} = {raw}", node.name)
            }
            Opcode::GetAttr => format!("{}{} = {}", node.name, annotate(node), attribute("self", &node.target.text())),
            Opcode::Call => call(graph, node, &annotate(node)),
            Opcode::Output if expanded && node.meta.descriptors.is_some() => returned_in_lines(graph, node),
            Opcode::Output if graph.joint_signature => format!("return pytree.tree_unflatten({}, self._out_spec)", returned(graph, node)),
            Opcode::Output => format!("return {}", returned(graph, node)),
        };
        let released = match node.opcode {
            Opcode::Call | Opcode::GetAttr => releases[node.id.0 as usize].as_slice(),
            _ => &[],
        };
        let mut line = text;
        if !released.is_empty() {
            line.push_str(";  ");
            for id in released {
                line.push_str(&graph.node(*id).name);
                line.push_str(" = ");
            }
            line.push_str("None");
        }
        lines.nodes.push((node.id, lines.count));
        lines.push(body, &line);
        first = false;
    }
    lines.functions.push(FunctionLines { first: signature_line, body: after_inputs, end: lines.count });
}

/// The inputs of a joint graph: their types, then the line that unpacks the trees.
fn joint_inputs(parameters: &[(&Node, String)], annotate: &dyn Fn(&Node) -> String, style: Option<Style>, body: usize, lines: &mut Lines) {
    let typed: Vec<(&Node, String)> = parameters.iter().map(|(n, p)| (*n, format!("{p}{}", annotate(n)))).collect();
    let has_types = parameters.iter().zip(&typed).any(|((_, name), (_, typed))| name.len() < typed.len());
    let quotes = style.is_none_or(|s| s.quotes);
    let defined = lines.count;
    match style {
        Some(style) if style.expanded => {
            for ((node, typed), (_, name)) in typed.iter().zip(parameters).filter(|((_, typed), (_, name))| name.len() < typed.len()) {
                lines.nodes.push((node.id, lines.count));
                lines.push(body, &format!("{typed}{}", described(node, 0)));
                debug_assert!(typed.starts_with(name.as_str()));
            }
        }
        Some(style) if has_types && quotes => {
            let texts: Vec<&str> = typed
                .iter()
                .zip(parameters)
                .filter(|((_, typed), (_, name))| name.len() < typed.len())
                .map(|((_, t), _)| t.as_str())
                .collect();
            let end = if style.indented_blanks { "; " } else { ";" };
            lines.nodes.extend(parameters.iter().map(|(n, _)| (n.id, defined)));
            lines.push(body, &format!("{}{end}", texts.join("; ")));
            lines.blank(body.saturating_sub(4), Some(style));
        }
        _ => lines.nodes.extend(parameters.iter().map(|(n, _)| (n.id, defined))),
    }
    if !parameters.is_empty() {
        let names: Vec<&str> = match quotes {
            true => parameters.iter().map(|(_, p)| p.as_str()).collect(),
            // Until types were quoted, they stood beside the names.
            false => typed.iter().map(|(_, typed)| typed.as_str()).collect(),
        };
        lines.push(body, &format!("{}, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)", names.join(", ")));
    }
}

/// `  # PlainAOTInput(idx=0)`, of an input or of a returned value.
fn described(node: &Node, i: usize) -> String {
    node.meta.descriptors.as_ref().and_then(|all| all.get(i)).map(|text| format!("  # {text}")).unwrap_or_default()
}

/// What is returned, a line each.
fn returned_in_lines(graph: &Graph, output: &Node) -> String {
    let (open, items, close) = match output.args.first() {
        Some(Arg::List(items)) => ('[', items.as_slice(), ']'),
        Some(Arg::Tuple(items)) => ('(', items.as_slice(), ')'),
        _ => return format!("return {}", returned(graph, output)),
    };
    let (head, tail) = if graph.joint_signature { ("pytree.tree_unflatten(", ", self._out_spec)") } else { ("", "") };
    let mut out = format!("return {head}{open}\n");
    for (i, item) in items.iter().enumerate() {
        out.push_str(&format!("    {},{}\n", arg_repr(graph, item), described(output, i)));
    }
    out.push(close);
    out + tail
}

/// The head of a `forward` that takes its inputs one by one.
pub fn signature(graph: &Graph, style: Option<Style>) -> String {
    let mut header = String::from("def forward(self");
    for node in graph.placeholders() {
        let default = node.args.first().map(|a| format!(" = {}", arg_repr(graph, a))).unwrap_or_default();
        header.push_str(&format!(", {}{}{default}", parameter(node), annotated(node, style)));
    }
    header + "):"
}

/// The value that a graph's output returns.
pub fn returned(graph: &Graph, output: &Node) -> String {
    output.args.first().map(|a| arg_repr(graph, a)).unwrap_or_else(|| "None".to_owned())
}

/// What a graph's code, without its subgraphs', takes from Python's `operator` and, with `math_` before the name, from `math`.
pub fn imports(graph: &Graph) -> BTreeSet<&str> {
    let from_modules = |node: &&Node| node.opcode == Opcode::Call;
    graph
        .nodes()
        .filter(from_modules)
        .filter_map(|node| match &node.target {
            Target::Operator(name) if symbol_of(name).is_none() => Some(&**name),
            _ => None,
        })
        .filter(|name| {
            !name.starts_with("sym_") && !name.starts_with("_sym_") && !matches!(*name, "neg" | "pos" | "invert" | "setitem" | "round")
        })
        .collect()
}

/// The name under which `forward` takes an input.
fn parameter(node: &Node) -> String {
    match &node.target {
        Target::Name(raw) => identifier(raw).into_owned(),
        _ => node.name.to_string(),
    }
}

/// `: "f32[2]"`, with a style.
fn annotated(node: &Node, style: Option<Style>) -> String {
    let Some(style) = style else { return String::new() };
    match (&node.meta.written_type, node.meta.value.as_ref()) {
        (Some(written), _) => written.to_string(),
        (None, Some(value)) => {
            let of_class = |text: String| node.meta.subclass.as_ref().map_or(text.clone(), |class| format!("{class}({text})"));
            let shown = annotation(value, style).map(of_class);
            shown.map(|a| if style.quotes { format!(": \"{a}\"") } else { format!(": {a}") }).unwrap_or_default()
        }
        (None, None) => String::new(),
    }
}

/// Per node, the values it is the last to read, itself included where nobody reads it.
fn releases(graph: &Graph) -> Vec<Vec<NodeId>> {
    let mut read = vec![false; graph.arena_len()];
    let mut releases = vec![Vec::new(); graph.arena_len()];
    for node in graph.nodes().rev() {
        for input in node.inputs() {
            if !std::mem::replace(&mut read[input.0 as usize], true) {
                releases[node.id.0 as usize].push(input);
            }
        }
        if !read[node.id.0 as usize] {
            releases[node.id.0 as usize].push(node.id);
        }
    }
    releases
}

/// What is written above a node.
fn comment(node: &Node) -> String {
    let mut out = String::from("#");
    if let Some(annotation) = &node.meta.annotation {
        out.push_str(&format!(" Annotation: {}", on_one_line(&annotation.shown)));
    }
    let tag = node.meta.recompute.map(recompute_name);
    match (tag, node.meta.checkpoint_region) {
        (Some(tag), Some(region)) => out.push_str(&format!(" ac_graph_id: {region} - {tag}")),
        (Some(tag), None) => out.push_str(&format!(" recompute: {tag}")),
        (None, Some(region)) => out.push_str(&format!(" ac_graph_id: {region}")),
        (None, None) => {}
    }
    match &node.meta.source {
        Some(source) => {
            let backward = if node.meta.is_backward && !node.meta.own_source { "Backward of forward node: " } else { "" };
            let place = format!("{}:{} in {}, code: {}", source.file, source.line(), source.function, source.code);
            out.push_str(&format!(" {backward}File: {}", on_one_line(&place)));
        }
        None => out.push_str(" No stacktrace found for following nodes"),
    }
    out
}

/// `MUST_SAVE`, ...
pub fn recompute_name(tag: Recompute) -> &'static str {
    match tag {
        Recompute::MustSave => "MUST_SAVE",
        Recompute::PreferSave => "PREFER_SAVE",
        Recompute::MustRecompute => "MUST_RECOMPUTE",
        Recompute::PreferRecompute => "PREFER_RECOMPUTE",
    }
}

/// What is known of a value, as its type annotation; `None` where nothing is written.
pub(super) fn annotation(value: &FakeValue, style: Style) -> Option<String> {
    match value {
        FakeValue::Tensor(spec) => {
            let list = |v: &[SymInt]| format!("[{}]", v.iter().map(SymInt::to_string).collect::<Vec<_>>().join(", "));
            let strides = if style.strides { list(&spec.geometry.strides) } else { String::new() };
            let device = if style.devices { spec.device.to_string() } else { String::new() };
            Some(format!("{}{}{strides}{device}", spec.dtype.short(), list(&spec.geometry.sizes)))
        }
        FakeValue::Int(size @ SymInt::Sym(..)) => Some(format!("Sym({size})")),
        FakeValue::SymFloat(float) => Some(format!("Sym({float})")),
        FakeValue::Condition(text) => Some(format!("Sym({text})")),
        _ => None,
    }
}

/// `base.a.b`, with `getattr` where a part is no identifier.
fn attribute(base: &str, path: &str) -> String {
    path.split('.').fold(base.to_owned(), |base, part| {
        if is_identifier(part) { format!("{base}.{part}") } else { format!("getattr({base}, \"{}\")", escaped(part, '"')) }
    })
}

/// A name that Python takes for one; what can't be part of it is `_`, as in torch.fx.
pub fn identifier(text: &str) -> Cow<'_, str> {
    if is_identifier(text) {
        return Cow::Borrowed(text);
    }
    let mut out: String = text.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if !out.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        out.insert(0, '_');
    }
    Cow::Owned(out)
}

/// The name of a graph's class, that of a function: Python calls one `<lambda>`.
fn class_name(name: &str) -> Cow<'_, str> {
    if name == "<lambda>" { Cow::Borrowed(name) } else { identifier(name) }
}

/// A text that ends no line, all of which is seen.
pub(super) fn on_one_line(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| !is_printable(c);
    if text.contains(hidden) { Cow::Owned(text.replace(hidden, " ")) } else { Cow::Borrowed(text) }
}

/// Whether a text is a name as Python has them.
pub fn is_identifier(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit()) && !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The call of a node, assigned to its name.
fn call(graph: &Graph, node: &Node, annotation: &str) -> String {
    let name = &node.name;
    let arg = |i: usize| node.args.get(i).map(|a| arg_repr(graph, a)).unwrap_or_default();
    let arguments = |skip: usize| {
        let positional = node.args.iter().skip(skip).map(|a| arg_repr(graph, a));
        let keywords = node.kwargs.iter().map(|(k, v)| format!("{} = {}", identifier(k), arg_repr(graph, v)));
        positional.chain(keywords).collect::<Vec<_>>().join(", ")
    };
    let assign = |value: String| format!("{name}{annotation} = {value}");
    let with_symbol = |symbol: &str| match symbol {
        "[]=" => format!("{}[{}] = {};  {name}{annotation} = {}", arg(0), arg(1), arg(2), arg(0)),
        s if node.args.len() == 1 => assign(format!("{s}{}", arg(0))),
        s if s.len() > 1 && s.ends_with('=') && !matches!(s, "==" | "!=" | "<=" | ">=") => {
            format!("{} {s} {};  {name}{annotation} = {}", arg(0), arg(1), arg(0))
        }
        s => assign(format!("{} {s} {}", arg(0), arg(1))),
    };
    match &node.target {
        Target::Op(op) => assign(format!("torch.ops.{op}({})", arguments(0))),
        Target::HigherOrder(op) => assign(format!("torch.ops.higher_order.{op}({})", arguments(0))),
        Target::Getitem => assign(format!("{}[{}]", arg(0), arg(1))),
        Target::Operator(op) => match (&**op, symbol_of(op)) {
            ("neg", _) => with_symbol("-"),
            ("pos", _) => with_symbol("+"),
            ("invert", _) => with_symbol("~"),
            ("setitem", _) => with_symbol("[]="),
            (_, Some(symbol)) => with_symbol(symbol),
            (other, None) if other.starts_with("sym_") || other.starts_with("_sym_") => assign(format!("torch.{other}({})", arguments(0))),
            (other, None) if other.starts_with("math_") || other == "round" => assign(format!("{other}({})", arguments(0))),
            (other, None) => assign(format!("_operator_{other}({})", arguments(0))),
        },
        Target::Torch { shown: Shown::Method(method), .. } => assign(format!("{}({})", attribute(&arg(0), method), arguments(1))),
        Target::Torch { shown: Shown::Operator(symbol), .. } => with_symbol(symbol),
        Target::Torch { shown: Shown::Text(text), .. } => assign(text.to_string()),
        Target::Torch { shown: Shown::Function(function), .. } => match (&**function, node.args.get(1)) {
            ("getattr", Some(Arg::Str(field))) if node.args.len() == 2 && is_identifier(field) => assign(attribute(&arg(0), field)),
            _ => assign(format!("{function}({})", arguments(0))),
        },
        Target::Name(other) => assign(format!("{other}({})", arguments(0))),
    }
}
