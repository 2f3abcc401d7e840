//! Running a graph node by node: replaying a captured graph through the whole dispatch stack, or a compiled graph on values.

use super::functional_tensor::unwrap;
use super::higher_order::mod_index::{ZEROS_AND_SCATTER, zeros_and_scatter};
use super::higher_order::operator::{self as higher_order, HigherOrderCall, ScriptOperatorCall, operator};
use super::like::copied;
use super::tensorify::convert_element_type;
use super::trace::{Origin, current_tracer, origin, set_origin};
use crate::autograd::anomaly;
use crate::dispatch::{Modes, Naming, Value, call, compare_sizes, fill_args, fill_factory_options, modes, set_modes};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Arg, FakeValue, Graph, Node, NodeId, Opcode, Shown, Target, WrittenCall};
use crate::shape::{FUNCTIONS, FloatExpr, Relation, Rounding, ShapeEnv, SymCondition, SymFloat, SymInt};
use codegen::Fused;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// A run of a graph: copies of what its nodes gave, made when they gave it.
pub(super) struct Watched {
    /// The graph.
    pub graph: Graph,
    /// Values by the names of nodes.
    pub values: HashMap<Rc<str>, Value>,
}

thread_local! {
    /// Whether the next graph that runs is watched.
    static WATCHES: Cell<bool> = const { Cell::new(false) };
    static WATCHED: RefCell<Option<Watched>> = const { RefCell::new(None) };
}

/// Makes a call; gives the first graph that ran to its end meanwhile, and none that ran inside of it.
pub(super) fn watch<R>(call: impl FnOnce() -> R) -> (R, Option<Watched>) {
    WATCHES.set(true);
    let result = call();
    WATCHES.set(false);
    (result, WATCHED.take())
}

impl Watched {
    fn note(&mut self, node: &Node, value: &Value) {
        let copy = value.map_tensors(&mut |t| Ok(copied(t).unwrap_or_else(|_| t.clone())));
        self.values.insert(node.name.clone(), copy.unwrap_or_default());
    }
}

/// A graph to be run often, with what can be known of it beforehand.
pub struct Program {
    graph: Graph,
    drops: Drops,
    fused: Fused,
}

/// Per node, in order, the values that it is the last to use.
struct Drops(Vec<Vec<NodeId>>);

impl Drops {
    fn of(graph: &Graph) -> Self {
        let mut last_use = vec![None; graph.arena_len()];
        let mut count = 0;
        for (at, node) in graph.nodes().enumerate() {
            count = at + 1;
            node.inputs().into_iter().for_each(|input| last_use[input.0 as usize] = Some(at));
            // An assertion reads the operands of its condition.
            if let (Some("aten._assert_scalar.default"), Some(Arg::Node(condition))) = (node.op(), node.args.first()) {
                graph.node(*condition).inputs().into_iter().for_each(|input| last_use[input.0 as usize] = Some(at));
            }
        }
        let mut drops = vec![Vec::new(); count];
        for (id, at) in last_use.into_iter().enumerate() {
            if let Some(at) = at {
                drops[at].push(NodeId(id as u32));
            }
        }
        Drops(drops)
    }
}

