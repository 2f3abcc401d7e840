"""Records what PyTorch makes of single operators under Inductor's decomposition table.

Each record is one call as a graph, and the graph traced of the same call with the table.
"""

import json
import sys
import warnings

import torch
import torch._inductor.lowering
from torch._inductor.decomposition import select_decomp_table
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

warnings.filterwarnings("ignore")
aten, prims = torch.ops.aten, torch.ops.prims
F32, F64, BF16, I64, BOOL = torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool


def T(*sizes, dtype=F32):
    return torch.empty(sizes, dtype=dtype)


def I(*sizes):
    return torch.empty(sizes, dtype=I64)


def B(*sizes):
    return torch.empty(sizes, dtype=BOOL)


x, y, col, row, sq, im = T(4, 6), T(4, 6), T(4, 1), T(6), T(5, 5), T(2, 3, 8, 8)
h, last = T(4, 6, dtype=BF16), T(2, 3, 8, 8).to(memory_format=torch.channels_last)
CALLS = []


def call(op, *args, **kwargs):
    CALLS.append((op, args, kwargs))


def unary(*ops):
    for op in ops:
        call(op, x)


# Views
call(aten.t.default, x)
call(aten.t.default, row)
call(aten.transpose.int, im, 1, -1)
call(aten.detach.default, x)
call(aten._unsafe_view.default, x, [24])
call(aten._reshape_alias.default, x, [24], [1])
call(aten.squeeze.dim, col, 1)
call(aten.squeeze.default, col)
call(aten.unbind.int, x)
call(aten.split.Tensor, x, 2)
call(aten.unsafe_split.Tensor, x, 4, 1)
call(aten.unsafe_split_with_sizes.default, x, [1, 3])
call(aten.diagonal_copy.default, sq)
call(aten.alias_copy.default, x)
call(aten.pixel_shuffle.default, T(1, 8, 2, 2), 2)
call(aten.pixel_unshuffle.default, T(1, 2, 4, 4), 2)
call(aten.channel_shuffle.default, T(1, 4, 2, 2), 2)
call(aten.lift.default, x)

# Copies and casts
call(aten._to_copy.default, x, dtype=F64)
call(aten._to_copy.default, x, dtype=BF16)
call(aten._to_copy.default, x)
call(aten._to_copy.default, x.t(), dtype=F64)
call(aten._to_copy.default, I(4), dtype=F32)
call(aten._to_copy.default, im, memory_format=torch.channels_last)
call(aten._to_copy.default, im, dtype=F64, memory_format=torch.channels_last)

# Factories
for name in ("zeros", "ones"):
    call(getattr(aten, name).default, [2, 3], device="cpu", pin_memory=False)
    call(getattr(aten, name).default, [2, 3], dtype=I64, device="cpu", pin_memory=False)
for name in ("zeros_like", "ones_like", "empty_like"):
    call(getattr(aten, name).default, x)
    call(getattr(aten, name).default, x, dtype=I64, pin_memory=False)
    call(getattr(aten, name).default, T(6, 4).t())
    call(getattr(aten, name).default, last)
    call(getattr(aten, name).default, im, memory_format=torch.channels_last)
    call(getattr(aten, name).default, x, memory_format=torch.preserve_format)
call(aten.full_like.default, x, 2)
call(aten.full_like.default, T(6, 4).t(), 2.5)
call(aten.full_like.default, im, 1, memory_format=torch.channels_last)
call(aten.full.default, [2], 1.5, device="cpu", pin_memory=False)
call(aten.full.default, [2], 1, device="cpu", pin_memory=False)
call(aten.full.default, [2], True, device="cpu", pin_memory=False)
call(aten.full.default, [2], 1, dtype=F32, device="cpu", pin_memory=False)
call(aten.new_zeros.default, x, [3])
call(aten.new_ones.default, x, [3], pin_memory=False)
call(aten.new_full.default, x, [3], 7)
call(aten.new_full.default, x, [3], 7, dtype=I64, pin_memory=False)
call(aten.new_empty.default, x, [3])
call(aten.arange.default, 5, device="cpu", pin_memory=False)
call(aten.arange.default, 5, dtype=F32, device="cpu", pin_memory=False)
call(aten.arange.default, 5.5, device="cpu", pin_memory=False)
call(aten.arange.start, 2, 7, device="cpu", pin_memory=False)
call(aten.arange.start_step, 1, 9, 3, device="cpu", pin_memory=False)
call(aten.arange.start_step, 1.0, 2.0, 0.25, device="cpu", pin_memory=False)
call(aten.linspace.default, 0, 1, 5, device="cpu", pin_memory=False)
call(aten.linspace.default, 0, 1, 1, device="cpu", pin_memory=False)
call(aten.logspace.default, 0, 1, 5, device="cpu", pin_memory=False)
call(aten.eye.default, 3, device="cpu", pin_memory=False)
call(aten.eye.m, 3, 4, device="cpu", pin_memory=False)
call(aten.fill.Scalar, x, 3)
call(aten.fill.Tensor, x, T())
call(aten.zero.default, x)

