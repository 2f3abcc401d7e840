"""`PassBase`, which passes are made of, and `PassResult`, which they give."""

import abc
from collections import namedtuple

__all__ = ["PassResult", "PassBase"]


class PassResult(namedtuple("PassResult", ["graph_module", "modified"])):
    """What a pass made, and whether it changed anything."""

    __slots__ = ()

    def __new__(cls, graph_module, modified):
        return super().__new__(cls, graph_module, modified)


class PassBase(abc.ABC):
    """A pass over graphs: `call` is what it does, with what it requires before and ensures behind."""

    def __call__(self, graph_module):
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module):
        """Does it; gives a `PassResult`."""

    def requires(self, graph_module):
        """Raises where the graph is none for this pass."""

    def ensures(self, graph_module):
        """Raises where the graph is not what this pass should have made."""