impl Program {
    /// Prepares a graph. `only_new`: whether autograd looks at its calls, for which of its results are views of others.
    pub fn new(graph: Graph, only_new: bool) -> Self {
        let (drops, fused) = (Drops::of(&graph), Fused::new(&graph, only_new));
        Program { graph, drops, fused }
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Runs it, on its inputs, in order, which are dropped after their last use: fused, unless somebody looks at its calls.
    pub fn run(&self, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
        if !WATCHES.get()
            && !WATCHING.get()
            && let Some(results) = self.fused.run(&self.graph, inputs)
        {
            return results;
        }
        run_with(&self.graph, &self.drops, inputs, false)
    }
}

/// Runs a graph on its inputs, in order; gives its outputs. Values are dropped after their last use, inputs too (boxed call:
/// `inputs` is emptied). Where it is to `tell`, the tracer below learns where each call comes from.
pub(super) fn run(graph: &Graph, inputs: &mut Vec<Value>, tell: bool) -> Result<Vec<Value>> {
    run_with(graph, &Drops::of(graph), inputs, tell)
}

/// Whether a call is `tensor.data`: writes to that are not counted as the tensor's own.
fn reads_data(node: &Node) -> bool {
    let says = node.written.as_ref().and_then(|w| w.says.as_ref());
    says.is_some_and(
        |call| matches!(&call.target, Target::Torch { shown: Shown::Function(path), .. } if &**path == "torch._C._autograd._get_data_attr"),
    )
}

fn run_with(graph: &Graph, drops: &Drops, inputs: &mut Vec<Value>, tell: bool) -> Result<Vec<Value>> {
    let mut watched = WATCHES.take().then(|| Watched { graph: graph.clone(), values: HashMap::new() });
    let mut values: Vec<Value> = vec![Value::None; graph.arena_len()];
    let mut given = std::mem::take(inputs).into_iter();
    for (at, node) in graph.nodes().enumerate() {
        match node.opcode {
            Opcode::Placeholder => {
                values[node.id.0 as usize] = given.next().ok_or_else(|| Error::runtime(format!("missing input {}", node.name)))?;
            }
            Opcode::GetAttr => {
                let Target::Name(name) = &node.target else { continue };
                if let Some((_, t)) = graph.constants.iter().find(|(n, _)| n == name) {
                    values[node.id.0 as usize] = Value::Tensor(t.clone());
                }
            }
            Opcode::Output => {
                if watched.is_some() {
                    WATCHED.set(watched);
                }
                let out = node.args.first().map(|a| value(a, &values)).transpose()?.unwrap_or_default();
                return Ok(match out {
                    Value::List(items) => items,
                    single => vec![single],
                });
            }
            Opcode::Call => {
                let before = tell.then(|| {
                    let before = origin();
                    set_origin(Origin {
                        source: node.meta.source.clone().or_else(|| before.source.clone()),
                        modules: node.meta.modules.clone(),
                        source_fn: node.meta.source_fn.clone().or_else(|| before.source_fn.clone()),
                        recompute: node.meta.recompute.or(before.recompute),
                        checkpoint_region: node.meta.checkpoint_region.or(before.checkpoint_region),
                        annotation: node.meta.annotation.clone().or_else(|| before.annotation.clone()),
                        from_node: Some(node.name.clone()),
                        numbers: node.inputs().iter().filter_map(|id| symbolic(&values[id.0 as usize])).collect(),
                        checkpoint_depth: before.checkpoint_depth,
                    })
                });
                let result = step(graph, node, &values, tell);
                if let (true, Ok(Value::Tensor(t))) = (reads_data(node), &result) {
                    t.count_own_writes();
                }
                if let Some(before) = before {
                    set_origin(before);
                }
                let result = match result {
                    Ok(result) => result,
                    Err(e) => {
                        blame(node);
                        return Err(e);
                    }
                };
                watch_for_nan(node, &result);
                values[node.id.0 as usize] = result;
            }
        }
        if let Some(watched) = &mut watched {
            watched.note(node, &values[node.id.0 as usize]);
        }
        for input in &drops.0[at] {
            values[input.0 as usize] = Value::None;
        }
    }
    Err(Error::runtime("graph: the last node is not the output"))
}

fn symbolic(value: &Value) -> Option<crate::shape::Expr> {
    match value {
        Value::Int(size) if size.as_int().is_none() => Some(size.expr()),
        _ => None,
    }
}

thread_local! {
    /// In anomaly mode, whether a compiled backward still has to meet its first NaN.
    static WATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a compiled backward; in anomaly mode, the line behind its first NaN, or behind the call that fails, is to blame.
pub(super) fn watched<R>(run: impl FnOnce() -> R) -> R {
    let before = WATCHING.replace(anomaly::mode().0 && !modes().fake);
    let result = run();
    WATCHING.set(before);
    result
}

fn watch_for_nan(node: &Node, result: &Value) {
    if !WATCHING.get() || !anomaly::checks_nan() {
        return;
    }
    let mut found = false;
    result.for_each_tensor(&mut |t| found |= anomaly::has_nan(t).unwrap_or(false));
    if found {
        blame(node);
        WATCHING.set(false);
    }
}

fn blame(node: &Node) {
    if let (true, Some(source)) = (WATCHING.get(), &node.meta.source) {
        anomaly::blame(format!("  File \"{}\", line {}, in {}\n    {}\n", source.file, source.line(), source.function, source.code));
    }
}

/// What one call of a graph gives, where the values of others are known: indexed by id.
pub(super) fn node_value(graph: &Graph, node: &Node, values: &[Value]) -> Result<Value> {
    step(graph, node, values, false)
}

fn step(graph: &Graph, node: &Node, values: &[Value], tell: bool) -> Result<Value> {
    let args: Vec<Value> = node.args.iter().map(|a| value(a, values)).collect::<Result<_>>()?;
    if node.op() == Some("aten._assert_scalar.default") {
        return check(graph, node, &args, values, tell);
    }
    match &node.target {
        Target::Torch { op, .. } if &**op == COUNT => {
            let sizes = args.first().map_or(Ok(Vec::new()), |t| Ok(t.tensor()?.sizes().to_vec()))?;
            let mut factors = sizes.into_iter().map(Value::Int);
            let Some(first) = factors.next() else { return Ok(Value::from(1)) };
            factors.try_fold(first, |count, size| told_arithmetic("mul", &[count, size], tell))
        }
        Target::Op(name) | Target::Torch { op: name, .. } => {
            if let Some(special) = special(name, &args) {
                return special;
            }
            let symbol = match &node.meta.value {
                Some(FakeValue::SymFloat(float)) => Some(Value::SymFloat(float.clone())),
                Some(FakeValue::Int(size)) if matches!(&**name, "aten._local_scalar_dense.default" | "aten.item.default") => {
                    Some(Value::Int(item(size)))
                }
                _ => None,
            };
            if let (Some(number), Some(Value::Tensor(t))) = (symbol, args.first())
                && unwrap(t)?.is_fake()
            {
                if let (true, Some(tracer)) = (tell, current_tracer()) {
                    tracer.item(&unwrap(t)?, &number)?;
                }
                return Ok(number);
            }
            if let Some(same) = left_out(graph, node, &args)? {
                return Ok(same);
            }
            let entry = operator(name)?;
            let mut args = fill_args(entry, args, &keywords(node, values)?)?;
            // A factory that a transform calls inside of what the script wrote is not called from Python.
            if let Target::Torch { shown, .. } = &node.target
                && match shown {
                    Shown::Function(name) => !name.starts_with("torch.ops.") && name.rsplit('.').next() == Some(entry.base_name()),
                    Shown::Method(name) => **name == *entry.base_name(),
                    Shown::Operator(_) | Shown::Text(_) => false,
                }
            {
                fill_factory_options(entry, &mut args);
            }
            let _naming = tell.then(|| unbacked_size(node)).flatten().map(|size| Naming::new(Rc::new(move |_| size.clone())));
            call(entry, args)
        }
        Target::Getitem => {
            let index = args.get(1).map_or(Ok(0), Value::int)?;
            let items = args.first().map_or(Ok(&[][..]), Value::list)?;
            usize::try_from(index).ok().and_then(|i| items.get(i).cloned()).ok_or_else(|| Error::index("tuple index out of range"))
        }
        Target::Operator(name) if relation(name).is_some() => {
            // One that is not known yet is evaluated where it is asserted, or chooses in the graph.
            let Some((relation, (left, right))) = relation(name).zip(args[0].sym_int().ok().zip(args[1].sym_int().ok())) else {
                return Ok(Value::None);
            };
            Ok(match (left.as_int(), right.as_int()) {
                (Some(a), Some(b)) => Value::Bool(relation.holds(a, b)),
                _ => Value::Opaque(Rc::new(SymCondition { left, relation, right })),
            })
        }
        Target::Operator(name) => told_arithmetic(name, &args, tell),
        Target::HigherOrder(name) => {
            let operator = node.args.iter().enumerate().find_map(|(i, a)| if let Arg::Op(op) = a { Some((i, &**op)) } else { None });
            let keywords = keywords(node, values)?;
            if let Some(run) = higher_order::of_script(name) {
                let bodies = subgraphs(graph, node);
                return run(&ScriptOperatorCall { name, bodies, args, written: &node.args, keywords, written_keywords: &node.kwargs });
            }
            higher_order::call(&HigherOrderCall {
                name,
                subgraphs: subgraphs(graph, node).into_iter().map(|(_, body)| body).collect(),
                args,
                written: &node.args,
                keywords,
                operator,
                tell,
                captured: node.meta.value.as_ref(),
            })
        }
        Target::Name(name) => Err(Error::runtime(format!("{name} is no call"))),
    }
}

/// The keyword arguments of a call.
fn keywords<'g>(node: &'g Node, values: &[Value]) -> Result<Vec<(&'g str, Value)>> {
    node.kwargs.iter().map(|(k, a)| Ok((&**k, value(a, values)?))).collect()
}

/// What a slice among several indices gives that takes everything: those are left out where the size is a number, or the end, which it
/// may have become since they were captured. Where all are left out, an alias remains.
fn left_out(graph: &Graph, node: &Node, args: &[Value]) -> Result<Option<Value>> {
    let (Target::Torch { op, .. }, [Value::Tensor(t), dim, start, stop, rest @ ..]) = (&node.target, args) else { return Ok(None) };
    if &**op != "aten.slice.Tensor" {
        return Ok(None);
    }
    let number = |v: &Value, default: i64| if matches!(v, Value::None) { Ok(SymInt::Int(default)) } else { v.sym_int() };
    let size = t.size(crate::ops::shapes::wrap_dim(dim.int()?, t.dim())?);
    let (start, stop, step) = (number(start, 0)?, number(stop, i64::MAX)?, number(rest.first().unwrap_or(&Value::None), 1)?);
    // Nothing is to be asked where numbers say that it takes a part.
    if start.as_int().is_some_and(|start| start != 0) || stop.as_int().zip(size.as_int()).is_some_and(|(stop, size)| stop < size) {
        return Ok(None);
    }
    // The call is told at the first of its nodes.
    let Some(call) = node.written.as_ref().map(|w| w.call) else { return Ok(None) };
    let of_call: Vec<&Node> = graph.nodes().filter(|n| n.written.as_ref().is_some_and(|w| w.call == call)).collect();
    let says = of_call.iter().find_map(|n| n.written.as_ref()?.says.as_deref());
    let several = |w: &&WrittenCall| matches!(w.args.get(1), Some(Arg::Tuple(items)) if items.len() > 1);
    if says.filter(|w| w.target == Target::Getitem).filter(several).is_none() {
        return Ok(None);
    }
    compare_sizes(&start, Relation::Eq, &SymInt::Int(0))?;
    if !start.statically_eq(0) {
        return Ok(None);
    }
    compare_sizes(&size, Relation::Le, &stop)?;
    let reaches = stop.statically_eq(size.clone()) || stop.as_int().zip(size.as_int()).is_some_and(|(stop, size)| stop >= size);
    if !(reaches && step.statically_eq(1)) {
        return Ok(None);
    }
    let is_last = of_call.last().is_some_and(|n| n.id == node.id);
    // What was left out before changed no size.
    let first = of_call.iter().find(|n| n.opcode == Opcode::Call).and_then(|n| n.args.first());
    let is_all = match first {
        Some(Arg::Node(id)) => match &graph.node(*id).meta.value {
            Some(FakeValue::Tensor(of)) => {
                let (of, own) = (&of.geometry.sizes, t.sizes());
                of.len() == own.len() && of.iter().zip(own).all(|(a, b)| a.statically_eq(b))
            }
            _ => false,
        },
        _ => false,
    };
    if is_last && is_all {
        return crate::t!("alias", t).map(|t| Some(t.into()));
    }
    Ok(Some(t.into()))
}

/// The size that the values of a captured call decide, as it was called when it was captured.
fn unbacked_size(node: &Node) -> Option<SymInt> {
    fn of(value: &FakeValue) -> Option<SymInt> {
        let is_it = |s: &&SymInt| matches!(s, SymInt::Sym(e, _) if e.as_symbol().is_some()) && s.hint().is_none();
        match value {
            FakeValue::Tensor(spec) => spec.geometry.sizes.iter().find(is_it).cloned(),
            FakeValue::List(items) => items.iter().find_map(of),
            _ => None,
        }
    }
    node.meta.value.as_ref().and_then(of)
}

thread_local! {
    /// Whether numbers of inputs are those of the call.
    static ITEMS_ARE_KNOWN: Cell<bool> = const { Cell::new(false) };
    /// Whether a number of an input was taken for one that only the run knows.
    static TOOK_ITEM: Cell<bool> = const { Cell::new(false) };
}

/// The number that a tensor holds: that of an input, which Dynamo knows and may have guarded on, is an unbacked symbol to AOTAutograd, a
/// new one in each pass.
fn item(size: &SymInt) -> SymInt {
    match size {
        SymInt::Sym(_, env) if size.hint().is_some() && !ITEMS_ARE_KNOWN.get() => {
            TOOK_ITEM.set(true);
            env.unbacked("item", i64::MIN)
        }
        _ => size.clone(),
    }
}

/// Compiles with numbers of inputs as those that only the run knows; where something has to know one, once more as those of the call.
pub(super) fn with_items<R>(compile: impl Fn() -> Result<R>) -> Result<R> {
    TOOK_ITEM.set(false);
    let outcome = compile();
    if !outcome.as_ref().is_err_and(|e| e.kind == ErrorKind::GuardOnDataDependent) || !TOOK_ITEM.get() {
        return outcome;
    }
    let before = ITEMS_ARE_KNOWN.replace(true);
    let outcome = compile();
    ITEMS_ARE_KNOWN.set(before);
    outcome
}

fn relation(name: &str) -> Option<Relation> {
    Relation::ALL.into_iter().find(|r| r.operator() == name)
}

/// `_assert_scalar`: an error where the condition does not hold; while it is traced, part of the graph.
fn check(graph: &Graph, node: &Node, args: &[Value], values: &[Value], tell: bool) -> Result<Value> {
    if let Some(Value::Bool(holds)) = args.first() {
        let said = || args.get(1).map_or_else(String::new, |v| if let Value::Str(s) = v { s.to_string() } else { String::new() });
        return if *holds { Ok(Value::None) } else { Err(Error::runtime(said())) };
    }
    let Some(Arg::Node(id)) = node.args.first() else { return Ok(Value::None) };
    let condition = graph.node(*id);
    let Target::Operator(name) = &condition.target else { return Ok(Value::None) };
    if let (Some(relation), true) = (relation(name), tell) {
        let sides = condition.args.iter().map(|a| value(a, values)).collect::<Result<Vec<_>>>()?;
        if let [Value::Int(a), Value::Int(b)] = sides.as_slice()
            && let (Some(SymInt::Sym(_, env)), true) = ([a, b].into_iter().find(|s| s.hint().is_none()), a.decide(relation, b).is_none())
        {
            env.expect(&a.expr(), relation, &b.expr());
        }
        if let ([a, b], Some(said), Some(tracer)) = (sides.as_slice(), args.get(1), current_tracer()) {
            tracer.expect(relation.operator(), [a, b], condition, said)?;
        }
    }
    Ok(Value::None)
}

/// Arithmetic on numbers, of which a trace may be told.
fn told_arithmetic(name: &str, args: &[Value], tell: bool) -> Result<Value> {
    let result = arithmetic(name, args)?;
    if let (true, Some(tracer)) = (tell, current_tracer()) {
        tracer.computed(name, args, &result)?;
    }
    Ok(result)
}

/// `tensor.numel()` in a captured graph, which computes it from the sizes.
pub const COUNT: &str = "aten.sym_numel.default";

/// The subgraphs that a call names, in order, with the nodes that read them.
fn subgraphs<'g>(graph: &'g Graph, node: &Node) -> Vec<(NodeId, &'g Graph)> {
    let named = |id: &NodeId| match (&graph.node(*id).opcode, &graph.node(*id).target) {
        (Opcode::GetAttr, Target::Name(name)) => graph.subgraphs.iter().find(|(n, _)| n == name).map(|(_, g)| (*id, g)),
        _ => None,
    };
    let mut found = Vec::new();
    node.args.iter().chain(node.kwargs.iter().map(|(_, a)| a)).for_each(|a| a.for_each_node(&mut |id| found.extend(named(&id))));
    found
}

