//! `auto_functionalized_v2`: the functional form of a script's operator that writes to arguments. The tensors that those
//! arguments are views of go in as `_all_bases`, with how each view is taken; what the bases are afterwards comes out after the
//! operator's own results. (Names and order of the keywords are PyTorch's: they show in the graph.)

use super::operator::{HigherOrderCall, HigherOrderOperator};
use crate::aot::functional_tensor::{replace, state, unwrap, unwrap_args, wrap};
use crate::aot::trace::current_tracer;
use crate::autograd::meta;
use crate::dispatch::{Exclude, Key, OpEntry, Value, call, modes, run_backend};
use crate::error::{Error, Result};
use crate::graph::Arg;
use crate::shape::SymInt;
use crate::t;
use crate::tensor::Tensor;
use std::rc::Rc;

/// `torch.ops.higher_order.auto_functionalized_v2`
pub(super) static AUTO_FUNCTIONALIZED: HigherOrderOperator =
    HigherOrderOperator { name: "auto_functionalized_v2", run: call_of_graph, trace: None };

fn call_of_graph(call: &HigherOrderCall) -> Result<Value> {
    run(call.given_operator()?.0, &call.keywords).map(Value::List)
}

/// How a view of a base is taken.
enum Taken {
    /// It is the base.
    Whole,
    /// A view with the base's geometry.
    Alias,
    /// A range of one dimension.
    Slice([i64; 3]),
    /// Any other.
    Strided,
}

impl Taken {
    fn of(base: &Tensor, view: &Tensor) -> Result<Taken> {
        if base.is(view) {
            return Ok(Taken::Whole);
        }
        let (b, v) = (base.geometry(), view.geometry());
        let same = SymInt::all_statically_eq;
        if same(&b.sizes, &v.sizes) && same(&b.strides, &v.strides) && b.offset.statically_eq(v.offset.clone()) {
            return Ok(Taken::Alias);
        }
        if !same(&b.strides, &v.strides) {
            return Ok(Taken::Strided);
        }
        let different: Vec<usize> = (0..b.sizes.len()).filter(|i| !b.sizes[*i].statically_eq(v.sizes[*i].clone())).collect();
        let &[dim] = &different[..] else { return Ok(Taken::Strided) };
        let (offset, stride, size) = (v.offset.guard_int()?, v.strides[dim].guard_int()?, v.sizes[dim].guard_int()?);
        if stride == 0 || offset % stride != 0 {
            return Ok(Taken::Strided);
        }
        let start = offset / stride;
        Ok(Taken::Slice([dim as i64, start, start + size]))
    }
}

/// The bases of what a call writes to, each once.
#[derive(Default)]
struct Bases(Vec<Tensor>);

impl Bases {
    fn base_of(t: &Tensor) -> Tensor {
        meta::base(t).unwrap_or_else(|| t.clone())
    }

    fn index(&mut self, t: &Tensor) -> usize {
        let base = Self::base_of(t);
        self.0.iter().position(|known| known.is(&base)).unwrap_or_else(|| {
            self.0.push(base);
            self.0.len() - 1
        })
    }

    /// The keywords that say how one argument is taken of its base.
    fn describe(&mut self, prefix: &str, value: &Value, keywords: &mut Vec<(Rc<str>, Value)>) -> Result<()> {
        let mut say = |name: &str, value: Value| keywords.push((format!("{prefix}_{name}").into(), value));
        let Value::Tensor(t) = value else {
            say("base_index", Value::None);
            return Ok(());
        };
        say("base_index", Value::from(self.index(t)));
        match Taken::of(&Self::base_of(t), t)? {
            Taken::Whole => {}
            Taken::Alias => say("alias", Value::Bool(true)),
            Taken::Slice(numbers) => {
                for (name, number) in ["slice_dim", "slice_start", "slice_end"].into_iter().zip(numbers) {
                    say(name, Value::from(number));
                }
            }
            Taken::Strided => {
                let g = t.geometry();
                say("size", Value::from(&g.sizes));
                say("stride", Value::from(&g.strides));
                say("storage_offset", Value::from(&g.offset));
            }
        }
        Ok(())
    }
}

