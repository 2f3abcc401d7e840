//! The layer of dispatch: operators are recorded and answered with fake tensors; those that need values break the graph.

use super::tracer::Recorder;
use crate::dispatch::{
    Call, Exclude, Key, Layer, Modes, Naming, OpEntry, OpRef, Rule, Value, call_below, modes, named, run_backend, set_modes,
};
use crate::dynamo::graph_breaks::unsupported::Unsupported;
use crate::error::{ErrorKind, Result};
use crate::shape::SymInt;
use crate::span::Written;
use crate::tensor::{Dtype, Tensor};
use std::cell::RefCell;
use std::rc::Rc;

/// The layer of dispatch.
pub struct CaptureLayer(pub Rc<Recorder>);

impl Layer for CaptureLayer {
    fn key(&self) -> Key {
        Key::Capture
    }

    fn wants(&self, call: &Call) -> bool {
        // Where nothing is recorded, a function that is may have been called.
        let records = !self.0.is_over() || self.0.look_around().is_err() || !self.0.is_over();
        // What somebody still holds may have got its value meanwhile.
        let mut has_arrived = false;
        let mut look = |t: &Tensor| has_arrived |= t.is_fake() && self.0.arrived.borrow().contains_key(&t.id());
        records || {
            call.args.iter().for_each(|arg| arg.for_each_tensor(&mut look));
            has_arrived
        }
    }

    fn seen_as(&self, t: &Tensor) -> Result<Option<Tensor>> {
        self.0.look_around()?;
        if self.0.is_over() { Ok(None) } else { self.0.wrap_tensor(t).map(Some) }
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        let recorder = &self.0;
        recorder.look_around()?;
        if recorder.is_over() {
            let args = args.iter().map(|v| v.map_tensors(&mut |t| Ok(recorder.current(t)))).collect::<Result<Vec<_>>>()?;
            return call_below(Key::Capture, entry, args);
        }
        if let Some(reason) = (recorder.surroundings.breaks_call)() {
            return recorder.break_and_call(&reason, entry, &args);
        }
        let before_call = recorder.output().inputs.borrow().len();
        let writes_geometry = matches!(entry.rule, Rule::InplaceView(_));
        let on_callers =
            writes_geometry && args.first().and_then(Value::as_tensor).is_some_and(|t| !recorder.is_traced(&recorder.current(t)));
        let sized_by_values = sized_by_values(entry, &args);
        if named::LOCAL_SCALAR_DENSE.is(entry)
            && Written::current() == Some(Written::Method("item"))
            && recorder.wants_scalars()
            && let Some(Value::Tensor(t)) = args.first()
            && let Some(number) = recorder.scalar(t)?
        {
            return Ok(number);
        }
        let is_resize = named::RESIZE_.is(entry);
        let names_sizes = (recorder.surroundings.wants_sizes)();
        let ends = if sized_by_values.is_some() { !names_sizes } else { matches!(entry.rule, Rule::Data) };
        if ends || on_callers || is_resize {
            let reason = if is_resize {
                Unsupported::other("Unsupported Tensor.resize_() call")
            } else if on_callers {
                let input = args.first().and_then(Value::as_tensor).map(|t| (recorder.input_name)(t, 0).source);
                let name = input.unwrap_or_default().replace("L['", "").replacen("']", "", 1);
                Unsupported::inplace_view(&name, entry.base_name())
            } else {
                match () {
                    () if named::LOCAL_SCALAR_DENSE.is(entry) => Unsupported::item(),
                    () => Unsupported::dynamic_shape(sized_by_values.unwrap_or(entry.name)),
                }
            };
            return recorder.break_and_call(&reason, entry, &args);
        }
        let is_fresh = named::LIFT_FRESH.is(entry);
        let inner = if is_fresh {
            args.iter().map(|v| v.map_tensors(&mut |t| Tensor::fake(&t.spec()))).collect::<Result<Vec<_>>>()?
        } else {
            args.iter().map(|v| v.map_tensors(&mut |t| recorder.wrap_tensor(t))).collect::<Result<Vec<_>>>()?
        };
        recorder.give_numbers(&inner)?;
        let known = recorder.of_constants(entry, &inner)?;
        let before = set_modes(Modes { fake: true, ..modes() });
        let hooks = crate::autograd::WithoutSavedTensorHooks::new();
        let unbacked: Rc<RefCell<Vec<SymInt>>> = Rc::default();
        let naming = names_sizes.then(|| {
            let (unbacked, env) = (unbacked.clone(), recorder.output().symbols.borrow().env.clone());
            Naming::new(Rc::new(move |most| {
                let size = env.unbacked_size(most);
                unbacked.borrow_mut().push(size.clone());
                size
            }))
        });
        let result = call_below(Key::Capture, entry, inner.clone());
        drop((hooks, naming));
        set_modes(Modes { fake: before.fake, ..modes() });
        let may_need_values = matches!(entry.rule, Rule::Composite(_) | Rule::Script) || sized_by_values.is_some();
        if result.as_ref().is_err_and(|e| matches!(e.kind, ErrorKind::DataDependent | ErrorKind::DynamicOutputShape)) && may_need_values {
            let operator = if positions(entry) { "aten.nonzero.default" } else { sized_by_values.unwrap_or(entry.name) };
            return recorder.break_and_call(&Unsupported::dynamic_shape(operator), entry, &args);
        }
        let result = result.inspect_err(|e| recorder.note_failure(entry, &args, &[], e))?;
        match (&result, args.first()) {
            (Value::Tensor(t), Some(Value::Tensor(constant))) if is_fresh => recorder.output().known.keep(t, constant)?,
            _ => known.iter().try_for_each(|known| recorder.output().known.keep_all(&result, known))?,
        }
        recorder.record(entry, if is_fresh { &args } else { &inner }, &result, before_call)?;
        for size in unbacked.take() {
            recorder.bind_size(&size, &result)?;
        }
        recorder.check_deferred()?;
        result.map_tensors(&mut |t| Ok(recorder.known_as(t)))
    }
}

