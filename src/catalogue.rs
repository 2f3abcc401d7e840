//! The list of what is supported, read off the catalogue: per operator whether it runs eagerly, has a derivative and a GPU kernel.
//!
//! `aot-playground operators` prints it; `docs/operators.md` and the editor's
//! `www/src/generated/names.txt` are kept copies that a test compares.

use crate::backend::{cpu, gpu};
use crate::dispatch::{OpEntry, Rule, Tags, Type, all, has_kernel, named, op};
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

fn entries() -> &'static [&'static OpEntry] {
    cpu::install();
    all()
}

/// Every operator, by name.
pub fn lines() -> Vec<Line> {
    let mut lines: Vec<Line> = entries()
        .iter()
        // What stands for `out=` is the playground's own.
        .filter(|entry| !named::COPY_RESULT_.is(entry))
        .map(|entry| Line {
            signature: format!("{}.{}", entry.name.split('.').next().unwrap_or_default(), entry.schema.text),
            eager: eager(entry),
            derivative: derivative(entry),
            gpu: on_gpu(entry),
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

fn on_gpu(entry: &'static OpEntry) -> &'static str {
    match entry.rule {
        Rule::View(_) | Rule::InplaceView(_) => "view",
        Rule::Composite(_) => "composed",
        _ if gpu::supports(entry) => "kernel",
        Rule::Inplace(functional) if op(functional).is_some_and(gpu::supports) => "kernel",
        _ => "on CPU",
    }
}

/// What an operator does, in a line; empty where nobody wrote one. In-place forms do what their functional ones do.
pub fn words(name: &str) -> &'static str {
    let said = |name: &str| entries().iter().find(|entry| entry.base_name() == name && !entry.doc.is_empty()).map(|entry| entry.doc);
    said(name).or_else(|| said(name.trim_end_matches('_'))).unwrap_or_default()
}

/// How the overloads of a name are called: each a signature as Python writes it (`(self, other, *, alpha=1)`), without what a method
/// hides, and the catalogue's line of it.
fn calls(name: &str) -> Vec<(String, Line)> {
    entries()
        .iter()
        .filter(|entry| entry.name.starts_with("aten.") && entry.schema.name == name)
        .map(|entry| {
            let line = Line { signature: String::new(), eager: eager(entry), derivative: derivative(entry), gpu: on_gpu(entry) };
            (entry.schema.text.clone(), line)
        })
        .collect()
}

/// What the editor knows of names: a line per name, of fields separated by tabs: where it is, its signature, what it does, and of
/// operators how they run (`eager`), whether they are differentiable and how they run on the GPU. `found` is what
/// `tests/data/names.py` prints.
pub fn names(found: &str) -> String {
    let mut text = String::new();
    for line in found.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["P", path, signature, doc] => text.push_str(&format!("{path}\t{signature}\t{doc}\n")),
            ["O", path, operator] => {
                let calls = calls(operator.strip_prefix("aten.").unwrap_or(operator).split('.').next().unwrap_or_default());
                let Some((first, line)) = calls.first() else { continue };
                let signature = &first[first.find('(').unwrap_or(0)..];
                let more = calls.len() - 1;
                let more = if more == 0 { String::new() } else { format!(" +{more}") };
                let name = first.split(['.', '(']).next().unwrap_or_default();
                let support = format!("{}\t{}\t{}", line.eager, line.derivative, line.gpu);
                text.push_str(&format!("{path}\t{signature}{more}\t{}\t{support}\n", words(name)));
            }
            _ => {}
        }
    }
    text
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
