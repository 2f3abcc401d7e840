//! Math bits of a tensor: the conjugate bit, the negative bit and zero tensors, resolved when elements are read.
//!
//! `conj()` gives a view that says that its elements are to be conjugated. A view of such a tensor is one, too; a few operators read it
//! as it is (copies, products); for all others it is cloned first, which is when the conjugate is computed. So it is with negatives,
//! which `imag` of a conjugate is.
//!
//! A zero stands for the tangent of what has none. Sums and products with it are known without any arithmetic; for all other
//! operators it becomes a tensor of zeros.

use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{
    Call, Key, Layer, OpEntry, OpRef, Rule, Tags, Value, call_below, fill_args, has_layer, math_bits_of_view, named, push_layer,
};
use operators::shapes::{broadcast, result_type};
use shape::SymInt;
use std::cell::Cell;
use std::rc::Rc;
use tensor::{Device, DeviceType, Dtype, Layout, MathBits, Tensor};

/// Puts the layer into this thread's stack; needed once per thread.
pub fn install() {
    thread_local! {
        static DONE: Cell<bool> = const { Cell::new(false) };
    }
    if !DONE.replace(true) {
        push_layer(Rc::new(MathBitsLayer));
    }
}

fn math_bits(args: &[Value]) -> MathBits {
    let mut all = MathBits::default();
    for arg in args {
        arg.for_each_tensor(&mut |t| {
            let bits = t.math_bits();
            all = MathBits { conj: all.conj || bits.conj, neg: all.neg || bits.neg, zero: all.zero || bits.zero };
        });
    }
    all
}

/// The dispatch layer.
struct MathBitsLayer;

impl Layer for MathBitsLayer {
    fn key(&self) -> Key {
        Key::MathBits
    }

    fn wants(&self, call: &Call) -> bool {
        math_bits(call.args).any() || named::is_any(call.entry, &[&named::CONJ, &named::NEG_VIEW, &named::ZERO_TENSOR])
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        if named::ZERO_TENSOR.is(entry) {
            let out = call_below(Key::MathBits, entry, args)?;
            out.for_each_tensor(&mut |t| t.set_math_bits(MathBits { zero: true, ..MathBits::default() }));
            return Ok(out);
        }
        if let Rule::View(_) = entry.rule {
            return view(entry, args);
        }
        let bits = math_bits(&args);
        if bits.zero
            && let Some(known) = with_zeros(&Call { entry, args: &args })?
        {
            return Ok(known);
        }
        let (zero, conj, neg) = (
            bits.zero && !entry.tags.has(Tags::ZERO_FALLTHROUGH),
            bits.conj && !entry.tags.has(Tags::CONJ_FALLTHROUGH),
            bits.neg && !entry.tags.has(Tags::NEG_FALLTHROUGH),
        );
        if !(zero || conj || neg) {
            return call_below(Key::MathBits, entry, args);
        }
        let mut written = None;
        let mut given = Vec::new();
        for (argument, value) in entry.schema.arguments.iter().zip(&args) {
            given.push(value.map_tensors(&mut |t| {
                let of = t.math_bits();
                if of.zero && argument.mutated {
                    return Err(Error::runtime(
                        "ZeroTensors are immutable. Please use the materialized zero tensor obtained using .clone() if you want a mutable tensor.",
                    ));
                }
                let out = match () {
                    () if zero && of.zero => zeros(t)?,
                    () if conj && of.conj || neg && of.neg => t!("clone", t)?,
                    () => return Ok(t.clone()),
                };
                if argument.mutated {
                    written = Some((t.clone(), out.clone()));
                }
                Ok(out)
            })?);
        }
        let out = call_below(Key::MathBits, entry, given)?;
        let Some((target, clone)) = written else { return Ok(out) };
        t!("copy_", &target, clone)?;
        Ok(target.into())
    }
}

/// A tensor of zeros.
fn zeros(t: &Tensor) -> Result<Tensor> {
    let layout = Value::Layout(Layout::Strided);
    t!("expand", t!("zeros", Vec::<i64>::new(); dtype = t.dtype(), layout = layout, device = t.device())?, t.sizes())
}

