//! Images taken apart and put together: pixel and channel shuffles, unfold and fold, padding by reflection or repetition.

use crate::layout::{spec, suggested};
use crate::pooling::spatial;
use crate::shapes::may_be_same;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Call, CastPolicy, Complex, Grads, OpBuilder, Rule, Tags};
use shape::SymInt;
use tensor::{MemoryFormat, Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", Rule::Fresh(pixel_shuffle))
        .doc("Channels moved into space.")
        .function()
        .auto_linear(&["self"])
        .grad("PixelShuffleBackward", &[], |b| Grads::one(b, "self", || t!("pixel_unshuffle", b.grad()?, b.arg("upscale_factor"))));
    b.op("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", Rule::Fresh(pixel_unshuffle))
        .doc("Space moved into channels.")
        .function()
        .auto_linear(&["self"])
        .grad("PixelUnshuffleBackward", &[], |b| Grads::one(b, "self", || t!("pixel_shuffle", b.grad()?, b.arg("downscale_factor"))));
    b.op("channel_shuffle(Tensor self, SymInt groups) -> Tensor", Rule::Fresh(channel_shuffle))
        .doc("Channels of groups interleaved.")
        .function()
        .auto_linear(&["self"])
        .grad("ChannelShuffleBackward", &[], |b| {
            let groups = b.grad()?.size(1).floor_div(&b.arg("groups").sym_int()?)?;
            Grads::one(b, "self", || t!("channel_shuffle", b.grad()?, groups))
        });
    b.op("im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", Rule::Fresh(im2col))
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD)
        .doc("Patches of images as columns.")
        .function()
        .auto_linear(&["self"])
        .grad("Im2ColBackward", &[], |b| {
            let sizes = b.sizes("self")?;
            let output = sizes[sizes.len() - 2..].to_vec();
            let [kernel, dilation, padding, stride] = ["kernel_size", "dilation", "padding", "stride"].map(|n| b.arg(n).clone());
            Grads::one(b, "self", || t!("col2im", b.grad()?, output, kernel, dilation, padding, stride))
        });
    b.op(
        "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
        Rule::Fresh(col2im),
    )
    .complex(Complex::ByParts)
    .tags(Tags::COMPLEX_GRAD)
    .doc("Sums of patches back into an image.")
    .function()
    .auto_linear(&["self"])
    .grad("Col2ImBackward", &[], |b| {
        let [kernel, dilation, padding, stride] = ["kernel_size", "dilation", "padding", "stride"].map(|n| b.arg(n).clone());
        Grads::one(b, "self", || t!("im2col", b.grad()?, kernel, dilation, padding, stride))
    });
    for n in 1..=3usize {
        let pads = 2 * n;
        b.op(&format!("reflection_pad{n}d(Tensor self, SymInt[{pads}] padding) -> Tensor"), Rule::Fresh(padded))
            .complex(Complex::ByParts)
            .tags(Tags::COMPLEX_GRAD)
            .doc("Borders by reflection.")
            .auto_linear(&["self"])
            .grad(["ReflectionPad1DBackward", "ReflectionPad2DBackward", "ReflectionPad3DBackward"][n - 1], &["self"], |b| {
                let (grad, input, padding) = (b.grad()?, b.saved("self")?, b.arg("padding"));
                Grads::one(b, "self", || match spatial(&b.call()) {
                    1 => t!("reflection_pad1d_backward", grad, input, padding),
                    2 => t!("reflection_pad2d_backward", grad, input, padding),
                    _ => t!("reflection_pad3d_backward", grad, input, padding),
                })
            });
        b.op(&format!("replication_pad{n}d(Tensor self, SymInt[{pads}] padding) -> Tensor"), Rule::Fresh(padded))
            .complex(Complex::ByParts)
            .tags(Tags::COMPLEX_GRAD)
            .doc("Borders by repetition.")
            .autocast(CastPolicy::Fp32)
            .auto_linear(&["self"])
            .grad(["ReplicationPad1DBackward", "ReplicationPad2DBackward", "ReplicationPad3DBackward"][n - 1], &["self"], |b| {
                let (grad, input, padding) = (b.grad()?, b.saved("self")?, b.arg("padding"));
                Grads::one(b, "self", || match spatial(&b.call()) {
                    1 => t!("replication_pad1d_backward", grad, input, padding),
                    2 => t!("replication_pad2d_backward", grad, input, padding),
                    _ => t!("replication_pad3d_backward", grad, input, padding),
                })
            });
        for kind in ["reflection", "replication"] {
            b.op(
                &format!("{kind}_pad{n}d_backward(Tensor grad_output, Tensor self, SymInt[{pads}] padding) -> Tensor"),
                Rule::Fresh(|c| {
                    let (input, grad) = (c.tensor("self")?, c.tensor("grad_output")?);
                    for padded in padded(c)?.into_iter().flatten() {
                        check_padded_gradient(c, grad, &padded.geometry.sizes)?;
                    }
                    let format = if keeps_format(c, input) { suggested(input) } else { MemoryFormat::Contiguous };
                    Ok(vec![Some(spec(input.sizes(), format, input))])
                }),
            )
            .complex(Complex::ByParts)
            .tags(Tags::COMPLEX_GRAD);
        }
    }
    b.at("reflection_pad1d").autocast(CastPolicy::Fp32).refuses("b", "reflection_pad1d");
    b.at("reflection_pad2d").autocast(CastPolicy::Fp32).refuses("b", "reflection_pad2d");
    b.at("reflection_pad3d").refuses("b", "reflection_pad3d");
    b.at("replication_pad1d").refuses("b", "replication_pad1d");
    b.at("replication_pad2d").refuses("b", "replication_pad2d");
    b.at("replication_pad3d").refuses("b", "replication_pad3d");
}

