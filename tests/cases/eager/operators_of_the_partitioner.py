# Which operators may be recomputed, fused, are views.
import operator
import torch
from torch._functorch.partitioners import get_default_op_list, pointwise_ops, OpTypes
ops = get_default_op_list()
aten, prims = torch.ops.aten, torch.ops.prims
names = "add sub mul div mm bmm addmm convolution sum mean relu gelu sigmoid tanh cumsum sort topk max min amax view t permute expand select slice clone _to_copy native_dropout rand_like randn_like rand native_layer_norm _softmax index gather embedding scatter where exp var std argmax empty full zeros arange silu threshold_backward unsqueeze squeeze split cat stack detach alias upsample_bilinear2d".split()
for n in names:
    op = getattr(aten, n)
    print(n, [op in of for of in (ops.fusible_ops, ops.compute_intensive_ops, ops.random_ops, ops.view_ops, ops.recomputable_ops)], op in pointwise_ops())
print(operator.getitem in ops.recomputable_ops, operator.add in ops.recomputable_ops, torch.sym_float in ops.recomputable_ops, operator.mod in ops.fusible_ops)
print(sorted(map(str, ops.random_ops)), type(ops.view_ops).__name__)
print(sorted(str(op) for op in ops.view_ops if str(op).startswith("aten")))
print(len(ops.recomputable_ops - ops.view_ops) > 100, len(ops.fusible_ops) - len(ops.recomputable_ops))
print(prims.convert_element_type in ops.recomputable_ops)
print(get_default_op_list().view_ops <= ops.recomputable_ops)
