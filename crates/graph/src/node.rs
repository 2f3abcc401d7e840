//! A node: what is called, on what, and everything known about the value.

use diagnostics::source::{ModuleStack, Source};
use shape::{SymFloat, SymInt};
use std::collections::HashSet;
use std::rc::Rc;
use tensor::{Device, Dtype, Layout, MemoryFormat, TensorSpec};

/// A node's position in its graph's arena; stable while the graph is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// torch.fx's opcodes, as far as these graphs use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// An input.
    Placeholder,
    /// A subgraph or a constant tensor of the graph's module, by name.
    GetAttr,
    /// A call.
    Call,
    /// The result; its first argument is what is returned.
    Output,
}

/// How a torch-level call of a captured graph is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// `torch.nn.functional.relu(x)`
    Function(Rc<str>),
    /// `x.view(-1)`
    Method(Rc<str>),
    /// `x + y`, by Python's operator symbol.
    Operator(Rc<str>),
    /// What a log holds on the right of an assignment and nothing here understands, as it is written. Its arguments are the nodes
    /// that it names.
    Text(Rc<str>),
}

/// What a node calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An operator overload: `aten.mm.default`, printed below `torch.ops.`.
    Op(Rc<str>),
    /// A torch-level call of a captured graph: the operator it resolved to, and how it was written.
    Torch {
        /// The overload that replays it.
        op: Rc<str>,
        /// How it prints.
        shown: Shown,
    },
    /// `operator.getitem`, printed `x[0]`.
    Getitem,
    /// Arithmetic on symbolic integers, by the name in Python's `operator` module: `mul`, `floordiv`.
    Operator(Rc<str>),
    /// A higher-order operator: `cond`, printed below `torch.ops.higher_order.`.
    HigherOrder(Rc<str>),
    /// The input or attribute of that name (placeholders, `get_attr`); the output has an empty one.
    Name(Rc<str>),
}

impl Target {
    /// As tables show it: `aten.mm.default`.
    pub fn text(&self) -> String {
        match self {
            Target::Op(name) | Target::Name(name) => name.to_string(),
            Target::Torch { shown: Shown::Function(f), .. } => f.to_string(),
            Target::Torch { shown: Shown::Method(m) | Shown::Operator(m) | Shown::Text(m), .. } => m.to_string(),
            Target::Getitem => "getitem".to_owned(),
            Target::Operator(name) => name.to_string(),
            Target::HigherOrder(name) => format!("higher_order.{name}"),
        }
    }

    /// The operator overload, where one is called.
    pub fn op(&self) -> Option<&Rc<str>> {
        match self {
            Target::Op(name) | Target::Torch { op: name, .. } => Some(name),
            _ => None,
        }
    }
}

/// An argument: a constant, a node, or a tree of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// `None`
    None,
    /// `True`, `False`
    Bool(bool),
    /// A number.
    Int(i64),
    /// A number; prints as Python's repr.
    Float(f64),
    /// A complex number.
    Complex(f64, f64),
    /// A string.
    Str(Rc<str>),
    /// A dtype.
    Dtype(Dtype),
    /// A device.
    Device(Device),
    /// A layout.
    Layout(Layout),
    /// A memory format.
    MemoryFormat(MemoryFormat),
    /// An operator overload, given to a higher-order operator: `aten.native_dropout.default`.
    Op(Rc<str>),
    /// The value of another node.
    Node(NodeId),
    /// A list.
    List(Vec<Arg>),
    /// A tuple.
    Tuple(Vec<Arg>),
    /// A dict whose keys are strings.
    Dict(Vec<(Rc<str>, Arg)>),
    /// `slice(start, stop, step)`
    Slice(Box<[Arg; 3]>),
    /// `...`
    Ellipsis,
    /// A constant of a log that nothing here has, as it is written: `torch.float8_e4m3fn`.
    Text(Rc<str>),
}

