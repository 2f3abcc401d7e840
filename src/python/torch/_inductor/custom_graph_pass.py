"""What a script implements to decide for the compiler."""

from abc import ABC, abstractmethod


class CustomPassBase(ABC):
    """Has an identity, by which caches know it."""

    @abstractmethod
    def uuid(self):
        """What identifies the implementation; None where results must not be cached."""


class CustomRuntimeEstimator(CustomPassBase):
    """Says what computing a node costs (`activation_memory_budget_runtime_estimator`)."""

    @abstractmethod
    def __call__(self, node):
        """The cost of an fx.Node, in any unit."""


class CustomKnapsackSolver(CustomPassBase):
    """Chooses what a memory budget saves (`activation_memory_budget_solver`)."""

    @abstractmethod
    def __call__(self, memory, joint_graph, max_memory, node_info, all_recomputable_banned_nodes):
        """Two lists of positions among `all_recomputable_banned_nodes`: what is saved, what is recomputed."""
