//! Numbers of a graph: sizes, integers and floats of the call that are symbols, what is computed from them, and numbers that
//! tensors hold.

use super::graph_arg::{GraphArg, float_of, number_of};
use super::tracer::Recorder;
use crate::aot::interpret::COUNT;
use crate::aot::schemas::InputSpec;
use crate::aot::trace::fake_value;
use crate::dispatch::{Key, Value};
use crate::dynamo::dynamic_shapes::InputSource;
use crate::dynamo::graph_breaks::unsupported::Unsupported;
use crate::error::Result;
use crate::graph::{self, Arg, FakeValue, FloatNodes, Meta, NodeId, Opcode, Shown, SizeNodes, Target, compute_float, compute_size};
use crate::shape::{Expr, FloatExpr, ShapeEnv, SymCondition, SymFloat, SymInt, Symbol};
use crate::tensor::{Dtype, Tensor};
use std::rc::Rc;

impl Recorder {
    /// A symbol for a Python number of the call, which becomes an input where it is used. `number` is that of its source.
    pub fn number(&self, source: &str, number: u32, value: i64) -> SymInt {
        let size = self.output().symbols.borrow_mut().number(source, number, value);
        self.output().numbers.borrow_mut().insert(size.expr(), number_name(source));
        size
    }

    /// Numbers of the call that are given to a call are inputs, also where it makes them the numbers that they are.
    pub(in crate::dynamo) fn give_numbers(&self, args: &[Value]) -> Result<()> {
        for arg in args {
            match arg {
                Value::List(items) => self.give_numbers(items)?,
                Value::Int(size) if self.output().numbers.borrow().contains_key(&size.expr()) => {
                    if let Arg::Node(id) = self.argument(arg)? {
                        self.output().given.borrow_mut().insert(id);
                    }
                }
                // An operator may ask for its number before it is recorded.
                Value::SymFloat(float) if self.has_float(float) => self.asked_float(float),
                _ => {}
            }
        }
        Ok(())
    }

    /// The script compares a number: those of the call that it is computed from are inputs by then.
    pub fn compared(&self, size: &SymInt) -> Result<()> {
        let SymInt::Sym(expr, env) = size else { return Ok(()) };
        for symbol in expr.symbols() {
            let number = Expr::symbol(symbol);
            if self.output().numbers.borrow().contains_key(&number) {
                self.size(&SymInt::Sym(number, env.clone()))?;
            }
        }
        Ok(())
    }

    /// A symbol for a Python float of the call, which becomes an input where it is used: a tensor that holds it.
    pub fn float_number(&self, source: &str, number: u32, value: f64) -> SymFloat {
        self.output().symbols.borrow_mut().float(source, number, value)
    }

    /// A float was computed from others: the call stands here, where something reads it.
    pub fn computed_float(&self, float: &SymFloat) {
        if self.has_float(float) {
            // What cannot be part of the graph is asked for its number where it is used.
            let _ = compute_float(self, float);
        }
    }

    /// The number that a float is was asked for: floats of the call in it are inputs, though nothing computes with them.
    pub fn asked_float(&self, float: &SymFloat) {
        self.computed_float(float);
        let output = self.output();
        let graph = output.graph.borrow();
        for (expr, id) in self.output().floats.borrow().iter() {
            if let FloatExpr::Symbol(symbol) = &**expr
                && float.has(symbol)
            {
                self.output().given.borrow_mut().extend(graph.node(*id).inputs());
            }
        }
    }

