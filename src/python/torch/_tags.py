"""`torch.Tag`: what is said of operators in general, and of which it is said."""

import enum
import functools

Tag = enum.Enum("Tag", {name: i for i, name in enumerate("""
    core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace inplace_view maybe_aliasing_or_mutating
    needs_contiguous_strides needs_exact_strides needs_fixed_stride_order nondeterministic_bitwise nondeterministic_seeded out out_variant
    pointwise pt2_compliant_tag reduction view_copy
""".split())}, module="torch")  # fmt: skip
Tag.__doc__ = "What is said of an operator."
Tag.__repr__ = lambda self: f"<Tag.{self.name}: {self.value}>"
Tag.__str__ = lambda self: f"Tag.{self.name}"

# By tag the operators of ATen (others with their namespace), with their overloads where there are more than the default one.
# Source: PyTorch, native_functions.yaml and tags.yaml.
_TABLE = {
    "core": """
        _adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _cdist_forward _embedding_bag _fft_c2r _fft_r2c _local_scalar_dense
        _log_softmax _native_batch_norm_legit:,no_stats _native_batch_norm_legit_no_training _softmax _to_copy abs acos acosh adaptive_avg_pool1d
        add:Scalar,Tensor addmm alias amax amin any:,dim,dims arange:start_step argmax argmin as_strided asin asinh atan atan2 atanh avg_pool1d
        avg_pool2d avg_pool2d_backward avg_pool3d bitwise_and:Scalar,Tensor bitwise_not bitwise_or:Scalar,Tensor bitwise_xor:Scalar,Tensor bmm cat
        ceil clamp:,Tensor clone col2im constant_pad_nd convolution convolution_backward copy cos cosh cumsum diagonal
        div:Scalar,Scalar_mode,Tensor,Tensor_mode elu embedding embedding_dense_backward empty:memory_format empty_strided eq:Scalar,Tensor erf exp
        expand expm1 fill:Scalar flip floor fmod:Scalar,Tensor full full_like gather ge:Scalar,Tensor gelu grid_sampler_2d gt:Scalar,Tensor hardtanh
        index:Tensor index_put index_select isinf isnan le:Scalar,Tensor leaky_relu log log10 log1p log2 logical_and logical_not logical_or
        logical_xor lt:Scalar,Tensor masked_scatter max:dim max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d_with_indices maximum
        mean:,dim min:dim minimum mm mul:Scalar,Tensor native_dropout native_group_norm native_group_norm_backward native_layer_norm
        native_layer_norm_backward ne:Scalar,Tensor neg nonzero permute pow:Scalar,Tensor_Scalar,Tensor_Tensor prod:,dim_int rand randn randperm
        reciprocal reflection_pad1d reflection_pad2d reflection_pad3d relu remainder:Scalar,Tensor repeat replication_pad2d replication_pad3d
        resize_ round rsqrt scalar_tensor scatter:src,value scatter_add scatter_reduce:two select:int select_scatter sigmoid sign sin sinh
        slice:Tensor slice_scatter sort split_with_sizes sqrt squeeze:dim,dims sub:Scalar,Tensor sum:dim_IntList tan tanh topk trunc unsqueeze
        upsample_bilinear2d:vec upsample_nearest2d:vec var:correction,dim view where:self
    """,
    "data_dependent_output": """
        _local_scalar_dense allclose equal item
    """,
    "dynamic_output_shape": """
        _ctc_loss:,Tensor _unique _unique2 argwhere bincount index:Tensor linalg_lstsq masked_select nonzero one_hot repeat_interleave:Tensor
        unique_consecutive unique_dim
    """,
    "generated": """
        _foreach_zero _native_batch_norm_legit_functional bernoulli:Tensor cauchy embedding_renorm exponential geometric log_normal random:,from,to
        rrelu_with_noise_functional uniform zero
    """,
    "inplace": """
        __ilshift__:Scalar,Tensor __irshift__:Scalar,Tensor _foreach_abs_ _foreach_acos_ _foreach_add_:List,Scalar,ScalarList,Tensor
        _foreach_addcdiv_:Scalar,ScalarList,Tensor _foreach_addcmul_:Scalar,ScalarList,Tensor _foreach_asin_ _foreach_atan_ _foreach_ceil_
        _foreach_clamp_max_:List,Scalar,ScalarList _foreach_clamp_min_:List,Scalar,ScalarList _foreach_copy_ _foreach_cos_ _foreach_cosh_
        _foreach_div_:List,Scalar,ScalarList,Tensor _foreach_erf_ _foreach_erfc_ _foreach_exp_ _foreach_expm1_ _foreach_floor_ _foreach_frac_
        _foreach_lerp_:List,Scalar,ScalarList _foreach_lgamma_ _foreach_log10_ _foreach_log1p_ _foreach_log2_ _foreach_log_
        _foreach_maximum_:List,Scalar,ScalarList _foreach_minimum_:List,Scalar,ScalarList _foreach_mul_:List,Scalar,ScalarList,Tensor _foreach_neg_
        _foreach_pow_:List,Scalar,ScalarList _foreach_reciprocal_ _foreach_round_ _foreach_rsqrt_ _foreach_sigmoid_ _foreach_sign_ _foreach_sin_
        _foreach_sinh_ _foreach_sqrt_ _foreach_sub_:List,Scalar,ScalarList _foreach_tan_ _foreach_tanh_ _foreach_trunc_ _foreach_zero_ abs_
        absolute_ acos_ acosh_ add_:Scalar,Tensor addbmm_ addcdiv_ addcmul_ addmm_ addmv_ addr_ alpha_dropout_ arccos_ arccosh_ arcsin_ arcsinh_
        arctan2_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan2_ atan_ atanh_ baddbmm_ bernoulli_:Tensor,float bitwise_and_:Scalar,Tensor
        bitwise_left_shift_:Tensor,Tensor_Scalar bitwise_not_ bitwise_or_:Scalar,Tensor bitwise_right_shift_:Tensor,Tensor_Scalar
        bitwise_xor_:Scalar,Tensor cauchy_ ceil_ celu_ clamp_:,Tensor clamp_max_:,Tensor clamp_min_:,Tensor clip_ copy_ copysign_:Scalar,Tensor cos_
        cosh_ cumprod_ cumsum_ deg2rad_ detach_ digamma_ div_:Scalar,Scalar_mode,Tensor,Tensor_mode divide_:Scalar,Tensor dropout_ elu_
        embedding_renorm_ eq_:Scalar,Tensor erf_ erfc_ erfinv_ exp2_ exp_ expm1_ exponential_ feature_alpha_dropout_ feature_dropout_
        fill_:Scalar,Tensor fill_diagonal_ fix_ float_power_:Scalar,Tensor floor_ floor_divide_:Scalar,Tensor fmod_:Scalar,Tensor frac_ gcd_
        ge_:Scalar,Tensor gelu_ geometric_ greater_:Scalar,Tensor greater_equal_:Scalar,Tensor gt_:Scalar,Tensor hardsigmoid_ hardswish_ hardtanh_
        heaviside_ hypot_ i0_ igamma_ igammac_ index_add_ index_copy_ index_fill_:int_Scalar,int_Tensor index_put_ index_reduce_ lcm_
        le_:Scalar,Tensor leaky_relu_ lerp_:Scalar,Tensor less_:Scalar,Tensor less_equal_:Scalar,Tensor lgamma_ log10_ log1p_ log2_ log_ log_normal_
        logical_and_ logical_not_ logical_or_ logical_xor_ logit_ lt_:Scalar,Tensor masked_fill_:Scalar,Tensor masked_scatter_ mish_
        mul_:Scalar,Tensor multiply_:Scalar,Tensor mvlgamma_ nan_to_num_ ne_:Scalar,Tensor neg_ negative_ nextafter_ normal_
        not_equal_:Scalar,Tensor pow_:Scalar,Tensor put_ rad2deg_ random_:,from,to reciprocal_ relu6_ relu_ remainder_:Scalar,Tensor renorm_ resize_
        resize_as_ round_:,decimals rrelu_ rsqrt_ scatter_:reduce,src,value,value_reduce scatter_add_ scatter_reduce_:two selu_ sgn_ sigmoid_ sign_
        silu_ sin_ sinc_ sinh_ sqrt_ square_ squeeze_:,dim,dims sub_:Scalar,Tensor subtract_:Tensor swapaxes_ swapdims_ t_ tan_ tanh_ threshold_
        transpose_ tril_ triu_ true_divide_:Tensor trunc_ uniform_ unsqueeze_ xlogy_:Scalar_Other,Tensor zero_
    """,
    "inplace_view": """
        as_strided_ detach_ resize_ resize_as_ squeeze_:,dim,dims swapaxes_ swapdims_ t_ transpose_ unsqueeze_
    """,
    "maybe_aliasing_or_mutating": """
        alpha_dropout atleast_1d atleast_2d atleast_3d batch_norm cartesian_prod conj_physical dropout feature_alpha_dropout feature_dropout
        unsafe_chunk
    """,
    "needs_exact_strides": """
        _scaled_mm
    """,
    "nondeterministic_seeded": """
        _sample_dirichlet _scaled_dot_product_attention_math _scaled_dot_product_flash_attention_for_cpu _standard_gamma alpha_dropout
        alpha_dropout_ bernoulli:,Tensor,p bernoulli_:Tensor,float binomial cauchy cauchy_ dropout dropout_ exponential exponential_
        feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ geometric geometric_ gru:data,input log_normal log_normal_
        lstm:data,input multinomial native_dropout normal:Tensor_Tensor,Tensor_float,float_Tensor,float_float normal_ normal_functional poisson
        rand:,generator rand_like:,generator randint:,generator,low,low_generator randint_like:,low_dtype randn:,generator randn_like:,generator
        random:,from,to random_:,from,to randperm:,generator rnn_relu:data,input rnn_tanh:data,input rrelu rrelu_ rrelu_with_noise_functional
        scaled_dot_product_attention uniform uniform_
    """,
    "pointwise": """
        __ilshift__:Scalar,Tensor __lshift__:Scalar,Tensor __rshift__:Scalar,Tensor __xor__:Scalar,Tensor _conj_physical abs acos acos_ acosh acosh_
        add:Scalar,Tensor add_:Scalar,Tensor addcdiv addcdiv_ addcmul addcmul_ angle asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_
        bitwise_and:Scalar,Scalar_Tensor,Tensor bitwise_and_:Scalar,Tensor bitwise_left_shift:Scalar_Tensor,Tensor,Tensor_Scalar
        bitwise_left_shift_:Tensor,Tensor_Scalar bitwise_not bitwise_not_ bitwise_or:Scalar,Scalar_Tensor,Tensor bitwise_or_:Scalar,Tensor
        bitwise_right_shift:Scalar_Tensor,Tensor,Tensor_Scalar bitwise_right_shift_:Tensor,Tensor_Scalar bitwise_xor:Scalar,Scalar_Tensor,Tensor
        bitwise_xor_:Scalar,Tensor ceil ceil_ celu celu_ clamp:,Tensor clamp_:,Tensor clamp_max:,Tensor clamp_max_:,Tensor clamp_min:,Tensor
        clamp_min_:,Tensor clip:,Tensor clip_ clone conj_physical copysign:Scalar,Tensor cos cos_ cosh cosh_ deg2rad deg2rad_ digamma digamma_
        div:Scalar,Scalar_mode,Tensor,Tensor_mode div_:Scalar,Scalar_mode,Tensor,Tensor_mode elu elu_ eq:Scalar,Tensor equal erf erf_ erfc erfc_
        erfinv erfinv_ exp exp2 exp2_ exp_ expm1 expm1_ float_power:Scalar,Tensor_Scalar,Tensor_Tensor float_power_:Scalar,Tensor floor floor_ fmax
        fmin fmod:Scalar,Tensor fmod_:Scalar,Tensor frac frac_ frexp:Tensor gcd ge:Scalar,Tensor gelu gelu_backward gt:Scalar,Tensor hardshrink
        hardsigmoid hardsigmoid_ hardtanh hardtanh_ heaviside hypot hypot_ i0 i0_ igamma igamma_ igammac igammac_ isfinite isinf isnan isneginf
        isposinf lcm ldexp:Tensor le:Scalar,Tensor leaky_relu leaky_relu_ lerp:Scalar,Tensor lerp_:Scalar,Tensor lgamma lgamma_ log log10 log10_
        log1p log1p_ log2 log2_ log_ logaddexp logaddexp2 logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor
        logical_xor_ logit logit_ logit_backward lt:Scalar,Tensor masked_fill:Scalar max:other maximum min:other minimum mish mul:Scalar,Tensor
        mul_:Scalar,Tensor mvlgamma mvlgamma_ nan_to_num nan_to_num_ native_dropout_backward ne:Scalar,Tensor neg neg_ nextafter nextafter_
        polygamma positive pow:Scalar,Tensor_Scalar,Tensor_Tensor pow_:Scalar,Tensor rad2deg rad2deg_ reciprocal reciprocal_ relu relu6 relu_
        remainder:Scalar,Scalar_Tensor,Tensor remainder_:Scalar,Tensor round:,decimals round_:,decimals rrelu rsqrt rsqrt_ rsub:Scalar selu selu_
        sgn sgn_ sigmoid sigmoid_ sigmoid_backward sign sign_ signbit silu silu_ silu_backward sin sin_ sinc sinc_ sinh sinh_ softplus softshrink
        special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t:,n_scalar,x_scalar
        special_chebyshev_polynomial_u:,n_scalar,x_scalar special_chebyshev_polynomial_v:,n_scalar,x_scalar
        special_chebyshev_polynomial_w:,n_scalar,x_scalar special_entr special_erfcx special_hermite_polynomial_h:,n_scalar,x_scalar
        special_hermite_polynomial_he:,n_scalar,x_scalar special_i0e special_i1 special_i1e special_laguerre_polynomial_l:,n_scalar,x_scalar
        special_legendre_polynomial_p:,n_scalar,x_scalar special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1
        special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
        special_shifted_chebyshev_polynomial_t:,n_scalar,x_scalar special_shifted_chebyshev_polynomial_u:,n_scalar,x_scalar
        special_shifted_chebyshev_polynomial_v:,n_scalar,x_scalar special_shifted_chebyshev_polynomial_w:,n_scalar,x_scalar
        special_spherical_bessel_j0 special_xlog1py:,other_scalar,self_scalar special_zeta:,other_scalar,self_scalar sqrt sqrt_ square square_
        sub:Scalar,Tensor sub_:Scalar,Tensor tan tan_ tanh tanh_ tanh_backward threshold threshold_backward true_divide:Tensor trunc trunc_
        where:self xlogy:Scalar_Other,Scalar_Self,Tensor xlogy_:Tensor prims.convert_element_type
    """,
    "reduction": """
        all:,dim,dims amax amin aminmax any:,dim,dims argmax argmin count_nonzero:,dim_IntList linalg_vector_norm logsumexp max:,dim mean:,dim
        min:,dim nansum norm:Scalar,ScalarOpt_dim prod:,dim_int std:,correction,dim std_mean:,correction,dim sum:,dim_IntList var:,correction,dim
        var_mean:,correction,dim
    """,
    "view_copy": """
        alias_copy as_strided_copy detach_copy diagonal_copy expand_copy lift_fresh_copy narrow_copy permute_copy select_copy:int slice_copy:Tensor
        slice_scatter split_copy:Tensor split_with_sizes_copy squeeze_copy:,dim,dims t_copy transpose_copy:int unbind_copy:int unfold_copy
        unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy:,dtype
    """,
}
# Operators of which nothing is said.
_UNTAGGED = ("aten.shallow_copy_data_.default", "prims.convert_element_type.default")


@functools.cache
def _by_operator():
    found = {}
    for name, operators in _TABLE.items():
        for told in operators.split():
            packet, _, overloads = told.partition(":")
            packet = packet if "." in packet else f"aten.{packet}"
            for overload in overloads.split(","):
                found.setdefault(f"{packet}.{overload or 'default'}", []).append(Tag[name])
    return found


# What scripts said of operators of their own.
_said = {}


def say(name, tags):
    """A script says something of an operator of its own."""
    _said[name] = [tags] if isinstance(tags, Tag) else list(tags or ())


def of(name):
    """What is said of an operator."""
    namespace = name.partition(".")[0]
    if name in _said or namespace not in ("aten", "prims"):
        return list(_said.get(name, []))
    own = [] if name in _UNTAGGED else [Tag.pt2_compliant_tag]
    found = sorted([*_by_operator().get(name, []), *own], key=lambda tag: tag.value)
    return found if namespace == "aten" else tuple(found)


__all__ = ["Tag", "of", "say"]
