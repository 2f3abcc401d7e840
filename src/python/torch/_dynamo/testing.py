"""Backends that count or keep what they are given."""

from torch._dynamo.backends.registry import lookup_backend


class CompileCounter:
    """Counts graphs and their calls, and runs them as they are."""

    def __init__(self):
        self.clear()

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)
        return gm.forward

    def clear(self):
        """Counts from zero."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """Counts graphs and their calls, keeps them, and hands them on to a backend."""

    def __init__(self, backend):
        self.backend = backend
        super().__init__()

    def __call__(self, gm, example_inputs):
        super().__call__(gm, example_inputs)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self):
        """Counts from zero, and forgets the graphs."""
        super().clear()
        self.graphs = []


class EagerAndRecordGraphs:
    """Keeps the graphs, and runs them as they are."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        return gm.forward
