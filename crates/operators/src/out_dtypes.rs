//! Which dtypes a tensor given as `out=` may have, and what is said of others. PyTorch has a check per family of operators: those of
//! TensorIterator cast their result where that is safe, unary ones and structured ones without an iterator want the result's dtype,
//! and others word a check of their own. Its rules for fake tensors are Python functions, whose wrapper for `out=` checks once more
//! in its own way.

use super::matrix::cpp_name;
use diagnostics::error::{Error, ErrorKind, Result};
use dispatch::{OpEntry, Value};
use tensor::{Category, Dtype, Tensor};

/// The dtypes of `out=` that are taken.
enum Takes {
    /// Those that the result may be cast to.
    Castable,
    /// The result's.
    Same,
    /// Those of some categories.
    Of(&'static [Category]),
    /// Every dtype: the result is computed in it, or is a mask.
    Any,
}

/// Operators that check `out=` alike.
struct Family {
    /// Names, or names with an overload.
    operators: &'static str,
    takes: Takes,
    kind: ErrorKind,
    /// What is said of each output; of the last named for those after it. `{result}` and `{out}` are scalar types, `{result c}` and
    /// `{out c}` types of C++, `{result torch}` and `{out torch}` dtypes of Python.
    said: &'static [&'static str],
}

const fn family(operators: &'static str, takes: Takes, said: &'static [&'static str]) -> Family {
    Family { operators, takes, kind: ErrorKind::Runtime, said }
}

/// A kernel is missing for the dtype of `out=`.
const fn kernels(operators: &'static str, of: &'static [Category], said: &'static [&'static str]) -> Family {
    Family { operators, takes: Takes::Of(of), kind: ErrorKind::NotImplemented, said }
}

const NOT_BOOL: &[Category] = &[Category::Integral, Category::Floating, Category::Complex];
const REAL: &[Category] = &[Category::Integral, Category::Floating];
const FLOATING: &[Category] = &[Category::Floating];
const FRACTIONAL: &[Category] = &[Category::Floating, Category::Complex];
const EXPECTED: &str = "Expected out tensor to have dtype {result c}, but got {out c} instead";
const WRITTEN: &str = "Expected out tensor to have dtype {result torch} but got {out torch} instead";

const ITERATOR: Family = family("", Takes::Castable, &["result type {result} can't be cast to the desired output type {out}"]);
const TRACED: Family = family(
    "",
    Takes::Castable,
    &["Attempting to cast from {result torch} to out tensor with dtype {out torch}, but this can't be cast because it is not safe!"],
);