    /// Whether a float was computed from floats of the call alone, not all of which are inputs so far, and is stored nowhere: it is
    /// computed where something reads it.
    pub fn defers_float(&self, float: &SymFloat) -> bool {
        fn is_of_call(expr: &FloatExpr, env: &ShapeEnv) -> bool {
            match expr {
                FloatExpr::Number(_) => true,
                FloatExpr::Symbol(_) => SymFloat { expr: Rc::new(expr.clone()), env: env.clone() }.hint().is_some(),
                FloatExpr::Binary(_, a, b) => is_of_call(a, env) && is_of_call(b, env),
                FloatExpr::Neg(a) => is_of_call(a, env),
                FloatExpr::ToFloat(_) | FloatExpr::IntTrueDiv(..) | FloatExpr::Function(..) | FloatExpr::Round(..) => false,
            }
        }
        let is_input = |expr: &FloatExpr| self.output().floats.borrow().iter().any(|(known, _)| **known == *expr);
        fn are_inputs(expr: &FloatExpr, is_input: &dyn Fn(&FloatExpr) -> bool) -> bool {
            match expr {
                FloatExpr::Binary(_, a, b) => are_inputs(a, is_input) && are_inputs(b, is_input),
                FloatExpr::Neg(a) => are_inputs(a, is_input),
                FloatExpr::Number(_) => true,
                other => is_input(other),
            }
        }
        is_of_call(&float.expr, &float.env) && !are_inputs(&float.expr, &is_input) && !(self.surroundings.stores_result)()
    }

    /// Whether a symbolic float belongs to the graph that is captured.
    pub fn has_float(&self, float: &SymFloat) -> bool {
        float.env.same(&self.output().symbols.borrow().env)
    }

    /// The input that a float of the call becomes, and the call that reads its number.
    pub(in crate::dynamo) fn float_input(&self, float: &SymFloat, symbol: &Symbol) -> Result<Arg> {
        let origin = float.env.float_origin(symbol).unwrap_or_default();
        let real = {
            let _below = crate::dispatch::Exclude::down_to(Key::Autograd);
            crate::t!("full", Vec::<i64>::new(), float.hint().unwrap_or_default(); dtype = Dtype::Float64)?
        };
        let source = InputSource { name: number_name(&origin), source: origin, is_static: true, is_number: true, ..InputSource::default() };
        let spec = InputSpec { called: Some(source.called()), ..InputSpec::of(&real)? };
        let fake_tensor = Tensor::fake(&spec.spec)?;
        let meta = Meta { value: Some(FakeValue::Tensor(spec.spec.clone())), input: spec.called.clone(), ..Meta::default() };
        let node = self.output().graph.borrow_mut().placeholder(&source.name, meta);
        self.output().nodes.borrow_mut().insert(fake_tensor.id(), node);
        self.output().input_places.borrow_mut().push(self.place());
        self.output().inputs.borrow_mut().push(GraphArg { real, fake_tensor, node, spec, is_inference: false, source });
        let target = Target::Torch { op: "aten._local_scalar_dense.default".into(), shown: Shown::Method("item".into()) };
        Ok(self.float_call("item", target, vec![Arg::Node(node)], float))
    }

    pub(in crate::dynamo) fn float_call(&self, name: &str, target: Target, args: Vec<Arg>, float: &SymFloat) -> Arg {
        let meta = self.meta(FakeValue::SymFloat(float.clone()));
        let id = self.output().graph.borrow_mut().call(name, target, args, Vec::new(), meta);
        self.output().graph.borrow_mut().node_mut(id).written = self.output().writing.stamp();
        self.output().floats.borrow_mut().push((float.expr.clone(), id));
        Arg::Node(id)
    }

    /// Breaks the graph here, because a number that only the run knows is needed: afterwards it is known.
    pub fn need_number(&self, number: &Value, reason: &Unsupported) -> Result<()> {
        self.needed_numbers.borrow_mut().push(number.clone());
        let broke = self.break_graph(reason);
        self.needed_numbers.borrow_mut().clear();
        broke
    }

    /// Numbers that what breaks the graph reads, as far as they belong to it, also as ones of the graph that it was cut out of.
    pub fn needed_numbers(&self) -> Vec<Value> {
        let current = |v: &Value| match v {
            Value::Int(size) => Value::Int(size.succeeded().unwrap_or_else(|| size.clone())),
            other => other.clone(),
        };
        let belongs = |v: &Value| match v {
            Value::Int(size) => self.has_size(size),
            Value::SymFloat(float) => self.has_float(float),
            _ => false,
        };
        self.needed_numbers.borrow().iter().map(current).filter(belongs).collect()
    }

