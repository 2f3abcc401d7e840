//! `make_fx`: a function is run once, and every operator that reaches the bottom becomes a node.
//!
//! Unlike AOTAutograd's trace nothing is functionalized: an in-place operator is recorded as it is called, a view that is written
//! to stays one, and nothing is left out because nobody reads it. On real tensors the kernels run as well, on the tensors given.
//! With `pre_dispatch`, as `torch.export` traces, operators are recorded where they are called: what is composed of others stays whole.

use super::constants::Constants;
use super::schemas::{Decompose, Provider};
use super::trace::{Pushed, TraceLayer, Tracer, begin_tracing, coming_from, end_tracing};
use crate::dispatch::{
    Call, Exclude, Fact, KeepWhole, Key, Layer, Modes, Naming, OpEntry, Value, call_below, fill_factory_options, is_kept_whole, modes,
    named, run_backend, set_modes,
};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Arg, Graph, Meta, NodeId, Opcode, Target};
use crate::ops::convolution::ForAnyLibrary;
use crate::shape::{Expr, Relation, ShapeEnv, SymFloat, SymInt};
use crate::tensor::{Dtype, Layout, Tensor};
use std::cell::Cell;
use std::rc::Rc;

/// How a function is traced.
pub struct Tracing {
    /// Name of the class that the graph prints as.
    pub class_name: String,
    /// Whether kernels run on the tensors given; otherwise the inputs are fake.
    pub real: bool,
    /// What calls are taken apart by.
    pub decompose: Option<Decompose>,
    /// Whether operators are recorded above autograd, as the function calls them: who knows where the script is.
    pub pre_dispatch: Option<Provider>,
    /// Whether composite operators are those of ATen: the Python dispatcher is on where sizes are symbols alone.
    pub calls_as_aten: bool,
    /// The symbols of the inputs, where what values decide (numbers that tensors hold, sizes of `x[mask]`) are symbols, too.
    pub symbols: Option<ShapeEnv>,
}

/// The layer of dispatch: records what comes through, and answers it.
struct Recording {
    tracer: Rc<Tracer>,
    sizes: TraceLayer,
    real: bool,
    decompose: Option<Decompose>,
    /// Whether it records calls, not only what is calculated with sizes.
    sees_calls: bool,
    symbols: Option<ShapeEnv>,
    constants: Constants,
}

impl Recording {
    fn record(&self, entry: &'static OpEntry, args: &[Value]) -> Result<Value> {
        let known = self.constants.computed(entry, args)?;
        if let (Some(number), true) = (&known, named::LOCAL_SCALAR_DENSE.is(entry)) {
            return Ok(number.clone());
        }
        if named::is_any(entry, &[&named::LOCAL_SCALAR_DENSE, &named::EQUAL, &named::ALLCLOSE]) {
            let mut traced = false;
            args.iter().for_each(|v| v.for_each_tensor(&mut |t| traced |= self.tracer.knows(t)));
            let Some(env) = self.symbols.as_ref().filter(|_| traced) else {
                return if traced { Err(asked_for_value(entry)) } else { run_backend(entry, args, false) };
            };
            if !named::LOCAL_SCALAR_DENSE.is(entry) {
                return Err(Error::new(ErrorKind::DataDependent, entry.name));
            }
            let t = args[0].tensor()?;
            let number = unbacked_number(t, env).map_err(|e| match e.kind {
                ErrorKind::GuardOnDataDependent => Error::new(e.kind, format!("{}  (Size-like symbols: none)", e.message)),
                _ => e,
            })?;
            self.tracer.item(t, &number)?;
            return Ok(number);
        }
        let _naming = self.symbols.clone().map(|env| Naming::new(Rc::new(move |most| env.unbacked_size(most))));
        let result = {
            // What a whole composite operator is composed of is not seen.
            let _unseen = is_kept_whole(entry, args).then(|| Exclude::down_to(Key::Trace));
            // The mode of a script may make what is computed fake.
            run_backend(entry, args, !self.real || modes().fake)?
        };
        self.tracer.record(entry, args, &result)?;
        if let (true, Value::Tensor(t), Value::Tensor(constant)) = (named::LIFT_FRESH_COPY.is(entry), &result, &args[0]) {
            if !constant.is_fake() && !self.tracer.knows(constant) {
                self.constants.keep(t, constant)?;
            }
        } else if let Some(known) = &known {
            self.constants.keep_all(&result, known)?;
        }
        Ok(result)
    }
}

