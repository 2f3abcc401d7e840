"""Methods of tensors that give none: of a value of the graph they break it, of an input they are known."""
import torch


def value_offset(x):
    y = x.t() + 1
    return y.storage_offset(), y.sum()


def view_offset(x):
    y = x.t()
    y.neg_()
    return y.stride(), y.storage_offset(), x.is_contiguous(), y.clone().stride()


def flags(x):
    y = x[0] * 2
    return (y - 1 if y.is_conj() else y + 1), y.shape


def signed(x):
    y = x.to(torch.uint8)
    return y.is_signed(), x.is_signed(), y + 1


def same(x):
    y = x + 1
    return y.is_same_size(x), y * 2


def shared(x):
    y = x + 1
    return y.is_shared(), y.is_pinned(), y * 2


def set_to(x):
    y = x + 1
    return y.is_set_to(x), y * 2


def inference(x):
    y = x + 1
    return y.is_inference(), y * 2


def dims(x):
    y = x * 2
    return y.dense_dim(), y.sparse_dim(), y.sum()


def turned(x):
    y = x[0] + 1
    return y.T * 2


def of_input(x):
    return x.storage_offset(), x.is_conj(), x.is_signed(), x.is_shared(), x.is_set_to(x), x + 1


for f in (value_offset, view_offset, flags, signed, same, shared, set_to, inference, dims, turned, of_input):
    torch._dynamo.reset()
    x = torch.arange(24.0).reshape(4, 6)[1:3, ::2]
    said = torch._dynamo.explain(f)(x.clone())
    print(f.__name__, said.graph_count, [reason.reason.split("\n")[0] for reason in said.break_reasons])
    print(torch.compile(f)(x))
