"""FlexAttention without a compiler: masks by blocks, how they print, what is refused, values."""

import warnings

import torch
from torch.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)

warnings.simplefilter("ignore")
torch.manual_seed(0)


def causal(b, h, q, kv):
    return q >= kv


def window(b, h, q, kv):
    return q - kv <= 3


document = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2])


def same_document(b, h, q, kv):
    return document[q] == document[kv]


mask = create_block_mask(and_masks(causal, window), 1, 1, 12, 12, device="cpu", BLOCK_SIZE=4)
print(mask)
print(repr(mask), mask.shape, mask.numel(), mask.sparsity())
other = create_block_mask(or_masks(same_document, noop_mask), 2, 3, 12, 12, device="cpu", BLOCK_SIZE=(4, 6))
print(other.to_dense().shape, other.kv_num_blocks, other.full_kv_num_blocks, other.BLOCK_SIZE)
print(other)
print(other.to_string(grid_size=1, limit=1))
by_document = create_block_mask(same_document, None, None, 12, 12, device="cpu", BLOCK_SIZE=4)
print(by_document.kv_num_blocks, by_document.kv_indices, by_document.full_kv_num_blocks, by_document.full_kv_indices)
print(by_document.q_num_blocks, by_document.q_indices, [type(x).__name__ for x in by_document.as_tuple(False)])
whole = create_block_mask(same_document, None, None, 12, 12, device="cpu", BLOCK_SIZE=4, separate_full_blocks=False)
print(whole.full_kv_num_blocks, whole.kv_num_blocks, whole.to("cpu").shape)
ordered = create_block_mask(causal, 1, 1, 12, 12, device="cpu", BLOCK_SIZE=4, compute_dq_write_order=True)
print(ordered.dq_write_order, ordered.dq_write_order_full, ordered.dq_kv_order_spt)
print(create_mask(causal, 1, 1, 4, 4, device="cpu"))
print(create_mask(lambda s, b, h, q, kv: torch.where(q >= kv, s, -float("inf")), 1, 2, 3, 3, device="cpu"))
row = mask[:, :, 1]
print(row.shape, row.kv_indices, mask[0, 0, -1].shape, mask[0, 0, ::2].shape)
print(mask._adjust(8, 8))
blocks = BlockMask.from_kv_blocks(torch.tensor([[[1, 2]]]), torch.tensor([[[[0, 1], [0, 1]]]]), BLOCK_SIZE=4, mask_mod=causal)
print(blocks, blocks.q_num_blocks)

q, k, v = (torch.randn(1, 2, 12, 8) for _ in range(3))
bias = torch.randn(2, 12)
out = flex_attention(q, k, v, score_mod=lambda s, b, h, qi, ki: s + bias[h, ki], block_mask=mask)
print(out.shape, out.sum(), out.stride())
seen = create_mask(and_masks(causal, window), 1, 1, 12, 12, device="cpu")
expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
print(torch.allclose(flex_attention(q, k, v, block_mask=mask), expected, atol=1e-5))
out, lse = flex_attention(q, k, v, return_lse=True)
print(lse.shape, lse.sum())
out, aux = flex_attention(q, k, v, scale=0.5, return_aux=AuxRequest(lse=True))
print(aux.lse.sum(), aux.max_scores)
many = torch.randn(1, 4, 12, 8)
print(flex_attention(many, k, v, enable_gqa=True).sum(), flex_attention(q.double(), k.double(), v.double()).sum())
weight = torch.tensor(0.5, requires_grad=True)
table = torch.randn(2, 12, requires_grad=True)
out = flex_attention(q, k, v, score_mod=lambda s, b, h, qi, ki: s * weight + table[h, qi] * ki)
print(type(out.grad_fn).__name__)
out.square().sum().backward()
print(weight.grad, table.grad.sum(1))

refused = [
    lambda: flex_attention(q[:, :, :4], k, v, block_mask=row),
    lambda: flex_attention(many, k, v),
    lambda: flex_attention(torch.randn(1, 3, 12, 8), k, v, enable_gqa=True),
    lambda: flex_attention(q, k, v, return_aux=AuxRequest(max_scores=True)),
    lambda: flex_attention(q, k, v, return_lse=True, return_aux=AuxRequest(lse=True)),
    lambda: flex_attention(q, k, v, kernel_options={"BACKEND": "CUDA"}),
    lambda: flex_attention(q[:, :, :8], k, v, block_mask=mask),
    lambda: flex_attention(torch.randn(1, 2, 16, 8), k, v, block_mask=mask),
    lambda: flex_attention(q[..., :4], k, v),
    lambda: flex_attention(q[0], k[0], v[0]),
    lambda: flex_attention(q, k, v.clone().requires_grad_()),
    lambda: flex_attention(torch.cat([q, q]), k, v),
    lambda: mask[0, 0, 0, 0],
    lambda: and_masks(1),
    lambda: create_block_mask(lambda s, b, h, q, kv: s, 1, 1, 4, 4, device="cpu"),
    lambda: create_mask(lambda q, kv: q, 1, 1, 4, 4, device="cpu"),
    lambda: row.mask_mod(*torch.zeros(4)),
]
for call in refused:
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__, str(error).split("<function")[0])
