//! Convolutions: conv1d to conv3d, transposed ones, `padding='same'`, and the one operator they all come down to.

use std::cell::Cell;

use crate::layout::{spec, strides, suggested, suggested_of};
use diagnostics::error::{Error, Result};
use dispatch::aten;
use dispatch::t;
use dispatch::{Backward, Batch, Call, CastPolicy, Complex, Grads, OpBuilder, OpClasses, Rule, Tags, Value};
use shape::{Relation, SymInt};
use tensor::{Dtype, Geometry, MemoryFormat, Tensor, TensorSpec, contiguous_strides};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    for n in 1..=3 {
        b.op(
            &format!(
                "conv{n}d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{n}] stride=1, SymInt[{n}] padding=0, SymInt[{n}] dilation=1, SymInt groups=1) -> Tensor"
            ),
            Rule::Composite(conv),
        ).autocast(CastPolicy::LowerPrecisionFp);
        b.op(
            &format!(
                "conv{n}d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{n}] stride=1, str padding=\"valid\", SymInt[{n}] dilation=1, SymInt groups=1) -> Tensor"
            ),
            Rule::Composite(conv_mode),
        );
        let transposed = if n == 1 { "conv_transpose1d".to_owned() } else { format!("conv_transpose{n}d.input") };
        b.op(
            &format!(
                "{transposed}(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{n}] stride=1, SymInt[{n}] padding=0, SymInt[{n}] output_padding=0, SymInt groups=1, SymInt[{n}] dilation=1) -> Tensor"
            ),
            Rule::Composite(conv_transposed),
        ).autocast(CastPolicy::LowerPrecisionFp);
    }
    b.at("conv1d").doc("Convolution of sequences with a kernel.");
    b.at("conv2d").doc("Convolution of images with a kernel.");
    b.at("conv3d").doc("Convolution of volumes with a kernel.");
    b.at("conv_transpose1d").doc("The transpose of a convolution of sequences.");
    b.at("conv_transpose2d.input").doc("The transpose of a convolution of images.");
    b.at("conv_transpose3d.input").doc("The transpose of a convolution of volumes.");
    b.op(
        "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
        Rule::Fresh(convolution_spec),
    ).complex(Complex::Product(&["input", "weight"])).tags(Tags::COMPLEX_GRAD).doc("Convolution in any number of dimensions, or its transpose.").classes(OpClasses::COMPUTE_INTENSIVE).batch(Batch::Rule(super::batch_convolution::convolution))
    .grad("ConvolutionBackward", &["input", "weight"], convolution_grad);
    b.op(
        "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
        Rule::Fresh(backward_spec),
    ).tags(Tags::COMPLEX_GRAD).classes(OpClasses::COMPUTE_INTENSIVE).batch(Batch::Rule(super::batch_convolution::convolution_backward));
}

/// One value per spatial dimension; a single one stands for all.
fn per_dim(c: &Call, name: &str, n: usize) -> Result<Vec<SymInt>> {
    let values = c.sym_ints(name)?;
    match values.len() {
        1 => Ok(vec![values[0].clone(); n]),
        m if m == n => Ok(values),
        m => Err(Error::runtime(format!(
            "expected {name} to be a single integer value or a list of {n} values to match the convolution dimensions, but got {name}={values:?} ({m} values)"
        ))),
    }
}

/// Input with a batch dimension, and whether it was added.
fn batched(c: &Call, n: usize) -> Result<(Tensor, bool)> {
    let input = c.tensor("input")?;
    if input.dim() != n + 1 && input.dim() != n + 2 {
        return Err(Error::runtime(format!(
            "Expected {}D (unbatched) or {}D (batched) input to {}, but got input of size: {:?}",
            n + 1,
            n + 2,
            c.entry.schema.name,
            input.sizes()
        )));
    }
    let weight = c.tensor("weight")?;
    if weight.dim() != n + 2 {
        return Err(Error::runtime(format!(
            "Expected {}-dimensional input for {}-dimensional weight{:?}, but got {}-dimensional input of size {:?} instead",
            weight.dim(),
            weight.dim(),
            weight.sizes(),
            input.dim(),
            input.sizes()
        )));
    }
    let alone = input.dim() == n + 1;
    Ok((if alone { t!("unsqueeze", input, 0)? } else { input.clone() }, alone))
}

/// The number of spatial dimensions, from the operator's name.
fn spatial(c: &Call) -> usize {
    c.entry.schema.name.bytes().find(u8::is_ascii_digit).map_or(2, |d| (d - b'0') as usize)
}