/// Calls of a captured or traced graph that are no operators of the catalogue.
fn special(name: &str, args: &[Value]) -> Option<Result<Value>> {
    match name {
        "aten.sym_size.int" => Some((|| {
            let t = args[0].tensor()?;
            Ok(Value::Int(t.size(crate::ops::shapes::wrap_dim(args[1].int()?, t.dim())?)))
        })()),
        ZEROS_AND_SCATTER => Some((|| zeros_and_scatter(&args[0].sym_ints()?, args[1].list()?, args[2].tensor()?).map(Value::Tensor))()),
        COUNT => Some(args[0].tensor().map(|t| Value::Int(t.numel()))),
        "prims.convert_element_type.default" => Some(convert_element_type(args)),
        "_C._set_grad_enabled" => Some((|| {
            let grad = args[0].bool()?;
            set_modes(Modes { grad, ..modes() });
            Ok(Value::None)
        })()),
        // A block's value is what was in force around it.
        "autocast._enter_autocast" => Some((|| {
            let autocast = if args[2].bool()? { args[1].dtype()? } else { None };
            let before = set_modes(Modes { autocast, ..modes() });
            Ok(Value::from(before.autocast))
        })()),
        "autocast._exit_autocast" => Some((|| {
            set_modes(Modes { autocast: args[0].dtype()?, ..modes() });
            Ok(Value::None)
        })()),
        _ => None,
    }
}

