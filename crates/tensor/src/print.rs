//! Tensors as PyTorch prints them: `tensor([[1.0000, 2.5000]], grad_fn=<MulBackward0>)`.
//!
//! One formatter looks at all numbers that will be shown and decides on a common width, on integers with a dot, and on
//! scientific notation; long tensors are summarized by their edges; what follows the numbers wraps at the line's width.

use super::strided::number_at;
use super::{Concrete, DeviceType, Dtype, Number, Tensor};
use crate::pyfloat::{python_fixed, python_scientific};
use diagnostics::error::Result;
use std::cell::RefCell;

/// What `torch.set_printoptions` sets.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintOptions {
    /// Digits after the point.
    pub precision: usize,
    /// Elements beyond which a tensor is summarized; may be infinite.
    pub threshold: f64,
    /// Elements shown at each edge of a summarized dimension.
    pub edgeitems: usize,
    /// Characters per line.
    pub linewidth: usize,
    /// Scientific notation always, never, or where numbers ask for it.
    pub sci_mode: Option<bool>,
}

impl Default for PrintOptions {
    fn default() -> Self {
        PrintOptions { precision: 4, threshold: 1000.0, edgeitems: 3, linewidth: 80, sci_mode: None }
    }
}

impl PrintOptions {
    /// The options of a profile: `default`, `short` or `full`. `sci_mode` stays.
    pub fn profile(&self, name: &str) -> PrintOptions {
        let base = PrintOptions { sci_mode: self.sci_mode, ..PrintOptions::default() };
        match name {
            "short" => PrintOptions { precision: 2, edgeitems: 2, ..base },
            "full" => PrintOptions { threshold: f64::INFINITY, ..base },
            "default" => base,
            _ => self.clone(),
        }
    }
}

thread_local! {
    static OPTIONS: RefCell<PrintOptions> = RefCell::new(PrintOptions::default());
}

/// The options in force.
pub fn print_options() -> PrintOptions {
    OPTIONS.with_borrow(Clone::clone)
}

/// Sets the options; gives those that were in force.
pub fn set_print_options(options: PrintOptions) -> PrintOptions {
    OPTIONS.replace(options)
}

/// What follows the numbers, beside what the tensor itself says.
#[derive(Clone, Debug)]
pub struct Suffixes {
    /// What stands before the numbers: `tensor(`.
    pub prefix: String,
    /// Name of the autograd node.
    pub grad_fn: Option<String>,
    /// Whether it requires grad.
    pub requires_grad: bool,
    /// The tangent of a dual tensor, printed.
    pub tangent: Option<String>,
    /// `torch.get_default_dtype()`
    pub default_dtype: Dtype,
}

impl Default for Suffixes {
    fn default() -> Self {
        Suffixes { prefix: "tensor(".to_owned(), grad_fn: None, requires_grad: false, tangent: None, default_dtype: Dtype::Float32 }
    }
}

/// How numbers of one tensor are written.
struct Formatter {
    floating: bool,
    integers: bool,
    scientific: bool,
    width: usize,
    precision: usize,
}

impl Formatter {
    fn new(values: &[Number], floating: bool, options: &PrintOptions) -> Self {
        let mut f = Formatter { floating, integers: true, scientific: false, width: 1, precision: options.precision };
        if !floating {
            f.width = values.iter().map(|v| plain(*v).len()).fold(1, usize::max);
            return f;
        }
        let shown: Vec<f64> = values.iter().map(|v| v.to_f64()).filter(|v| v.is_finite() && *v != 0.0).collect();
        if shown.is_empty() {
            return f;
        }
        let (least, most) = shown.iter().fold((f64::INFINITY, 0f64), |(l, m), v| (l.min(v.abs()), m.max(v.abs())));
        f.integers = shown.iter().all(|v| *v == v.ceil());
        f.scientific = options.sci_mode.unwrap_or(most / least > 1000.0 || most > 1.0e8 || least < 1.0e-4);
        let length = |v: &f64| match (f.scientific, f.integers) {
            (true, _) => python_scientific(*v, f.precision).len(),
            (false, true) => python_fixed(*v, 0).len() + 1,
            (false, false) => python_fixed(*v, f.precision).len(),
        };
        f.width = shown.iter().map(length).fold(1, usize::max);
        f
    }

