//! A step as one graph: the compiled forward, its loss, the compiled backward, and the optimizer's update or the gradients themselves.
//!
//! Parameters, what the forward writes to (running statistics) and the optimizer's own state are inputs that the graph
//! writes in place, so that whoever runs it again and again carries nothing over by hand. The batch is the script's own, the
//! same in every step.

use super::bundle::{check_version, output_names, parse_graph};
use graph::{Arg, Graph, Meta, Node, NodeId, Opcode, Target};
use report::bundle::{BackwardBundle, Bundle, Named, Recipe, RunError, TensorData, Value as Plain};
use serde_bytes::ByteBuf;
use std::collections::HashMap;
use std::rc::Rc;
use tensor::{Category, Dtype};

/// A step that is ready to be compiled and run again and again.
pub struct Step {
    /// The step. It returns the loss, and then the gradients where nothing is made of them.
    pub graph: Graph,
    /// One value per placeholder.
    pub inputs: Vec<Named>,
    /// The placeholder that is the step size, where there is one.
    pub lr: Option<usize>,
    /// The output that is the loss.
    pub loss: String,
    /// Whether the mean of its squares is, in the place of a scalar.
    pub stands_in: bool,
    /// Placeholders that are parameters.
    pub parameters: Vec<usize>,
    /// Names of the inputs that the forward itself writes to.
    pub carried: Vec<String>,
}

/// What a step makes of the gradients.
#[derive(Clone, Copy, Debug)]
pub enum Then<'a> {
    /// A step of SGD.
    Descend(&'a Recipe),
    /// It returns them. Without a backward, it is the forward alone.
    Return,
}

fn refused(message: impl Into<String>) -> RunError {
    RunError { message: message.into(), node: None }
}

/// The step of a compilation.
///
/// # Errors
/// Where a descent has no backward, no output to descend on, or nothing to change.
pub fn step(bundle: &Bundle, then: Then) -> Result<Step, RunError> {
    check_version(bundle)?;
    let Some(part) = &bundle.backward else {
        return match then {
            Then::Descend(_) => Err(refused("there is no backward to train with: the script has run none")),
            Then::Return => forward_alone(bundle),
        };
    };
    let (forward, backward) = (parse_graph(&bundle.forward)?, parse_graph(&part.readable)?);
    let mut b = Builder { graph: Graph::new("TrainingStep"), inputs: Vec::new() };

    let mut known = b.given(&forward, bundle);
    let returned = b.inline(&forward, &known)?;
    let names = output_names(&forward);
    let loss = objective(bundle, part, then)?;
    let carried = carry(&mut b, bundle, &forward, &returned, &known)?;

    for (name, value) in names.iter().zip(&returned) {
        known.insert(name.clone(), value.clone());
    }
    let value = returned.get(loss.output).cloned().unwrap_or(Arg::None);
    let squares = loss.stands_in.then(|| b.op("mul", "aten.mul.Tensor", vec![value.clone(), value.clone()]));
    for (i, tangent) in part.tangents.iter().enumerate() {
        let Plain::Tensor { tensor } = &tangent.value else {
            return Err(refused(format!("{} is no tensor", tangent.name)));
        };
        let is_loss = part.tangent_of.get(i).is_some_and(|of| *of as usize == loss.output);
        let arg = if is_loss && loss.stands_in {
            b.op("mul", "aten.mul.Scalar", vec![value.clone(), Arg::Float(2.0 / count(tensor) as f64)])
        } else {
            let fill = if is_loss { 1.0 } else { 0.0 };
            Arg::Node(b.input(&tangent.name, Plain::Tensor { tensor: filled(tensor, fill)? }))
        };
        known.insert(tangent.name.clone(), arg);
    }
    let gradients = b.inline(&backward, &known)?;
    let reported = match squares {
        Some(squares) => b.op("mean", "aten.mean.default", vec![squares]),
        None => value,
    };

    let (mut lr, mut parameters, mut outputs) = (None, Vec::new(), vec![reported]);
    match then {
        Then::Return => outputs.extend(gradients.into_iter().filter(|g| !matches!(g, Arg::None))),
        Then::Descend(recipe) => {
            lr = Some(b.inputs.len());
            let size =
                TensorData { dtype: "float32".into(), bytes: ByteBuf::from((recipe.lr as f32).to_le_bytes()), ..TensorData::default() };
            let rate = Arg::Node(b.input("lr", Plain::Tensor { tensor: size }));
            for (i, given) in bundle.inputs.iter().enumerate() {
                let gradient = gradients.get(i).cloned().unwrap_or(Arg::None);
                if !recipe.parameters.contains(&given.name) || matches!(gradient, Arg::None) {
                    continue;
                }
                if !bundle.parameters.contains(&(i as u32)) {
                    return Err(refused(format!("{} is no parameter: it is no leaf that requires grad", given.name)));
                }
                b.descend(given, known[&given.name].clone(), gradient, rate.clone(), recipe.momentum)?;
                parameters.push(i);
            }
            if parameters.is_empty() {
                return Err(refused("no parameter is chosen that the loss depends on"));
            }
        }
    }
    b.graph.set_output(Arg::Tuple(outputs));
    let (inputs_first, rest): (Vec<&Node>, Vec<&Node>) = b.graph.nodes().partition(|n| n.opcode == Opcode::Placeholder);
    let order = inputs_first.into_iter().chain(rest).map(|n| n.id).collect();
    b.graph.reorder(order);
    let name = names.get(loss.output).cloned().unwrap_or_default();
    Ok(Step { graph: b.graph, inputs: b.inputs, lr, loss: name, stands_in: loss.stands_in, parameters, carried })
}

