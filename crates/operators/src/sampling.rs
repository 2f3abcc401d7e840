//! Reading at places that tensors name: `grid_sample` of images and volumes, and bags of embeddings.

use crate::shapes::{dim_of, may_be_same, need_dims, need_elements, need_sizes};
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Call, CastPolicy, Grads, OpBuilder, Rule, Value};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Dtype, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
        Rule::Composite(grid_sampler),
    )
    .doc("An image read at the places of a grid.")
    .autocast(CastPolicy::Fp32);
    b.op(
        "grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
        Rule::Fresh(grid_spec),
    )
    .autocast(CastPolicy::Fp32)
    .grad("GridSampler2DBackward", &["input", "grid"], grid_grad);
    b.op(
        "grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)",
        Rule::Fresh(grid_backward_spec),
    );
    b.op(
        "grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
        Rule::Fresh(grid_spec),
    )
    .autocast(CastPolicy::Fp32)
    .grad("GridSampler3DBackward", &["input", "grid"], grid_grad);
    b.op(
        "grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)",
        Rule::Fresh(grid_backward_spec),
    );
    b.op(
        "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)",
        Rule::Composite(|c| {
            let [w, i, o, f, m, s, p, l] = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| Value::from(&c.args[i]));
            aten!("_embedding_bag", w, i, o, f, m, s, p, l)
        }),
    ).doc("Sums, means or maxima of rows of a table, bag by bag.");
    b.op(
        "embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
        Rule::Composite(|c| {
            let [w, i, o, f, m, s, p, l] = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| Value::from(&c.args[i]));
            let padding = if c.get("padding_idx").is_none() { -1 } else { c.int("padding_idx")? };
            let weight = c.tensor("weight")?;
            let rows = weight.size(dim_of(weight, 0)?).guard_int()?;
            if !c.get("padding_idx").is_none() && !(-rows..rows).contains(&padding) {
                return Err(Error::runtime(format!(
                    "padding_idx must be within the number of embeddings, -{rows} through {}, but got {padding}",
                    rows - 1
                )));
            }
            aten!("_embedding_bag", w, i, o, f, m, s, p, l, if c.get("padding_idx").is_none() || padding >= 0 { padding } else { padding + rows })
        }),
    );
    b.op(
        "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
        Rule::Fresh(bag_spec),
    )
    .grad("EmbeddingBagBackward", &["weight", "indices", "offsets", "per_sample_weights", "result1", "result2", "result3"], bag_grad)
    .serves(&[("weight", "per_sample_weights"), ("per_sample_weights", "weight")])
    .indices_without_grad(&[1, 2, 3]);
    b.op(
        "_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor",
        Rule::Fresh(|c| {
            let (grad, weight, indices) = (c.tensor("grad")?, c.tensor("weight")?, c.tensor("indices")?);
            if c.int("mode")? != 0 {
                return Err(Error::runtime("embedding_bag_backward: per_sample_weights only supported for mode='sum'"));
            }
            check_bag_gradient(c)?;
            need_dims(c.entry.base_name(), "weight", weight, 2)?;
            need_sizes(c.entry.base_name(), "weight", weight, &[weight.size(0), grad.size(1)])?;
            Ok(vec![Some(TensorSpec::contiguous(indices.sizes(), grad.dtype(), grad.device()))])
        }),
    );
    b.op(
        "_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
        Rule::Fresh(|c| {
            let grad = c.tensor("grad")?;
            check_bag_gradient(c)?;
            let (name, bags) = (c.entry.base_name(), grad.size(0));
            match c.int("mode")? {
                0 => {}
                1 => need_elements(name, "bag_size", c.tensor("bag_size")?, &bags)?,
                2 => {
                    need_elements(name, "bag_size", c.tensor("bag_size")?, &bags)?;
                    need_elements(name, "maximum_indices", c.tensor("maximum_indices")?, &(&bags * &grad.size(1)))?;
                }
                mode => return Err(Error::runtime(format!("unexpected mode {mode} in embedding_bag"))),
            }
            if let Some(weights) = c.opt_tensor("per_sample_weights") {
                need_elements(name, "per_sample_weights", weights, &c.tensor("indices")?.numel())?;
            }

            Ok(vec![Some(TensorSpec::contiguous(vec![c.sym_int("num_weights")?, grad.size(1)], grad.dtype(), grad.device()))])
        }),
    );
}

type Specs = Result<Vec<Option<TensorSpec>>>;

