//! The short-time Fourier transform and its inverse, and the windows that go with them.

use super::common::*;
use diagnostics::error::{Error, Result};
use dispatch::{Call, CastPolicy, OpBuilder, Rule, Tags, Value};
use dispatch::{aten, t};
use shape::Relation;
use tensor::{Device, Tensor, TensorSpec};

/// Windows, what they are, and the arguments that some overloads of theirs have beside the length.
const WINDOWS: &[(&str, &str, &[&str])] = &[
    ("bartlett_window", "A triangular window.", &["", ".periodic|bool periodic"]),
    ("blackman_window", "Blackman's window.", &["", ".periodic|bool periodic"]),
    ("hann_window", "Hann's window.", &["", ".periodic|bool periodic"]),
    (
        "hamming_window",
        "Hamming's window.",
        &[
            "",
            ".periodic|bool periodic",
            ".periodic_alpha|bool periodic, float alpha",
            ".periodic_alpha_beta|bool periodic, float alpha, float beta",
        ],
    ),
    ("kaiser_window", "Kaiser's window.", &["", ".periodic|bool periodic", ".beta|bool periodic, float beta"]),
];

fn window_spec(c: &Call) -> Specs {
    let length = c.int("window_length")?;
    let dtype = c.dtype("dtype")?.unwrap_or(super::shapes::default_dtype());
    let name = c.entry.base_name();
    if !dtype.is_floating() {
        return Err(Error::runtime(format!("{name} expects floating point dtypes, got: {dtype}")));
    }
    if length < 0 {
        return Err(Error::runtime(format!("{name} requires non-negative window_length, got window_length={length}")));
    }
    Ok(vec![Some(TensorSpec::contiguous(vec![length.into()], dtype, c.get("device").device()?.unwrap_or(Device::CPU)))])
}

/// Full names of the windows.
pub fn overloads() -> impl Iterator<Item = &'static str> {
    dispatch::all().iter().filter(|e| WINDOWS.iter().any(|(name, ..)| *name == e.base_name())).map(|e| e.name)
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    const OPTIONS: &str = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None";
    for (name, doc, overloads) in WINDOWS {
        for overload in *overloads {
            let (overload, arguments) = overload.split_once('|').map_or((*overload, String::new()), |(o, a)| (o, format!(", {a}")));
            b.op(&format!("{name}{overload}(int window_length{arguments}, *, {OPTIONS}) -> Tensor"), Rule::Fresh(window_spec)).doc(doc);
            b.tags(Tags::FACTORY);
        }
    }
    b.op(
        "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
        Rule::Composite(stft),
    ).autocast(CastPolicy::Fp32);
    b.op(
        "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor",
        Rule::Composite(istft),
    );
}

fn int_or(c: &Call, name: &str, or: i64) -> Result<i64> {
    if c.get(name).is_none() { Ok(or) } else { c.int(name) }
}

/// The window in the middle of a frame.
fn centered(window: Option<&Tensor>, length: i64, frame: i64) -> Result<Option<Tensor>> {
    let Some(window) = window else {
        if length == frame {
            return Ok(None);
        }
        let (left, total) = ((frame - length) / 2, frame - length);
        let ones = t!("ones", vec![length])?;
        return t!("constant_pad_nd", ones, vec![left, total - left]).map(Some);
    };
    let left = (frame - length) / 2;
    if length == frame { Ok(Some(window.clone())) } else { t!("constant_pad_nd", window, vec![left, frame - length - left]).map(Some) }
}

fn stft(c: &Call) -> Result<Value> {
    let x = c.tensor("self")?;
    let frame = c.int("n_fft")?;
    let (hop, length) = (int_or(c, "hop_length", frame / 4)?, int_or(c, "win_length", frame)?);
    let window = c.opt_tensor("window");
    let complex = x.dtype().is_complex() || window.is_some_and(|w| w.dtype().is_complex());
    let return_complex = match c.get("return_complex") {
        Value::None if complex => true,
        Value::None => {
            return Err(Error::runtime(
                "stft requires the return_complex parameter be given for real inputs, and will further require that return_complex=True in a future PyTorch release.",
            ));
        }
        given => given.bool()?,
    };
    if x.dim() > 2 || x.dim() < 1 {
        return Err(Error::runtime(format!("stft expected a tensor with 1 or 2 dimensions, got {}", x.dim())));
    }
    let input = if x.dim() == 1 { t!("unsqueeze", x, 0)? } else { x.clone() };
    let size = input.size(1);
    if frame <= 0 || size.compare(Relation::Lt, &frame.into())? {
        return Err(Error::runtime(format!("stft: expected 0 < n_fft < {size}, but got n_fft={frame}")));
    }
    if hop <= 0 {
        return Err(Error::runtime(format!("stft: expected hop_length > 0, but got hop_length={hop}")));
    }
    if length <= 0 || length > frame {
        return Err(Error::runtime(format!("stft: expected 0 < win_length <= n_fft, but got win_length={length}")));
    }
    let onesided = if c.get("onesided").is_none() { !complex } else { c.bool("onesided")? };
    let cut = t!("unfold", &input, -1, frame, hop)?;
    let cut = match centered(window, length, frame)? {
        Some(window) => t!("mul.Tensor", cut, window)?,
        None => cut,
    };
    let norm = i64::from(c.bool("normalized")?);
    let out = if cut.dtype().is_complex() {
        if onesided {
            return Err(Error::runtime("Cannot have onesided output if window or input is complex"));
        }
        t!("_fft_c2c", cut, vec![2i64], norm, true)?
    } else {
        t!("_fft_r2c", cut, vec![2i64], norm, onesided)?
    };
    let mut out = t!("transpose_", out, 1, 2)?;
    if x.dim() == 1 {
        out = t!("squeeze_.dim", out, 0)?;
    }
    if return_complex { Ok(out.into()) } else { aten!("view_as_real", out) }
}