type Specs = Result<Vec<Option<TensorSpec>>>;

fn pixel_shuffle(c: &Call) -> Specs {
    let (input, r) = (c.tensor("self")?, c.int("upscale_factor")?);
    let n = input.dim();
    if n < 3 {
        return Err(Error::runtime(format!(
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with {n} dimension(s)"
        )));
    }
    if r <= 0 {
        return Err(Error::runtime(format!("pixel_shuffle expects a positive upscale_factor, but got {r}")));
    }
    let Some(square) = r.checked_mul(r).map(SymInt::Int) else {
        return Err(Error::value(format!("upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor={r}")));
    };
    if !input.size(n - 3).modulo(&square)?.sym_eq(0)? {
        return Err(Error::runtime(format!(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but input.size(-3)={} is not divisible by {square}",
            input.size(n - 3)
        )));
    }
    let mut sizes = input.sizes();
    sizes[n - 3] = sizes[n - 3].floor_div(&square)?;
    sizes[n - 2] = &sizes[n - 2] * r;
    sizes[n - 1] = &sizes[n - 1] * r;
    Ok(vec![Some(spec(sizes, suggested(input), input))])
}

fn pixel_unshuffle(c: &Call) -> Specs {
    let (input, r) = (c.tensor("self")?, c.int("downscale_factor")?);
    let n = input.dim();
    if n < 3 {
        return Err(Error::runtime(format!(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with {n} dimension(s)"
        )));
    }
    if r <= 0 {
        return Err(Error::runtime(format!("pixel_unshuffle expects a positive downscale_factor, but got {r}")));
    }
    let mut sizes = input.sizes();
    for (d, name) in [(n - 2, "height"), (n - 1, "width")] {
        if !sizes[d].modulo(&SymInt::Int(r))?.sym_eq(0)? {
            return Err(Error::runtime(format!(
                "pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({})={} is not divisible by {r}",
                d as i64 - n as i64,
                sizes[d]
            )));
        }
        sizes[d] = sizes[d].floor_div(&SymInt::Int(r))?;
    }
    sizes[n - 3] = &(&sizes[n - 3] * r) * r;
    Ok(vec![Some(spec(sizes, suggested(input), input))])
}

fn channel_shuffle(c: &Call) -> Specs {
    let (input, groups) = (c.tensor("self")?, c.int("groups")?);
    if input.dim() < 3 {
        return Err(Error::runtime(format!("channel_shuffle expects input with > 2 dims, but got input with sizes {:?}", input.sizes())));
    }
    if groups <= 0 {
        return Err(Error::runtime(
            "Number of groups to divide channels in must be positive. Value of groups:".to_owned() + &groups.to_string(),
        ));
    }
    if !input.size(1).modulo(&SymInt::Int(groups))?.sym_eq(0)? {
        return Err(Error::runtime(format!(
            "Number of channels must be divisible by groups. Got {} channels and {groups} groups.",
            input.size(1)
        )));
    }
    let format = if input.is_fake() { MemoryFormat::Contiguous } else { suggested(input) };
    Ok(vec![Some(spec(input.sizes(), format, input))])
}