# Products
call(aten.mm.default, x, T(6, 3))
call(aten.mm.default, T(1, 6), T(6, 1))
call(aten.mm.default, T(4, 1), T(1, 3))
call(aten.mm.default, T(40, 1), T(1, 30))
call(aten.bmm.default, T(2, 3, 1), T(2, 1, 4))
call(aten.bmm.default, T(2, 1, 3), T(2, 3, 1))
call(aten.bmm.default, T(2, 4, 3), T(2, 3, 2))
call(aten.addmm.default, T(3), x, T(6, 3))
call(aten.addmm.default, T(3), T(1, 6), T(6, 3))
call(aten.addmm.default, T(1), T(1, 6), T(6, 1))
call(aten.addmm.default, T(3), T(1, 6), T(6, 3), beta=2, alpha=0.5)
call(aten.addmv.default, T(4), x, row)
call(aten.mv.default, x, row)
call(aten.dot.default, row, row)
call(aten.vdot.default, row, row)
call(aten.addr.default, x, T(4), T(6))

# Pointwise
unary(aten.silu.default, aten.gelu.default, aten.elu.default, aten.celu.default, aten.hardtanh.default, aten.leaky_relu.default)
unary(aten.softplus.default, aten.softshrink.default, aten.hardshrink.default, aten.hardsigmoid.default, aten.hardswish.default)
unary(aten.mish.default, aten.log_sigmoid_forward.default, aten.sgn.default, aten.special_entr.default, aten.special_log_ndtr.default)
unary(aten.logit.default, aten.nan_to_num.default, aten.frac.default, aten.deg2rad.default, aten.rad2deg.default, aten.sinc.default)
unary(aten.angle.default, aten.isposinf.default, aten.isneginf.default)
call(aten.gelu.default, x, approximate="tanh")
call(aten.silu.default, h)
call(aten.gelu.default, h)
call(aten.hardswish.default, h)
call(aten.logit.default, x, 0.1)
call(aten.round.decimals, x, decimals=2)
call(aten.threshold.default, x, 0.5, 2)
call(aten.clamp.default, x, -1, 1)
call(aten.clamp.default, x, None, 1)
call(aten.clamp.Tensor, x, y, None)
call(aten.clamp_min.default, x, 0)
call(aten.rsub.Scalar, x, 2)
call(aten.rsub.Tensor, x, y, alpha=2)
call(aten.logaddexp.default, x, y)
call(aten.logaddexp2.default, x, y)
call(aten.xlogy.Tensor, x, y)
call(aten.special_xlog1py.default, x, y)
call(aten.heaviside.default, x, y)
call(aten.fmin.default, x, y)
call(aten.fmax.default, x, y)
call(aten.floor_divide.default, x, y)
call(aten.floor_divide.Scalar, x, 2)
call(aten.lerp.Scalar, x, y, 0.25)
call(aten.lerp.Scalar, x, y, 0.75)
call(aten.lerp.Tensor, x, y, T(4, 6))
call(aten.addcmul.default, x, y, y, value=2)
call(aten.masked_fill.Scalar, x, B(4, 6), 1.5)
call(aten.masked_fill.Scalar, x, B(4, 6), -float("inf"))
call(aten.masked_fill.Scalar, I(4), B(4), 2)
call(aten.masked_fill.Tensor, x, B(6), T())
call(aten._prelu_kernel.default, x, T(1, 1))
call(aten.copysign.Tensor, x, y)
call(aten.conj_physical.default, x)