    fn format(&self, value: Number) -> String {
        let width = self.width;
        if !self.floating {
            return format!("{:>width$}", plain(value));
        }
        let v = value.to_f64();
        let text = if self.scientific {
            python_scientific(v, self.precision)
        } else if self.integers {
            python_fixed(v, 0) + if v.is_finite() { "." } else { "" }
        } else {
            python_fixed(v, self.precision)
        };
        format!("{text:>width$}")
    }
}

fn plain(value: Number) -> String {
    match value {
        Number::Bool(true) => "True".to_owned(),
        Number::Bool(false) => "False".to_owned(),
        other => other.to_i64().to_string(),
    }
}

/// The tensor while it is printed: its bytes and how its elements are written.
struct Printer<'a> {
    bytes: &'a [u8],
    dtype: Dtype,
    geometry: Concrete,
    options: PrintOptions,
    summarize: bool,
    real: Formatter,
    imaginary: Option<Formatter>,
}

impl Printer<'_> {
    fn text_of(&self, offset: isize) -> String {
        let value = number_at(self.bytes, offset as usize, self.dtype);
        let (Some(second), Number::Complex(re, im)) = (&self.imaginary, value) else { return self.real.format(value) };
        let imaginary = second.format(Number::Float(im));
        let imaginary = imaginary.trim_start();
        let sign = if imaginary.starts_with(['+', '-']) { "" } else { "+" };
        format!("{}{sign}{imaginary}j", self.real.format(Number::Float(re)))
    }

    fn vector(&self, offset: isize, indent: usize) -> String {
        let width = self.real.width + 2 + self.imaginary.as_ref().map_or(0, |f| f.width + 1);
        let per_line = (self.options.linewidth.saturating_sub(indent) / width).max(1);
        let d = self.geometry.sizes.len() - 1;
        let (size, stride, edge) = (self.geometry.sizes[d], self.geometry.strides[d], self.options.edgeitems);
        let at = |i: usize| self.text_of(offset + i as isize * stride);
        let items: Vec<String> = if self.summarize && edge == 0 {
            vec!["...".to_owned()]
        } else if self.summarize && size > 2 * edge {
            (0..edge).map(at).chain([" ...".to_owned()]).chain((size - edge..size).map(at)).collect()
        } else {
            (0..size).map(at).collect()
        };
        let lines: Vec<String> = items.chunks(per_line).map(|line| line.join(", ")).collect();
        format!("[{}]", lines.join(&format!(",\n{}", " ".repeat(indent + 1))))
    }

    fn nested(&self, depth: usize, offset: isize, indent: usize) -> String {
        let dims = self.geometry.sizes.len() - depth;
        match dims {
            0 => return self.text_of(offset),
            1 => return self.vector(offset, indent),
            _ => {}
        }
        let (size, stride, edge) = (self.geometry.sizes[depth], self.geometry.strides[depth], self.options.edgeitems);
        let at = |i: usize| self.nested(depth + 1, offset + i as isize * stride, indent + 1);
        let parts: Vec<String> = if self.summarize && size > 2 * edge {
            (0..edge).map(at).chain(["...".to_owned()]).chain((size - edge..size).map(at)).collect()
        } else {
            (0..size).map(at).collect()
        };
        format!("[{}]", parts.join(&format!(",{}{}", "\n".repeat(dims - 1), " ".repeat(indent + 1))))
    }
}

/// Offsets of the elements that a summary shows.
fn shown_offsets(geometry: &Concrete, edge: usize, summarize: bool) -> Vec<isize> {
    let mut offsets = vec![geometry.offset as isize];
    let dims = geometry.sizes.len();
    for (d, (size, stride)) in geometry.sizes.iter().zip(&geometry.strides).enumerate() {
        // With no edge items a row's tail `row[-0:]` is the whole row.
        let edges = summarize && *size > 2 * edge && !(edge == 0 && d + 1 == dims && dims == 1);
        let places: Vec<usize> = if summarize && edge == 0 && dims > 1 {
            vec![]
        } else if edges {
            (0..edge).chain(size - edge..*size).collect()
        } else {
            (0..*size).collect()
        };
        offsets = offsets.iter().flat_map(|o| places.iter().map(move |p| o + *p as isize * stride)).collect();
    }
    offsets
}