fn view(entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    let Some(of) = args.iter().find_map(Value::as_tensor).map(Tensor::math_bits) else {
        // A number's conjugate is what it is where a graph is made.
        let out = call_below(Key::MathBits, entry, args)?;
        out.for_each_tensor(&mut |t| {
            if t.is_fake() {
                t.set_math_bits(MathBits::default())
            }
        });
        return Ok(out);
    };
    static VIEW_AS_REAL: OpRef = OpRef::new("view_as_real");
    if VIEW_AS_REAL.is(entry) && of.conj {
        return Err(Error::runtime(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original.",
        ));
    }
    // Such a view of a zero is made without being seen below.
    static BY_SIZES: [OpRef; 4] = [OpRef::new("view"), OpRef::new("view.dtype"), OpRef::new("as_strided"), OpRef::new("_reshape_alias")];
    if let (true, Some(t)) = (of.zero && BY_SIZES.iter().any(|op| op.is(entry)), args[0].as_tensor()) {
        let looks = dispatch::run_backend(entry, &[vec![Tensor::fake(&t.spec())?.into()], args[1..].to_vec()].concat(), true)?;
        let layout = Value::Layout(Layout::Strided);
        let zero = t!("_efficientzerotensor", looks.tensor()?.sizes(); dtype = t.dtype(), layout = layout, device = t.device())?;
        return Ok(zero.into());
    }
    let out = call_below(Key::MathBits, entry, args)?;
    out.for_each_tensor(&mut |t| t.set_math_bits(math_bits_of_view(entry, of)));
    Ok(out)
}

/// Sums, differences, products and quotients in which a zero takes part.
fn with_zeros(c: &Call) -> Result<Option<Value>> {
    let [is_sum, is_difference, is_quotient] = [&named::ADD, &named::SUB, &named::DIV].map(|op| op.is(c.entry));
    let is_product = is_quotient || named::MUL.is(c.entry);
    if !(is_product || is_sum || is_difference) {
        return Ok(None);
    }
    let (a, b) = (c.get("self"), c.get("other"));
    let is_zero = |v: &Value| v.as_tensor().is_some_and(|t| t.math_bits().zero);
    if is_quotient && is_zero(b) {
        // A division by nothing is one: its elements are not zero.
        return Ok(None);
    }
    let (wanted, sizes) = (result_type(&[a, b])?, broadcast(&[sizes_of(a), sizes_of(b)])?);
    // A difference is a sum with a factor to PyTorch.
    let alpha = match (is_sum, is_difference) {
        (true, _) => c.get("alpha").float()?,
        (_, true) => -c.get("alpha").float()?,
        _ => 1.0,
    };
    note_on_meta(c.entry, [a, b], &sizes, wanted, alpha)?;
    let device = [a, b].iter().find_map(|v| v.as_tensor()).map_or(Device::CPU, Tensor::device);
    let layout = || Value::Layout(Layout::Strided);
    if is_product || is_zero(a) && is_zero(b) {
        return t!("_efficientzerotensor", sizes; dtype = wanted, layout = layout(), device = device).map(|t| Some(t.into()));
    }
    let is_second = is_zero(a);
    let one = match if is_second { b } else { a } {
        Value::Tensor(t) => t.clone(),
        number => t!("scalar_tensor", number; dtype = wanted, layout = layout(), device = device)?,
    };
    let copy = t!("_to_copy", t!("expand", one, sizes)?; dtype = wanted, layout = layout(), device = device)?;
    let scaled = if is_second && alpha != 1.0 { t!("mul.Scalar", copy, number(alpha))? } else { copy };
    Ok(Some(scaled.into()))
}

fn sizes_of(v: &Value) -> Vec<SymInt> {
    v.as_tensor().map_or_else(Vec::new, Tensor::sizes)
}

/// A factor as it was written: whole ones as integers.
fn number(factor: f64) -> Value {
    if factor.fract() == 0.0 { Value::from(factor as i64) } else { Value::Float(factor) }
}

/// PyTorch asks what a call's result would look like by making it on the meta device, which a tracer sees: nodes that nobody reads,
/// which leave nothing but gaps in the names.
fn note_on_meta(entry: &'static OpEntry, args: [&Value; 2], sizes: &[SymInt], wanted: Dtype, alpha: f64) -> Result<()> {
    if !has_layer(Key::Trace) {
        return Ok(());
    }
    let meta = Device { kind: DeviceType::Meta, ..Device::CPU };
    let on_meta = |v: &Value| match v {
        Value::Tensor(t) => t!("_to_copy", t; device = meta).map(Value::from),
        number => Ok(number.clone()),
    };
    let mut sides = [on_meta(args[0])?, on_meta(args[1])?];
    for side in &mut sides {
        if let Value::Tensor(t) = side
            && t.dtype() != wanted
        {
            *side = t!("_to_copy", &*t; dtype = wanted)?.into();
        }
    }
    for side in &mut sides {
        if let Value::Tensor(t) = side
            && !SymInt::all_statically_eq(&t.sizes(), sizes)
        {
            *side = t!("expand", &*t, sizes.to_vec())?.into();
        }
    }
    let [first, mut second] = sides;
    if alpha != 1.0 {
        second = t!("mul.Scalar", second, number(alpha))?.into();
    }
    let is_sum = entry.schema.position("alpha").is_some();
    let entry = if is_sum { named::ADD.get() } else { entry };
    call_below(Key::MathBits, entry, fill_args(entry, vec![first, second], &[])?).map(drop)
}