/// Two numbers of a window.
pub fn two(c: &Call, name: &str) -> Result<[i64; 2]> {
    match c.ints(name)?.as_slice() {
        [a] => Ok([*a, *a]),
        [a, b] => Ok([*a, *b]),
        other => Err(Error::runtime(format!("It is expected {name} equals to 2, but got size {}", other.len()))),
    }
}

/// How many windows fit along each of two dimensions.
pub fn window_counts(c: &Call, sizes: &[SymInt; 2]) -> Result<[SymInt; 2]> {
    let [kernel, dilation, padding, stride] = [two(c, "kernel_size")?, two(c, "dilation")?, two(c, "padding")?, two(c, "stride")?];
    for (name, values) in [("kernel size", kernel), ("dilation", dilation), ("stride", stride)] {
        if values.iter().any(|v| *v <= 0) {
            return Err(Error::runtime(format!(
                "{name} should be greater than zero, but got {}: {} {}: {}",
                name.replace("kernel size", "kernel_height"),
                values[0],
                name.replace("kernel size", "kernel_width"),
                values[1]
            )));
        }
    }
    let overflow = || Error::runtime(format!("{}: the number of sliding blocks overflows", c.entry.base_name()));
    let count = |d: usize| {
        let reach = dilation[d].checked_mul(kernel[d] - 1).and_then(|n| n.checked_add(1)).ok_or_else(overflow)?;
        let border = padding[d].checked_mul(2).and_then(|n| n.checked_sub(reach)).ok_or_else(overflow)?;
        match &sizes[d] {
            SymInt::Int(size) => {
                let count = size.checked_add(border).and_then(|room| room.div_euclid(stride[d]).checked_add(1));
                count.map(SymInt::Int).ok_or_else(overflow)
            }
            size => Ok(&(size + border).floor_div(&SymInt::Int(stride[d]))? + 1),
        }
    };
    let counts = [count(0)?, count(1)?];
    match (counts[0].as_int(), counts[1].as_int()) {
        (Some(rows), Some(columns)) if rows.checked_mul(columns).is_none() => Err(overflow()),
        _ => Ok(counts),
    }
}

fn im2col(c: &Call) -> Specs {
    let input = c.tensor("self")?;
    if input.dim() != 3 && input.dim() != 4 {
        return Err(Error::runtime(format!(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: {:?}",
            input.sizes()
        )));
    }
    let n = input.dim();
    let counts = window_counts(c, &[input.size(n - 2), input.size(n - 1)])?;
    if counts[0].sym_lt(1)? || counts[1].sym_lt(1)? {
        return Err(Error::runtime(format!(
            "Given input with spatial size ({}, {}), kernel_size=({}, {}), calculated shape of the array of sliding blocks as ({}, {}), but its components must be at least one.",
            input.size(n - 2),
            input.size(n - 1),
            two(c, "kernel_size")?[0],
            two(c, "kernel_size")?[1],
            counts[0],
            counts[1]
        )));
    }
    let kernel = two(c, "kernel_size")?;
    let mut sizes = input.sizes()[..n - 3].to_vec();
    sizes.push(&(&input.size(n - 3) * kernel[0]) * kernel[1]);
    sizes.push(&counts[0] * &counts[1]);
    Ok(vec![Some(TensorSpec::contiguous(sizes, input.dtype(), input.device()))])
}

