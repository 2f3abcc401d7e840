"""`FxGraphDrawer` draws with pydot, which is a package of its own."""

__all__ = ["FxGraphDrawer"]


class FxGraphDrawer:
    """Draws a graph; without pydot it raises, as PyTorch's does. The page draws graphs, and so does `aot-playground run --emit dot`."""

    def __init__(self, graph_module, name, *args, **kwargs):
        raise RuntimeError(
            "FXGraphDrawer requires the pydot package to be installed. Please install pydot through your favorite Python package manager."
        )
