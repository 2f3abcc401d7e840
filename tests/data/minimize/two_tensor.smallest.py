from torch.testing._internal.two_tensor import TwoTensor
print(TwoTensor)
