"""What a function that says what results look like may ask for."""

from torch import _native_library as _native


class FakeImplCtx:
    """Makes sizes that only values decide."""

    def new_dynamic_size(self, *, min=0, max=None):
        """A size that only the values of the result decide."""
        import torch

        if isinstance(min, torch.SymInt) or isinstance(max, torch.SymInt):
            raise ValueError(f"ctx.new_dynamic_size(min={min}, max={max}): expected min and max to be statically known ints but got SymInt. This is not supported.")
        if min < 0:
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, ...): expected min to be greater than or equal to 0: this API can only create "
                f"non-negative sizes."
            )
        return _native.new_dynamic_size()

    create_unbacked_symint = new_dynamic_size


def get_ctx():
    """What a fake implementation asks for sizes."""
    return FakeImplCtx()
