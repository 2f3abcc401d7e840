//! What PyTorch's autograd nodes save, in its order: compiled autograd shows a node as a call with these as its arguments.
//!
//! A line says one node: its name, the arguments that have gradients (`tensors[]` is a list), and what it saves, each as
//! `name:type`. `=result:t` is a result; `mat1:t@2` is kept only where the gradient of the argument at position 2 is asked for;
//! `mat1_sym_sizes` says of `mat1` what its name says.

use std::collections::HashMap;

/// What a node saves.
#[derive(Debug)]
pub struct SavedFields {
    /// `MmBackward0`
    pub node: &'static str,
    /// Arguments that have gradients, and whether each is a list.
    pub inputs: Vec<(&'static str, bool)>,
    /// What is saved, in order.
    pub fields: Vec<SavedField>,
}

/// One thing that is saved.
#[derive(Debug)]
pub struct SavedField {
    /// `mat1_sym_sizes`
    pub name: &'static str,
    /// Whether it is a result of the forward.
    pub is_result: bool,
    /// What it is.
    pub kind: FieldKind,
    /// Whether it is an int64 or several, which a script is shown without a sign.
    pub is_int64: bool,
    /// Positions among the node's inputs: it is kept only where the gradient of one of them is asked for. Empty: always.
    pub serves: Vec<usize>,
}

/// The type of what is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A tensor, or none.
    Tensor,
    /// A list of tensors.
    Tensors,
    /// A constant: a number, a truth value, a text, or a list of those, as the call was given it.
    Constant,
    /// A size that compiled autograd makes an input, or several, or none.
    Sizes,
    /// The number of a dtype.
    Dtype,
    /// The numbers of the dtypes of a list.
    Dtypes,
    /// The number of a layout.
    Layout,
    /// Device, dtype and layout.
    Options,
    /// Sizes, and device, dtype and layout.
    Info,
    /// Sizes, strides and storage offset.
    Geometry,
    /// Sizes of each tensor of a list.
    SizesOfEach,
    /// Sizes of each tensor of a list, as constants.
    ConstantSizesOfEach,
    /// Whether the graph is kept after the backward.
    RetainVariables,
}

impl FieldKind {
    fn parse(text: &str) -> Option<FieldKind> {
        Some(match text.trim_end_matches('?') {
            "t" => FieldKind::Tensor,
            "t[]" | "t?[]" => FieldKind::Tensors,
            "n" | "n[]" => FieldKind::Sizes,
            "n[][]" => FieldKind::SizesOfEach,
            "i[][]" => FieldKind::ConstantSizesOfEach,
            "dtype" => FieldKind::Dtype,
            "dtype[]" => FieldKind::Dtypes,
            "layout" => FieldKind::Layout,
            "options" => FieldKind::Options,
            "info" => FieldKind::Info,
            "geometry" => FieldKind::Geometry,
            "i" | "b" | "s" | "f" | "str" | "i[]" | "s[]" => FieldKind::Constant,
            _ => return None,
        })
    }
}

impl SavedFields {
    fn parse(line: &'static str) -> Option<SavedFields> {
        let (head, saved) = line.split_once(" | ").unwrap_or((line, ""));
        let (node, inputs) = head.split_once(' ')?;
        let input = |name: &'static str| name.strip_suffix("[]").map_or((name, false), |name| (name, true));
        let field = |text: &'static str| {
            let (text, serves) = text.split_once('@').map_or((text, ""), |(text, serves)| (text, serves));
            let (name, type_name) = text.split_once(':')?;
            let serves = serves.split('|').filter_map(|n| n.parse().ok()).collect();
            let kind = if name == "retain_variables" { FieldKind::RetainVariables } else { FieldKind::parse(type_name)? };
            let is_int64 = matches!(type_name.trim_end_matches('?'), "i" | "i[]");
            Some(SavedField { name: name.trim_start_matches('='), is_result: name.starts_with('='), kind, is_int64, serves })
        };
        Some(SavedFields {
            node,
            inputs: inputs.split(',').map(input).collect(),
            fields: saved.split_whitespace().map(field).collect::<Option<_>>()?,
        })
    }
}

/// Reads a table, a node a line.
///
/// # Panics
/// Where a line is malformed: the table is part of the program.
pub fn parse_table(text: &'static str) -> HashMap<&'static str, SavedFields> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let fields = SavedFields::parse(line).unwrap_or_else(|| panic!("the table of saved fields: {line}"));
            (fields.node, fields)
        })
        .collect()
}