    /// A size that the values of a call decide: the graph reads it off the result and checks that it is one.
    pub(in crate::dynamo) fn bind_size(&self, size: &SymInt, result: &Value) -> Result<()> {
        let mut found = None;
        result.for_each_tensor(&mut |t| {
            let dim = t.sizes().iter().position(|s| s.as_int().is_none() && s.expr() == size.expr());
            found = found.or(dim.and_then(|d| Some((self.output().nodes.borrow().get(&t.id()).copied()?, d))));
        });
        let Some((node, dim)) = found else { return Ok(()) };
        let meta = self.meta(FakeValue::Int(size.clone()));
        let target = Target::Op("aten.sym_size.int".into());
        let id =
            self.output().graph.borrow_mut().call("sym_size_int", target, vec![Arg::Node(node), Arg::Int(dim as i64)], Vec::new(), meta);
        self.output().stacks.borrow_mut().insert(id, (self.place(), self.output().inputs.borrow().len()));
        self.output().sizes.borrow_mut().insert(size.expr(), id);
        self.output().defined.borrow_mut().push((size.clone(), id));
        Ok(())
    }

    /// Whether `.item()` is part of the graph.
    pub fn wants_scalars(&self) -> bool {
        (self.surroundings.wants_scalars)()
    }

    /// The number that a tensor holds, as part of the graph: that of an input is known in this call and guarded on where it decides,
    /// another only when the graph runs. `None` where it cannot be part of it.
    pub(in crate::dynamo) fn scalar(&self, t: &Tensor) -> Result<Option<Value>> {
        let fake_tensor = self.wrap_tensor(t)?;
        let Some(node) = self.output().nodes.borrow().get(&fake_tensor.id()).copied() else { return Ok(None) };
        let dtype = fake_tensor.dtype();
        let is_integer = dtype.is_integral() && dtype != Dtype::Bool;
        if !is_integer && !dtype.is_floating() {
            return Ok(None);
        }
        let known = self.output().scalars.borrow().get(&fake_tensor.id()).cloned();
        let number = match known {
            Some(number) => number,
            None if is_integer => {
                let index = self
                    .output()
                    .inputs
                    .borrow()
                    .iter()
                    .position(|i| i.fake_tensor.is(&fake_tensor) && i.real.dim() == 0 && i.fake_tensor.version() == 0);
                Value::Int(match index {
                    Some(index) => {
                        let input = self.output().inputs.borrow()[index].clone();
                        let value = number_of(&input.real).unwrap_or_default();
                        self.output().symbols.borrow_mut().item(&input.source, index, value)
                    }
                    None => self.output().symbols.borrow().env.unbacked("item", i64::MIN),
                })
            }
            None => Value::SymFloat(self.output().symbols.borrow().env.unbacked_float("item")),
        };
        let target = Target::Torch { op: "aten._local_scalar_dense.default".into(), shown: Shown::Method("item".into()) };
        let inputs = self.output().inputs.borrow().len();
        let id = match &number {
            Value::SymFloat(float) => match self.float_call("item", target, vec![Arg::Node(node)], float) {
                Arg::Node(id) => id,
                _ => return Ok(None),
            },
            other => {
                let id =
                    self.output().graph.borrow_mut().call("item", target, vec![Arg::Node(node)], Vec::new(), self.meta(fake_value(other)));
                if let Value::Int(size) = other {
                    self.output().sizes.borrow_mut().entry(size.expr()).or_insert(id);
                    if size.hint().is_none() {
                        self.output().defined.borrow_mut().push((size.clone(), id));
                    }
                }
                id
            }
        };
        self.output().stacks.borrow_mut().insert(id, (self.place(), inputs));
        self.output().scalars.borrow_mut().insert(fake_tensor.id(), number.clone());
        Ok(Some(number))
    }

