"""What hooks are kept in that a compiled function registers under compiled autograd."""


class BackwardState:
    """Its attributes are the hooks; the backward of the call that registered them reads them."""

    proxy = None