fn istft(c: &Call) -> Result<Value> {
    let x = c.tensor("self")?;
    let frame = c.int("n_fft")?;
    let (hop, length) = (int_or(c, "hop_length", frame / 4)?, int_or(c, "win_length", frame)?);
    if !x.dtype().is_complex() {
        return Err(Error::runtime("istft requires a complex-valued input tensor matching the output from stft with return_complex=True."));
    }
    if x.dim() != 2 && x.dim() != 3 {
        return Err(Error::runtime(format!("istft: expected a tensor with 2 or 3 dimensions, but got {}", x.dim())));
    }
    if x.numel().as_int() == Some(0) {
        return Err(Error::runtime("istft: input tensor cannot be empty."));
    }
    let onesided = if c.get("onesided").is_none() { x.size(x.dim() - 2).guard_int()? != frame } else { c.bool("onesided")? };
    let bins = if onesided { frame / 2 + 1 } else { frame };
    if x.size(x.dim() - 2).guard_int()? != bins {
        return Err(Error::runtime(format!(
            "istft: expected the frequency dimension (3rd to the last) of the input tensor to match {} when onesided={}, but got {}",
            if onesided { "n_fft / 2 + 1" } else { "n_fft" },
            if onesided { "True" } else { "False" },
            x.size(x.dim() - 2)
        )));
    }
    if hop <= 0 || hop > length {
        return Err(Error::runtime("istft: expected 0 < hop_length <= win_length"));
    }
    if length > frame {
        return Err(Error::runtime("istft: expected 0 < win_length <= n_fft"));
    }
    let input = if x.dim() == 2 { t!("unsqueeze", x, 0)? } else { x.clone() };
    let window = match centered(c.opt_tensor("window"), length, frame)? {
        Some(window) => window,
        None => t!("ones", vec![frame]; dtype = x.dtype().to_real(), device = x.device())?,
    };
    let norm = if c.bool("normalized")? { 1 } else { 2 };
    let input = t!("transpose.int", input, 1, 2)?;
    let frames = input.size(1).guard_int()?;
    let cut = match (c.bool("return_complex")?, onesided) {
        (true, _) => t!("_fft_c2c", input, vec![2i64], norm, false)?,
        (false, true) => t!("_fft_c2r", input, vec![2i64], norm, frame)?,
        (false, false) => t!("_fft_c2r", t!("slice.Tensor", input, 2, 0, frame / 2 + 1)?, vec![2i64], norm, frame)?,
    };
    let whole = frame + hop * (frames - 1);
    let weighed = t!("mul.Tensor", cut, t!("view", &window, vec![1, 1, frame])?)?;
    let batch = weighed.size(0);
    let sum = t!("unfold_backward", weighed, vec![batch, whole.into()], 1, frame, hop)?;
    let square = t!("expand", t!("pow.Tensor_Scalar", &window, 2)?, vec![1, frames, frame])?;
    let envelope = t!("unfold_backward", square, vec![1, whole], 1, frame, hop)?;
    let start = if c.bool("center")? { frame / 2 } else { 0 };
    let end = match c.get("length") {
        Value::None if c.bool("center")? => whole - frame / 2,
        Value::None => whole,
        given => given.int()?.saturating_add(start),
    };
    let (sum, envelope) = (t!("slice.Tensor", sum, 1, start, end)?, t!("slice.Tensor", envelope, 1, start, end)?);
    if !envelope.is_fake() {
        let least = t!("min", t!("abs", &envelope)?)?;
        if aten!("_local_scalar_dense", t!("lt.Scalar", least, 1e-11)?)?.bool()? {
            return Err(Error::runtime("window overlap add min: 1"));
        }
    }
    let mut out = t!("div.Tensor", sum, envelope)?;
    if x.dim() == 2 {
        out = t!("squeeze.dim", out, 0)?;
    }
    let have = out.size(out.dim() - 1).guard_int()?;
    if end - start > have {
        let missing = end - start - have;
        out = t!("constant_pad_nd", out, vec![0, missing])?;
    }
    Ok(out.into())
}
