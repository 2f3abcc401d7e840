# Sizes and data of torch.Tensor: what is neither is refused, and nothing is left out.
import torch


def attempt(what, make):
    try:
        print(what, tuple(make().shape))
    except TypeError as error:
        print(what, error)


for arguments in [(), (2,), (2, 3), (2, True), (True,), (2.5,), (2, "x"), (2, 2.5), (2, None), (None,), ("x",), (1j,), (object,)]:
    attempt(arguments, lambda: torch.Tensor(*arguments))
attempt("size", lambda: torch.Tensor(size=(2, 3)))
attempt("size", lambda: torch.Tensor(size=(2, "x")))
