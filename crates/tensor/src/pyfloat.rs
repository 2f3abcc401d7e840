//! Floats as Python writes them.

/// Python's `repr` of a float: the shortest digits that read back, with an exponent below 1e-4 and from 1e16 on.
pub fn python_float(value: f64) -> String {
    if let Some(text) = not_finite(value) {
        return text.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        return format!("{digits}e{}", python_exponent(exponent));
    }
    let plain = value.to_string();
    if plain.contains('.') { plain } else { format!("{plain}.0") }
}

/// Python's `f"{value:.{precision}f}"`.
pub fn python_fixed(value: f64, precision: usize) -> String {
    not_finite(value).map_or_else(|| format!("{value:.precision$}"), str::to_owned)
}

/// Python's `f"{value:.{precision}e}"`.
pub fn python_scientific(value: f64, precision: usize) -> String {
    if let Some(text) = not_finite(value) {
        return text.to_owned();
    }
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{digits}e{}", python_exponent(exponent.parse().unwrap_or(0)))
}

fn python_exponent(exponent: i32) -> String {
    format!("{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

fn not_finite(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("nan")
    } else if value.is_infinite() {
        Some(if value > 0.0 { "inf" } else { "-inf" })
    } else {
        None
    }
}

/// A number in an error message, as C++ streams write it: six digits, the shorter of two notations.
pub fn six_digits(v: f64) -> String {
    if !v.is_finite() || v == 0.0 {
        return format!("{v}").to_lowercase();
    }
    let scientific = format!("{v:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let short =
        |digits: &str| if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.').to_owned() } else { digits.to_owned() };
    if (-4..6).contains(&exponent) {
        return short(&format!("{v:.*}", (5 - exponent) as usize));
    }
    format!("{}e{}{:02}", short(digits), if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_to_even_digits_as_in_python() {
        let fixed = [
            (0.5, 0, "0"),
            (1.5, 0, "2"),
            (2.5, 0, "2"),
            (0.125, 2, "0.12"),
            (0.375, 2, "0.38"),
            (-0.0, 4, "-0.0000"),
            (1e22, 0, "10000000000000000000000"),
        ];
        for (value, precision, text) in fixed {
            assert_eq!(python_fixed(value, precision), text);
        }
        assert_eq!(python_scientific(1.25e-7, 1), "1.2e-07");
        assert_eq!(python_scientific(123456.0, 4), "1.2346e+05");
        assert_eq!(python_scientific(0.0, 2), "0.00e+00");
        assert_eq!(python_scientific(f64::NAN, 2), "nan");
    }

    #[test]
    fn floats_print_as_python_prints_them() {
        let pairs = [
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (0.1, "0.1"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (-2.0, "-2.0"),
            (1.5e300, "1.5e+300"),
            (5e-324, "5e-324"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (value, text) in pairs {
            assert_eq!(python_float(value), text);
        }
    }
}