# Their gradients
unary_grads = [aten.tanh_backward.default, aten.sigmoid_backward.default, aten.silu_backward.default, aten.gelu_backward.default]
unary_grads += [aten.hardsigmoid_backward.default, aten.hardswish_backward.default, aten.mish_backward.default]
for op in unary_grads:
    call(op, x, y)
call(aten.gelu_backward.default, x, y, approximate="tanh")
call(aten.gelu_backward.default, h, h)
call(aten.silu_backward.default, h, h)
call(aten.tanh_backward.default, h, h)
call(aten.threshold_backward.default, x, y, 0)
call(aten.leaky_relu_backward.default, x, y, 0.01, False)
call(aten.elu_backward.default, x, 1, 1, 1, False, y)
call(aten.elu_backward.default, x, 1, 1, 1, True, y)
call(aten.hardtanh_backward.default, x, y, -1, 1)
call(aten.softplus_backward.default, x, y, 1, 20)
call(aten.softshrink_backward.default, x, y, 0.5)
call(aten.hardshrink_backward.default, x, y, 0.5)
call(aten.logit_backward.default, x, y)
call(aten.logit_backward.default, x, y, 0.1)
call(aten.glu_backward.default, T(4, 3), x, 1)
call(aten._prelu_kernel_backward.default, x, y, T(1, 1))
call(aten.rrelu_with_noise_backward.default, x, y, x, 0.1, 0.3, True, False)

# Reductions
call(aten.sum.default, x)
call(aten.sum.dim_IntList, x, [1])
call(aten.mean.default, x)
call(aten.amax.default, x, [1])
call(aten.amax.default, B(4, 6), [1])
call(aten.amin.default, B(4, 6), [1], True)
call(aten.aminmax.default, x)
call(aten.aminmax.default, x, dim=1)
call(aten.all.default, B(4, 6))
call(aten.all.dim, B(4, 6), 1)
call(aten.all.dims, B(4, 6), [0, 1])
call(aten.logsumexp.default, x, [1])
call(aten.linalg_vector_norm.default, x)
call(aten.linalg_vector_norm.default, x, 1, [1])
call(aten.linalg_vector_norm.default, x, float("inf"), [1], True)
call(aten.linalg_vector_norm.default, x, 3.0, [0])
call(aten.norm.ScalarOpt_dim, x, 2, [1])
call(aten.norm.ScalarOpt_dim, x, 2, [1], True)
call(aten.dist.default, x, y)
call(aten.std.correction, x, [1])
call(aten.std.correction, x, [1], correction=0, keepdim=True)
call(aten.std_mean.correction, x, [1])
call(aten.var_mean.correction, x, [1])
call(aten.nansum.default, x)
call(aten.count_nonzero.default, x)
call(aten.count_nonzero.dim_IntList, x, [1])
call(aten.trace.default, sq)
call(aten.renorm.default, x, 2, 0, 1.0)

# Softmax
for dim in (-1, 0):
    call(aten._softmax.default, x, dim, False)
    call(aten._log_softmax.default, x, dim, False)
    call(aten._softmax_backward_data.default, x, y, dim, F32)
    call(aten._log_softmax_backward_data.default, x, y, dim, F32)
call(aten._softmax.default, h, -1, False)
call(aten._log_softmax.default, h, -1, False)
call(aten._softmax_backward_data.default, h, h, -1, BF16)
call(aten._log_softmax_backward_data.default, h, h, -1, BF16)
call(aten._safe_softmax.default, x, -1)