impl Layer for Recording {
    fn key(&self) -> Key {
        Key::Trace
    }

    fn wants(&self, _call: &Call) -> bool {
        self.sees_calls
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        // PyTorch detaches what it keeps for the backward by a view, which has a node of its own.
        if modes().grad && crate::autograd::is_detaching() {
            crate::autograd::next_seq_nr();
        }
        self.tracer.arriving(entry, || {
            let made = self.decompose.as_ref().map_or(Ok(None), |decompose| decompose(entry, &args))?;
            made.map_or_else(|| self.record(self.tracer.shown(lifted(entry)), &args), Ok)
        })
    }

    fn measure_float(&self, float: &SymFloat) -> Result<()> {
        self.sizes.measure_float(float)
    }

    fn calculate(&self, name: &'static str, a: &SymInt, b: &SymInt, result: &SymInt) -> Result<()> {
        self.sizes.calculate(name, a, b, result)
    }

    fn condition(&self, name: &'static str, a: &SymInt, b: &SymInt) -> Result<()> {
        self.sizes.condition(name, a, b)
    }

    fn learns(&self, t: &Tensor, fact: Fact) -> bool {
        self.sizes.learns(t, fact)
    }

    fn counted(&self, sizes: &[SymInt]) -> Option<SymInt> {
        self.sizes.counted(sizes)
    }

    fn note_count(&self, sizes: Vec<SymInt>, count: SymInt) {
        self.sizes.note_count(sizes, count);
    }
}

/// Above autograd: records what is called there, and lets the layers below, which the tracer does not see, say what it gives.
struct PreDispatch {
    tracer: Rc<Tracer>,
    provider: Provider,
    /// Whether gradients were recorded at the last call.
    grad: Cell<bool>,
    /// The symbols of the inputs, with those of numbers that only a run knows.
    env: Option<ShapeEnv>,
}

impl PreDispatch {
    /// The number that a tensor holds: a symbol. Nothing can be decided by a truth.
    fn item(&self, entry: &OpEntry, args: &[Value]) -> Result<Value> {
        let env = self.env.as_ref().ok_or_else(|| asked_for_value(entry))?;
        let t = args.first().ok_or_else(|| Error::type_error("item() takes a tensor"))?.tensor()?;
        let number = unbacked_number(t, env)?;
        coming_from((self.provider)(), || self.tracer.item_as_called(t, &number))?;
        Ok(number)
    }

    /// Numbers that only a run knows, and that a tensor is made with as its sizes, are not negative.
    fn take_as_sizes(&self, entry: &OpEntry, args: &[Value]) {
        let sizes = entry.schema.position("size").filter(|at| *at == 0).and_then(|at| args.get(at)?.sym_ints().ok());
        for size in sizes.into_iter().flatten().filter(|size| size.hint().is_none()) {
            if let SymInt::Sym(expr, env) = &size {
                env.expect(expr, Relation::Ge, &Expr::from(0));
            }
        }
    }

    /// A call says how gradients are switched where that has changed since the last one.
    fn note_grad_mode(&self, enabled: bool) {
        if self.grad.replace(enabled) != enabled {
            self.tracer.record_grad_mode(enabled);
        }
    }
}

impl Layer for PreDispatch {
    fn key(&self) -> Key {
        Key::Capture
    }

