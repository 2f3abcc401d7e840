//! When two printed texts say the same: text and integers to the letter, numbers with a point or an exponent within one unit of
//! their last printed digit, or 2e-5 of their size: what differs between PyTorch's own builds and processors.

/// A text as its parts: what is compared to the letter, and numbers.
#[derive(PartialEq)]
enum Part<'a> {
    Text(&'a str),
    Number(&'a str),
}

/// The length of a number that begins a text: digits with a point or an exponent, perhaps after a minus sign.
fn number_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from.min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
    let start = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(start);
    let mut end = start + whole;
    let mut is_number = false;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if whole + fraction == 0 {
            return None;
        }
        end += 1 + fraction;
        is_number = true;
    }
    if whole > 0 || is_number {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if matches!(bytes.get(end), Some(b'e' | b'E')) && digits(end + 1 + sign) > 0 {
            end += 1 + sign + digits(end + 1 + sign);
            is_number = true;
        }
    }
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    (is_number && !bytes.get(end).is_some_and(is_word)).then_some(end)
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at < text.len() {
        let before = text[..at].chars().next_back();
        let inside = before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.');
        match number_length(&text[at..]).filter(|_| !inside) {
            Some(length) => {
                parts.push(Part::Text(&text[from..at]));
                parts.push(Part::Number(&text[at..at + length]));
                at += length;
                from = at;
            }
            None => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    parts.push(Part::Text(&text[from..]));
    parts
}

fn close(got: &str, want: &str) -> bool {
    let (Ok(a), Ok(b)) = (got.parse::<f64>(), want.parse::<f64>()) else { return got == want };
    let lower = want.to_lowercase();
    let (mantissa, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
    let unit = 10f64.powi(exponent.parse::<i32>().unwrap_or(0) - decimals);
    (a - b).abs() <= (1.001 * unit).max(2e-5 * a.abs().max(b.abs())).max(1e-7)
}

/// Text without what follows the width of numbers: runs of spaces.
fn unpadded(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c != ' ' || !out.ends_with([' ', '[']) {
            out.push(c);
        }
    }
    out
}

/// Whether `got` says what `want` says.
pub fn alike(got: &str, want: &str) -> bool {
    if got == want {
        return true;
    }
    let (got, want) = (parts(got), parts(want));
    got.len() == want.len()
        && got.iter().zip(&want).all(|pair| match pair {
            (Part::Text(a), Part::Text(b)) => a == b || unpadded(a) == unpadded(b),
            (Part::Number(a), Part::Number(b)) => close(a, b),
            _ => false,
        })
}