# Normalization
call(aten.native_layer_norm.default, x, [6], row, row, 1e-5)
call(aten.native_layer_norm.default, x, [4, 6], None, None, 1e-5)
call(aten.native_layer_norm.default, h, [6], T(6, dtype=BF16), T(6, dtype=BF16), 1e-5)
call(aten.native_layer_norm_backward.default, x, x, [6], col, col, row, row, [True, True, True])
call(aten.native_layer_norm_backward.default, x, x, [6], col, col, row, row, [True, False, False])
call(aten.native_layer_norm_backward.default, x, x, [6], col, col, None, None, [True, False, False])
call(aten.native_group_norm.default, im, T(3), T(3), 2, 3, 64, 3, 1e-5)
call(aten.native_group_norm.default, im, None, None, 2, 3, 64, 1, 1e-5)
call(aten.native_group_norm_backward.default, im, im, T(2, 3), T(2, 3), T(3), 2, 3, 64, 3, [True, True, True])
c = T(3)
call(aten.native_batch_norm.default, im, c, c, c, c, False, 0.1, 1e-5)
call(aten._native_batch_norm_legit_functional.default, im, c, c, c, c, True, 0.1, 1e-5)
call(aten._native_batch_norm_legit.no_stats, im, c, c, True, 0.1, 1e-5)
call(aten._native_batch_norm_legit_no_training.default, im, c, c, c, c, 0.1, 1e-5)
call(aten.native_batch_norm_backward.default, im, im, c, c, c, c, c, True, 1e-5, [True, True, True])
call(aten.native_batch_norm_backward.default, im, im, c, c, c, c, c, False, 1e-5, [True, True, True])
call(aten.native_batch_norm_backward.default, im, im, None, c, c, c, c, True, 1e-5, [True, False, False])
call(aten._weight_norm_interface.default, x, T(4, 1), 0)

# Losses
for r in (0, 1, 2):
    call(aten.mse_loss.default, x, y, r)
    call(aten.smooth_l1_loss.default, x, y, r, 1.0)
    call(aten.huber_loss.default, x, y, r, 1.0)
    call(aten.binary_cross_entropy.default, x, y, None, r)
    call(aten.binary_cross_entropy_with_logits.default, x, y, None, None, r)
    call(aten.soft_margin_loss.default, x, y, r)
    call(aten.nll_loss_forward.default, x, I(4), None, r, -100)
    call(aten.nll_loss_forward.default, x, I(4), row, r, 2)
    call(aten.nll_loss2d_forward.default, im, I(2, 8, 8), None, r, -100)
g = T()
for grad, r in ((x, 0), (g, 1), (g, 2)):
    call(aten.mse_loss_backward.default, grad, x, y, r)
    call(aten.smooth_l1_loss_backward.default, grad, x, y, r, 1.0)
    call(aten.huber_loss_backward.default, grad, x, y, r, 1.0)
    call(aten.binary_cross_entropy_backward.default, grad, x, y, None, r)
    call(aten.soft_margin_loss_backward.default, grad, x, y, r)
for r, grad in ((0, T(4)), (1, g), (2, g)):
    call(aten.nll_loss_backward.default, grad, x, I(4), None, r, -100, g)
    call(aten.nll_loss_backward.default, grad, x, I(4), row, r, 2, g)
call(aten.nll_loss2d_backward.default, g, im, I(2, 8, 8), None, 1, -100, g)
call(aten.binary_cross_entropy.default, x, y, x, 1)
call(aten.binary_cross_entropy_with_logits.default, x, y, row, row, 1)
call(aten.multi_margin_loss.default, x, I(4))

# Indexing
call(aten.embedding.default, x, I(3))
call(aten.embedding_dense_backward.default, T(3, 6), I(3), 4, -1, False)
call(aten.embedding_dense_backward.default, T(2, 3, 6), I(2, 3), 4, 2, False)
call(aten.embedding_dense_backward.default, T(3, 6), I(3), 4, -1, True)
call(aten.index_select.default, x, 0, I(3))
call(aten.index_select.default, x, 1, I(3))
call(aten.index_add.default, x, 0, I(2), T(2, 6))
call(aten.index_add.default, x, 1, I(2), T(4, 2), alpha=2)
call(aten.index_copy.default, x, 0, I(2), T(2, 6))
call(aten.index_fill.int_Scalar, x, 1, I(2), 3)
call(aten.index_fill.int_Tensor, x, 1, I(2), T())
call(aten.narrow_copy.default, x, 0, 1, 2)
call(aten.linalg_cross.default, T(4, 3), T(4, 3), dim=1)
call(aten.select_backward.default, T(6), [4, 6], 0, 1)
call(aten.slice_backward.default, T(2, 6), [4, 6], 0, 1, 3, 1)
call(aten.diagonal_backward.default, T(5), [5, 5], 0, 0, 1)
call(aten.unfold_backward.default, T(4, 2, 3), [4, 6], 1, 3, 3)
call(aten._unsafe_index_put.default, x, [I(3)], T(3, 6), True)
call(aten.take.default, x, I(3))
call(aten.put.default, x, I(3), T(3), True)
call(aten.masked_scatter.default, x, B(4, 6), T(24))
call(aten.scatter_add.default, x, 0, I(4, 6), y)
call(aten.select_scatter.default, x, row, 0, 1)
call(aten.slice_scatter.default, x, T(2, 6), 0, 1, 3)
call(aten.tril.default, sq)
call(aten.tril.default, B(5, 5))
call(aten.triu.default, x, 1)