    fn wants(&self, _call: &Call) -> bool {
        true
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        self.note_grad_mode(modes().grad);
        if named::is_any(entry, &[&named::LOCAL_SCALAR_DENSE, &named::ITEM, &named::IS_NONZERO]) {
            return self.item(entry, &args);
        }
        let is_constant = named::LIFT_FRESH.is(entry);
        let (entry, mut args) = (lifted(entry), args);
        fill_factory_options(entry, &mut args);
        fill_conversion(entry, &mut args);
        self.take_as_sizes(entry, &args);
        // A slice that begins nowhere is one from the first element, which is not written where its end is a symbol.
        if let (true, [_, _, start @ Value::Int(SymInt::Int(0)), Value::Int(SymInt::Sym(..)), ..]) = (named::SLICE.is(entry), &mut args[..])
        {
            *start = Value::None;
        }
        coming_from((self.provider)(), || {
            let result = {
                let _unseen = Exclude::only(Key::Trace);
                let _naming = self.env.clone().map(|env| Naming::new(Rc::new(move |most| env.unbacked_size(most))));
                call_below(Key::Capture, entry, args.clone())?
            };
            self.tracer.record(entry, &args, &result)?;
            for (left, relation, right) in self.env.iter().flat_map(ShapeEnv::take_deferred) {
                self.tracer.check(&left, relation, &right)?;
            }
            if is_constant {
                // PyTorch's constructor detaches what it made.
                self.tracer.record(named::DETACH_.get(), std::slice::from_ref(&result), &result)?;
            }
            Ok(result)
        })
    }
}

/// A conversion to a device says what else of the tensor stays.
fn fill_conversion(entry: &OpEntry, args: &mut [Value]) {
    if entry.name != "aten.to.dtype_layout" {
        return;
    }
    let Some(Value::Tensor(t)) = args.first().cloned() else { return };
    let own = [("dtype", Value::Dtype(t.dtype())), ("layout", Value::Layout(Layout::Strided)), ("device", Value::Device(t.device()))];
    for (name, value) in own {
        if let Some(slot) = entry.schema.position(name).and_then(|at| args.get_mut(at)).filter(|slot| slot.is_none()) {
            *slot = value;
        }
    }
}