/// Families of calls that are computed. Other pointwise operators are of `ITERATOR`.
const FAMILIES: &[Family] = &[
    family("eq ne lt le gt ge logical_not logical_and logical_or logical_xor sum prod eye zeros ones full", Takes::Any, &[]),
    family("clamp.Tensor square true_divide special_expit mean std var outer ger addr kron diff mse_loss", Takes::Castable, ITERATOR.said),
    family(
        "abs ceil floor frac neg round sign sgn trunc conj_physical bitwise_not clamp clamp_min clamp_max clip lerp.Tensor elu gelu \
         hardshrink hardsigmoid hardswish hardtanh leaky_relu mish silu softplus softshrink",
        Takes::Same,
        &["Found dtype {out} but expected {result}"],
    ),
    family(
        "norm softmax _softmax log_softmax _log_softmax mm matmul bmm mv addmm addmv baddbmm cross inverse linalg_cholesky \
         linalg_cholesky_ex linalg_cross linalg_det linalg_eigh linalg_eigvalsh linalg_inv linalg_inv_ex linalg_lu linalg_lu_factor \
         linalg_qr linalg_slogdet linalg_solve linalg_svd linalg_svdvals linalg_vector_norm argmax argmin aminmax max.dim min.dim sort \
         topk isin gather take_along_dim scatter scatter_add scatter_reduce index_add index_copy index_reduce tril triu diag msort \
         renorm matrix_power linalg_matrix_power linear avg_pool2d avg_pool3d adaptive_max_pool2d max_pool2d_with_indices upsample_nearest1d upsample_nearest2d \
         upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d nll_loss triangular_solve",
        Takes::Same,
        &[EXPECTED],
    ),
    Family {
        operators: "cat concat concatenate stack hstack vstack dstack column_stack row_stack",
        takes: Takes::Castable,
        kind: ErrorKind::Type,
        said: &["torch.cat(): input types can't be cast to the desired output type {out}"],
    },
    family(
        "amax amin",
        Takes::Same,
        &["Expected the dtype for input and out to match, but got {result} for input's dtype and {out} for out's dtype."],
    ),
    family("all any", Takes::Of(&[Category::Bool]), &["{name} only supports bool tensor for result, got: {out}"]),
    family("signbit isposinf isneginf", Takes::Of(&[Category::Bool]), &["{name} does not support non-boolean outputs."]),
    family(
        "logsumexp special_logsumexp",
        Takes::Of(FRACTIONAL),
        &["logsumexp(): Expected floating point type for result tensor, but got: {out}"],
    ),
    family("fft_fftfreq fft_rfftfreq", Takes::Of(FRACTIONAL), &["{function} requires a floating point or complex dtype"]),
    family("nan_to_num", Takes::Same, &["nan_to_num: dtype of out: {out} should be same as input: {result}"]),
    family("heaviside", Takes::Same, &["heaviside is not yet implemented for tensors with different dtypes."]),
    family("where", Takes::Same, &["Expected out type to be {result} but got {out}"]),
    family("ldexp", Takes::Castable, &["ldexp can't be cast to the desired output type {out}"]),
    family("mvlgamma", Takes::Castable, &["mvlgamma: result type {result} can't be cast to the desired output type {result}"]),
    family(
        "float_power",
        Takes::Same,
        &["the output given to float_power has dtype {out} but the operation's result requires dtype {result}"],
    ),
    family("logcumsumexp cummax cummin", Takes::Same, &["expected scalar_type {result} but found {out}"]),
    family("dot vdot", Takes::Same, &["result dtype {out} does not match input dtype {result}"]),
    family(
        "inner tensordot",
        Takes::Same,
        &["tensordot: Expected the output tensor to have dtype {result}, but got an output tensor with dtype {out}"],
    ),
    family("addbmm", Takes::Same, &["self and mat2 must have the same dtype, but got {out} and {result}"]),
    family("chain_matmul linalg_multi_dot", Takes::Same, &["multi_dot(): expected out tensor to have dtype {result c} but got {out c}"]),
    family("linalg_norm", Takes::Same, &["linalg.norm expected out tensor dtype {result} but got: {out}"]),
    family("linalg_matrix_norm", Takes::Same, &["linalg.matrix_norm expected out tensor dtype {result} but got: {out}"]),
    family("linalg_solve_triangular log_sigmoid", Takes::Same, &["expected scalar type {result} but found {out}"]),
    family("linalg_vecdot", Takes::Same, &["linalg.vecdot: Expected out of dtype{result} but found {out}"]),
    family(
        "linalg_pinv",
        Takes::Castable,
        &["linalg.pinv: Expected result to be safely castable from {result} dtype, but got result with dtype {out}"],
    ),
    family(
        "linalg_matrix_rank",
        Takes::Castable,
        &["torch.linalg.matrix_rank: Expected result to be safely castable from {result} dtype, but got result with dtype {out}"],
    ),
    family(
        "linalg_cond",
        Takes::Castable,
        &["linalg.cond: Expected result to be safely castable from {result} dtype, but got result with dtype {out}"],
    ),
    family(
        "cholesky_inverse cholesky_solve",
        Takes::Castable,
        &["{name}: Expected result to be safely castable from {result} dtype, but got result with dtype {out}"],
    ),
    family(
        "linalg_eig",
        Takes::Castable,
        &[
            "torch.linalg.eig: Expected eigenvalues to be safely castable from {result} dtype, but got eigenvalues with dtype {out}",
            "torch.linalg.eig: Expected eigenvectors to be safely castable from {result} dtype, but got eigenvectors with dtype {out}",
        ],
    ),
    family(
        "geqrf",
        Takes::Castable,
        &[
            "torch.geqrf: Expected a to be safely castable from {result} dtype, but got a with dtype {out}",
            "torch.geqrf: Expected tau to be safely castable from {result} dtype, but got tau with dtype {out}",
        ],
    ),
    family(
        "frexp",
        Takes::Same,
        &[
            "torch.frexp() expects mantissa to have dtype {result c} but got {out c}",
            "torch.frexp() expects exponent to have int dtype but got {out c}",
        ],
    ),
    family(
        "mode",
        Takes::Same,
        &[
            "expected scalar type '{result}' but got '{out}' for values output",
            "expected scalar type '{result}' but got '{out}' for indices output",
        ],
    ),
    family("kthvalue", Takes::Same, &["output values must be of same type as input", "output indices must be of scalar type Long"]),
    family(
        "median.dim nanmedian.dim",
        Takes::Same,
        &[
            "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type {out type} does not equal {result type} (while checking arguments for {name})",
            "Expected tensor for argument #1 'indices' to have scalar type Long; but got {out type} instead (while checking arguments for {name})",
        ],
    ),
    family("index_select masked_select", Takes::Same, &["{name}(): self and result must have the same scalar type"]),
    family(
        "take",
        Takes::Same,
        &["take(): self and out expected to have the same dtype, but got self.dtype = {result} and out.dtype = {out}"],
    ),
    family("nonzero", Takes::Same, &["nonzero: Expected out tensor to have scalar type Long but got scalar type{out}"]),
    family("multinomial", Takes::Same, &["multinomial expects Long tensor out, got: {out}"]),
    family(
        "bucketize searchsorted",
        Takes::Same,
        &[
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype {out} and out_int32 flag is {int32}",
        ],
    ),
    family(
        "histc",
        Takes::Same,
        &["torch.histogram: input tensor and hist tensor should have the same dtype, but got input {result c} and hist {out c}"],
    ),
    family("quantile nanquantile", Takes::Same, &["quantile() out tensor must be same dtype as the input tensor"]),
    family("complex polar", Takes::Same, &["Expected object of scalar type {result} but got scalar type {out} for argument 'out'"]),
    family(
        "fft_fft fft_ifft fft_rfft fft_ihfft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft2 fft_rfftn",
        Takes::Of(&[Category::Complex]),
        &["{function} expects a complex output tensor, but got {out}"],
    ),
    family(
        "fft_irfft fft_hfft fft_irfft2 fft_irfftn",
        Takes::Of(FLOATING),
        &["{function} expects a floating point output tensor, but got {out}"],
    ),
    kernels("nansum nanmean", FLOATING, &["\"nansum_cpu\" not implemented for '{out}'"]),
    kernels("cumsum cumprod", NOT_BOOL, &["\"{name}_out_cpu\" not implemented for '{out}'"]),
    kernels("linspace logspace", NOT_BOOL, &["\"{name}_cpu\" not implemented for '{out}'"]),
    kernels("arange", REAL, &["\"arange_cpu\" not implemented for '{out}'"]),
    kernels(
        "bernoulli",
        &[Category::Bool, Category::Integral, Category::Floating],
        &["\"bernoulli_tensor_cpu_self_\" not implemented for '{out}'"],
    ),
    kernels("randn normal", FRACTIONAL, &["\"normal_kernel_cpu\" not implemented for '{out}'"]),
    kernels("rand", FRACTIONAL, &["\"check_uniform_bounds\" not implemented for '{out}'"]),
    kernels("randperm", REAL, &["\"randperm\" not implemented for '{out}'"]),
];

