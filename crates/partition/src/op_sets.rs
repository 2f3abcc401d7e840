//! The classes of operators that the min-cut partitioner's rules speak of, as names: PyTorch 2.15's own lists.
//!
//! The lists name overload packets (`add` for every `aten.add.*`). They are PyTorch's default lists for fusing,
//! recomputing and banning, its `pointwise` and `nondeterministic_seeded` tags, and the operators whose result shares the
//! storage of their first argument.

use graph::{Node, Opcode, Target};
use std::collections::HashSet;
use std::sync::LazyLock;

/// Cheap enough to compute again.
const RECOMPUTABLE: &str = "\
    __and__ __lshift__ __or__ __rshift__ __xor__ _grad_sum_to_size _to_copy _unsafe_view abs acos add addcmul amax any \
    arange argmax as_strided asin atan atan2 atanh bitwise_not broadcast_tensors ceil clamp clone cos cosh div empty \
    empty_like eq erf erfc exp expand expm1 floor fmod frac full full_like gather ge gelu gelu_backward gt index isinf le \
    lerp lgamma lift_fresh_copy log log10 log1p log2 lt max maximum mean min mul ne neg new_zeros ones pow reciprocal relu \
    remainder reshape round rsqrt rsub scalar_tensor select sigmoid silu sin sinh slice softplus sqrt squeeze std sub sum \
    sum_to_size tan tanh threshold threshold_backward to triu trunc type_as unsqueeze var var_mean view where zeros \
    zeros_like prims._low_memory_max_pool_offsets_to_indices prims.broadcast_in_dim prims.convert_element_type prims.div \
    prims.iota prims.prepare_softmax_online prims.sum prims.var";

/// Tagged `pointwise`; recomputable as well.
const POINTWISE: &str = "\
    __lshift__ __rshift__ __xor__ abs acos acosh add addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and \
    bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil celu clamp clamp_max clamp_min clip clone \
    conj_physical copysign cos cosh deg2rad digamma div elu eq equal erf erfc erfinv exp exp2 expm1 float_power floor fmax \
    fmin fmod frac frexp gcd ge gelu gelu_backward gt hardshrink hardsigmoid hardtanh heaviside hypot i0 igamma igammac \
    isfinite isinf isnan isneginf isposinf lcm ldexp le leaky_relu lerp lgamma log log10 log1p log2 logaddexp logaddexp2 \
    logical_and logical_not logical_or logical_xor logit logit_backward lt masked_fill max maximum min minimum mish mul \
    mvlgamma nan_to_num native_dropout_backward ne neg nextafter polygamma positive pow rad2deg reciprocal relu relu6 \
    remainder round rrelu rsqrt rsub selu sgn sigmoid sigmoid_backward sign signbit silu silu_backward sin sinc sinh \
    softplus softshrink special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 \
    special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v \
    special_chebyshev_polynomial_w special_entr special_erfcx special_hermite_polynomial_h special_hermite_polynomial_he \
    special_i0e special_i1 special_i1e special_laguerre_polynomial_l special_legendre_polynomial_p special_log_ndtr \
    special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 \
    special_ndtri special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t \
    special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w \
    special_spherical_bessel_j0 special_xlog1py special_zeta sqrt square sub tan tanh tanh_backward threshold \
    threshold_backward true_divide trunc where xlogy";

/// Arithmetic on symbolic numbers, by the name in Python's `operator` module or below `torch.`; recomputable as well.
const SYMBOLIC: &str = "\
    abs add and_ ceil eq floor floordiv ge gt le lshift lt mod mul ne neg or_ pos pow round rshift sub sym_acos sym_asin \
    sym_atan sym_cos sym_cosh sym_float sym_ite sym_log2 sym_max sym_min sym_not sym_sin sym_sinh sym_sqrt sym_tan sym_tanh \
    truediv trunc xor";

/// Views that the partitioner knows to be free.
const VIEWS: &str = "\
    alias as_strided expand permute select slice split squeeze t unsqueeze view prims.broadcast_in_dim";

/// Random operators that may be fused but not recomputed.
const RANDOM: &str = "\
    native_dropout rand_like randn_like";

/// Too costly to recompute, where the allowlist is off.
const COMPUTE_INTENSIVE: &str = "\
    _efficient_attention_forward _flash_attention_forward _scaled_dot_product_efficient_attention \
    _scaled_dot_product_flash_attention _scaled_mm addmm bmm convolution convolution_backward mm upsample_bilinear2d";

/// Random operators that common subexpression elimination leaves alone.
const NEVER_MERGED: &str = "\
    _fused_dropout _standard_gamma bernoulli binomial dropout multinomial native_dropout normal poisson rand rand_like \
    randint randn randperm rrelu";

