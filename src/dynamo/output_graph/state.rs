//! The graph that is captured, with all that is known of it: what ends with it, and is edited with it.

use super::backward_state::HookState;
use super::graph_arg::GraphArg;
use super::written::Writing;
use crate::aot::constants::Constants;
use crate::dispatch::Value;
use crate::dynamo::dynamic_shapes::Symbols;
use crate::graph::{Graph, NodeId};
use crate::shape::{Expr, FloatExpr, Relation, SymInt};
use crate::tensor::Tensor;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A subgraph that calls may share.
pub struct Region {
    /// The code that it is a call of.
    pub code: usize,
    /// Its subgraph, and the name of that.
    pub body: Graph,
    pub name: Rc<str>,
    /// Which of its inputs require grad.
    pub requires_grad: Vec<bool>,
}

/// One graph (PyTorch's `OutputGraph`).
pub(in crate::dynamo) struct OutputGraph {
    /// Which graph of the call it is, counted from 0.
    pub epoch: u32,
    pub graph: RefCell<Graph>,
    pub nodes: RefCell<HashMap<u64, NodeId>>,
    /// Nodes that stood for a tensor before a call gave it again, as `x.float()` does where it has nothing to convert.
    pub earlier: RefCell<HashMap<u64, Vec<NodeId>>>,
    pub inputs: RefCell<Vec<GraphArg>>,
    pub by_real: RefCell<HashMap<u64, usize>>,
    /// Blocks of autocast that began in this graph.
    pub blocks: RefCell<Vec<NodeId>>,
    /// Blocks of inference mode that began in this graph.
    pub inference_blocks: RefCell<Vec<NodeId>>,
    /// Fake tensors of the graph that is captured.
    pub fakes: RefCell<Vec<std::rc::Weak<crate::tensor::TensorImpl>>>,
    /// Calls as they are written.
    pub writing: Writing,
    /// Numbers of tensors that are part of the graph, by tensor.
    pub scalars: RefCell<HashMap<u64, Value>>,
    /// Tensors that the script wrote down, whose numbers are known.
    pub known: Constants,
    /// Subgraphs that calls may share.
    pub regions: RefCell<Vec<Region>>,
    /// Calls that `x[...]` makes.
    pub items: RefCell<Vec<NodeId>>,
    /// Per call, where the frames stood, and how many inputs there were before it.
    pub stacks: RefCell<HashMap<NodeId, (Rc<[u32]>, usize)>>,
    /// Per change of the grad mode, where the frames stood.
    pub mode_places: RefCell<HashMap<NodeId, Rc<[u32]>>>,
    /// Per input, where the frames stood when it became one.
    pub input_places: RefCell<Vec<Rc<[u32]>>>,
    /// Fake tensors, and inputs, that were read without a call, where the frames stood, the number of the call that came next, and
    /// how many inputs there were.
    pub glances: RefCell<Vec<(u64, Rc<[u32]>, u32, usize)>>,
    /// Inputs, by tensor, that what surrounds a module's `forward` read before it.
    pub read_around: RefCell<Vec<u64>>,
    /// Inputs that were written to and stored back where they came from, and the calls that did it.
    pub stored: RefCell<Vec<(Tensor, NodeId)>>,
    /// Tensors of the caller's whose `.grad` was set to a value of the graph.
    pub gradients: RefCell<Vec<Tensor>>,
    /// Inputs that the graph has whether they are read or not.
    pub kept: RefCell<HashSet<u64>>,
    /// Whether such inputs are being made.
    pub keeping: Cell<bool>,
    /// Sizes of those that are no inputs yet: a size is one before what holds it.
    pub unplaced_sizes: RefCell<Vec<SymInt>>,
    /// Those that nothing holds, as inputs.
    pub sizes_without_holder: RefCell<Vec<NodeId>>,
    /// Tensors that hold a size: the graph has the size where that is a symbol, else the tensor.
    pub holders: RefCell<Vec<u64>>,
    /// The mode around those that are left where the graph ends.
    pub around: Cell<Option<bool>>,
    /// Whether what a called function recorded was taken out of the graph that ends.
    pub is_split: Cell<bool>,
    /// Whether attributes of tensors were changed since the last graph ended.
    pub has_side_effect: Cell<bool>,
    pub symbols: RefCell<Symbols>,
    /// Nodes that compute symbolic sizes.
    pub sizes: RefCell<HashMap<Expr, NodeId>>,
    /// Numbers that only the run knows, and the nodes that give them.
    pub defined: RefCell<Vec<(SymInt, NodeId)>>,
    /// Conditions that the script checks itself.
    pub stated: RefCell<Vec<(Expr, Relation, Expr)>>,
    /// Checks of what operators rely on, each with what is computed for it: they stand earlier in the finished graph.
    pub early: RefCell<Vec<Vec<NodeId>>>,
    /// Nodes that compute symbolic floats.
    pub floats: RefCell<Vec<(Rc<FloatExpr>, NodeId)>>,
    /// Symbols of Python numbers that were not used yet, and the names of the inputs that they become.
    pub numbers: RefCell<HashMap<Expr, String>>,
    /// Inputs that are such numbers and were given to a call, which may have needed the number itself.
    pub given: RefCell<HashSet<NodeId>>,
    /// Hooks on values of the graph that stay calls in its backward.
    pub backward_state: RefCell<Option<Rc<HookState>>>,
    /// What the script computed from such numbers alone: calls that are made where something reads them.
    pub deferred: RefCell<HashMap<Expr, (&'static str, Vec<SymInt>)>>,
}

impl Default for OutputGraph {
    fn default() -> Self {
        OutputGraph {
            epoch: 0,
            graph: RefCell::new(Graph::new("GraphModule")),
            nodes: Default::default(),
            earlier: Default::default(),
            inputs: Default::default(),
            by_real: Default::default(),
            blocks: Default::default(),
            inference_blocks: Default::default(),
            fakes: Default::default(),
            writing: Default::default(),
            scalars: Default::default(),
            items: Default::default(),
            stacks: Default::default(),
            mode_places: Default::default(),
            input_places: Default::default(),
            glances: Default::default(),
            read_around: Default::default(),
            stored: Default::default(),
            gradients: Default::default(),
            kept: Default::default(),
            keeping: Default::default(),
            unplaced_sizes: RefCell::default(),
            sizes_without_holder: RefCell::default(),
            holders: Default::default(),
            backward_state: Default::default(),
            around: Default::default(),
            is_split: Default::default(),
            has_side_effect: Default::default(),
            symbols: RefCell::new(Symbols::of_trace()),
            sizes: Default::default(),
            regions: RefCell::default(),
            known: Constants::default(),
            defined: Default::default(),
            stated: Default::default(),
            early: Default::default(),
            floats: Default::default(),
            numbers: Default::default(),
            given: Default::default(),
            deferred: Default::default(),
        }
    }
}

impl OutputGraph {
    /// The graph that begins where this one ends. A call that is under way goes on in it.
    pub fn next(&self) -> Self {
        OutputGraph {
            epoch: self.epoch + 1,
            writing: self.writing.in_next_graph(),
            gradients: self.gradients.clone(),
            ..OutputGraph::default()
        }
    }

