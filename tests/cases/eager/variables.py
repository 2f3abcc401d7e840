"""`Variable` of old, and the storage of a tensor."""
import torch
from torch.autograd import Variable
x=torch.ones(2); v=Variable(x, requires_grad=True); v.data[0]=5; print(x,v,isinstance(x,Variable),type(v),v is x, v.is_leaf)
y=(v*2); z=Variable(y); print(z.requires_grad, z.grad_fn, z.is_leaf)
z=Variable(x); print(z.requires_grad, x._version, isinstance(z, Variable), issubclass(torch.Tensor,Variable), Variable)
for a in [(),(3,),(x,True),(x,True,False)]:
    try: print(Variable(*a))
    except Exception as e: print(type(e).__name__, str(e).splitlines()[0])
w=Variable(torch.FloatTensor([[1,2],[3,4]]).cpu(), requires_grad=True); (w*w).sum().backward(); print(w.grad, w)
try: print(Variable(torch.ones(2,requires_grad=True).exp(), requires_grad=True))
except Exception as e: print(type(e).__name__, e)
print(Variable(torch.tensor([1,2])))
try: print(Variable(torch.tensor([1,2]), requires_grad=True))
except Exception as e: print(type(e).__name__, e)
s=x.untyped_storage(); print(s.nbytes(), s.size(), len(s), x.storage(), x.storage().size(), s.data_ptr()==x.data_ptr(), x.storage()[0], x.storage().tolist(), x.element_size()*x.nelement(), x.storage_offset(), x.storage().dtype)
