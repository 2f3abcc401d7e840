//! Python literals as torch.fx writes them: numbers, strings, dtypes, devices, slices.

use super::{Arg, Graph};
use tensor::{Device, DeviceType};

pub use tensor::pyfloat::python_float as float_repr;

/// Python's `repr` of a string.
pub fn str_repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    format!("{quote}{}{quote}", escaped(text, quote))
}

/// Python's `str.isprintable`: whether a character is seen where it stands. Controls, unusual blanks and what turns the direction of
/// writing are not.
pub(super) fn is_printable(c: char) -> bool {
    // Rust's rule is Python's but for combining characters at the beginning of a text, and for quotes.
    c == ' ' || c.is_ascii_graphic() || String::from_iter(['a', c]).escape_debug().nth(1) == Some(c)
}

/// What Python writes between these quotes for a text: nothing in it ends the line, whoever reads it.
pub(super) fn escaped(text: &str, quote: char) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c == '\\' || c == quote => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_printable(c) => out.push(c),
            '\0'..='\u{ff}' => out.push_str(&format!("\\x{:02x}", c as u32)),
            '\u{100}'..='\u{ffff}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            _ => out.push_str(&format!("\\U{:08x}", c as u32)),
        }
    }
    out
}

/// `torch.device`'s `repr`.
fn device_repr(device: Device) -> String {
    let kind = match device.kind {
        DeviceType::Cpu => "cpu",
        DeviceType::Cuda => "cuda",
        DeviceType::Meta => "meta",
    };
    match device.index {
        Some(index) => format!("device(type='{kind}', index={index})"),
        None => format!("device(type='{kind}')"),
    }
}

fn complex_repr(re: f64, im: f64) -> String {
    if re == 0.0 || im == 0.0 || !re.is_finite() || !im.is_finite() {
        return format!("complex({}, {})", float_repr(re), float_repr(im));
    }
    // Python leaves a fraction of zero out of a complex number's parts.
    let part = |v: f64| float_repr(v).trim_end_matches(".0").to_owned();
    let sign = if im < 0.0 { '-' } else { '+' };
    format!("({}{sign}{}j)", part(re), part(im.abs()))
}

/// An argument as generated code holds it; a node is its name.
pub fn arg_repr(graph: &Graph, arg: &Arg) -> String {
    let mut out = String::new();
    write_arg(graph, arg, "", &mut out);
    out
}

/// An argument as `print(graph)` shows it: `%` before nodes, strings and devices bare.
pub fn arg_listing(graph: &Graph, arg: &Arg) -> String {
    let mut out = String::new();
    write_arg(graph, arg, "%", &mut out);
    out
}

fn write_arg(graph: &Graph, arg: &Arg, mark: &str, out: &mut String) {
    let listing = !mark.is_empty();
    let items = |open: &str, items: &[Arg], close: &str, out: &mut String| {
        out.push_str(open);
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            write_arg(graph, item, mark, out);
        }
        out.push_str(close);
    };
    match arg {
        Arg::None => out.push_str("None"),
        Arg::Bool(b) => out.push_str(if *b { "True" } else { "False" }),
        Arg::Int(i) => out.push_str(&i.to_string()),
        Arg::Float(f) => out.push_str(&float_repr(*f)),
        Arg::Complex(re, im) => out.push_str(&complex_repr(*re, *im)),
        Arg::Str(s) if listing => out.push_str(s),
        Arg::Str(s) => out.push_str(&str_repr(s)),
        Arg::Dtype(d) => out.push_str(&d.to_string()),
        Arg::Device(d) if listing => out.push_str(&d.to_string()),
        Arg::Device(d) => out.push_str(&device_repr(*d)),
        Arg::Op(op) if listing => out.push_str(op),
        Arg::Op(op) => {
            out.push_str("torch.ops.");
            out.push_str(op);
        }
        Arg::Layout(_) => out.push_str("torch.strided"),
        Arg::MemoryFormat(m) => out.push_str(m.name()),
        Arg::Node(n) => {
            out.push_str(mark);
            out.push_str(&graph.node(*n).name);
        }
        Arg::List(list) => items("[", list, "]", out),
        Arg::Tuple(tuple) => items("(", tuple, if tuple.len() == 1 { ",)" } else { ")" }, out),
        Arg::Dict(entries) => {
            for (i, (key, value)) in entries.iter().enumerate() {
                out.push_str(if i == 0 { "{" } else { ", " });
                out.push_str(&if listing { key.to_string() } else { str_repr(key) });
                out.push_str(": ");
                write_arg(graph, value, mark, out);
            }
            out.push_str(if entries.is_empty() { "{}" } else { "}" });
        }
        Arg::Slice(parts) => items("slice(", &parts[..], ")", out),
        Arg::Ellipsis => out.push_str("Ellipsis"),
        Arg::Text(text) => out.push_str(text),
    }
}

/// Names of functions in Python's `operator` module that generated code writes with a symbol.
const SYMBOLS: &[(&str, &str)] = &[
    ("eq", "=="),
    ("ne", "!="),
    ("lt", "<"),
    ("gt", ">"),
    ("le", "<="),
    ("ge", ">="),
    ("add", "+"),
    ("sub", "-"),
    ("mul", "*"),
    ("floordiv", "//"),
    ("truediv", "/"),
    ("mod", "%"),
    ("pow", "**"),
    ("lshift", "<<"),
    ("rshift", ">>"),
    ("and_", "&"),
    ("or_", "|"),
    ("xor", "^"),
    ("matmul", "@"),
    ("iadd", "+="),
    ("isub", "-="),
    ("imul", "*="),
    ("ifloordiv", "//="),
    ("itruediv", "/="),
    ("imod", "%="),
    ("ipow", "**="),
    ("ilshift", "<<="),
    ("irshift", ">>="),
    ("iand", "&="),
    ("ior", "|="),
    ("ixor", "^="),
    ("imatmul", "@="),
];

/// `+` of `add`.
pub fn symbol_of(name: &str) -> Option<&'static str> {
    SYMBOLS.iter().find(|(n, _)| *n == name).map(|(_, s)| *s)
}

/// `add` of `+`.
pub fn operator_of(symbol: &str) -> Option<&'static str> {
    SYMBOLS.iter().find(|(_, s)| *s == symbol).map(|(n, _)| *n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_python_prints_them() {
        let cases = [
            (0.1, "0.1"),
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (1e-5, "1e-05"),
            (1e-4, "0.0001"),
            (1e16, "1e+16"),
            (123456789012345.0, "123456789012345.0"),
            (2.5e-10, "2.5e-10"),
            (1e300, "1e+300"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (value, text) in cases {
            assert_eq!(float_repr(value), text);
        }
        assert_eq!(complex_repr(1.0, -2.5), "(1-2.5j)");
        assert_eq!(complex_repr(0.0, 1.0), "complex(0.0, 1.0)");
    }

    #[test]
    fn strings_print_as_python_prints_them() {
        assert_eq!(str_repr("mean"), "'mean'");
        assert_eq!(str_repr("don't"), "\"don't\"");
        assert_eq!(str_repr("a\n\\"), "'a\\n\\\\'");
        assert_eq!(str_repr("'\"\u{7f}\u{85}\u{2028}é"), "'\\'\"\\x7f\\x85\\u2028é'");
    }
}