    /// Takes away the nodes that are `inside`, and the inputs behind the first `inputs`.
    pub fn take_away(&self, inside: &dyn Fn(&NodeId) -> bool, inputs: usize) {
        self.graph.borrow_mut().retain(|n| !inside(&n.id));
        self.inputs.borrow_mut().truncate(inputs);
        self.input_places.borrow_mut().truncate(inputs);
        self.by_real.borrow_mut().retain(|_, i| *i < inputs);
        self.follow(&|id| !inside(id));
    }

    /// Nodes of the graph have moved, `follow` gives them their new numbers; those for which it is false are gone.
    pub fn follow(&self, follow: &dyn Fn(&mut NodeId) -> bool) {
        // What a call gave again that is gone is what it was before.
        let mut earlier = self.earlier.borrow_mut();
        let mut before = |t: &u64, id: &mut NodeId| {
            let known = earlier.get_mut(t)?;
            std::iter::from_fn(|| known.pop()).find_map(|mut before| follow(&mut before).then(|| *id = before))
        };
        self.nodes.borrow_mut().retain(|t, id| follow(id) || before(t, id).is_some());
        self.sizes.borrow_mut().retain(|_, id| follow(id));
        self.floats.borrow_mut().retain_mut(|(_, id)| follow(id));
        self.items.borrow_mut().retain_mut(follow);
        self.writing.retain(follow);
        let nodes = self.nodes.borrow();
        self.fakes.borrow_mut().retain(|t| Tensor::upgrade(t).is_some_and(|t| nodes.contains_key(&t.id())));
    }
}