fn unbatched(result: Tensor, alone: bool) -> Result<Value> {
    Ok(if alone { t!("squeeze.dim", result, 0)? } else { result }.into())
}

#[allow(clippy::too_many_arguments)]
fn convolution(
    input: &Tensor,
    c: &Call,
    stride: Vec<SymInt>,
    padding: Vec<SymInt>,
    dilation: Vec<SymInt>,
    transposed: bool,
    output_padding: Vec<SymInt>,
) -> Result<Tensor> {
    let (weight, bias, groups) = (c.get("weight"), c.get("bias"), c.get("groups"));
    t!("convolution", input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
}

fn conv(c: &Call) -> Result<Value> {
    let n = spatial(c);
    let (input, alone) = batched(c, n)?;
    let (stride, padding, dilation) = (per_dim(c, "stride", n)?, per_dim(c, "padding", n)?, per_dim(c, "dilation", n)?);
    unbatched(convolution(&input, c, stride, padding, dilation, false, vec![SymInt::Int(0); n])?, alone)
}

fn conv_transposed(c: &Call) -> Result<Value> {
    let n = spatial(c);
    let (input, alone) = batched(c, n)?;
    let (stride, padding, dilation) = (per_dim(c, "stride", n)?, per_dim(c, "padding", n)?, per_dim(c, "dilation", n)?);
    unbatched(convolution(&input, c, stride, padding, dilation, true, per_dim(c, "output_padding", n)?)?, alone)
}

fn conv_mode(c: &Call) -> Result<Value> {
    let n = spatial(c);
    let (mut input, alone) = batched(c, n)?;
    let (stride, dilation, weight) = (per_dim(c, "stride", n)?, per_dim(c, "dilation", n)?, c.tensor("weight")?);
    let zeros = vec![SymInt::Int(0); n];
    let padding = match c.str("padding")? {
        "valid" => zeros.clone(),
        "same" => {
            for s in &stride {
                if !s.sym_eq(1)? {
                    return Err(Error::runtime("padding='same' is not supported for strided convolutions"));
                }
            }
            let (mut padding, mut extra, mut uneven) = (Vec::new(), vec![SymInt::Int(0); 2 * n], false);
            for i in 0..n {
                let total = &dilation[i] * &(&weight.size(i + 2) - 1);
                let left = total.floor_div(&SymInt::Int(2))?;
                let more = &(&total - &left) - &left;
                if !more.sym_eq(0)? {
                    uneven = true;
                    extra[2 * (n - 1 - i) + 1] = more;
                }
                padding.push(left);
            }
            if uneven {
                input = t!("constant_pad_nd", input, extra)?;
            }
            padding
        }
        other => return Err(Error::runtime(format!("Invalid padding string: '{other}'"))),
    };
    unbatched(convolution(&input, c, stride, padding, dilation, false, zeros)?, alone)
}

fn check(c: &Call) -> Result<()> {
    let (input, weight) = (c.tensor("input")?, c.tensor("weight")?);
    let (transposed, groups) = (c.bool("transposed")?, c.int("groups")?);
    if input.dtype() != weight.dtype() {
        return Err(Error::runtime(format!(
            "Input type (torch.{}Tensor) and weight type (torch.{}Tensor) should be the same or input should be a MKLDNN tensor and weight is a dense tensor",
            input.dtype().scalar_type(),
            weight.dtype().scalar_type()
        )));
    }
    let all = |name: &str, ok: fn(i64) -> bool| -> Result<bool> {
        Ok(c.get(name).list()?.iter().all(|v| v.sym_int().ok().and_then(|i| i.hint()).is_none_or(ok)))
    };
    if !all("padding", |v| v >= 0)? {
        return Err(Error::runtime("negative padding is not supported"));
    }
    if !all("stride", |v| v > 0)? {
        return Err(Error::runtime("non-positive stride is not supported"));
    }
    if !all("dilation", |v| v > 0)? {
        return Err(Error::runtime("non-positive dilation is not supported"));
    }
    if groups <= 0 {
        return Err(Error::runtime(format!("expected groups to be greater than 0, but got groups={groups}")));
    }
    if input.dim() < 3 {
        return Err(Error::runtime(format!("expected input of a convolution to have at least 3 dimensions, but got {:?}", input.sizes())));
    }
    let spatial = input.dim() - 2;
    for name in ["stride", "padding", "dilation", "output_padding"] {
        let given = c.sym_ints(name)?;
        if given.len() != 1 && given.len() != spatial {
            return Err(Error::runtime(format!(
                "expected {name} to be a single integer value or a list of {spatial} values to match the convolution dimensions, but got {name}={given:?}"
            )));
        }
    }
    if weight.dim() != input.dim() {
        return Err(Error::runtime(format!(
            "Expected {}-dimensional input for {}-dimensional weight {:?}, but got {}-dimensional input of size {:?} instead",
            weight.dim(),
            weight.dim(),
            weight.sizes(),
            input.dim(),
            input.sizes()
        )));
    }
    if weight.size(0).as_int().is_some_and(|outputs| outputs < groups) {
        let sizes = weight.sizes();
        return Err(Error::runtime(format!(
            "Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {sizes:?} instead"
        )));
    }
    check_kernel(weight, transposed)?;
    if !weight.size(0).modulo(&SymInt::Int(groups))?.sym_eq(0)? {
        return Err(Error::runtime(format!(
            "Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size [{:?}] instead",
            weight.sizes()
        )));
    }
    let channels = if transposed { weight.size(0) } else { &weight.size(1) * groups };
    if !input.size(1).sym_eq(channels.clone())? {
        let kind = if transposed { format!("transposed={groups}") } else { format!("groups={groups}") };
        return Err(Error::runtime(format!(
            "Given {kind}, weight of size {:?}, expected input{:?} to have {channels} channels, but got {} channels instead",
            weight.sizes(),
            input.sizes(),
            input.size(1)
        )));
    }
    let outputs = if transposed { &weight.size(1) * groups } else { weight.size(0) };
    if let Some(bias) = c.opt_tensor("bias")
        && !(bias.dim() == 1 && bias.size(0).sym_eq(outputs.clone())?)
    {
        return Err(Error::runtime(format!(
            "Given {}weight of size {:?}, expected bias to be 1-dimensional with {outputs} elements, but got bias of size {:?} instead",
            if transposed { "transposed=1, " } else { "" },
            weight.sizes(),
            bias.sizes()
        )));
    }
    Ok(())
}

/// A kernel without elements, in the words of the kernels that PyTorch has for one, two and three dimensions.
fn check_kernel(weight: &Tensor, transposed: bool) -> Result<()> {
    let kernel = weight.sizes()[2..].to_vec();
    if !kernel.iter().any(|size| size.as_int() == Some(0)) {
        return Ok(());
    }
    let message = match kernel.as_slice() {
        [width] => format!("kernel size should be greater than zero, but got kernel_height: 1 kernel_width: {width}"),
        [height, width] => format!("kernel size should be greater than zero, but got kernel_height: {height} kernel_width: {width}"),
        _ if transposed => format!(
            "non-empty 5D (n_output_plane x n_input_plane x kernel_depth x kernel_height x kernel_width) tensor expected for weight, but got: {:?}",
            weight.sizes()
        ),
        all => {
            let sizes = all.iter().map(SymInt::to_string).collect::<Vec<_>>().join(" x ");
            format!("kernel size should be greater than zero, but got: {sizes} (TxHxW)")
        }
    };
    Err(Error::runtime(message))
}

/// Sizes of the result.
fn convolution_sizes(c: &Call) -> Result<Vec<SymInt>> {
    check(c)?;
    let (input, weight, transposed) = (c.tensor("input")?, c.tensor("weight")?, c.bool("transposed")?);
    let (stride, padding, dilation, extra) =
        (c.sym_ints("stride")?, c.sym_ints("padding")?, c.sym_ints("dilation")?, c.sym_ints("output_padding")?);
    let groups = c.sym_int("groups")?;
    let mut sizes = vec![input.size(0), if transposed { &weight.size(1) * &groups } else { weight.size(0) }];
    let (mut padded, mut kernel, mut too_large) = (Vec::new(), Vec::new(), false);
    for i in 0..input.dim() - 2 {
        let (size, reach) = (input.size(i + 2), &dilation[i] * &(&weight.size(i + 2) - 1));
        sizes.push(if transposed {
            &(&(&(&(&size - 1) * &stride[i]) - &(&padding[i] * 2)) + &reach) + &(&extra[i] + 1)
        } else {
            let room = &size + &(&padding[i] * 2);
            let window = &reach + 1;
            too_large |= room.sym_lt(window.clone())?;
            padded.push(room.to_string());
            kernel.push(window.to_string());
            &(&room - &window).floor_div(&stride[i])? + 1
        });
    }
    if too_large {
        return Err(Error::runtime(format!(
            "Calculated padded input size per channel: ({}). Kernel size: ({}). Kernel size can't be greater than actual input size",
            padded.join(" x "),
            kernel.join(" x ")
        )));
    }
    Ok(sizes)
}

fn convolution_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let sizes = convolution_sizes(c)?;
    let (input, weight) = (c.tensor("input")?, c.tensor("weight")?);
    choose_kernel(input, &c.sym_ints("stride")?, &c.sym_ints("dilation")?)?;
    Ok(vec![Some(result_spec(sizes, format(input, weight), input))])
}