# Joining and moving
call(aten.cat.default, [x, y])
call(aten.cat.default, [x])
call(aten.cat.default, [x, x], 1)
call(aten.cat.default, [x, T(0), y])
call(aten.stack.default, [x, y])
call(aten.stack.default, [x, y], -1)
call(aten.flip.default, x, [0])
call(aten.roll.default, x, [1], [0])
call(aten.roll.default, x, [2])
call(aten.roll.default, x, [1, 2], [0, 1])
call(aten.rot90.default, x)
call(aten.diag_embed.default, row)
call(aten.constant_pad_nd.default, x, [1, 1])

# Images
call(aten.max_pool2d_with_indices.default, im, [2, 2], [2, 2])
call(aten.max_pool2d_with_indices.default, im, [3, 3], [2, 2], [1, 1])
call(aten.max_pool2d_with_indices_backward.default, T(2, 3, 4, 4), im, [2, 2], [2, 2], [0, 0], [1, 1], False, I(2, 3, 4, 4))
call(aten.avg_pool2d_backward.default, T(2, 3, 4, 4), im, [2, 2], [2, 2], [0, 0], False, True, None)
call(aten._adaptive_avg_pool2d.default, im, [2, 2])
call(aten._adaptive_avg_pool2d_backward.default, T(2, 3, 2, 2), im)
call(aten.reflection_pad1d.default, T(2, 3, 8), [1, 2])
call(aten.reflection_pad2d.default, im, [1, 1, 2, 2])
call(aten.replication_pad1d.default, T(2, 3, 8), [1, 2])
call(aten.replication_pad2d.default, im, [1, 1, 2, 2])
call(aten.upsample_nearest1d.default, T(2, 3, 8), [16], None)
call(aten.upsample_nearest2d.default, im, [16, 16], 2.0, 2.0)
call(aten._upsample_nearest_exact2d.default, im, [12, 20])
call(aten.upsample_nearest3d.default, T(1, 2, 4, 4, 4), [8, 8, 8])
call(aten.im2col.default, im, [2, 2], [1, 1], [0, 0], [2, 2])
call(aten.col2im.default, T(2, 12, 16), [8, 8], [2, 2], [1, 1], [0, 0], [2, 2])
call(aten.convolution_backward.default, im, im, T(3, 3, 1, 1), [3], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True])

# Random numbers
call(aten.native_dropout.default, x, 0.25, True)
call(aten.native_dropout.default, x, 0.0, True)
call(aten.native_dropout.default, x, 0.5, False)
call(aten.native_dropout_backward.default, x, B(4, 6), 1.25)
call(aten.rand_like.default, x)
call(aten.rand_like.default, T(6, 4).t())
call(aten.randn_like.default, x, pin_memory=False)
call(aten.randint.default, 5, [3], device="cpu", pin_memory=False)
call(aten.randint_like.default, x, 5)
call(aten.bernoulli.default, x)
call(aten.bernoulli.p, x, 0.5)
call(aten.randint_like.low_dtype, x, 2, 5)
call(aten.uniform.default, x, 1, 2)
call(aten.normal.Tensor_float, x, 2.0)
call(aten.normal.float_Tensor, 1.0, x)
call(aten.normal.Tensor_Tensor, x, y)
call(aten.log_normal.default, x)
call(aten.geometric.default, x, 0.5)
call(aten.cauchy.default, x, 1.0, 2.0)
call(aten.normal_functional.default, x, 1, 2)
call(aten.exponential.default, x, 2)
call(aten.normal.float_float, 0.0, 1.0, [3], device="cpu", pin_memory=False)

