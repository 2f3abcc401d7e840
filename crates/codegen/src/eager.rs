//! Eager calls: a kernel of one operator, kept by what the call looks like.

use super::choice::{Chosen, LARGE, is_ours};
use super::kernel;
use super::run::Ready;
use diagnostics::error::Result;
use dispatch::{Call, Value};
use loops::program::{Builder, Item};
use loops::schedule::Group;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use tensor::{Dtype, Storage, Tensor};

/// Calls that are remembered.
const KEPT: usize = 256;

thread_local! {
    static KNOWN: RefCell<HashMap<Vec<u64>, Option<Rc<RefCell<Vec<Ready>>>>>> = RefCell::default();
}

/// Takes the large calls of our operators from their own kernels, from now on.
pub fn install() {
    dispatch::install_large(large);
}

/// Computes a call's results where its kernel is one of ours; gives whether it was.
fn large(call: &Call, outs: &[Tensor]) -> Result<bool> {
    if !is_ours(call.entry) {
        return Ok(false);
    }
    let [out] = outs else { return Ok(false) };
    if !matches!(out.dtype(), Dtype::Float32 | Dtype::Bool) || out.numel().as_int().is_none_or(|n| n < LARGE) {
        return Ok(false);
    }
    let mut tensors: Vec<Tensor> = Vec::new();
    call.args.iter().for_each(|v| v.for_each_tensor(&mut |t| tensors.push(t.clone())));
    tensors.push(out.clone());
    let Some(key) = key(call, &tensors)? else { return Ok(false) };
    let known = KNOWN.with_borrow(|known| known.get(&key).cloned());
    let kernels = match known {
        Some(kernels) => kernels,
        None => {
            let made = lowered(call, out).ok().map(|kernels| Rc::new(RefCell::new(kernels)));
            KNOWN.with_borrow_mut(|known| {
                if known.len() >= KEPT {
                    known.clear();
                }
                known.insert(key, made.clone());
            });
            made
        }
    };
    let Some(kernels) = kernels else { return Ok(false) };
    // Storages are numbered in the order in which their tensors are met.
    let mut storages: Vec<Storage> = Vec::new();
    for t in &tensors {
        if !storages.iter().any(|s| s.same(&t.storage())) {
            storages.push(t.storage().clone());
        }
    }
    let mut kernels = kernels.borrow_mut();
    kernels.iter_mut().try_for_each(|ready| ready.run(&|i| storages.get(i).cloned()))?;
    Ok(true)
}

/// What a call looks like: the operator, numbers, and how tensors lie. Nothing where an argument is something else.
fn key(call: &Call, tensors: &[Tensor]) -> Result<Option<Vec<u64>>> {
    let mut key = vec![call.entry.id as u64];
    for value in call.args {
        let (kind, bits) = match value {
            Value::None => (0, 0),
            Value::Bool(v) => (1, u64::from(*v)),
            Value::Tensor(_) => (2, 0),
            Value::Str(s) => (3, s.bytes().fold(0, |sum: u64, b| sum.wrapping_mul(257).wrapping_add(b.into()))),
            Value::Int(i) => (4, i.guard_int()? as u64),
            Value::Float(v) => (5, v.to_bits()),
            Value::Dtype(_) | Value::Device(_) | Value::Layout(_) | Value::MemoryFormat(_) => (6, 0),
            _ => return Ok(None),
        };
        key.extend([kind, bits]);
    }
    for (i, t) in tensors.iter().enumerate() {
        let g = t.concrete()?;
        let first = tensors.iter().position(|other| other.storage().same(&t.storage())).unwrap_or(i);
        key.extend([first as u64, u64::from(t.dtype() == Dtype::Bool), u64::from(t.dtype() == Dtype::Float32), g.offset as u64]);
        key.push(g.sizes.len() as u64);
        key.extend(g.sizes.iter().map(|s| *s as u64));
        key.extend(g.strides.iter().map(|s| *s as u64));
    }
    Ok(Some(key))
}

fn lowered(call: &Call, out: &Tensor) -> Result<Vec<Ready>> {
    let mut builder = Builder::new(Rc::new(Chosen));
    for value in call.args {
        let mut tensors = Vec::new();
        value.for_each_tensor(&mut |t| tensors.push(t.clone()));
        tensors.iter().try_for_each(|t| builder.view(t).map(drop))?;
    }
    let out = builder.view(out)?;
    builder.lower_call(call, &[Some(out)])?;
    let single = |item: Item| match item {
        Item::Prim(root) => Ready::new(kernel::write(&Group { root, members: Vec::new() }, &|_| true)?),
        Item::Fallback(fallback) => Err(diagnostics::error::Error::not_implemented(fallback.reason)),
    };
    builder.items.into_iter().map(single).collect()
}