thread_local! {
    static FOR_ANY_LIBRARY: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, no library is chosen: an exported program is for any.
pub struct ForAnyLibrary(bool);

impl ForAnyLibrary {
    /// From here on.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        ForAnyLibrary(FOR_ANY_LIBRARY.replace(true))
    }
}

impl Drop for ForAnyLibrary {
    fn drop(&mut self) {
        FOR_ANY_LIBRARY.set(self.0);
    }
}

/// Which library computes a convolution without steps and gaps depends on how many examples there are; PyTorch asks where it traces.
fn choose_kernel(input: &Tensor, stride: &[SymInt], dilation: &[SymInt]) -> Result<()> {
    let is_plain = stride.iter().chain(dilation).all(|s| s.as_int() == Some(1));
    if is_plain && input.dtype() == Dtype::Float32 && !FOR_ANY_LIBRARY.get() {
        input.size(0).holds_or(Relation::Ge, &SymInt::Int(16), true)?;
    }
    Ok(())
}

/// The memory format of results: channels-last where input or weight is.
fn format(input: &Tensor, weight: &Tensor) -> MemoryFormat {
    let of = |t: &Tensor| if t.dim() == 3 { suggested_of(&as_plane(&t.geometry())) } else { suggested(t) };
    // What is no plane is made contiguous first.
    let is_rearranged = input.dim() == 3 && !lies_in_order(&input.geometry());
    match of(input) {
        MemoryFormat::Contiguous => of(weight),
        _ if is_rearranged => of(weight),
        other => other,
    }
}

