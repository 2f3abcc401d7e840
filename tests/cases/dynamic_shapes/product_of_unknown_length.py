import torch

torch._dynamo.config.capture_dynamic_output_shape_ops = True


# The derivative of a product asks whether there is anything to multiply.
@torch.compile(fullgraph=True)
def product(x):
    return x[x > 0].prod()


try:
    product(torch.tensor([1.0, -2.0, 3.0], requires_grad=True)).backward()
except Exception as e:
    print(type(e).__name__, str(e).split(".  (")[0])
print(product(torch.tensor([1.0, -2.0, 3.0])))
