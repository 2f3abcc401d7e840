//! What guards say of sizes and sources, as Python.

/// That a size is within bounds, as a guard says it.
pub(in crate::dynamo) fn range(source: &str, lower: Option<i64>, upper: Option<i64>) -> String {
    match (lower, upper) {
        (Some(lower), Some(upper)) if lower == upper => format!("{source} == {lower}"),
        (Some(lower), Some(upper)) => format!("{lower} <= {source} <= {upper}"),
        (Some(lower), None) => format!("{lower} <= {source}"),
        (None, upper) => format!("{source} <= {}", upper.unwrap_or(i64::MAX)),
    }
}

/// A printed expression with functions as a guard's Python calls them.
pub(in crate::dynamo) fn as_python(text: &str) -> String {
    const NAMES: [(&str, &str); 6] = [
        ("Max(", "torch.sym_max("),
        ("Min(", "torch.sym_min("),
        ("TruncToInt(", "math.trunc("),
        ("FloorToInt(", "math.floor("),
        ("CeilToInt(", "math.ceil("),
        ("ToFloat(", "torch.sym_float("),
    ];
    NAMES.iter().fold(text.to_owned(), |text, (name, python)| text.replace(name, python))
}

/// A guard's text with local variables by their names: `L['x'].n` becomes `x.n`.
pub fn strip_locals(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("L['") {
        let after = &rest[start + 3..];
        let Some(end) = after.find("']") else { break };
        out.push_str(&rest[..start]);
        out.push_str(&after[..end]);
        rest = &after[end + 2..];
    }
    out.push_str(rest);
    out
}