impl Arg {
    /// Calls `f` for every node in the tree, in order.
    pub fn for_each_node(&self, f: &mut dyn FnMut(NodeId)) {
        match self {
            Arg::Node(n) => f(*n),
            Arg::List(items) | Arg::Tuple(items) => items.iter().for_each(|a| a.for_each_node(f)),
            Arg::Dict(entries) => entries.iter().for_each(|(_, a)| a.for_each_node(f)),
            Arg::Slice(parts) => parts.iter().for_each(|a| a.for_each_node(f)),
            _ => {}
        }
    }

    /// The tree with every node replaced.
    pub fn map_nodes(&self, f: &mut dyn FnMut(NodeId) -> Arg) -> Arg {
        match self {
            Arg::Node(n) => f(*n),
            Arg::List(items) => Arg::List(items.iter().map(|a| a.map_nodes(f)).collect()),
            Arg::Tuple(items) => Arg::Tuple(items.iter().map(|a| a.map_nodes(f)).collect()),
            Arg::Dict(entries) => Arg::Dict(entries.iter().map(|(key, a)| (key.clone(), a.map_nodes(f))).collect()),
            Arg::Slice(parts) => Arg::Slice(Box::new([parts[0].map_nodes(f), parts[1].map_nodes(f), parts[2].map_nodes(f)])),
            other => other.clone(),
        }
    }
}

/// What a node's value is, without the numbers in it (torch.fx's `meta["val"]`).
#[derive(Clone, Debug)]
pub enum FakeValue {
    /// A tensor.
    Tensor(TensorSpec),
    /// A symbolic or plain integer.
    Int(SymInt),
    /// A symbolic or plain float.
    Float(Option<f64>),
    /// A symbolic float.
    SymFloat(SymFloat),
    /// A boolean.
    Bool(Option<bool>),
    /// A condition on numbers that only the run knows, as it prints.
    Condition(Rc<str>),
    /// Several results.
    List(Vec<FakeValue>),
    /// Nothing.
    None,
}

impl FakeValue {
    /// The tensor, where it is one.
    pub fn tensor(&self) -> Option<&TensorSpec> {
        match self {
            FakeValue::Tensor(spec) => Some(spec),
            _ => None,
        }
    }
}

/// What checkpointing asked of a node (`torch.utils.checkpoint.CheckpointPolicy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recompute {
    /// `MUST_SAVE`
    MustSave,
    /// `PREFER_SAVE`
    PreferSave,
    /// `MUST_RECOMPUTE`
    MustRecompute,
    /// `PREFER_RECOMPUTE`
    PreferRecompute,
}

/// What is known about a node beside its call.
#[derive(Clone, Debug, Default)]
pub struct Meta {
    /// Its value without numbers.
    pub value: Option<FakeValue>,
    /// The script's line; of a backward node, its forward node's.
    pub source: Option<Source>,
    /// Whether it was traced while the autograd engine ran.
    pub is_backward: bool,
    /// Whether it adds up gradients that arrive at one place.
    pub is_gradient_acc: bool,
    /// Whether it is part of a joint graph, or was.
    pub is_of_joint: bool,
    /// Whether it was traced when forward and backward were done: a view made anew for an output. It belongs to neither.
    pub is_trailing: bool,
    /// Of a backward node: whether `source` is a line that ran in the backward (a custom function's), not its forward node's.
    pub own_source: bool,
    /// Whether a script's own `forward` kept it on its context without `save_for_backward`: saved, but not watched for writes.
    pub no_version_check: bool,
    /// Sequence number of the forward operator it belongs to.
    pub seq_nr: Option<i64>,
    /// What the script called (torch.fx's `source_fn_stack`); of a backward node, what its forward node is of.
    pub source_fn: Option<Rc<SourceFn>>,
    /// The operator that reached the tracer, which may have been taken apart there (torch.fx's `original_aten`).
    pub original_op: Option<Rc<str>>,
    /// Modules it ran in; of a backward node, its forward node.
    pub modules: Option<Rc<ModuleStack>>,
    /// What checkpointing asked.
    pub recompute: Option<Recompute>,
    /// Which checkpointed region it belongs to.
    pub checkpoint_region: Option<u32>,
    /// What the script annotated it with.
    pub annotation: Option<Rc<Annotation>>,
    /// The node of the graph that was replayed to make this one (torch.fx's `from_node`), where that is told.
    pub from_node: Option<Rc<str>>,
    /// Of a recording, where its value requires grad: the name of the autograd node that gave it, empty for a leaf.
    pub grad_fn: Option<Rc<str>>,
    /// Of a recording, where its value is a tensor of a class of the script's: the name of the class.
    pub subclass: Option<Rc<str>>,
    /// Of a written call that is named after a variable: the name that it had before.
    pub first_name: Option<Rc<str>>,
    /// Of a graph that was read, where its value prints otherwise: the type as it is written, with the colon before it. The value has
    /// the same sizes and bytes, where they could be read: `: "f8e4m3fn[4][1]xpu:0"`, ` : list`.
    pub written_type: Option<Rc<str>>,
    /// What logs say of an input (`PlainAOTInput(idx=0)`), or of an output's values, one each.
    pub descriptors: Option<Vec<Rc<str>>>,
    /// Of an input: what the script calls it.
    pub input: Option<Rc<SourceName>>,
}

