//! The kernels' own functions: what WGSL lacks or leaves too inexact (its `sin` may be wrong by 2^-11).
//!
//! Polynomials are those for single precision of the library that is their source; NaN and infinity are made and told by their bits,
//! because WGSL has no literal for them and lets compilers assume that they do not occur.

/// A function: its name, and its text, which may call functions that stand before it. Source: Cephes, sinf.c, tanhf.c, ndtrf.c.
const FUNCTIONS: &[(&str, &str)] = &[
    ("inf", "fn inf() -> f32 { var bits = 0x7f800000u; return bitcast<f32>(bits); }"),
    ("variable", "fn variable(x: f32) -> f32 { var y = x; return y; }"),
    ("variable_int", "fn variable_int(x: i32) -> i32 { var y = x; return y; }"),
    ("nan", "fn nan() -> f32 { var bits = 0x7fc00000u; return bitcast<f32>(bits); }"),
    ("is_nan", "fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }"),
    ("is_inf", "fn is_inf(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }"),
    ("is_finite", "fn is_finite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }"),
    ("exp_of", "fn exp_of(x: f32) -> f32 { return select(exp(x), x, is_nan(x)); }"),
    ("exp2_of", "fn exp2_of(x: f32) -> f32 { return select(exp2(x), x, is_nan(x)); }"),
    ("log_of", "fn log_of(x: f32) -> f32 { return select(log(x), nan(), x < 0.0f || is_nan(x)); }"),
    ("log2_of", "fn log2_of(x: f32) -> f32 { return select(log2(x), nan(), x < 0.0f || is_nan(x)); }"),
    ("nan_max", "fn nan_max(a: f32, b: f32) -> f32 { return select(select(max(a, b), b, is_nan(b)), a, is_nan(a)); }"),
    ("nan_min", "fn nan_min(a: f32, b: f32) -> f32 { return select(select(min(a, b), b, is_nan(b)), a, is_nan(a)); }"),
    (
        "sin_of",
        "fn sin_of(z: f32, x: f32) -> f32 {
  return ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * x + x;
}",
    ),
    (
        "cos_of",
        "fn cos_of(z: f32) -> f32 {
  return ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1.0f;
}",
    ),
    (
        "octant",
        "// Octant of x in whole quarter turns, rounded to even.
fn octant(x: f32) -> i32 { let j = i32(x * 1.27323954473516f); return j + (j & 1); }",
    ),
    (
        "reduced",
        "fn reduced(x: f32, j: i32) -> f32 {
  let y = f32(j);
  return ((x - y * 0.78515625f) - y * 2.4187564849853515625e-4f) - y * 3.77489497744594108e-8f;
}",
    ),
    (
        "sine",
        "fn sine(x: f32) -> f32 {
  let a = abs(x);
  if (a > 8192.0f) { return sin(x); }
  let j = octant(a);
  let r = reduced(a, j);
  let z = r * r;
  let v = select(sin_of(z, r), cos_of(z), (j & 2) != 0);
  return select(v, -v, ((j & 4) != 0) != (x < 0.0f));
}",
    ),
    (
        "cosine",
        "fn cosine(x: f32) -> f32 {
  let a = abs(x);
  if (a > 8192.0f) { return cos(x); }
  let j = octant(a);
  let r = reduced(a, j);
  let z = r * r;
  let v = select(cos_of(z), sin_of(z, r), (j & 2) != 0);
  return select(v, -v, ((j + 2) & 4) != 0);
}",
    ),
    (
        "tanh_of",
        "fn tanh_of(x: f32) -> f32 {
  let a = abs(x);
  if (a < 0.625f) {
    let z = x * x;
    let p = (((-5.70498872745e-3f * z + 2.06390887954e-2f) * z - 5.37397155531e-2f) * z + 1.33314422036e-1f) * z - 3.33332819422e-1f;
    return p * z * x + x;
  }
  let e = exp_of(-2.0f * a);
  let t = (1.0f - e) / (1.0f + e);
  return select(t, -t, x < 0.0f);
}",
    ),
    (
        "sigmoid",
        "// One, where it is: a division may be off by some of its last bits.
fn sigmoid(x: f32) -> f32 {
  let e = exp_of(-x);
  return select(1.0f / (1.0f + e), 1.0f, e < 5.9604645e-8f);
}",
    ),
    (
        "expm1",
        "fn expm1(x: f32) -> f32 {
  if (abs(x) > 0.5f) { return exp_of(x) - 1.0f; }
  return x * (1.0f + x * (0.5f + x * (1.6666667e-1f + x * (4.1666667e-2f + x * (8.3333333e-3f + x * (1.3888889e-3f + x * (1.9841270e-4f + x * 2.4801587e-5f)))))));
}",
    ),
    (
        "log1p",
        "fn log1p(x: f32) -> f32 {
  if (x < -0.3f || x > 0.5f) { return log_of(1.0f + x); }
  let s = x / (2.0f + x);
  let z = s * s;
  return 2.0f * s * (1.0f + z * (0.33333333f + z * (0.2f + z * (0.14285714f + z * (0.11111111f + z * 0.09090909f)))));
}",
    ),
    (
        "erf",
        "fn erf(x: f32) -> f32 {
  let t = abs(x);
  let s = x * x;
  if (t > 1.0f) {
    let q = 1.0f / t;
    let y = q * q;
    var r = (((2.326819970068386e-2f * y - 1.387039388740657e-1f) * y + 3.687424674597105e-1f) * y - 5.824733027278666e-1f) * y;
    r = ((((r + 6.210004621745983e-1f) * y - 4.944515323274145e-1f) * y + 3.404879937665872e-1f) * y - 2.741127028184656e-1f) * y;
    r = r + 5.638259427386472e-1f;
    if (t >= 2.0f) {
      r = (((-1.047766399936249e+1f * y + 1.297719955372516e+1f) * y - 7.495518717768503e+0f) * y + 2.921019019210786e+0f) * y;
      r = (((r - 1.015265279202700e+0f) * y + 4.218463358204948e-1f) * y - 2.820767439740514e-1f) * y + 5.641895067754075e-1f;
    }
    let e = 1.0f - exp_of(-s) * q * r;
    return select(e, -e, x < 0.0f);
  }
  var r = ((7.853861353153693e-5f * s - 8.010193625184903e-4f) * s + 5.188327685732524e-3f) * s;
  r = (((r - 2.685381193529856e-2f) * s + 1.128358514861418e-1f) * s - 3.761262582423300e-1f) * s;
  return x * (r + 1.128379165726710e+0f);
}",
    ),
    (
        "power",
        "fn power(x: f32, y: f32) -> f32 {
  if (y == 0.0f || x == 1.0f) { return 1.0f; }
  if (is_nan(x) || is_nan(y)) { return nan(); }
  let whole = floor(y) == y;
  let odd = whole && abs(y) < 16777216.0f && (i32(y) & 1) != 0;
  if (x == 0.0f) { return select(0.0f, inf(), y < 0.0f); }
  if (x < 0.0f && !whole) { return nan(); }
  let p = pow(abs(x), y);
  return select(p, -p, x < 0.0f && odd);
}",
    ),
    (
        "remainder",
        "fn remainder(x: f32, y: f32) -> f32 {
  let r = x - trunc(x / y) * y;
  return select(r, r + y, r != 0.0f && (r < 0.0f) != (y < 0.0f));
}",
    ),
    ("fmod", "fn fmod(x: f32, y: f32) -> f32 { return x - trunc(x / y) * y; }"),
    (
        "floor_div_int",
        "fn floor_div_int(x: i32, y: i32) -> i32 {
  let q = x / y;
  return select(q, q - 1, q * y != x && (x < 0) != (y < 0));
}",
    ),
    ("remainder_int", "fn remainder_int(x: i32, y: i32) -> i32 { return x - floor_div_int(x, y) * y; }"),
    ("fmod_int", "fn fmod_int(x: i32, y: i32) -> i32 { return x % y; }"),
    (
        "power_int",
        "fn power_int(x: i32, y: i32) -> i32 {
  if (y < 0) { return select(select(0, select(1, -1, (y & 1) != 0), x == -1), 1, x == 1); }
  var result = 1;
  var base = x;
  var n = y;
  loop {
    if (n == 0) { break; }
    if ((n & 1) != 0) { result = result * base; }
    base = base * base;
    n = n >> 1u;
  }
  return result;
}",
    ),
    ("shift_left", "fn shift_left(a: i32, b: i32) -> i32 { return a << u32(b); }"),
    ("shift_right", "fn shift_right(a: i32, b: i32) -> i32 { return a >> u32(b); }"),
    (
        "round_f16",
        "// To float16 and back.
fn round_f16(x: f32) -> f32 {
  if (abs(x) >= 65520.0f && is_finite(x)) { return select(inf(), -inf(), x < 0.0f); }
  if (!is_finite(x)) { return x; }
  return unpack2x16float(pack2x16float(vec2<f32>(x, 0.0f))).x;
}",
    ),
    (
        "round_bf16",
        "// To bfloat16 and back, to nearest even.
fn round_bf16(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  let bits = bitcast<u32>(x);
  return bitcast<f32>((bits + 0x7fffu + ((bits >> 16u) & 1u)) & 0xffff0000u);
}",
    ),
];