/// Tagged `nondeterministic_seeded`.
const SEEDED: &str = "\
    _cudnn_attention_backward _cudnn_attention_forward _cudnn_attention_forward_no_dropout_inplace _cudnn_init_dropout_state \
    _cudnn_rnn _efficient_attention_forward _flash_attention_forward _flash_attention_forward_no_dropout_inplace \
    _fused_dropout _fused_sdp_choice _lstm_mps _nested_tensor_softmax_with_shape _sample_dirichlet \
    _scaled_dot_product_attention_math _scaled_dot_product_attention_math_for_mps _scaled_dot_product_cudnn_attention \
    _scaled_dot_product_cudnn_attention_backward _scaled_dot_product_efficient_attention \
    _scaled_dot_product_efficient_attention_backward _scaled_dot_product_flash_attention \
    _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_fused_attention_overrideable _standard_gamma \
    _triton_scaled_dot_attention alpha_dropout bernoulli binomial cauchy dropout exponential feature_alpha_dropout \
    feature_dropout geometric gru log_normal lstm miopen_rnn multinomial native_dropout normal normal_functional poisson \
    rand rand_like randint randint_like randn randn_like random randperm rnn_relu rnn_tanh rrelu rrelu_with_noise \
    rrelu_with_noise_functional scaled_dot_product_attention uniform";

/// Results that share the storage of the first argument.
const ALIASING: &str = "\
    _conj _neg_view _reshape_alias _unsafe_view adjoint alias as_strided broadcast_to chunk conj detach diagonal expand \
    expand_as flatten imag lift_fresh mH mT matrix_H movedim narrow numpy_T permute positive real reshape reshape_as select \
    slice split split_with_sizes squeeze swapaxes swapdims t transpose unbind unflatten unfold unsafe_chunk unsafe_split \
    unsafe_split_with_sizes unsqueeze view view_as view_as_complex view_as_real";

/// Overloads that are kept for what they do.
const EFFECTS: &[&str] = &[
    "aten._assert_async.msg",
    "aten._assert_scalar.default",
    "aten._assert_tensor_metadata.default",
    "aten._print.default",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
];

static SETS: LazyLock<Sets> = LazyLock::new(|| {
    let set = |lists: &[&str]| {
        let names = lists.iter().flat_map(|l| l.split_whitespace());
        names.map(|n| if n.contains('.') { n.to_owned() } else { format!("aten.{n}") }).collect::<HashSet<_>>()
    };
    Sets {
        recomputable: set(&[RECOMPUTABLE, POINTWISE, VIEWS]),
        symbolic: SYMBOLIC.split_whitespace().map(str::to_owned).collect(),
        views: set(&[VIEWS]),
        random: set(&[RANDOM]),
        compute_intensive: set(&[COMPUTE_INTENSIVE]),
        never_merged: set(&[NEVER_MERGED]),
        seeded: set(&[SEEDED]),
        aliasing: set(&[ALIASING]),
    }
});

struct Sets {
    recomputable: HashSet<String>,
    symbolic: HashSet<String>,
    views: HashSet<String>,
    random: HashSet<String>,
    compute_intensive: HashSet<String>,
    never_merged: HashSet<String>,
    seeded: HashSet<String>,
    aliasing: HashSet<String>,
}

/// `aten.mm` of a call of `aten.mm.default`.
pub fn packet(node: &Node) -> Option<&str> {
    let op = node.op()?;
    op.rsplit_once('.').map(|(packet, _)| packet)
}

fn among(set: &HashSet<String>, node: &Node) -> bool {
    packet(node).is_some_and(|p| set.contains(p))
}

/// Whether a call may be computed again.
pub fn is_recomputable(node: &Node) -> bool {
    match (node.opcode, &node.target) {
        (Opcode::Call, Target::Getitem) => true,
        (Opcode::Call, Target::Operator(name)) => SETS.symbolic.contains(&**name),
        _ => among(&SETS.recomputable, node),
    }
}

/// Whether a call can be part of a fused kernel.
pub fn is_fusible(node: &Node) -> bool {
    is_recomputable(node) || is_random(node)
}

/// Whether a call is a view that costs nothing.
pub fn is_view(node: &Node) -> bool {
    among(&SETS.views, node)
}

/// Whether a call is one of the random operators that may be fused.
pub fn is_random(node: &Node) -> bool {
    among(&SETS.random, node)
}

/// Whether a call is too costly to recompute.
pub fn is_compute_intensive(node: &Node) -> bool {
    among(&SETS.compute_intensive, node)
}

/// Whether two equal calls must stay two: random ones, and `aten.empty`.
pub fn is_never_merged(node: &Node) -> bool {
    among(&SETS.never_merged, node) || packet(node) == Some("aten.empty")
}

/// Whether a call draws random numbers.
pub fn is_seeded(node: &Node) -> bool {
    among(&SETS.seeded, node)
}

/// Whether a call's result shares the storage of its first argument.
pub fn is_aliasing(node: &Node) -> bool {
    among(&SETS.aliasing, node) || is_mutable(node)
}

/// Whether a call changes an argument, by the naming rule of in-place operators: `copy_`, `__iadd__`, out variants.
pub fn is_mutable(node: &Node) -> bool {
    let Some(op) = node.op() else { return false };
    let mut parts = op.rsplitn(3, '.');
    let (overload, name) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let dunder = name.starts_with("__") && name.ends_with("__");
    overload == "out" || overload.ends_with("_out") || (dunder && name.starts_with("__i")) || (!dunder && name.ends_with('_'))
}

/// Whether a call is kept although nobody reads it (torch.fx's `is_impure`).
pub fn is_impure(node: &Node, random_is_impure: bool) -> bool {
    match node.opcode {
        Opcode::Placeholder | Opcode::Output => true,
        Opcode::GetAttr => false,
        Opcode::Call => is_mutable(node) || (random_is_impure && is_seeded(node)) || node.op().is_some_and(|op| EFFECTS.contains(&op)),
    }
}