impl Meta {
    /// Names of the modules that it ran in, outermost first, joined by dots: `layers.0.attn`. Empty outside of modules.
    pub fn module_path(&self) -> &str {
        self.modules.as_ref().map_or("", |modules| &modules.name)
    }
}

/// What a script calls an input of a graph; of a tangent, whose gradient it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceName {
    /// `model.blocks.3.attn.qkv.weight`
    pub name: String,
    /// Whether it is a parameter of a module.
    pub is_parameter: bool,
}

impl SourceName {
    /// By a guard's source: `L['self']._modules['hidden']._parameters['weight']` is `self.hidden.weight`.
    pub fn of_source(source: &str, is_parameter: bool) -> Self {
        let mut name = String::with_capacity(source.len());
        let mut rest = source;
        while !rest.is_empty() {
            let quoted = |before: &str| rest.strip_prefix(before)?.split_once("']");
            let is_first = name.is_empty();
            let variable = ["L['", "G['"].into_iter().filter(|_| is_first).find_map(quoted).map(|found| ("", found));
            let member = || ["._modules['", "._parameters['", "._buffers['"].into_iter().find_map(quoted).map(|found| (".", found));
            if let Some((dot, (word, after))) = variable.or_else(member) {
                name.push_str(dot);
                name.push_str(word);
                rest = after;
            } else {
                let next = rest.chars().next().map_or(rest.len(), char::len_utf8);
                name.push_str(&rest[..next]);
                rest = &rest[next..];
            }
        }
        SourceName { name, is_parameter }
    }
}

#[cfg(test)]
mod tests {
    use super::SourceName;

    #[test]
    fn sources_are_read_as_the_script_writes_them() {
        let cases = [
            ("L['x']", "x"),
            ("L['self']._modules['blocks']._modules['3']._parameters['weight']", "self.blocks.3.weight"),
            ("G['model']._buffers['running_mean']", "model.running_mean"),
            ("L['batch']['ids']", "batch['ids']"),
            ("L['x'].size()[0]", "x.size()[0]"),
            ("L['f'].__closure__[0].cell_contents", "f.__closure__[0].cell_contents"),
            ("L['é'", "L['é'"),
        ];
        for (source, expected) in cases {
            assert_eq!(SourceName::of_source(source, false).name, expected);
        }
    }
}

/// The call of the script's that a node is part of, as the captured graph shows it.
#[derive(Clone, Debug)]
pub struct SourceFn {
    /// What was called, by name: `conv2d`.
    pub called: Rc<str>,
    /// The name that its node got first: `conv2d_1`.
    pub name: Rc<str>,
    /// What was called, and with how many arguments.
    pub target: Target,
    /// Of a unary operator 1: which of two functions its sign means.
    pub num_args: usize,
    /// Of a call in a body, the call that the body belongs to.
    pub outer: Option<Rc<SourceFn>>,
}