    /// The number that one of numpy's scalars, which is an input of the graph, is in this call: the graph is guarded on it. None for
    /// another tensor, and for a complex number.
    pub fn number_of_numpy(&self, t: &Tensor) -> Result<Option<Value>> {
        let fake_tensor = self.wrap_tensor(t)?;
        let is_scalar = |i: &GraphArg| i.fake_tensor.is(&fake_tensor) && i.source.source.starts_with("___from_numpy(") && i.real.dim() == 0;
        let Some(index) = self.output().inputs.borrow().iter().position(is_scalar) else { return Ok(None) };
        let input = self.output().inputs.borrow()[index].clone();
        let known = self.output().scalars.borrow().get(&fake_tensor.id()).cloned();
        let number = match known {
            Some(number) => number,
            None if input.real.dtype().is_integral() => {
                let value = number_of(&input.real).unwrap_or_default();
                Value::Int(self.output().symbols.borrow_mut().item(&input.source, index, value))
            }
            None => {
                let Some(value) = float_of(&input.real) else { return Ok(None) };
                let (source, number) = (format!("{}.item()", input.source.source), input.source.numbers.first().copied().unwrap_or(0));
                Value::SymFloat(self.output().symbols.borrow_mut().float(&source, number, value))
            }
        };
        self.output().scalars.borrow_mut().insert(fake_tensor.id(), number.clone());
        Ok(Some(match number {
            Value::Int(size) => Value::Int(SymInt::Int(size.guard_int()?)),
            Value::SymFloat(float) => Value::Float(float.guard_float()?),
            other => other,
        }))
    }

    /// Whether a tensor is an input with one integer that nothing has written to: Dynamo knows its number, as the fake tensor does.
    fn is_number_of_caller(&self, t: &Tensor) -> bool {
        let output = self.output();
        let inputs = output.inputs.borrow();
        let is_input = |t: &Tensor| !t.is_fake() || inputs.iter().any(|i| i.fake_tensor.is(t) && t.version() == 0);
        t.dim() == 0 && t.dtype().is_integral() && t.dtype() != Dtype::Bool && is_input(t)
    }

    /// Why the graph ends before a call that takes the numbers of tensors; none where it can hold them. Of inputs Dynamo has the numbers,
    /// but AOTAutograd does not: it refuses the graph, and the frame is skipped.
    pub fn leaves_at_numbers(&self, numbers: &[&Tensor]) -> Result<Option<Unsupported>> {
        if numbers.is_empty() || self.wants_scalars() {
            return Ok(None);
        }
        let reason = Unsupported::data_dependent_operator("aten._local_scalar_dense.default");
        Ok(Some(if numbers.iter().all(|t| self.is_number_of_caller(t)) { reason.ending_function() } else { reason }))
    }

    /// The node of a symbolic size; one of another graph is the number it was there.
    pub(in crate::dynamo) fn size(&self, size: &SymInt) -> Result<Arg> {
        match size {
            SymInt::Sym(_, env) if Sizes(self, env).are_own() || self.reads_off(&size.expr()) => {
                compute_size(&Sizes(self, env), &size.expr())
            }
            _ => Ok(Arg::Int(size.guard_int()?)),
        }
    }

    /// Runs the function that becomes a body: sizes that were computed outside of it are computed in it anew, of the symbols that it is
    /// given, and what it computes is no size of what follows.
    pub fn with_sizes_of_body<R>(&self, run: impl FnOnce() -> R) -> R {
        let is_input = |id: &NodeId| self.output().graph.borrow().node(*id).opcode == Opcode::Placeholder;
        let outer = self.output().sizes.borrow().clone();
        self.output().sizes.borrow_mut().retain(|_, id| is_input(id));
        let result = run();
        let output = self.output();
        let mut sizes = output.sizes.borrow_mut();
        sizes.retain(|_, id| is_input(id));
        for (expr, id) in outer {
            sizes.entry(expr).or_insert(id);
        }
        result
    }

    /// Whether the symbols of a size are sizes of inputs: those of a trace that goes through this graph later.
    fn reads_off(&self, expr: &Expr) -> bool {
        expr.symbols().into_iter().all(|symbol| self.input_of_size(&Expr::symbol(symbol)).is_some())
    }

    /// The input that has a size of an outer trace, and in which dimension.
    fn input_of_size(&self, expr: &Expr) -> Option<(NodeId, usize)> {
        let output = self.output();
        let inputs = output.inputs.borrow();
        let dim = |input: &GraphArg| input.real.sizes().iter().position(|size| size.as_int().is_none() && size.expr() == *expr);
        inputs.iter().find_map(|input| Some((input.node, dim(input)?)))
    }

