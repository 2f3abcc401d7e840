"""`aot_autograd(...)`: a backend that runs AOTAutograd with the script's own compilers."""


def aot_autograd(**options):
    """A backend for `torch.compile` from compilers of forward and backward graphs."""

    def compiler_fn(gm, example_inputs, **_):
        from torch._functorch.aot_autograd import aot_module_simplified

        given = dict(options)
        fw = given.pop("fw_compiler", None)
        bw = given.pop("bw_compiler", None)
        if bw is not None and not callable(bw):
            bw = None
        return aot_module_simplified(gm, example_inputs, fw_compiler=fw, bw_compiler=bw, **given)

    return compiler_fn