/// What `torch.fx.traceback.annotate` says of the calls in a block (torch.fx's `meta["custom"]`).
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// As comments show it: `{'stage': 0}`.
    pub shown: String,
    /// The budget of `torch.autograd.graph.region_activation_memory_budget`.
    pub memory_budget: Option<f64>,
}

/// A call as the script wrote it, which a recording shows in place of the operators that it came down to.
#[derive(Clone, Debug)]
pub struct WrittenCall {
    /// What was called; its operator is that of the first node.
    pub target: Target,
    /// What the call is named after.
    pub name: Rc<str>,
    /// Positional arguments.
    pub args: Vec<Arg>,
    /// Keyword arguments, in order.
    pub kwargs: Vec<(Rc<str>, Arg)>,
    /// Names of the variables that its result, or an item of it, is stored in: the way there, and the name.
    pub stored: Vec<(Vec<u32>, Rc<str>)>,
}

/// Which written call a node of a recording belongs to.
#[derive(Clone, Debug)]
pub struct Written {
    /// The number of the call in the recording.
    pub call: u32,
    /// The call, at its first node.
    pub says: Option<Box<WrittenCall>>,
    /// Where the node's value is in the call's result: nowhere, all of it (an empty way), or an item.
    pub gives: Option<Vec<u32>>,
}

impl Written {
    /// With every node in the arguments replaced.
    pub fn map_nodes(&self, f: &mut dyn FnMut(NodeId) -> Arg) -> Written {
        let says = self.says.as_ref().map(|call| {
            let args = call.args.iter().map(|a| a.map_nodes(f)).collect();
            let kwargs = call.kwargs.iter().map(|(k, a)| (k.clone(), a.map_nodes(f))).collect();
            Box::new(WrittenCall { args, kwargs, ..(**call).clone() })
        });
        Written { call: self.call, says, gives: self.gives.clone() }
    }
}

/// One node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its place in the arena.
    pub id: NodeId,
    /// What kind of node.
    pub opcode: Opcode,
    /// Its unique name.
    pub name: Rc<str>,
    /// What it calls.
    pub target: Target,
    /// Positional arguments.
    pub args: Vec<Arg>,
    /// Keyword arguments, in order.
    pub kwargs: Vec<(Rc<str>, Arg)>,
    /// What is known about it.
    pub meta: Meta,
    /// Of a recording: the call as the script wrote it.
    pub written: Option<Written>,
}

/// The nodes that arguments read, each once, in order.
fn distinct<'a>(args: impl Iterator<Item = &'a Arg>) -> Vec<NodeId> {
    // A call reads few; an output may read thousands.
    const FEW: usize = 16;
    let mut found = Vec::new();
    let mut many = HashSet::new();
    let mut add = |n| {
        if found.len() == FEW && many.is_empty() {
            many.extend(found.iter().copied());
        }
        let is_new = if found.len() < FEW { !found.contains(&n) } else { many.insert(n) };
        if is_new {
            found.push(n);
        }
    };
    args.for_each(|a| a.for_each_node(&mut add));
    found
}

impl Node {
    /// Nodes it reads, each once, in order of first use.
    pub fn inputs(&self) -> Vec<NodeId> {
        distinct(self.args.iter().chain(self.kwargs.iter().map(|(_, a)| a)))
    }

    /// [`Node::inputs`], and what the written call reads besides.
    pub fn reads(&self) -> Vec<NodeId> {
        let args = self.args.iter().chain(self.kwargs.iter().map(|(_, a)| a));
        match self.written.as_ref().and_then(|w| w.says.as_ref()) {
            Some(call) => distinct(args.chain(&call.args).chain(call.kwargs.iter().map(|(_, a)| a))),
            None => distinct(args),
        }
    }

    /// Its tensor, where its value is one.
    pub fn tensor(&self) -> Option<&TensorSpec> {
        self.meta.value.as_ref().and_then(FakeValue::tensor)
    }

    /// The operator overload it calls, where it calls one.
    pub fn op(&self) -> Option<&str> {
        match self.opcode {
            Opcode::Call => self.target.op().map(|n| &**n),
            _ => None,
        }
    }
}
