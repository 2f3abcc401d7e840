"""`torch.nn.functional`: a name is looked up when it is first used, in the part that defines it or among the operators."""

import torch

# Names that are operators, by the namespace they are in.
_OPERATORS = {
    "torch": (
        "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc avg_pool1d adaptive_avg_pool1d "
        "relu_ selu_ celu_ rrelu_ prelu hardshrink threshold_ bilinear pixel_shuffle pixel_unshuffle channel_shuffle "
        "native_channel_shuffle pairwise_distance pdist cosine_similarity"
    ),
    "_nn": (
        "avg_pool2d avg_pool3d hardtanh_ elu_ leaky_relu_ gelu softplus softshrink linear one_hot "
        "scaled_dot_product_attention"
    ),
}
# Names that Python defines, by the part of `torch.nn._functional` they are in.
_PARTS = {
    "activation": (
        "threshold relu glu hardtanh relu6 elu selu celu leaky_relu rrelu tanhshrink softsign softmin softmax gumbel_softmax "
        "log_softmax tanh sigmoid hardsigmoid silu mish hardswish dropout alpha_dropout dropout1d dropout2d dropout3d "
        "feature_alpha_dropout _get_softmax_dim"
    ),
    "normalization": (
        "batch_norm instance_norm layer_norm rms_norm group_norm local_response_norm normalize embedding embedding_bag "
        "_verify_batch_size _verify_spatial_size"
    ),
    "pooling": (
        "fractional_max_pool2d_with_indices fractional_max_pool2d fractional_max_pool3d_with_indices fractional_max_pool3d "
        "max_pool1d_with_indices max_pool1d max_pool2d_with_indices max_pool2d max_pool3d_with_indices max_pool3d "
        "max_unpool1d max_unpool2d max_unpool3d lp_pool1d lp_pool2d lp_pool3d adaptive_max_pool1d_with_indices "
        "adaptive_max_pool1d adaptive_max_pool2d_with_indices adaptive_max_pool2d adaptive_max_pool3d_with_indices "
        "adaptive_max_pool3d adaptive_avg_pool2d adaptive_avg_pool3d"
    ),
    "loss": (
        "ctc_loss nll_loss poisson_nll_loss gaussian_nll_loss kl_div cross_entropy binary_cross_entropy "
        "binary_cross_entropy_with_logits linear_cross_entropy smooth_l1_loss huber_loss l1_loss mse_loss "
        "margin_ranking_loss hinge_embedding_loss multilabel_margin_loss soft_margin_loss multilabel_soft_margin_loss "
        "cosine_embedding_loss multi_margin_loss triplet_margin_loss triplet_margin_with_distance_loss"
    ),
    "vision": (
        "upsample interpolate upsample_nearest upsample_bilinear grid_sample affine_grid pad unfold fold"
    ),
    "attention": "multi_head_attention_forward _canonical_mask _none_or_dtype _mha_shape_check",
}
_HOME = {name: part for part, names in _PARTS.items() for name in names.split()}
_OPERATOR_HOME = {name: space for space, names in _OPERATORS.items() for name in names.split()}


def __getattr__(name):
    part = _HOME.get(name)
    if part is not None:
        module = __import__(f"torch.nn._functional.{part}", fromlist=[name])
        value = getattr(module, name)
    elif name == "logsigmoid":
        value = torch._C._nn.log_sigmoid
    elif name in _OPERATOR_HOME:
        value = getattr(torch if _OPERATOR_HOME[name] == "torch" else torch._C._nn, name)
    else:
        from torch._absent import attribute_error

        raise attribute_error("torch.nn.functional", name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_HOME, *_OPERATOR_HOME, "logsigmoid"})
