"""What a script implements to decide for the compiler."""

import hashlib
from abc import ABC, abstractmethod


class CustomPassBase(ABC):
    """Has an identity, by which caches know it."""

    @abstractmethod
    def uuid(self):
        """What identifies the implementation; None where results must not be cached."""


class CustomGraphPass(CustomPassBase):
    """Edits a graph (`joint_custom_pre_pass`, `joint_custom_post_pass`, `post_grad_custom_pre_pass`, `post_grad_custom_post_pass`)."""

    @abstractmethod
    def __call__(self, graph):
        """Edits an fx.Graph."""


class CustomInferenceAwareGraphPass(CustomGraphPass):
    """Edits a forward or backward, and is told whether there is no backward."""

    @abstractmethod
    def __call__(self, graph, is_inference):
        """Edits an fx.Graph."""


class CustomGraphModulePass(CustomPassBase):
    """Edits a graph module."""

    @abstractmethod
    def __call__(self, gm):
        """Edits an fx.GraphModule."""


class CustomPartitionerFn(CustomPassBase):
    """Splits joint graphs (`custom_partitioner_fn`)."""

    @abstractmethod
    def __call__(self, gm, joint_inputs, **kwargs):
        """The forward and the backward, as graph modules."""


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


def get_custom_graph_passes(custom_pass):
    """The passes of a setting, which is one, several, or None."""
    if custom_pass is None:
        return ()
    return tuple(custom_pass) if isinstance(custom_pass, (list, tuple)) else (custom_pass,)


def get_hash_for_files(paths, extra=""):
    """What identifies the contents of files."""
    hasher = hashlib.sha256(extra.encode("utf-8"))
    for path in paths:
        with open(path, "rb") as file:
            hasher.update(file.read())
    return hasher.digest()


def _apply(passes, gm, is_inference):
    """Runs the passes of a setting on a graph module's graph; None for a joint graph, which is no matter of inference or not."""
    for custom_pass in get_custom_graph_passes(passes):
        if is_inference is not None and isinstance(custom_pass, CustomInferenceAwareGraphPass):
            custom_pass(gm.graph, is_inference=is_inference)
        else:
            custom_pass(gm.graph)


def _check_partitioner(partitioner):
    if not isinstance(partitioner, CustomPartitionerFn):
        raise AssertionError(f"Expected custom_partitioner_fn to be CustomPartitionerFn, got {type(partitioner)}")