fn grid_sampler(c: &Call) -> Result<Value> {
    let (input, grid) = (c.tensor("input")?, c.tensor("grid")?);
    let [mode, padding, corners] = ["interpolation_mode", "padding_mode", "align_corners"].map(|n| c.get(n));
    if input.dim() == 5 {
        return aten!("grid_sampler_3d", input, grid, mode, padding, corners);
    }
    aten!("grid_sampler_2d", input, grid, mode, padding, corners)
}

fn grid_spec(c: &Call) -> Specs {
    let (input, grid) = (c.tensor("input")?, c.tensor("grid")?);
    let n = input.dim().saturating_sub(2);
    if grid.dim() == 0 || !grid.size(grid.dim() - 1).sym_eq(n as i64)? {
        return Err(Error::runtime(format!(
            "grid_sampler(): expected grid to have size {n} in last dimension, but got grid with sizes {:?}",
            grid.sizes()
        )));
    }
    let volume = c.entry.schema.name.contains("3d");
    if input.dim() != grid.dim() || input.dim() != if volume { 5 } else { 4 } {
        return Err(Error::runtime(format!(
            "grid_sampler(): expected {} input and grid with same number of dimensions, but got input with sizes {:?} and grid with sizes {:?}",
            if volume { "5D" } else { "4D" },
            input.sizes(),
            grid.sizes()
        )));
    }
    if !input.size(0).sym_eq(grid.size(0))? {
        return Err(Error::runtime(format!(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes {:?} and grid with sizes {:?}",
            input.sizes(),
            grid.sizes()
        )));
    }
    if input.dtype() != grid.dtype() {
        return Err(Error::runtime(format!(
            "grid_sampler(): expected input and grid to have same dtype, but input has {} and grid has {}",
            input.dtype().scalar_type(),
            grid.dtype().scalar_type()
        )));
    }
    if let Some(empty) = (2..input.dim()).find(|d| input.size(*d).as_int() == Some(0)) {
        return Err(Error::runtime(format!(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {:?} with dimension {empty} being empty",
            input.sizes()
        )));
    }
    let mut sizes = vec![input.size(0), input.size(1)];
    sizes.extend_from_slice(&grid.sizes()[1..grid.dim() - 1]);
    Ok(vec![Some(TensorSpec::contiguous(sizes, input.dtype(), input.device()))])
}

fn grid_grad(b: &Backward) -> Result<Grads> {
    let (grad, input, grid) = (b.grad()?, b.saved("input")?, b.saved("grid")?);
    let [mode, padding, corners] = ["interpolation_mode", "padding_mode", "align_corners"].map(|n| b.arg(n).clone());
    let mask = vec![b.needs("input"), b.needs("grid")];
    let results = if input.dim() == 5 {
        aten!("grid_sampler_3d_backward", grad, input, grid, mode, padding, corners, mask)?
    } else {
        aten!("grid_sampler_2d_backward", grad, input, grid, mode, padding, corners, mask)?
    };
    let mut grads = Grads::new(b);
    for (name, value) in ["input", "grid"].iter().zip(results.list()?) {
        grads.put(b, name, value.as_tensor().cloned())?;
    }
    Ok(grads)
}

fn grid_backward_spec(c: &Call) -> Specs {
    let (input, grid, mask) = (c.tensor("input")?, c.tensor("grid")?, c.get("output_mask").list()?);
    let (grad, expected) = (c.tensor("grad_output")?, grid_spec(c)?);
    for spec in expected.into_iter().flatten() {
        if !may_be_same(&grad.sizes(), &spec.geometry.sizes) {
            return Err(Error::value(format!(
                "grid_sampler(): expected grad_output to have sizes {:?} but got grad_output with sizes {:?}",
                spec.geometry.sizes,
                grad.sizes()
            )));
        }
    }
    let of_input = TensorSpec::contiguous(input.sizes(), input.dtype(), input.device());
    let of_grid = TensorSpec::contiguous(grid.sizes(), grid.dtype(), grid.device());
    Ok(vec![if mask[0].bool()? { Some(of_input) } else { None }, if mask[1].bool()? { Some(of_grid) } else { None }])
}

/// Refuses indices and offsets that are no integers.
fn check_bag_indices(c: &Call) -> Result<()> {
    for (name, t) in [("indices", c.tensor("indices")?), ("offsets", c.tensor("offsets")?)] {
        if !matches!(t.dtype(), Dtype::Int64 | Dtype::Int32) {
            return Err(Error::runtime(format!(
                "Expected tensor for argument #1 '{name}' to have one of the following scalar types: Long, Int; but got torch.{}Tensor instead (while checking arguments for embedding_bag)",
                t.dtype().scalar_type()
            )));
        }
    }
    Ok(())
}