/// Families of calls on fake tensors whose check is not that of `TRACED`.
const TRACED_FAMILIES: &[Family] = &[
    family(
        "eq ne lt le gt ge logical_not logical_and logical_or logical_xor angle isin sum prod cumsum cumprod linalg_solve_triangular \
         arange linspace logspace eye zeros ones full rand randint randperm",
        Takes::Any,
        &[],
    ),
    family(
        "abs ceil floor frac sign sgn trunc conj_physical nan_to_num where norm log_softmax mm matmul bmm mv dot vdot addmm addmv baddbmm \
         addbmm linalg_vector_norm index_select index_add index_copy tril triu diag histc linear upsample_nearest2d silu signbit isposinf \
         isneginf all any polar max.dim min.dim topk aminmax frexp triangular_solve matrix_power",
        Takes::Same,
        &[WRITTEN],
    ),
    family("randn", Takes::Of(FRACTIONAL), &["expected a floating-point or complex dtype, but got dtype={out torch}"]),
    family(
        "amax amin",
        Takes::Same,
        &["Expected the dtype for input and out to match, but got {result torch} for input's dtype and {out torch} for out's dtype."],
    ),
];

/// Operators that have no rule in Python: a fake `out=` is checked as any other.
const CHECKED_ALIKE: &str = "inverse linalg_inv linalg_det linalg_cholesky linalg_svdvals linalg_inv_ex linalg_cholesky_ex geqrf gather take_along_dim scatter scatter_add index_reduce \
    avg_pool2d inner tensordot argmax argmin chain_matmul linalg_multi_dot quantile nanquantile float_power linalg_norm linalg_matrix_norm \
    linalg_pinv linalg_matrix_rank linalg_cond linalg_vecdot fft_fft fft_ifft fft_rfft fft_irfft fft_fftfreq";

