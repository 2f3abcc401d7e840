"""The graph that Dynamo captures of FlexAttention."""

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

torch.manual_seed(0)


def show(gm, inputs):
    outer = gm.graph
    for graph in (outer, gm.score_mod_0.graph, gm.mask_fn_0.graph):
        print("graph")
        for node in graph.nodes:
            print(" ", node.op, node.name, node.target, node.args, node.kwargs)
    return gm


q, k, v = (torch.randn(1, 2, 8, 16) for _ in range(3))
slopes = torch.randn(2)
mask = create_block_mask(lambda b, h, qi, ki: qi >= ki, 1, 1, 8, 8, device="cpu", BLOCK_SIZE=4)


@torch.compile(backend=show)
def f(q, k, v, mask, slopes):
    return flex_attention(q, k, v, score_mod=lambda s, b, h, qi, ki: s + slopes[h] * (qi - ki), block_mask=mask)


print(f(q, k, v, mask, slopes).sum())
