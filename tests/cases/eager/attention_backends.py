"""Which ways of computing attention are allowed, and what is used of them."""

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

torch.manual_seed(0)
q = torch.randn(1, 2, 3, 4, requires_grad=True)
for backends in (SDPBackend.MATH, [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], SDPBackend.FLASH_ATTENTION):
    with sdpa_kernel(backends):
        out = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        print(out.grad_fn.name(), torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled())
        print(out.sum(), torch.autograd.grad(out.sum(), q)[0].sum())
print(torch.backends.cuda.flash_sdp_enabled(), SDPBackend.MATH)
torch.backends.cuda.enable_flash_sdp(False)
print(F.scaled_dot_product_attention(q, q, q).grad_fn.name(), torch.backends.cuda.flash_sdp_enabled())
torch.backends.cuda.enable_flash_sdp(True)
try:
    with sdpa_kernel(3):
        pass
except AssertionError as error:
    print(error)
try:
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        F.scaled_dot_product_attention(q, q, q)
except RuntimeError as error:
    print(str(error).split("\n")[0])


@torch.compile(backend="aot_eager")
def attend(x):
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(x, x, x).sum()


print(attend(q))