/// Whether a list of names has an operator, by its name or by that of the overload.
fn has(names: &str, entry: &OpEntry) -> bool {
    let overload = entry.name.strip_prefix("aten.").unwrap_or(entry.name);
    names.split_whitespace().any(|name| name == overload || name == entry.base_name())
}

fn of_computed(entry: &OpEntry) -> Option<&'static Family> {
    let overload = entry.name.strip_prefix("aten.").unwrap_or(entry.name);
    let exactly = |f: &&Family| f.operators.split_whitespace().any(|name| name == overload);
    let found = FAMILIES.iter().find(exactly).or_else(|| FAMILIES.iter().find(|f| has(f.operators, entry)));
    found.or_else(|| entry.is_elementwise().then_some(&ITERATOR))
}

fn of_traced(entry: &OpEntry) -> Option<&'static Family> {
    let computed = of_computed(entry)?;
    let own = TRACED_FAMILIES.iter().find(|f| has(f.operators, entry));
    Some(own.unwrap_or(if has(CHECKED_ALIKE, entry) { computed } else { &TRACED }))
}

/// The type of a tensor, as checks of arguments name it.
fn type_name(dtype: Dtype) -> String {
    let name = dtype.scalar_type();
    if matches!(dtype.category(), Category::Bool | Category::Complex) { format!("CPU{name}Type") } else { format!("torch.{name}Tensor") }
}

impl Family {
    fn takes(&self, result: Dtype, out: Dtype) -> bool {
        match self.takes {
            Takes::Castable => result.can_cast(out),
            Takes::Same => result == out,
            Takes::Of(categories) => categories.contains(&out.category()),
            Takes::Any => true,
        }
    }

    fn refuse(&self, entry: &OpEntry, position: usize, result: Dtype, out: Dtype) -> Error {
        let name = entry.base_name();
        let words = self.said.get(position).or(self.said.last()).copied().unwrap_or_default();
        let int32 = if result == Dtype::Int32 { "True" } else { "False" };
        let said = words
            .replace("{name}", name)
            .replace("{function}", name.trim_start_matches("fft_"))
            .replace("{int32}", int32)
            .replace("{result}", result.scalar_type())
            .replace("{out}", out.scalar_type())
            .replace("{result c}", cpp_name(result))
            .replace("{out c}", cpp_name(out))
            .replace("{result torch}", &result.to_string())
            .replace("{out torch}", &out.to_string())
            .replace("{result type}", &type_name(result))
            .replace("{out type}", &type_name(out));
        Error::new(self.kind, said)
    }
}

/// Checks the dtypes of `out=` against those of the results that are to be written there.
///
/// # Errors
/// PyTorch's, for a dtype that the operator does not write to.
pub fn check(entry: &OpEntry, results: &Value, outs: &[Tensor], traced: bool) -> Result<()> {
    let Some(family) = (if traced { of_traced(entry) } else { of_computed(entry) }) else { return Ok(()) };
    let results = if let Value::Tensor(result) = results { vec![result.clone()] } else { results.tensors()? };
    for (i, (result, out)) in results.iter().zip(outs).enumerate() {
        let (result, out) = (result.dtype(), out.dtype());
        if !family.takes(result, out) {
            return Err(family.refuse(entry, i, result, out));
        }
    }
    Ok(())
}

/// Operators that compute in the dtype of `out=` where no other is asked for.
const COMPUTES_IN_OUT: &str = "sum cumsum zeros ones full eye rand randn";
/// Those of them whose kernels take no complex numbers: a real result is the same number.
const COMPUTES_IN_REAL_OUT: &str = "prod nansum cumprod arange linspace logspace";

/// Gives an operator that computes in the dtype of `out=` that dtype.
pub fn fill_dtype(entry: &OpEntry, args: &mut [Value], out: Dtype) {
    if !has(COMPUTES_IN_OUT, entry) && (out.is_complex() || !has(COMPUTES_IN_REAL_OUT, entry)) {
        return;
    }
    if let Some(dtype) = entry.schema.position("dtype").and_then(|i| args.get_mut(i)).filter(|dtype| matches!(dtype, Value::None)) {
        *dtype = Value::Dtype(out);
    }
}