/// A number as an operand of arithmetic on floats.
fn operand(value: &Value) -> Result<(FloatExpr, Option<ShapeEnv>)> {
    Ok(match value {
        Value::SymFloat(f) => ((*f.expr).clone(), Some(f.env.clone())),
        Value::Int(SymInt::Sym(e, env)) => (FloatExpr::ToFloat(e.clone()), Some(env.clone())),
        other => (FloatExpr::Number(other.float()?), None),
    })
}

/// What a graph rounds, with Python's errors. Integers of a graph have 64 bits.
fn rounded(rounding: Rounding, float: f64) -> Result<Value> {
    let number = rounding.apply(float).ok_or_else(|| match float {
        _ if float.is_nan() => Error::value("cannot convert float NaN to integer"),
        _ if float.is_infinite() => Error::new(ErrorKind::Overflow, "cannot convert float infinity to integer"),
        _ => Error::new(ErrorKind::Overflow, "int too big to convert"),
    })?;
    Ok(Value::from(number))
}

/// Arithmetic that has to do with floats; `None` where it has not.
fn float_arithmetic(name: &str, args: &[Value]) -> Result<Option<Value>> {
    let is_float = |v: &Value| matches!(v, Value::Float(_) | Value::SymFloat(_));
    let function = FUNCTIONS.into_iter().find(|(_, called)| *called == name);
    if !args.iter().any(is_float) && !["truediv", "sym_float"].contains(&name) && function.is_none() {
        return Ok(None);
    }
    let (a, env) = operand(&args[0])?;
    let made = |expr: FloatExpr, env: Option<ShapeEnv>| match (expr.evaluate(&|_| None, &|_| None), env) {
        (Some(f), _) => Ok(Some(Value::Float(f))),
        (None, Some(env)) => Ok(Some(Value::SymFloat(SymFloat { expr: Rc::new(expr), env }))),
        (None, None) => Err(Error::runtime("a float without symbols has no value")),
    };
    if let Some((function, _)) = function {
        return made(FloatExpr::Function(function, Rc::new(a)), env);
    }
    let names = ["add", "sub", "mul", "truediv", "pow", "sym_max", "sym_min"];
    let name = match name {
        "sym_float" => return made(a, env),
        "round" => {
            let digits = args.get(1).map_or(Ok(0), Value::int)?;
            return made(FloatExpr::Round(Rc::new(a), digits.clamp(-400, 400) as i32), env);
        }
        "neg" => return made(FloatExpr::Neg(Rc::new(a)), env),
        name => names
            .into_iter()
            .find(|n| *n == name)
            .ok_or_else(|| Error::not_implemented(format!("arithmetic on floats: operator.{name}")))?,
    };
    if let ("truediv", Value::Int(a), Value::Int(b)) = (name, &args[0], &args[1])
        && let Some(quotient) = SymFloat::quotient(a, b)
    {
        return Ok(Some(Value::SymFloat(quotient)));
    }
    let (b, other) = operand(&args[1])?;
    made(FloatExpr::Binary(name, Rc::new(a), Rc::new(b)), env.or(other))
}