fn col2im(c: &Call) -> Specs {
    let (input, kernel) = (c.tensor("self")?, two(c, "kernel_size")?);
    let output = match c.sym_ints("output_size")?.as_slice() {
        [a] => [a.clone(), a.clone()],
        [a, b] => [a.clone(), b.clone()],
        other => return Err(Error::runtime(format!("It is expected output_size equals to 2, but got size {}", other.len()))),
    };
    let n = input.dim();
    if n != 2 && n != 3 {
        return Err(Error::runtime(format!(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: {:?}",
            input.sizes()
        )));
    }
    let area = kernel[0].saturating_mul(kernel[1]);
    if area == 0 {
        window_counts(c, &output)?;
    }
    if !input.size(n - 2).modulo(&SymInt::Int(area))?.sym_eq(0)? {
        return Err(Error::runtime(format!(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)={} and kernel_size=({}, {}).",
            input.size(n - 2),
            kernel[0],
            kernel[1]
        )));
    }
    let counts = window_counts(c, &output)?;
    if !input.size(n - 1).sym_eq(&counts[0] * &counts[1])? {
        return Err(Error::runtime(format!(
            "Given output_size=({}, {}), kernel_size=({}, {}), expected size of input's dimension 2 to match the calculated number of sliding blocks {} * {} = {}, but got input.size(2)={}.",
            output[0],
            output[1],
            kernel[0],
            kernel[1],
            counts[0],
            counts[1],
            &counts[0] * &counts[1],
            input.size(n - 1)
        )));
    }
    let mut sizes = input.sizes()[..n - 2].to_vec();
    sizes.push(input.size(n - 2).floor_div(&SymInt::Int(area))?);
    sizes.extend(output);
    Ok(vec![Some(TensorSpec::contiguous(sizes, input.dtype(), input.device()))])
}

/// Refuses a gradient of other sizes than the padded tensor has: the last dimension is compared first.
fn check_padded_gradient(c: &Call, grad: &Tensor, expected: &[SymInt]) -> Result<()> {
    let names = ["width", "height", "depth"];
    if grad.dim() != expected.len() {
        return crate::shapes::need_sizes(c.entry.base_name(), "grad_output", grad, expected);
    }
    for (from_end, (got, wanted)) in grad.sizes().iter().zip(expected).rev().enumerate() {
        if !may_be_same(std::slice::from_ref(got), std::slice::from_ref(wanted)) {
            let name = if from_end < spatial(c) { names[from_end] } else { "channel" };
            return Err(Error::runtime(format!("grad_output {name} unexpected. Expected: {wanted}, Got: {got}")));
        }
    }
    Ok(())
}

fn padded(c: &Call) -> Specs {
    let (input, n, padding) = (c.tensor("self")?, spatial(c), c.sym_ints("padding")?);
    let mut sizes = input.sizes();
    if padding.len() != 2 * n {
        return Err(Error::runtime(format!("padding size is expected to be {}, but got: {}", 2 * n, padding.len())));
    }
    if padding.iter().any(|pad| pad.as_int().is_some_and(|pad| pad < -(1 << 62))) {
        return Err(Error::runtime("SymIntArrayRef expected to contain only concrete integers"));
    }
    let is_empty = |sizes: &[SymInt]| sizes.iter().any(|size| size.as_int() == Some(0));
    if (sizes.len() != n + 1 && sizes.len() != n + 2) || is_empty(&sizes[sizes.len() - n - 1..]) {
        return Err(Error::runtime(format!(
            "Expected {}D or {}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: {sizes:?}",
            n + 1,
            n + 2
        )));
    }
    let reflects = c.entry.schema.name.starts_with("reflection");
    for i in 0..n {
        let d = sizes.len() - 1 - i;
        let (before, after) = (&padding[2 * i], &padding[2 * i + 1]);
        if reflects && !(before.sym_lt(sizes[d].clone())? && after.sym_lt(sizes[d].clone())?) {
            return Err(Error::runtime(format!(
                "Argument #{}: Padding size should be less than the corresponding input dimension, but got: padding ({before}, {after}) at dimension {d} of input {sizes:?}",
                2 * (i + 2)
            )));
        }
    }
    for i in 0..n {
        let d = sizes.len() - 1 - i;
        sizes[d] = &(&sizes[d] + &padding[2 * i]) + &padding[2 * i + 1];
        if sizes[d].sym_lt(1)? {
            return Err(Error::runtime(format!("input is too small. Calculated output size: {}", sizes[d])));
        }
    }
    let format = if keeps_format(c, input) { suggested(input) } else { MemoryFormat::Contiguous };
    Ok(vec![Some(spec(sizes, format, input))])
}

/// Whether a padded tensor is channels last where its input is. Tracing takes no notice of it in three dimensions.
fn keeps_format(c: &Call, input: &Tensor) -> bool {
    match spatial(c) {
        2 => true,
        3 => !input.is_fake(),
        _ => false,
    }
}