/// The forward as a step: it returns what the function does.
fn forward_alone(bundle: &Bundle) -> Result<Step, RunError> {
    let forward = parse_graph(&bundle.forward)?;
    let mut b = Builder { graph: Graph::new("Step"), inputs: Vec::new() };
    let known = b.given(&forward, bundle);
    let returned = b.inline(&forward, &known)?;
    let carried = carry(&mut b, bundle, &forward, &returned, &known)?;
    let own: Vec<Arg> = returned.into_iter().skip(bundle.mutated.len()).filter(|value| matches!(value, Arg::Node(_))).collect();
    let loss = output_names(&forward).get(bundle.mutated.len()).cloned().unwrap_or_default();
    b.graph.set_output(Arg::Tuple(own));
    Ok(Step { graph: b.graph, inputs: b.inputs, lr: None, loss, stands_in: false, parameters: Vec::new(), carried })
}

/// What is descended on.
struct Objective {
    /// Which of the forward's outputs.
    output: usize,
    /// Whether it is no scalar, and the mean of its squares is taken.
    stands_in: bool,
}

/// The output that is asked for; else the first scalar that has a tangent; else the mean of the first output's squares.
fn objective(bundle: &Bundle, part: &BackwardBundle, then: Then) -> Result<Objective, RunError> {
    let is_own = |o: &usize| (bundle.mutated.len()..bundle.num_outputs as usize).contains(o);
    let outputs: Vec<(usize, &Named, &TensorData)> = part
        .tangent_of
        .iter()
        .map(|o| *o as usize)
        .filter(is_own)
        .filter_map(|o| match &bundle.expected.get(o)?.value {
            Plain::Tensor { tensor } => Some((o, &bundle.expected[o], tensor)),
            _ => None,
        })
        .collect();
    let asked = match then {
        Then::Descend(recipe) => recipe.loss.as_ref(),
        Then::Return => None,
    };
    let chosen = match asked {
        Some(name) => {
            outputs.iter().find(|(_, n, _)| n.name == *name).ok_or_else(|| refused(format!("{name} is no output with a gradient")))?
        }
        None => outputs
            .iter()
            .find(|(_, _, t)| count(t) == 1)
            .or(outputs.first())
            .ok_or_else(|| refused("no output has a gradient, so there is nothing to descend on"))?,
    };
    Ok(Objective { output: chosen.0, stands_in: count(chosen.2) != 1 })
}

fn count(tensor: &TensorData) -> u64 {
    tensor.shape.iter().product()
}

/// Writes the forward's new values of inputs into them, as the runtime does; names what is carried in one way or the other.
fn carry(
    b: &mut Builder,
    bundle: &Bundle,
    forward: &Graph,
    returned: &[Arg],
    known: &HashMap<String, Arg>,
) -> Result<Vec<String>, RunError> {
    let mut carried = Vec::new();
    for (position, input) in bundle.mutated.iter().enumerate() {
        let (Some(given), Some(value)) = (bundle.inputs.get(*input as usize), returned.get(position)) else { continue };
        let shape = |v: &Plain| match v {
            Plain::Tensor { tensor } => tensor.shape.clone(),
            _ => Vec::new(),
        };
        if bundle.expected.get(position).is_some_and(|e| shape(&e.value) != shape(&given.value)) {
            return Err(refused(format!("{} changes its sizes in every call, so no two steps are alike", given.name)));
        }
        b.op("copy_", "aten.copy_.default", vec![known[&given.name].clone(), value.clone()]);
        carried.push(given.name.clone());
    }
    // What stays in the graph is a `copy_` there.
    for node in forward.nodes().filter(|n| n.op().is_some_and(|op| op.starts_with("aten.copy_."))) {
        if let Some(Arg::Node(id)) = node.args.first()
            && forward.node(*id).opcode == Opcode::Placeholder
        {
            carried.push(forward.node(*id).name.to_string());
        }
    }
    Ok(carried)
}