impl Recorder {
    /// The result of a call whose tensors are constants, computed.
    fn of_constants(&self, entry: &'static OpEntry, args: &[Value]) -> Result<Option<Value>> {
        let _outside = Exclude::only(Key::Capture);
        let before = set_modes(Modes { fake: false, grad: false, ..modes() });
        let computed = self.output().known.computed(entry, args);
        set_modes(before);
        computed
    }

    /// The number of a tensor that a script wrote down, or that follows from such alone.
    pub fn constant_number(&self, t: &Tensor) -> Option<Value> {
        let constant = self.output().known.of(&self.current(t)).filter(|c| c.numel().as_int() == Some(1))?;
        run_backend(named::LOCAL_SCALAR_DENSE.get(), &[constant.into()], false).ok()
    }

    /// Breaks the graph before an index in which a mask stands beside something else, where the size of what a mask selects breaks it: to
    /// Dynamo the whole index is one call.
    pub fn break_before_mask(&self, read: Vec<Tensor>) -> Result<()> {
        match (self.surroundings.wants_sizes)() {
            true => Ok(()),
            false => {
                self.break_graph_at(&Unsupported::dynamic_shape("aten.nonzero.default"), read.into_iter().map(Value::Tensor).collect())
            }
        }
    }

    /// Breaks the graph before a call that needs values, and makes the call.
    fn break_and_call(&self, reason: &Unsupported, entry: &'static OpEntry, args: &[Value]) -> Result<Value> {
        let mut read = Vec::new();
        args.iter().for_each(|arg| arg.for_each_tensor(&mut |t| read.push(t.clone())));
        self.break_graph_at(reason, read.into_iter().map(Value::Tensor).collect())?;
        let args = args.iter().map(|v| v.map_tensors(&mut |t| Ok(self.current(t)))).collect::<Result<Vec<_>>>()?;
        call_below(Key::Capture, entry, args)
    }
}

/// The operator that decides the result's size by values: the call's own, or the one that makes positions of a mask.
fn sized_by_values(entry: &'static OpEntry, args: &[Value]) -> Option<&'static str> {
    if entry.tags.has(crate::dispatch::Tags::DYNAMIC_SHAPE) {
        // The size may be said.
        let said = entry.schema.arguments.iter().position(|a| a.name == "output_size").and_then(|i| args.get(i));
        // What decides is the operator that a loss of sequences is composed of.
        static LOSSES: [(OpRef, OpRef); 2] =
            [(OpRef::new("ctc_loss.IntList"), OpRef::new("_ctc_loss")), (OpRef::new("ctc_loss.Tensor"), OpRef::new("_ctc_loss.Tensor"))];
        let operator = LOSSES.iter().find(|(whole, _)| whole.is(entry)).map_or(entry.name, |(_, inner)| inner.get().name);
        return said.is_none_or(Value::is_none).then_some(operator);
    }
    let is_mask = |v: &Value| v.as_tensor().is_some_and(|t| matches!(t.dtype(), Dtype::Bool | Dtype::UInt8));
    let indexes = named::is_any(entry, &[&named::INDEX, &named::UNSAFE_INDEX]);
    (indexes && args.get(1)?.list().ok()?.iter().any(is_mask)).then_some("aten.nonzero.default")
}

/// Whether a composite operator is `nonzero` in another form.
fn positions(entry: &OpEntry) -> bool {
    static POSITIONS: [OpRef; 3] = [OpRef::new("where"), OpRef::new("argwhere"), OpRef::new("nonzero_numpy")];
    POSITIONS.iter().any(|op| op.is(entry))
}