/// Refuses a gradient that has no row for every bag: offsets have one number more where the last one is the end.
fn check_bag_gradient(c: &Call) -> Result<()> {
    check_bag_indices(c)?;
    let (grad, indices, offsets, name) = (c.tensor("grad")?, c.tensor("indices")?, c.tensor("offsets")?, c.entry.base_name());
    need_dims(name, "grad", grad, 2)?;
    need_sizes(name, "indices", indices, &[indices.numel()])?;
    need_sizes(name, "offsets", offsets, &[offsets.numel()])?;
    let (width, all) = (grad.size(1), offsets.numel());
    if may_be_same(&grad.sizes(), &[&all - 1, width.clone()]) {
        return Ok(());
    }
    need_sizes(name, "grad", grad, &[all, width])
}

fn bag_spec(c: &Call) -> Specs {
    let (weight, indices, offsets) = (c.tensor("weight")?, c.tensor("indices")?, c.tensor("offsets")?);
    check_bag_indices(c)?;
    if weight.dim() != 2 || indices.dim() != 1 || offsets.dim() != 1 {
        return Err(Error::runtime("embedding_bag: weight has to be a 2D tensor, indices and offsets have to be 1D tensors"));
    }
    let mode = c.int("mode")?;
    if !(0..=2).contains(&mode) {
        return Err(Error::runtime(format!("unexpected mode {mode} in embedding_bag")));
    }
    if mode != 0 && c.opt_tensor("per_sample_weights").is_some() {
        return Err(Error::runtime("embedding_bag: per_sample_weights only supported with mode='sum'"));
    }
    let last = i64::from(c.bool("include_last_offset")?);
    if last > 0 && offsets.size(0).as_int() == Some(0) {
        return Err(Error::runtime("include_last_offset: number of offset should be at least 1"));
    }
    if let Some(weights) = c.opt_tensor("per_sample_weights") {
        for (condition, holds) in
            [("dim() == 1", weights.dim() == 1), ("numel() == indices.numel()", may_be_same(&[weights.numel()], &[indices.numel()]))]
        {
            if !holds {
                return Err(Error::runtime(format!(
                    "Expected per_sample_weights.value().{condition} to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
                )));
            }
        }
    }
    let bags = &offsets.size(0) - last;
    let counts = |sizes: Vec<SymInt>| Some(TensorSpec::contiguous(sizes, indices.dtype(), indices.device()));
    // The largest element's row, per bag and column, in mode `max`; what else is kept is one number per bag.
    let largest = if mode == 2 { vec![bags.clone(), weight.size(1)] } else { vec![bags.clone()] };
    // A plain sum needs no map from index to bag.
    let map = if mode == 0 && c.int("padding_idx")? < 0 { SymInt::Int(0) } else { indices.size(0) };
    Ok(vec![
        Some(TensorSpec::contiguous(vec![bags.clone(), weight.size(1)], weight.dtype(), weight.device())),
        counts(vec![map]),
        counts(vec![bags]),
        counts(largest),
    ])
}

fn bag_grad(b: &Backward) -> Result<Grads> {
    let (grad, indices, offsets) = (b.grad()?, b.saved("indices")?, b.saved("offsets")?);
    let rows = b.sizes("weight")?[0].clone();
    let [frequency, mode, sparse, padding] = ["scale_grad_by_freq", "mode", "sparse", "padding_idx"].map(|n| b.arg(n).clone());
    if sparse.bool()? {
        return Err(Error::not_implemented("embedding_bag with sparse=True: sparse gradients are not implemented in this playground"));
    }
    let (bag_of, sizes, largest) = (b.result(1)?, b.result(2)?, b.result(3)?);
    let mut grads = Grads::new(b);
    grads.set(b, "weight", || {
        let weights = b.opt_saved("per_sample_weights")?;
        let (mode, padding) = (mode.clone(), padding.clone());
        t!("_embedding_bag_backward", grad, indices, offsets, bag_of, sizes, largest, rows, frequency, mode, sparse, weights, padding)
    })?;
    grads.set(b, "per_sample_weights", || {
        t!("_embedding_bag_per_sample_weights_backward", grad, b.saved("weight")?, indices, offsets, bag_of, mode, padding)
    })?;
    Ok(grads)
}