    /// The node that reads a size of an outer trace off an input.
    pub(in crate::dynamo) fn size_of_input(&self, input: NodeId, dim: usize, size: &SymInt) -> NodeId {
        let output = self.output();
        let target = Target::Op("aten.sym_size.int".into());
        let args = vec![Arg::Node(input), Arg::Int(dim as i64)];
        let meta = self.meta(FakeValue::Int(size.clone()));
        let id = output.graph.borrow_mut().call("sym_size_int", target, args, Vec::new(), meta);
        output.stacks.borrow_mut().insert(id, (self.place(), output.inputs.borrow().len()));
        id
    }

    /// Whether a value is a condition on numbers of this graph.
    pub fn has_condition(&self, value: &Value) -> bool {
        value.condition().is_some_and(|condition| condition.sides().into_iter().any(|side| self.has_size(side)))
    }

    /// The node of a condition on sizes, which a call chooses by or checks.
    pub(in crate::dynamo) fn condition(&self, condition: &SymCondition) -> Result<NodeId> {
        let sides = condition.sides().into_iter().map(|side| self.size(side)).collect::<Result<Vec<_>>>()?;
        let name = condition.relation.operator();
        let meta = self.meta(FakeValue::Condition(condition.to_string().as_str().into()));
        let output = self.output();
        let id = output.graph.borrow_mut().call(name, Target::operator(name), sides, Vec::new(), meta);
        output.stacks.borrow_mut().insert(id, (self.place(), output.inputs.borrow().len()));
        Ok(id)
    }

    /// The script computed a size from two others: the call stands here, where something reads it.
    pub fn computed(&self, name: &'static str, operands: &[&SymInt], result: &SymInt) {
        let SymInt::Sym(expr, env) = result else { return };
        if !env.same(&self.output().symbols.borrow().env)
            || expr.as_symbol().is_some()
            || self.output().sizes.borrow().contains_key(&result.expr())
        {
            return;
        }
        // What is stored in an object is computed there, other numbers where they are read.
        if self.is_of_numbers(&result.expr()) && !(self.surroundings.stores_result)() {
            self.output()
                .deferred
                .borrow_mut()
                .entry(result.expr())
                .or_insert_with(|| (name, operands.iter().map(|o| (*o).clone()).collect()));
        } else if let Ok(args) = self.operands_of(name, &mut operands.iter().copied()) {
            Sizes(self, env).emit(name, args, &result.expr());
        }
    }

    /// The script reads a size of a tensor: where that is computed from symbols, the call stands here.
    pub fn read_size(&self, size: &SymInt) -> Result<()> {
        match self.has_size(size) && size.expr().as_symbol().is_none() && !self.is_in_call() {
            true => self.size(size).map(drop),
            false => Ok(()),
        }
    }

    /// The script asks for the number of a tensor's elements: that of an input is read off it, that of another is computed from the
    /// symbols.
    pub fn counted(&self, t: &Tensor, count: &SymInt) -> Result<()> {
        let expr = count.expr();
        let is_known = || self.output().sizes.borrow().contains_key(&expr) || self.output().deferred.borrow().contains_key(&expr);
        if expr.as_int().is_some() || expr.as_symbol().is_some() || !self.has_size(count) || is_known() {
            return Ok(());
        }
        let Some(node) = self.output().nodes.borrow().get(&self.wrap_tensor(t)?.id()).copied() else { return Ok(()) };
        if self.output().graph.borrow().node(node).opcode != graph::Opcode::Placeholder {
            return self.size(count).map(|_| ());
        }
        let target = Target::Torch { op: COUNT.into(), shown: Shown::Method("numel".into()) };
        let id = self.output().graph.borrow_mut().call(
            "numel",
            target,
            vec![Arg::Node(node)],
            Vec::new(),
            self.meta(FakeValue::Int(count.clone())),
        );
        self.output().graph.borrow_mut().node_mut(id).written = self.output().writing.stamp();
        self.output().sizes.borrow_mut().insert(expr, id);
        Ok(())
    }

