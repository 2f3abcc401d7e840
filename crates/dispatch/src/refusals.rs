//! Dtypes that PyTorch's kernels refuse, and its words. Such a call is refused where values are computed: a graph is traced on what
//! tensors look like alone, and fails when it runs.

use super::{OpEntry, Value};
use diagnostics::error::{Error, Result};
use std::collections::HashMap;
use std::sync::OnceLock;
use tensor::Dtype;

/// Operators, the dtypes that they refuse, and the name of the kernel, or the message with the dtype's name for `{}`. Of dtypes, `b` is
/// bool, `i` the other integers, `u` those but for bytes, `h` the short floats, `c` complex. The first tensor is looked at; with `*` all tensors have to be such (a number beside a bool gives an integer), with `+` any,
/// and `!` refuses tensors of several dtypes. A message that begins with `R:` or `T:` is a `RuntimeError` or a `TypeError`.
const REFUSED: &[(&str, &str, &str)] = &[
    ("abs", "b", "abs_cpu"),
    ("adaptive_max_pool2d", "bi", "adaptive_max_pool2d"),
    ("adaptive_max_pool3d", "bi", "adaptive_max_pool3d_cpu"),
    ("_adaptive_avg_pool2d", "bi", "adaptive_avg_pool2d"),
    ("addcmul", "*b", "addcmul_cpu_out"),
    ("argmax", "b", "argmax(): does not support bool input"),
    ("argmax", "c", "T:argmax(): does not support complex input"),
    ("argmin", "b", "argmin(): does not support bool input"),
    ("argmin", "c", "T:argmin(): does not support complex input"),
    ("bitwise_left_shift", "bh", "lshift_cpu"),
    ("bitwise_right_shift", "bh", "rshift_cpu"),
    ("_cdist_forward", "h", "cdist"),
    ("cdist", "bic", "R:cdist only supports floating-point dtypes, X1 got: {}"),
    ("ceil", "b", "ceil_vml_cpu"),
    ("ceil", "c", "ceil is not supported for complex inputs"),
    ("cummax", "c", "cummax_cpu"),
    ("cummin", "c", "cummin_cpu"),
    ("dist", "i", "norm(): input dtype should be either floating point or complex. Got {} instead."),
    ("erf", "c", "erf_vml_cpu"),
    ("floor", "b", "floor_vml_cpu"),
    ("floor", "c", "floor is not supported for complex inputs"),
    ("floor_divide", "*bc", "div_floor_cpu"),
    ("fmod", "*bc", "fmod_cpu"),
    ("frac", "bic", "frac_cpu"),
    ("ge", "+c", "ge_cpu"),
    ("gt", "+c", "gt_cpu"),
    ("hardtanh", "b", "Bool inputs not supported for hardtanh"),
    ("heaviside", "!", "R:heaviside is not yet implemented for tensors with different dtypes."),
    ("igamma", "*bi", "igamma_cpu"),
    ("igammac", "*bi", "igammac_cpu"),
    ("isin", "+b", "Unsupported input type encountered for isin(): Bool"),
    ("isneginf", "c", "T:isneginf does not support complex inputs."),
    ("isposinf", "c", "T:isposinf does not support complex inputs."),
    ("kl_div", "+bi", "R:kl_div: Integral inputs not supported."),
    ("kthvalue", "b", "kthvalue_cpu"),
    ("le", "+c", "le_cpu"),
    ("linalg_cross", "*b", "cross"),
    ("linalg_cross", "!", "R:expected scalar type {} but found {2}"),
    ("_log_softmax", "c", "log_softmax_kernel_impl"),
    ("logcumsumexp", "bi", "logcumsumexp_out_cpu"),
    ("lt", "+c", "lt_cpu"),
    ("max", "c", "max_all"),
    ("max_pool1d", "bi", "max_pool1d_impl"),
    ("median", "bc", "median_cpu"),
    ("min", "c", "min_all"),
    ("nanmean", "bi", "nanmean(): expected input to have floating point or complex dtype but got {}"),
    ("nanmedian", "bc", "median_cpu"),
    ("nansum", "c", "nansum on CPU does not support complex inputs"),
    ("pow", "*b", "pow"),
    ("reflection_pad1d", "b", "reflection_pad1d"),
    ("reflection_pad2d", "b", "reflection_pad2d"),
    ("reflection_pad3d", "b", "reflection_pad3d"),
    ("relu", "c", "clamp is not supported for complex types"),
    ("relu6", "b", "Bool inputs not supported for hardtanh"),
    ("remainder", "*bc", "remainder_cpu"),
    ("renorm", "bi", "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}"),
    ("replication_pad1d", "b", "replication_pad1d"),
    ("replication_pad2d", "b", "replication_pad2d"),
    ("replication_pad3d", "b", "replication_pad3d"),
    ("round", "bc", "round_vml_cpu"),
    ("rrelu", "bi", "leaky_relu_cpu"),
    ("searchsorted", "b", "searchsorted_out_cpu"),
    ("bucketize", "b", "searchsorted_out_cpu"),
    ("sign", "c", "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."),
    ("signbit", "c", "signbit is not implemented for complex tensors."),
    ("_softmax", "c", "softmax_kernel_impl"),
    ("sort", "c", "T: Sort does not support complex dtypes on CPU"),
    ("special_erfcx", "h", "erfcx_cpu"),
    ("topk", "b", "topk does not support bool dtypes on CPU"),
    ("topk", "c", "T: topk does not support complex dtypes on CPU"),
    ("trace", "b", "trace"),
    ("trunc", "b", "trunc_vml_cpu"),
    ("trunc", "c", "trunc is not supported for complex inputs"),
    ("upsample_bicubic2d", "bu", "compute_indices_weights_cubic"),
    ("upsample_bilinear2d", "bu", "upsample_bilinear2d_channels_last"),
    ("upsample_linear1d", "bi", "compute_indices_weights_linear"),
    ("upsample_nearest1d", "bi", "compute_indices_weights_nearest"),
    ("upsample_nearest2d", "bu", "upsample_nearest2d_channels_last"),
    ("upsample_nearest3d", "bu", "compute_indices_weights_nearest"),
    ("upsample_trilinear3d", "bi", "compute_indices_weights_linear"),
];

