"""`functorch`: kept for scripts that say it; its parts are in `torch.func` and `torch._functorch`."""