    /// The arguments of a call that computes a size: a sum has one, its terms.
    fn operands_of(&self, name: &str, operands: &mut dyn Iterator<Item = &SymInt>) -> Result<Vec<Arg>> {
        let args = operands.map(|size| self.size(size)).collect::<Result<Vec<_>>>()?;
        Ok(if name == "sym_sum" { vec![Arg::Tuple(args)] } else { args })
    }

    /// Whether a symbolic size belongs to the graph that is captured.
    pub fn has_size(&self, size: &SymInt) -> bool {
        matches!(size, SymInt::Sym(_, env) if env.same(&self.output().symbols.borrow().env) && size.expr().as_int().is_none())
    }
}

impl FloatNodes for Recorder {
    fn size(&self, size: &SymInt) -> Result<Arg> {
        Recorder::size(self, size)
    }

    fn known(&self, float: &SymFloat) -> Option<Arg> {
        self.output().floats.borrow().iter().find(|(e, _)| *e == float.expr).map(|(_, id)| Arg::Node(*id))
    }

    fn emit(&self, name: &'static str, args: Vec<Arg>, float: &SymFloat) -> Result<Arg> {
        match &*float.expr {
            FloatExpr::Symbol(symbol) => self.float_input(float, symbol),
            _ => Ok(self.float_call(name, Target::operator(name), args, float)),
        }
    }
}

/// The placeholder of a Python number that is found there.
fn number_name(source: &str) -> String {
    let name: String = source.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { ' ' }).collect();
    name.split(' ').filter(|w| !w.is_empty()).collect::<Vec<_>>().join("_") + if source.ends_with(']') { "_" } else { "" }
}

/// Sizes of the graph being recorded, and their symbols. Those of an outer trace are read off the inputs that have them wherever they are
/// used.
struct Sizes<'a>(&'a Recorder, &'a ShapeEnv);

impl Sizes<'_> {
    fn are_own(&self) -> bool {
        self.1.same(&self.0.output().symbols.borrow().env)
    }
}

impl SizeNodes for Sizes<'_> {
    fn known(&self, expr: &Expr) -> Option<Arg> {
        if !self.are_own() {
            let (input, dim) = self.0.input_of_size(expr)?;
            return Some(Arg::Node(self.0.size_of_input(input, dim, &SymInt::Sym(expr.clone(), self.1.clone()))));
        }
        if let Some(name) = self.0.output().numbers.borrow_mut().remove(expr) {
            let meta = Meta { value: Some(FakeValue::Int(SymInt::Sym(expr.clone(), self.1.clone()))), ..Meta::default() };
            let id = self.0.output().graph.borrow_mut().placeholder(&name, meta);
            self.0.output().sizes.borrow_mut().insert(expr.clone(), id);
        }
        let deferred = self.0.output().deferred.borrow_mut().remove(expr);
        if let Some((name, operands)) = deferred
            && let Ok(args) = self.0.operands_of(name, &mut operands.iter())
        {
            return Some(self.emit(name, args, expr));
        }
        self.0.output().sizes.borrow().get(expr).copied().map(Arg::Node)
    }

    fn emit(&self, name: &'static str, args: Vec<Arg>, expr: &Expr) -> Arg {
        let meta = self.0.meta(FakeValue::Int(SymInt::Sym(expr.clone(), self.1.clone())));
        let id = self.0.output().graph.borrow_mut().call(graph::node_name(name), Target::operator(name), args, Vec::new(), meta);
        self.0.output().graph.borrow_mut().node_mut(id).written = self.0.output().writing.stamp();
        if self.are_own() {
            self.0.output().sizes.borrow_mut().insert(expr.clone(), id);
        }
        Arg::Node(id)
    }

    fn emit_sum(&self, terms: Vec<Arg>, expr: &Expr) -> Option<Arg> {
        Some(self.emit("sym_sum", vec![Arg::Tuple(terms)], expr))
    }

    // Factors are in sympy's order.
    fn rank(&self, _expr: &Expr) -> u32 {
        0
    }

    fn number_first(&self) -> bool {
        true
    }

    fn float(&self, float: &Rc<FloatExpr>) -> Result<Arg> {
        compute_float(self.0, &SymFloat { expr: float.clone(), env: self.1.clone() })
    }
}