type Refusals = Vec<(&'static str, &'static str)>;

fn is_kind(kinds: &str, dtype: Dtype) -> bool {
    let kind = match dtype {
        Dtype::Bool => "b",
        Dtype::UInt8 => "i",
        d if d.is_complex() => "c",
        d if d.is_integral() => "iu",
        Dtype::Float16 | Dtype::BFloat16 => "h",
        _ => "",
    };
    kind.chars().any(|k| kinds.contains(k))
}

/// Refuses a call whose values are to be computed, where PyTorch's kernel does.
pub fn check(entry: &OpEntry, args: &[Value]) -> Result<()> {
    static TABLE: OnceLock<HashMap<&'static str, Refusals>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table: HashMap<&'static str, Refusals> = HashMap::new();
        REFUSED.iter().for_each(|(name, kinds, words)| table.entry(name).or_default().push((kinds, words)));
        table
    });
    let Some(refusals) = table.get(entry.base_name()) else { return Ok(()) };
    let mut dtypes = Vec::new();
    args.iter().for_each(|v| v.for_each_tensor(&mut |t| dtypes.push(t.dtype())));
    let (Some(first), Some(last)) = (dtypes.first().copied(), dtypes.last().copied()) else { return Ok(()) };
    for (kinds, words) in refusals {
        let refuses = match kinds.chars().next() {
            Some('*') => dtypes.iter().all(|d| is_kind(kinds, *d)) && (dtypes.len() > 1 || first.is_complex()),
            Some('+') => dtypes.iter().any(|d| is_kind(kinds, *d)),
            Some('!') => dtypes.iter().any(|d| *d != first),
            _ => is_kind(kinds, first),
        };
        if !refuses {
            continue;
        }
        let refused = if kinds.starts_with('+') { dtypes.iter().copied().find(|d| is_kind(kinds, *d)).unwrap_or(first) } else { first };
        let (class, words) =
            if let Some((class, words)) = words.split_once(':').filter(|(c, _)| c.len() == 1) { (class, words) } else { ("", *words) };
        if !words.contains(' ') {
            return Err(Error::not_implemented(format!("\"{words}\" not implemented for '{}'", refused.scalar_type())));
        }
        let message = words.replace("{}", refused.scalar_type()).replace("{2}", last.scalar_type());
        return Err(match class {
            "R" => Error::runtime(message),
            "T" => Error::type_error(message),
            _ => Error::not_implemented(message),
        });
    }
    Ok(())
}