/// A constant of the script's becomes a value of the graph as a copy.
fn lifted(entry: &'static OpEntry) -> &'static OpEntry {
    if named::LIFT_FRESH.is(entry) { named::LIFT_FRESH_COPY.get() } else { entry }
}

/// Makes the constants that a graph reads inputs of it, in the order of their first use, behind the first `state` of its inputs.
pub fn lift_constants(graph: &mut Graph, state: usize) -> Vec<Tensor> {
    let reads: Vec<(NodeId, Rc<str>)> = graph
        .nodes()
        .filter(|n| n.opcode == Opcode::GetAttr)
        .filter_map(|n| if let Target::Name(name) = &n.target { Some((n.id, name.clone())) } else { None })
        .collect();
    let constants = std::mem::take(&mut graph.constants);
    let (mut lifted, mut inputs): (Vec<Rc<str>>, Vec<NodeId>) = (Vec::new(), Vec::new());
    for (id, name) in reads.into_iter().filter(|(_, name)| constants.iter().any(|(known, _)| known == name)) {
        let at = lifted.iter().position(|known| *known == name).unwrap_or_else(|| {
            let meta = Meta { value: graph.node(id).meta.value.clone(), ..Meta::default() };
            inputs.push(graph.placeholder(&name, meta));
            lifted.push(name);
            lifted.len() - 1
        });
        graph.replace_uses(id, &Arg::Node(inputs[at]));
        graph.erase(id);
    }
    let mut order: Vec<NodeId> = graph.nodes().map(|n| n.id).filter(|id| !inputs.contains(id)).collect();
    order.splice(state..state, inputs);
    graph.reorder(order);
    let tensor = |name: &Rc<str>| constants.iter().find(|(known, _)| known == name).map(|(_, t)| t.clone());
    lifted.iter().filter_map(tensor).collect()
}

/// The number that a tensor holds, as a symbol that only the run knows. Of a boolean the trace would have to know which it is.
fn unbacked_number(t: &Tensor, env: &ShapeEnv) -> Result<Value> {
    match t.dtype() {
        Dtype::Bool => {
            let condition = format!("Eq({}, 1)", env.unbacked("item", 0));
            let said = format!("Could not guard on data-dependent expression {condition} (unhinted: {condition}).");
            Err(Error::new(ErrorKind::GuardOnDataDependent, said))
        }
        dtype if dtype.is_floating() => Ok(Value::SymFloat(env.unbacked_float("item"))),
        dtype if dtype.is_integral() => Ok(Value::Int(env.unbacked("item", i64::MIN))),
        _ => Err(Error::not_implemented("the number of a complex tensor is not supported in a trace with symbols")),
    }
}

fn asked_for_value(entry: &OpEntry) -> Error {
    Error::runtime(format!(
        "It appears that you're trying to get value out of a tracing tensor with {} - erroring out! It's likely that this is caused by \
         data-dependent control flow or similar.  It may be possible to trace this with dynamic shapes; try setting \
         tracing_mode='symbolic' in your make_fx call.",
        entry.name
    ))
}

/// Whether ATen has a kernel for what is composed here. What is differentiated is taken apart: its parts have derivatives.
fn is_kernel_of_aten(entry: &OpEntry, args: &[Value]) -> bool {
    let base = entry.base_name();
    let is_resampling = (base.starts_with("upsample_") || base.starts_with("_upsample_nearest_exact")) && entry.schema.overload != "vec";
    let is_kernel = is_resampling || ["native_batch_norm", "cudnn_batch_norm", "_fused_rms_norm"].contains(&base);
    let mut requires_grad = false;
    args.iter().for_each(|v| v.for_each_tensor(&mut |t| requires_grad |= crate::autograd::meta::requires_grad(t)));
    is_kernel && !(modes().grad && requires_grad)
}

/// Traces a function of some inputs, which have names; its results are the graph's.
pub fn make_fx(f: &dyn Fn(&[Value]) -> Result<Vec<Value>>, names: &[String], inputs: &[Value], tracing: Tracing) -> Result<Graph> {
    let tracer = Tracer::as_called(&tracing.class_name);
    // Bodies of a script's own operators are taken apart in the same way.
    tracer.decompose_as_told(tracing.decompose.clone());
    tracer.inputs(names, inputs)?;
    tracer.sees_script.set(tracing.pre_dispatch);
    let before = modes();
    let _capture = if tracing.pre_dispatch.is_some() { Exclude::lift(Key::Capture) } else { Exclude::capture_too() };
    begin_tracing(&tracer);
    let layer = Recording {
        tracer: tracer.clone(),
        sizes: TraceLayer(tracer.clone()),
        real: tracing.real,
        decompose: tracing.decompose,
        sees_calls: tracing.pre_dispatch.is_none(),
        symbols: tracing.symbols.clone(),
        constants: Constants::default(),
    };
    set_modes(Modes { fake: !tracing.real, calls_as_aten: tracing.calls_as_aten, ..before });
    let _whole = tracing.calls_as_aten.then(|| KeepWhole::new(is_kernel_of_aten));
    let _library = tracing.pre_dispatch.is_some().then(ForAnyLibrary::new);
    let above = tracing.pre_dispatch.map(|provider| {
        let layer = Rc::new(PreDispatch { tracer: tracer.clone(), provider, grad: Cell::new(before.grad), env: tracing.symbols });
        (layer.clone(), Pushed::new(layer))
    });
    let pushed = Pushed::new(Rc::new(layer));
    let outputs = f(inputs);
    if let Some((layer, _)) = &above {
        layer.note_grad_mode(before.grad);
    }
    drop((pushed, above));
    end_tracing();
    set_modes(Modes { fake: before.fake, calls_as_aten: before.calls_as_aten, ..modes() });
    tracer.finish_as_called(&outputs?)
}
