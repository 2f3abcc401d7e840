"""Operators that PyTorch's table of decompositions has rules for and the playground has none."""

NAMES = frozenset(
    """
__iand__ __ilshift__ __ior__ __irshift__ __ixor__ _adaptive_avg_pool2d _addmm_activation _batch_norm_no_update _batch_norm_with_update
_batch_norm_with_update_functional _chunk_cat _euclidean_dist _fused_dropout _fused_rms_norm _fused_rms_norm_backward
_scaled_dot_product_flash_attention_for_cpu _unsafe_index _unsafe_masked_index _unsafe_masked_index_put_accumulate _upsample_bicubic2d_aa
_upsample_bilinear2d_aa _upsample_lanczos2d_aa abs abs_ acos acos_ acosh acosh_ adaptive_max_pool3d add_ addbmm_ addcdiv_ addcmul_ addmm_
addmv_ alias alpha_dropout amax amin any as_strided_copy as_strided_scatter asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_
baddbmm_ batch_norm_backward bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or
bitwise_or_ bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ bucketize cat cauchy cauchy_ ceil ceil_ celu_ clamp_
clamp_max_ clamp_min_ clone complex conj_physical conj_physical_ constant_pad_nd copysign copysign_ cos cos_ cosh cosh_ cudnn_batch_norm
cudnn_batch_norm_backward cumprod cumprod_ cumsum cumsum_ deg2rad_ diag diagonal diagonal_scatter digamma digamma_ div div_ dropout elu_
embedding_dense_backward empty_strided eq eq_ erf erf_ erfc erfc_ erfinv erfinv_ exp exp2 exp2_ exp_ expand expm1 expm1_ exponential
exponential_ fft_fft fft_fft2 fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft
fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn fill_ float_power_ floor floor_ floor_divide_ fmax fmin
fmod fmod_ frac_ frexp full gcd gcd_ ge ge_ gelu_ geometric geometric_ gru gt gt_ hann_window hardsigmoid_ hardswish_ hardtanh_ heaviside_
hinge_embedding_loss hypot hypot_ i0 i0_ igamma igamma_ igammac igammac_ index_add_ index_copy_ index_fill_ index_put_ index_reduce_
is_complex is_same_size isinf isnan item lcm lcm_ ldexp ldexp_ le le_ leaky_relu_ lerp_ lgamma lgamma_ lift lift_fresh log log10 log10_
log1p log1p_ log2 log2_ log_ log_normal log_normal_ logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor
logical_xor_ logit_ lstm lt lt_ margin_ranking_loss masked_fill_ max_pool2d_with_indices max_pool3d_with_indices maximum mean meshgrid
minimum miopen_batch_norm miopen_batch_norm_backward mish_ mul mul_ multilabel_margin_loss_forward mvlgamma mvlgamma_ nan_to_num_
narrow_copy native_dropout ne ne_ neg neg_ new_empty_strided nextafter nextafter_ nll_loss normal normal_ normal_functional pad_sequence
pairwise_distance pdist permute polar pow pow_ prelu prod rad2deg_ randn reciprocal reciprocal_ relu6 relu_ remainder remainder_ renorm_
repeat resize_as rnn_relu rnn_tanh round round_ rsqrt rsqrt_ scatter_ scatter_add_ scatter_reduce_ selu selu_ sgn_ sigmoid sigmoid_ sign
sign_ signbit silu_ sin sin_ sinc_ sinh sinh_ slice slice_scatter special_bessel_j0 special_bessel_j1 special_erfcx special_i0e special_i1
special_i1e special_log_ndtr special_ndtr special_ndtri special_spherical_bessel_j0 special_zeta split_with_sizes split_with_sizes_copy
sqrt sqrt_ square_ squeeze_copy sub sub_ sym_numel tan tan_ tanh tanh_ threshold_ transpose_copy tril_ triu_ true_divide_ trunc trunc_
unbind_copy unfold unfold_copy uniform uniform_ unsqueeze upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_trilinear3d
var var_mean view view_copy where xlogy_ zero_
""".split()
)