/// Traces a call in its functional form; what it writes to has its new value afterwards.
pub(in crate::aot) fn functionalized(entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    let (mut keywords, mut views, mut bases) = (Vec::new(), Vec::new(), Bases::default());
    for (argument, value) in entry.schema.arguments.iter().zip(&args) {
        let name = argument.name.as_str();
        match (argument.mutated, value) {
            (false, value) => keywords.push((Rc::from(name), unwrap_args(std::slice::from_ref(value))?.remove(0))),
            (true, Value::List(items)) => {
                views.push((format!("_{name}_length").into(), Value::from(items.len())));
                for (i, item) in items.iter().enumerate() {
                    bases.describe(&format!("_{name}_{i}"), item, &mut views)?;
                }
            }
            (true, value) => bases.describe(&format!("_{name}"), value, &mut views)?,
        }
    }
    keywords.append(&mut views);
    if let Some(foreign) = bases.0.iter().find(|b| state(b).is_none()) {
        return Err(Error::runtime(format!(
            "{}: a tensor of shape {:?} from outside the traced function cannot be written to",
            entry.name,
            foreign.sizes()
        )));
    }
    let values = bases.0.iter().map(unwrap).collect::<Result<Vec<_>>>()?;
    keywords.push(("_all_bases".into(), values.iter().cloned().map(Value::Tensor).collect::<Vec<_>>().into()));
    let mut results = if modes().fake || Value::any_fake(&args) {
        // Results depend on what arguments look like; nothing is made anew for that.
        let looks = args.iter().map(|v| v.map_tensors(&mut |t| Tensor::fake(&t.spec()))).collect::<Result<Vec<_>>>()?;
        let mut results = spread(entry, run_backend(entry, &looks, true)?);
        for value in &values {
            results.push(Value::Tensor(Tensor::fake(&value.spec())?));
        }
        results
    } else {
        let _guard = Exclude::down_to(Key::Functionalize);
        run(entry, &keywords.iter().map(|(k, v)| (&**k, v.clone())).collect::<Vec<_>>())?
    };
    if let Some(tracer) = current_tracer() {
        let shown = keywords.iter().map(|(name, value)| {
            // The geometry of a view stands as a tuple, as tensors tell it.
            let is_geometry = name.starts_with('_') && (name.ends_with("_size") || name.ends_with("_stride"));
            Ok((
                name.clone(),
                match tracer.argument(value)? {
                    Arg::List(numbers) if is_geometry => Arg::Tuple(numbers),
                    other => other,
                },
            ))
        });
        tracer.record_by_name(AUTO_FUNCTIONALIZED.name, vec![Arg::Op(entry.name.into())], shown.collect::<Result<_>>()?, &results)?;
    }
    let new = results.split_off(results.len() - values.len());
    for (base, new) in bases.0.iter().zip(&new) {
        replace(base, new.tensor()?.clone())?;
    }
    let mut own = results.into_iter().map(|v| v.map_tensors(&mut |t| wrap(t))).collect::<Result<Vec<_>>>()?;
    Ok(if entry.schema.returns.len() > 1 { Value::List(own) } else { own.pop().unwrap_or_default() })
}

/// An operator's results, one by one.
fn spread(entry: &OpEntry, result: Value) -> Vec<Value> {
    match result {
        Value::List(items) if !entry.returns_list() => items,
        single => vec![single],
    }
}

/// A copy that lies in memory as the tensor does: views of it are taken by strides and offsets.
fn copied(base: &Tensor) -> Result<Tensor> {
    let (copy, g) = (t!("clone", base)?, base.geometry());
    let alike = copy.geometry().strides.iter().zip(&g.strides).all(|(a, b)| a.statically_eq(b.clone()));
    let is_empty = g.sizes.iter().any(|size| size.statically_eq(0));
    if is_empty || alike && g.offset.statically_eq(0) {
        return Ok(copy);
    }
    let mut length = g.offset.guard_int()? + 1;
    for (size, stride) in g.sizes.iter().zip(&g.strides) {
        length += (size.guard_int()? - 1).max(0) * stride.guard_int()?;
    }
    let memory = t!("clone", t!("as_strided", base, vec![length], vec![1i64], 0)?)?;
    t!("as_strided", memory, &g.sizes, &g.strides, &g.offset)
}

/// Runs a call of a graph: on copies of the bases, which come back after the operator's results.
fn run(entry: &'static OpEntry, keywords: &[(&str, Value)]) -> Result<Vec<Value>> {
    let given = |name: &str| keywords.iter().find(|(k, _)| *k == name).map(|(_, v)| v);
    let bases = given("_all_bases").map_or_else(|| Ok(Vec::new()), Value::tensors)?;
    let bases = bases.iter().map(copied).collect::<Result<Vec<_>>>()?;
    let view = |prefix: &str| -> Result<Value> {
        let said = |name: &str| given(&format!("{prefix}_{name}"));
        let Some(Value::Int(index)) = said("base_index") else { return Ok(Value::None) };
        let index = usize::try_from(index.guard_int()?).unwrap_or(usize::MAX);
        let base = bases.get(index).ok_or_else(|| Error::index("a base is missing"))?;
        if let (Some(dim), Some(start), Some(end)) = (said("slice_dim"), said("slice_start"), said("slice_end")) {
            // The range counts from the start of the memory, where the base need not begin.
            let (dim, g) = (usize::try_from(dim.int()?).unwrap_or(usize::MAX), base.geometry());
            let stride = g.strides.get(dim).ok_or_else(|| Error::index("a dimension is missing"))?.guard_int()?;
            let before = g.offset.guard_int()? / stride.max(1);
            return t!("slice.Tensor", base, dim, start.int()? - before, end.int()? - before).map(Value::Tensor);
        }
        if let (Some(size), Some(stride), Some(offset)) = (said("size"), said("stride"), said("storage_offset")) {
            return t!("as_strided", base, size, stride, offset).map(Value::Tensor);
        }
        Ok(Value::Tensor(base.clone()))
    };
    let mut args = Vec::with_capacity(entry.schema.arguments.len());
    for argument in &entry.schema.arguments {
        let name = argument.name.as_str();
        args.push(match given(&format!("_{name}_length")) {
            _ if !argument.mutated => given(name).cloned().unwrap_or_default(),
            Some(Value::None) => Value::None,
            Some(length) => Value::List((0..length.int()?).map(|i| view(&format!("_{name}_{i}"))).collect::<Result<_>>()?),
            None => view(&format!("_{name}"))?,
        });
    }
    let mut results = spread(entry, call(entry, args)?);
    results.extend(bases.into_iter().map(Value::Tensor));
    Ok(results)
}
