//! The list of what is supported, read off the catalogue: per operator whether it runs eagerly, has a derivative and a GPU kernel.
//!
//! `aot-playground operators` prints it; `docs/operators.md` and the page's list are kept copies that a test compares.

use crate::backend::gpu;
use crate::dispatch::{OpEntry, Rule, Tags, Type, all, has_kernel, op};
use crate::report::PYTORCH_VERSION;
use serde::Serialize;

/// What is known of one overload.
#[derive(Serialize)]
pub struct Line {
    /// Namespace and PyTorch's signature: `aten.add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`.
    pub signature: String,
    /// How it runs on the CPU: `kernel`, `view`, `composed` of other operators, or `no`.
    pub eager: &'static str,
    /// Its derivative: `yes`, `composed`, `none` where its results never require grad, or `no`.
    pub derivative: &'static str,
    /// How it runs on the GPU: `kernel`, `view`, `composed`, or `on CPU`.
    pub gpu: &'static str,
}

/// Every operator, by name.
pub fn lines() -> Vec<Line> {
    let kernels = gpu::supported();
    let mut lines: Vec<Line> = all()
        .iter()
        .map(|entry| Line {
            signature: format!("{}.{}", entry.name.split('.').next().unwrap_or_default(), entry.schema.text),
            eager: eager(entry),
            derivative: derivative(entry),
            gpu: on_gpu(entry, &kernels),
        })
        .collect();
    lines.sort_by(|a, b| a.signature.cmp(&b.signature));
    lines
}

fn eager(entry: &'static OpEntry) -> &'static str {
    match entry.rule {
        Rule::View(_) | Rule::InplaceView(_) => "view",
        Rule::Composite(_) => "composed",
        _ if has_kernel(entry) => "kernel",
        _ => "no",
    }
}

fn derivative(entry: &OpEntry) -> &'static str {
    let gives_tensor = entry.schema.returns.iter().any(|r| is_tensor(&r.ty));
    match entry.rule {
        _ if entry.derivative.is_some() => "yes",
        Rule::Composite(_) => "composed",
        _ if entry.not_differentiable || !gives_tensor || entry.tags.has(Tags::FACTORY) => "none",
        _ => "no",
    }
}

fn is_tensor(ty: &Type) -> bool {
    match ty {
        Type::Tensor => true,
        Type::Optional(inner) | Type::List(inner, _) => is_tensor(inner),
        _ => false,
    }
}

fn on_gpu(entry: &'static OpEntry, kernels: &[&str]) -> &'static str {
    match entry.rule {
        Rule::View(_) | Rule::InplaceView(_) => "view",
        Rule::Composite(_) => "composed",
        _ if kernels.contains(&entry.name) => "kernel",
        Rule::Inplace(functional) if op(functional).is_some_and(|f| kernels.contains(&f.name)) => "kernel",
        _ => "on CPU",
    }
}

/// The list as a Markdown page.
pub fn markdown() -> String {
    let lines = lines();
    let mut text = format!(
        "# Operators\n\n\
         The {} operator overloads of PyTorch {PYTORCH_VERSION} that the playground has. `aot-playground operators --markdown` writes this page.\n\n\
         - *eager*: a kernel of its own, a view, or composed of other operators, as in PyTorch.\n\
         - *derivative*: `none` where results never require grad; `no` where differentiating raises an error that says so.\n\
         - *GPU*: `on CPU` where a graph on the GPU leaves this operator to the CPU, and says so.\n\n\
         | operator | eager | derivative | GPU |\n|---|---|---|---|\n",
        lines.len()
    );
    for line in &lines {
        text.push_str(&format!("| `{}` | {} | {} | {} |\n", line.signature, line.eager, line.derivative, line.gpu));
    }
    text
}

/// The list as JSON, a line per operator.
pub fn json() -> Result<String, serde_json::Error> {
    let lines: Vec<String> = lines().iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}