/// The functions of WGSL whose value is whatever an adapter likes beyond their domain, and ours, which are PyTorch's there too.
const CHECKED: &[(&str, &str)] = &[("exp", "exp_of"), ("exp2", "exp2_of"), ("log", "log_of"), ("log2", "log2_of")];

/// The function that a kernel calls for one of the loop language.
pub fn callee(name: &str) -> &str {
    CHECKED.iter().find(|(plain, _)| *plain == name).map_or(name, |(_, checked)| checked)
}

/// The sources of every function that `text` calls, directly or not, in an order that can be compiled.
pub fn used_by(text: &str) -> String {
    let calls = |source: &str, name: &str| {
        source.match_indices(name).any(|(at, _)| {
            let before = source[..at].chars().next_back();
            source[at + name.len()..].starts_with('(') && !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
        })
    };
    let mut wanted = vec![false; FUNCTIONS.len()];
    for i in (0..FUNCTIONS.len()).rev() {
        let name = FUNCTIONS[i].0;
        wanted[i] = calls(text, name) || (i + 1..FUNCTIONS.len()).any(|j| wanted[j] && calls(FUNCTIONS[j].1, name));
    }
    let sources: Vec<&str> = FUNCTIONS.iter().zip(&wanted).filter(|(_, w)| **w).map(|(f, _)| f.1).collect();
    if sources.is_empty() { String::new() } else { sources.join("\n") + "\n\n" }
}