fn elements(tensor: &Tensor, indent: usize, options: &PrintOptions) -> Result<String> {
    let geometry = tensor.concrete()?;
    let count = geometry.numel();
    if count == 0 {
        return Ok("[]".to_owned());
    }
    let summarize = count as f64 > options.threshold;
    let storage = tensor.storage();
    let bytes = storage.bytes()?;
    let dtype = tensor.dtype();
    let values: Vec<Number> =
        shown_offsets(&geometry, options.edgeitems, summarize).into_iter().map(|o| number_at(&bytes, o as usize, dtype)).collect();
    let part = |imaginary: bool| -> Vec<Number> {
        values
            .iter()
            .map(|v| match v {
                Number::Complex(re, im) => Number::Float(if imaginary { *im } else { *re }),
                other => *other,
            })
            .collect()
    };
    let floating = dtype.is_floating() || dtype.is_complex();
    let real = Formatter::new(&part(false), floating, options);
    let imaginary = dtype.is_complex().then(|| Formatter::new(&part(true), true, options));
    let offset = geometry.offset as isize;
    let printer = Printer { bytes: &bytes, dtype, geometry, options: options.clone(), summarize, real, imaginary };
    Ok(printer.nested(0, offset, indent))
}

/// Sizes as Python prints a tuple.
fn tuple(tensor: &Tensor) -> String {
    let sizes: Vec<String> = tensor.sizes().iter().map(|s| s.to_string()).collect();
    match sizes.as_slice() {
        [only] => format!("({only},)"),
        all => format!("({})", all.join(", ")),
    }
}

/// The tensor's `repr`.
pub fn repr(tensor: &Tensor, suffixes: &Suffixes) -> Result<String> {
    let options = print_options();
    let indent = suffixes.prefix.chars().count();
    let (device, dtype) = (tensor.device(), tensor.dtype());
    let mut after = Vec::new();
    if device.kind != DeviceType::Cpu {
        after.push(format!("device='{device}'"));
    }
    let usual =
        dtype == suffixes.default_dtype || dtype == suffixes.default_dtype.to_complex() || matches!(dtype, Dtype::Int64 | Dtype::Bool);
    let text = if tensor.is_fake() {
        after.push(format!("size={}", tuple(tensor)));
        if dtype != suffixes.default_dtype {
            after.push(format!("dtype={dtype}"));
        }
        "...".to_owned()
    } else if tensor.numel().guard_int()? == 0 {
        if tensor.dim() != 1 {
            after.push(format!("size={}", tuple(tensor)));
        }
        if dtype != suffixes.default_dtype {
            after.push(format!("dtype={dtype}"));
        }
        "[]".to_owned()
    } else {
        if options.edgeitems == 0 {
            after.push(format!("size={}", tuple(tensor)));
        }
        if !usual {
            after.push(format!("dtype={dtype}"));
        }
        elements(tensor, indent, &options)?
    };
    if let Some(name) = &suffixes.grad_fn {
        after.push(format!("grad_fn=<{name}>"));
    } else if suffixes.requires_grad {
        after.push("requires_grad=True".to_owned());
    }
    if let Some(tangent) = &suffixes.tangent {
        after.push(format!("tangent={tangent}"));
    }
    Ok(with_suffixes(format!("{}{text}", suffixes.prefix), &after, indent, options.linewidth))
}

fn with_suffixes(text: String, suffixes: &[String], indent: usize, linewidth: usize) -> String {
    // PyTorch counts two characters more than the last line has.
    let mut last = text.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 2;
    let mut out = text;
    for suffix in suffixes {
        let length = suffix.chars().count();
        if last + length + 2 > linewidth {
            out.push_str(&format!(",\n{}{suffix}", " ".repeat(indent)));
            last = indent + length;
        } else {
            out.push_str(&format!(", {suffix}"));
            last += length + 2;
        }
    }
    out.push(')');
    out
}