/// A tensor like another, every element the same number.
fn filled(like: &TensorData, number: f32) -> Result<TensorData, RunError> {
    let one: Vec<u8> = match Dtype::parse(&like.dtype) {
        Some(Dtype::Float32) => number.to_le_bytes().to_vec(),
        Some(Dtype::Float64) => f64::from(number).to_le_bytes().to_vec(),
        Some(Dtype::Float16) => half::f16::from_f32(number).to_le_bytes().to_vec(),
        Some(Dtype::BFloat16) => half::bf16::from_f32(number).to_le_bytes().to_vec(),
        _ => return Err(refused(format!("a gradient of {} numbers", like.dtype))),
    };
    let elements = like.bytes.len() / one.len();
    Ok(TensorData { bytes: ByteBuf::from(one.repeat(elements)), ..like.clone() })
}

/// The graph so far, and a value for each of its placeholders.
struct Builder {
    graph: Graph,
    inputs: Vec<Named>,
}

impl Builder {
    fn input(&mut self, name: &str, value: Plain) -> NodeId {
        self.inputs.push(Named { name: name.to_owned(), label: None, value });
        self.graph.placeholder(name, Meta::default())
    }

    /// Placeholders for those of the forward, by their names there, with the values that the script gave them.
    fn given(&mut self, forward: &Graph, bundle: &Bundle) -> HashMap<String, Arg> {
        let mut one = |node: &Node, given: &Named| (node.name.to_string(), Arg::Node(self.input(&node.name, given.value.clone())));
        forward.placeholders().zip(&bundle.inputs).map(|(node, given)| one(node, given)).collect()
    }

    fn op(&mut self, name: &str, target: &str, args: Vec<Arg>) -> Arg {
        Arg::Node(self.graph.call(name, Target::Op(target.into()), args, Vec::new(), Meta::default()))
    }

    /// Appends the calls of another graph; gives what it returns. Its placeholders are found by name.
    fn inline(&mut self, other: &Graph, known: &HashMap<String, Arg>) -> Result<Vec<Arg>, RunError> {
        let mut map: HashMap<NodeId, Arg> = HashMap::new();
        for node in other.nodes() {
            let made = match node.opcode {
                Opcode::Output => break,
                Opcode::Placeholder => {
                    let found = known.get(&*node.name).cloned();
                    found.ok_or_else(|| RunError { message: format!("{} was not saved", node.name), node: Some(node.name.to_string()) })?
                }
                Opcode::GetAttr => self.attribute(other, &node.target.text()),
                Opcode::Call => {
                    let id = self.graph.copy_node(node, &mut |id| map.get(&id).cloned().unwrap_or(Arg::None));
                    Arg::Node(id)
                }
            };
            map.insert(node.id, made);
        }
        let mut resolve = |id: NodeId| map.get(&id).cloned().unwrap_or(Arg::None);
        Ok(other.outputs().iter().map(|arg| arg.map_nodes(&mut resolve)).collect())
    }

    /// A subgraph or constant of another graph, under a name of its own here.
    fn attribute(&mut self, other: &Graph, name: &str) -> Arg {
        let own: Rc<str> = format!("{name}_of_part_{}", self.graph.subgraphs.len() + self.graph.constants.len()).into();
        if let Some((_, subgraph)) = other.subgraphs.iter().find(|(n, _)| **n == *name) {
            self.graph.subgraphs.push((own.clone(), subgraph.clone()));
        }
        if let Some((_, constant)) = other.constants.iter().find(|(n, _)| **n == *name) {
            self.graph.constants.push((own.clone(), constant.clone()));
        }
        Arg::Node(self.graph.get_attr(&own, Meta::default()))
    }

    /// `SGD(lr, momentum)` of one parameter.
    fn descend(&mut self, parameter: &Named, value: Arg, gradient: Arg, lr: Arg, momentum: f64) -> Result<(), RunError> {
        let Plain::Tensor { tensor } = &parameter.value else {
            return Err(refused(format!("{} is no tensor", parameter.name)));
        };
        if Dtype::parse(&tensor.dtype).is_none_or(|d| d.category() != Category::Floating) {
            return Err(refused(format!("{} is no tensor of floats", parameter.name)));
        }
        let mut direction = gradient;
        if momentum != 0.0 {
            let state = filled(tensor, 0.0)?;
            let buffer = Arg::Node(self.input(&format!("{}_momentum", parameter.name), Plain::Tensor { tensor: state }));
            let kept = self.op("mul", "aten.mul.Scalar", vec![buffer.clone(), Arg::Float(momentum)]);
            direction = self.op("add", "aten.add.Tensor", vec![kept, direction]);
            self.op("copy_", "aten.copy_.default", vec![buffer, direction.clone()]);
        }
        let step = self.op("mul", "aten.mul.Tensor", vec![direction, lr]);
        let next = self.op("sub", "aten.sub.Tensor", vec![value.clone(), step]);
        self.op("copy_", "aten.copy_.default", vec![value, next]);
        Ok(())
    }
}