/// A row of places as a plane of one row: so convolutions of one dimension are computed.
fn as_plane(row: &Geometry) -> Geometry {
    let mut g = row.clone();
    let stride = &g.sizes[2] * &g.strides[2];
    g.sizes.insert(2, SymInt::Int(1));
    g.strides.insert(2, stride);
    g
}

/// Whether elements lie in order in the call that is compiled. Reads hints, never guards.
fn lies_in_order(g: &Geometry) -> bool {
    let order = contiguous_strides(&g.sizes);
    let fits = |((size, have), want): ((&SymInt, &SymInt), &SymInt)| size.hint() == Some(1) || have.hint() == want.hint();
    g.sizes.iter().zip(&g.strides).zip(&order).all(fits)
}

/// A result in a format, which of three dimensions is that of the plane.
fn result_spec(sizes: Vec<SymInt>, format: MemoryFormat, like: &Tensor) -> TensorSpec {
    if sizes.len() != 3 {
        return spec(sizes, format, like);
    }
    let plane = [&sizes[..2], &[SymInt::Int(1)], &sizes[2..]].concat();
    let mut strides = strides(&plane, format);
    strides.remove(2);
    TensorSpec::strided(sizes, strides, like.dtype(), like.device())
}

fn convolution_grad(b: &Backward) -> Result<Grads> {
    let (grad, input, weight) = (b.grad()?, b.saved("input")?, b.saved("weight")?);
    let bias_sizes = b.spec("bias").map_or_else(|_| vec![SymInt::Int(0)], |s| s.geometry.sizes.clone());
    let [stride, padding, dilation, transposed, extra, groups] =
        ["stride", "padding", "dilation", "transposed", "output_padding", "groups"].map(|name| b.arg(name).clone());
    let mask: Vec<bool> = ["input", "weight", "bias"].iter().map(|n| b.needs(n)).collect();
    let results =
        aten!("convolution_backward", grad, input, weight, bias_sizes, stride, padding, dilation, transposed, extra, groups, mask)?;
    let mut grads = Grads::new(b);
    for (name, value) in ["input", "weight", "bias"].iter().zip(results.list()?) {
        grads.put(b, name, value.as_tensor().cloned())?;
    }
    Ok(grads)
}

fn backward_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (grad, input, weight) = (c.tensor("grad_output")?, c.tensor("input")?, c.tensor("weight")?);
    crate::pooling::check_shape(grad, &convolution_sizes(c)?)?;
    let (mask, format) = (c.get("output_mask").list()?, format(input, weight));
    let bias = TensorSpec::contiguous(vec![grad.size(1)], grad.dtype(), grad.device());
    let specs = [result_spec(input.sizes(), format, input), result_spec(weight.sizes(), format, weight), bias];
    specs.into_iter().zip(mask).map(|(s, m)| Ok(if m.bool()? { Some(s) } else { None })).collect()
}
