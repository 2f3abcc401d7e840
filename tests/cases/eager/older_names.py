"""Names of old, and rarer ones: `functorch.make_functional`, `torch.nn.grad`, `skip_init`, counting backends, storages."""
import torch, torch.nn as nn
from functorch import make_functional, make_functional_with_buffers, combine_state_for_ensemble, vmap, grad
torch.manual_seed(0)
net=nn.Sequential(nn.Linear(3,4),nn.Tanh(),nn.Linear(4,2))
f,p=make_functional(net); print(len(p), f(p,torch.ones(2,3)), [q.requires_grad for q in p]); print(f)
f,p,b=make_functional_with_buffers(nn.Sequential(nn.Linear(3,4),nn.BatchNorm1d(4)).eval()); print(len(p),len(b), f(p,b,torch.ones(2,3)).shape)
f,p,b=combine_state_for_ensemble([nn.Linear(3,2) for _ in range(3)]); print(vmap(f,(0,0,None))(p,b,torch.ones(4,3)))
try: make_functional(nn.BatchNorm1d(2))
except RuntimeError as e: print(e)
g=torch.nn.grad.conv2d_input((1,2,5,5),torch.arange(36.).reshape(2,2,3,3),torch.ones(1,2,3,3)); print(g)
print(torch.nn.grad.conv1d_weight(torch.ones(1,2,6),(3,2,3),torch.ones(1,3,4)).shape, torch.nn.grad.conv2d_weight.__name__)
print(torch.nn.utils.skip_init(nn.Linear,2,3)); m=nn.Sequential(nn.Linear(2,2),nn.BatchNorm1d(2)); print(torch.func.replace_all_batch_norm_modules_(m), list(m.buffers()))
from torch._dynamo.testing import CompileCounter, CompileCounterWithBackend, EagerAndRecordGraphs
c=CompileCounter(); h=torch.compile(lambda x:(x+1).sin(),backend=c); h(torch.ones(2)); h(torch.ones(3)); print(c.frame_count,c.op_count); c.clear(); print(c.frame_count)
c=CompileCounterWithBackend("aot_eager"); torch.compile(lambda x:(x+1).sin(),backend=c)(torch.ones(2)); print(c.frame_count,c.op_count,len(c.graphs))
print(torch.ones(4).histogram(2), torch.GradScaler.__name__)
s=torch.arange(6).view(2,3)[1].storage(); print(s, len(s), s[3], list(s), s.untyped().nbytes()); s[0]=9; print(s.tolist())
print(torch.ones(2).untyped_storage().data_ptr()==0, torch.ones(2,3).T.untyped_storage().size())
