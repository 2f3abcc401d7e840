"""Views in place of dual numbers."""
import torch
import torch.autograd.forward_ad as fwAD
with fwAD.dual_level():
    x=fwAD.make_dual(torch.ones(1,3),torch.ones(1,3)*2)
    y=(x*1); y.squeeze_(0); print(fwAD.unpack_dual(y))
    y=(x*1); y.transpose_(0,1); print(fwAD.unpack_dual(y))
    y=(x*1); y.t_(); print(fwAD.unpack_dual(y))
    y=(x*1); y.unsqueeze_(0); print(fwAD.unpack_dual(y))
