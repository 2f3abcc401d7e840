"""Exceptions of Dynamo."""

import sys


class TorchDynamoException(RuntimeError):
    """What `torch.compile` raises of its own."""


class ShortenTraceback(TorchDynamoException):
    """One whose traceback says nothing to a script."""


class InternalTorchDynamoError(TorchDynamoException):
    """Dynamo failed."""


class Unsupported(TorchDynamoException):
    """Something that cannot be captured."""


class UncapturedHigherOrderOpError(Unsupported):
    """A function given to an operator that takes functions cannot be captured."""


class RecompileError(TorchDynamoException):
    """A compiled function would have been compiled again where that is an error."""


class FailOnRecompileLimitHit(Exception):
    """A function was compiled as often as it may be, and may not run as it is."""


class UserError(Unsupported):
    """Something that the script should say otherwise."""


class TorchRuntimeError(TorchDynamoException):
    """A call that failed while it was captured, and would in eager mode."""


class BackendCompilerFailed(ShortenTraceback):
    """A backend raised while it compiled a graph."""

    def __init__(self, backend_fn, inner_exception, first_useful_frame=None):
        self.backend_name = backend_fn if isinstance(backend_fn, str) else getattr(backend_fn, "__name__", "?")
        self.inner_exception = inner_exception
        hint = (
            "Set TORCHDYNAMO_VERBOSE=1 for the full Dynamo stack trace (please do this especially if you're reporting a bug "
            'to PyTorch). For even more developer context, set TORCH_LOGS="+dynamo"\n'
        )
        config = sys.modules.get("torch._dynamo.config")
        if config is not None and config.verbose:
            hint = ""
        raised = f"{type(inner_exception).__name__}: {inner_exception}"
        super().__init__(f"backend={self.backend_name!r} raised:\n{raised}\n\n{hint}")


class InvalidBackend(TorchDynamoException):
    """A name that is no backend's."""

    def __init__(self, name):
        super().__init__(f"Invalid backend: {name!r}. See `torch._dynamo.list_backends()` for available backends.")