# The same of other layouts, dimensions and dtypes
z = T(2, 3, 4)
call(aten.linalg_vector_norm.default, z, 2, [-1])
call(aten.linalg_vector_norm.default, z, 2, [-1], True)
call(aten.linalg_vector_norm.default, z, 1, [-2, -1])
call(aten.linalg_vector_norm.default, z, float("inf"), [-1])
call(aten.linalg_vector_norm.default, z, 0, [-1])
call(aten.linalg_vector_norm.default, T(2, 3, dtype=BF16), 2, [-1])
call(aten.linalg_vector_norm.default, z, 2, [-1], False, dtype=F64)
call(aten.norm.ScalarOpt_dim, z, 2, [-1])
call(aten.norm.ScalarOpt_dim, z, 1, [0, -1])
call(aten.logsumexp.default, z, [-1], True)
call(aten.logsumexp.default, z, [-1])
call(aten.std.correction, z, [-1])
call(aten.nansum.default, z, [-1])
call(aten.count_nonzero.default, z, -1)
call(aten.count_nonzero.dim_IntList, z, [-1])
call(aten.flip.default, z, [-1])
call(aten.stack.default, [z, z], -2)
call(aten.cat.default, [z, T(2, 3, 5)], -1)
call(aten.index_select.default, z, -1, I(2))
call(aten.index_add.default, z, -1, I(2), T(2, 3, 2))
call(aten.roll.default, z, [-1], [-1])
call(aten.select_backward.default, T(2, 3), [2, 3, 4], -1, -1)
call(aten.slice_backward.default, T(2, 3, 2), [2, 3, 4], -1, -3, -1, 1)
call(aten.renorm.default, z, 2, -1, 1.0)
call(aten.glu_backward.default, T(2, 3, 2), z, -1)
call(aten.diag_embed.default, z, 1)
call(aten.diag_embed.default, z, -1, 0, 2)
call(aten.linalg_cross.default, T(4, 3), T(4, 3))
call(aten._softmax.default, z.transpose(0, 2), -1, False)
call(aten._log_softmax.default, T(0, 3), -1, False)
call(aten._softmax.default, T(), -1, False)
call(aten.native_layer_norm.default, z.transpose(0, 2), [2], T(2), T(2), 1e-5)
call(aten.native_layer_norm_backward.default, z.transpose(0, 2), z.transpose(0, 2), [2], T(4, 3, 1), T(4, 3, 1), T(2), T(2), [True, True, True])
call(aten.native_layer_norm_backward.default, T(2, 3, dtype=BF16), T(2, 3, dtype=BF16), [3], T(2, 1), T(2, 1), T(3, dtype=BF16), T(3, dtype=BF16), [True, True, True])
call(aten.native_group_norm.default, im, T(3), None, 2, 3, 64, 3, 1e-5)
call(aten.native_group_norm.default, last, T(3), T(3), 2, 3, 64, 3, 1e-5)
call(aten.native_group_norm.default, T(2, 4, 6), T(4), T(4), 2, 4, 6, 2, 1e-5)
call(aten.native_group_norm_backward.default, im, im, T(2, 1), T(2, 1), None, 2, 3, 64, 1, [True, False, False])
call(aten._native_batch_norm_legit_functional.default, T(4, 3), c, c, c, c, True, 0.1, 1e-5)
call(aten._native_batch_norm_legit_functional.default, last, c, c, c, c, True, 0.1, 1e-5)
call(aten._native_batch_norm_legit_functional.default, T(2, 3, 4, dtype=BF16), c, c, c, c, True, 0.1, 1e-5)
call(aten.native_batch_norm_backward.default, T(4, 3), T(4, 3), c, c, c, c, c, True, 1e-5, [True, True, True])
call(aten.max_pool2d_with_indices_backward.default, T(3, 4, 4), T(3, 8, 8), [2, 2], [2, 2], [0, 0], [1, 1], False, I(3, 4, 4))
call(aten.max_pool2d_with_indices.default, last, [3, 3], [2, 2], [1, 1], [1, 1], True)
call(aten.nll_loss_forward.default, T(6), I(), None, 1, -100)
call(aten.nll_loss_backward.default, T(), T(6), I(), None, 1, -100, T())
call(aten.embedding_dense_backward.default, T(3, 6, dtype=BF16), I(3), 4, -1, False)
call(aten.mse_loss.default, h, h, 1)
call(aten.binary_cross_entropy_with_logits.default, h, h, None, None, 1)
call(aten.addmm.default, T(3, dtype=BF16), T(1, 6, dtype=BF16), T(6, 3, dtype=BF16))
call(aten.threshold_backward.default, h, h, 0)
call(aten.masked_fill.Scalar, h, B(4, 6), 1)
call(aten.clamp.default, I(4), 0, 3)
call(aten.clamp.default, I(4), 0.5, 3)
call(aten.gelu.default, x.t())
call(aten.softplus.default, x, 2, 20)
call(aten.softplus.default, x, 1.0, 20.0)
call(aten.celu.default, x, 0.5)
call(aten.elu.default, x, 0.5)
call(aten.native_dropout.default, x.t(), 0.25, True)
call(aten.native_dropout.default, h, 0.25, True)
call(aten.native_dropout.default, last, 0.25, True)
call(aten.sinc.default, I(4))
call(aten.xlogy.Tensor, I(4), I(4))
call(aten.reflection_pad2d.default, T(3, 8, 8), [1, 1, 2, 2])
call(aten.constant_pad_nd.default, x, [1, -1], 2.0)
call(aten.ones_like.default, T(1).expand(3, 4))
call(aten.zeros_like.default, z.permute(1, 2, 0))
call(aten.zeros_like.default, z[:, :, ::2])
call(aten.index_fill.int_Scalar, I(4, 6), 0, I(2), 3)
call(aten._prelu_kernel.default, im, T(1, 3, 1, 1))
call(aten.upsample_nearest2d.default, last, [16, 16], 2.0, 2.0)
call(aten.tril.default, z)
call(aten.isin.Tensor_Tensor, I(8, 8), I(3))
call(aten.isin.Tensor_Tensor, I(3), I(8, 8), invert=True)
call(aten.isin.Tensor_Scalar, I(3), 2)
call(aten.block_diag.default, [x, row, sq])
call(aten.tril_indices.default, 4, 5, 1)
call(aten.triu_indices.default, 4, 5, -1)
for mode in range(3):
    for padding in range(3):
        call(aten.grid_sampler_2d.default, T(2, 3, 5, 5), T(2, 4, 4, 2), mode, padding, False)
        call(aten.grid_sampler_2d.default, T(2, 3, 5, 5), T(2, 4, 4, 2), mode, padding, True)