fn arithmetic(name: &str, args: &[Value]) -> Result<Value> {
    let is_whole = || name == "round" && args.get(1).is_some_and(Value::is_none);
    if let Some(rounding) = Rounding::named(crate::graph::node_name(name)).or_else(|| is_whole().then_some(Rounding::Round)) {
        return match args.first() {
            Some(Value::SymFloat(float)) => Ok(Value::Int(float.rounded(rounding))),
            Some(Value::Int(size)) => Ok(Value::Int(size.clone())),
            other => rounded(rounding, other.map_or(Ok(0.0), Value::float)?),
        };
    }
    if let Some(float) = float_arithmetic(name, args)? {
        return Ok(float);
    }
    if let ("sym_sum", Some(Value::List(terms))) = (name, args.first()) {
        return terms.iter().try_fold(SymInt::Int(0), |sum, term| Ok(&sum + &term.sym_int()?)).map(Value::Int);
    }
    let (a, b) = (args[0].sym_int()?, args.get(1).map_or(Ok(SymInt::Int(0)), Value::sym_int)?);
    let made = SymInt::calculated(name, &a, &b)?;
    made.map(Value::Int).ok_or_else(|| Error::not_implemented(format!("arithmetic on sizes: operator.{name}")))
}

fn value(arg: &Arg, values: &[Value]) -> Result<Value> {
    Ok(match arg {
        Arg::None | Arg::Ellipsis | Arg::Slice(_) | Arg::Dict(_) | Arg::Op(_) | Arg::Text(_) => Value::None,
        Arg::Bool(b) => Value::Bool(*b),
        Arg::Int(i) => Value::from(*i),
        Arg::Float(f) => Value::Float(*f),
        Arg::Complex(re, im) => Value::Complex(*re, *im),
        Arg::Str(s) => Value::Str(s.clone()),
        Arg::Dtype(d) => Value::Dtype(*d),
        Arg::Device(d) => Value::Device(*d),
        Arg::Layout(l) => Value::Layout(*l),
        Arg::MemoryFormat(m) => Value::MemoryFormat(*m),
        Arg::Node(NodeId(i)) => values[*i as usize].clone(),
        Arg::List(items) | Arg::Tuple(items) => Value::List(items.iter().map(|a| value(a, values)).collect::<Result<_>>()?),
    })
}