call(aten.affine_grid_generator.default, T(2, 2, 3), [2, 3, 4, 2], False)
call(aten.affine_grid_generator.default, T(2, 3, 4), [2, 3, 2, 4, 3], True)
call(aten.adaptive_max_pool2d.default, im, [4, 2])
call(aten.adaptive_max_pool2d.default, im, [1, 1])
call(aten.reflection_pad1d_backward.default, T(2, 3, 11), T(2, 3, 8), [1, 2])
call(aten.reflection_pad2d_backward.default, T(2, 3, 10, 9), im, [0, 1, 2, 0])
call(aten.reflection_pad3d_backward.default, T(2, 5, 5, 5), T(2, 3, 3, 3), [1, 1, 1, 1, 1, 1])


def text(graph):
    return graph.print_readable(print_output=False, include_stride=True, include_device=True, colored=False)


def record(op, args, kwargs, table):
    tensors = []

    def keep(v):
        if isinstance(v, torch.Tensor):
            tensors.append(v)
            return ("tensor", len(tensors) - 1)
        return [keep(i) for i in v] if isinstance(v, list) else v

    plan = [keep(a) for a in args]

    def fill(v, given):
        if isinstance(v, tuple):
            return given[v[1]]
        return [fill(i, given) for i in v] if isinstance(v, list) else v

    def run(*given):
        return op(*[fill(a, given) for a in plan], **kwargs)

    distinct, place = [], {}
    for t in tensors:
        if id(t) not in place:
            place[id(t)] = len(distinct)
            distinct.append(t)

    def inner(*given):
        return run(*[given[place[id(t)]] for t in tensors])

    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(t) for t in distinct]
        with torch.no_grad():
            graph = make_fx(inner, decomposition_table=table, tracing_mode="fake")(*fakes)
            graph.graph.eliminate_dead_code()
            return text(graph)


def main():
    table, records = select_decomp_table(), []
    for op, args, kwargs in CALLS:
        try:
            before = record(op, args, kwargs, {})
            after = record(op, args, kwargs, table)
        except Exception as e:
            print(f"{op}: {type(e).__name__}: {str(e)[:200]}", file=sys.stderr)
            continue
        records.append({"op": str(op), "call": before, "decomposed": after})
    print(json.dumps(records, indent=1))


main()
