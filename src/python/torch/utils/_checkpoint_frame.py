"""Checkpointing without a backward inside of the backward: hooks save a place for each tensor, and the first that is wanted runs the
forward again and fills the places."""

import weakref
from collections import defaultdict

import torch
from torch import _C
from torch.autograd.graph import saved_tensors_hooks

_TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint\u2011debug mode globally.

If this error occurs under torch.compile with automatic_dynamic_shapes enabled,
it may be because the recomputation selected a different compiled graph than the
forward pass (e.g., a dynamic graph instead of the original static graph).
To fix this, either:
  - Use torch._dynamo.mark_dynamic() to explicitly mark varying dimensions as
    dynamic upfront, avoiding the static-to-dynamic transition.
  - Call torch._C._dynamo.eval_frame._set_lru_cache(False) to disable LRU cache
    reordering, which can change which graph is checked first between forward
    and recompute.
See https://github.com/pytorch/pytorch/issues/166926 for more details and
workaround examples.
"""


class CheckpointError(RuntimeError):
    """The second forward was not like the first."""


# What must be the same of a tensor when it is computed again, by the name of the check.
METADATA = {
    "default": lambda tensor: {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device},
    "none": lambda tensor: None,
}


class GraphExecGroup:
    """Backwards inside of one block run a checkpointed forward again once for all of them."""

    _current = None

    def __enter__(self):
        if GraphExecGroup._current is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {GraphExecGroup._current}")
        GraphExecGroup._current = self
        return self

    def __exit__(self, *args):
        GraphExecGroup._current = None

    @classmethod
    def _get_current_group(cls):
        return cls._current


class _StopRecomputation(Exception):
    """All that is wanted has been computed again."""


class _Place:
    """What is saved instead of a tensor: its number among those of the forward. `handles` has, for each backward, whose value it has:
    None once that is used."""

    def __init__(self, number):
        self.number, self.handles = number, {}


class _Handle:
    """The place's share in one backward: what was computed again lives as long as this."""


class _Frame:
    """One checkpointed forward: how to run it again, and what came of that, by backward."""

    def __init__(self, recompute, early_stop, metadata):
        self.recompute, self.early_stop, self.metadata = recompute, early_stop, metadata
        self.inputs = []
        self.places, self.saved_metadata = [], []
        self.recomputed = defaultdict(weakref.WeakKeyDictionary)
        self.counts = defaultdict(int)
        self.is_recomputed = set()
        self.is_complete = False
        # A backward inside of the forward wanted values before all were saved: then the numbers may differ.
        self.was_wanted_early = False

    def pack(self, tensor):
        place = _Place(len(self.places))
        self.places.append(weakref.ref(place))
        with torch.no_grad():
            self.saved_metadata.append(self.metadata(tensor))
        return place

    def unpack(self, place):
        backward = GraphExecGroup._get_current_group() or _C._current_graph_task_id()
        if backward == -1:
            backward = object()
        if backward not in self.is_recomputed:
            self._run_again(backward)
            self.is_recomputed.add(backward)
            self._check(backward)
        if backward not in place.handles:
            raise AssertionError(
                "Something went unexpectedly wrong in activation checkpoint. Please report this bug by filing an issue to PyTorch."
            )
        handle = place.handles[backward]
        if handle is None:
            extra = ""
            if GraphExecGroup._get_current_group() is not None:
                extra = (
                    "Performing two backward calls that overlap (i.e. require the same saved activation in order to compute "
                    "gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
                )
            raise CheckpointError(
                f"torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. {extra}If you are "
                "calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with details "
                "on your use case."
            )
        place.handles[backward] = None
        return self.recomputed[backward][handle]

    def _run_again(self, backward):
        def pack(tensor):
            tensor = tensor.detach() if tensor.requires_grad else tensor
            number = self.counts[backward]
            self.counts[backward] += 1
            if number >= len(self.places):
                if not self.is_complete:
                    self.was_wanted_early = True
                    return tensor
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward "
                    f"pass.\n{_TIP}"
                )
            place = self.places[number]()
            if place is not None:
                handle = place.handles[backward] = _Handle()
                self.recomputed[backward][handle] = tensor
            if self.early_stop and self.counts[backward] == len(self.places):
                raise _StopRecomputation
            return tensor

        inputs = [made.unpack() if isinstance(made, _C._autograd.SavedTensor) else made for made in self.inputs]
        try:
            with _hooks(pack, lambda tensor: tensor), torch.enable_grad():
                self.recompute(inputs)
        except _StopRecomputation:
            pass

    def _check(self, backward):
        """Raises where the second forward saved something else than the first."""
        if self.was_wanted_early:
            return
        if len(self.places) != self.counts[backward]:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.places)}\nNumber of tensors saved during "
                f"recomputation: {self.counts[backward]}.\n{_TIP}"
            )
        different = ""
        for number, place in enumerate(place() for place in self.places):
            if place is None:
                continue
            saved = self.saved_metadata[number]
            now = self.metadata(self.recomputed[backward][place.handles[backward]])
            if saved != now:
                different += f"tensor at position {number}:\nsaved metadata: {saved}\nrecomputed metadata: {now}\n"
        if different:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                f"forward pass.\n{different}.\n{_TIP}"
            )


class _hooks(saved_tensors_hooks):
    """Hooks of a checkpoint. While they are in force, the one that packs knows the script's hooks below them."""

    def __enter__(self):
        self.pack_hook._user_hooks = user_hooks()
        return super().__enter__()

    def __exit__(self, *args):
        del self.pack_hook._user_hooks
        return super().__exit__(*args)


def user_hooks():
    """The script's own hooks that a tensor saved now would go through, below those of checkpoints; None where there are none."""
    hooks = _C._autograd._top_saved_tensors_default_hooks(False)
    while hooks is not None and hasattr(hooks[0], "_user_hooks"):
        hooks = hooks[0]._user_hooks
    return hooks


def forward(run, args, context, recompute, early_stop, metadata, explain):
    """Runs `run` in `context` and has `recompute`, given the inputs `args` again, compute what it saves. `explain` makes a longer
    error of a CheckpointError; None keeps it."""
    frame = _Frame(recompute, early_stop, metadata)
    # Inputs are saved as a node saves them: through the hooks around the call, and nobody may write to them before they are used again.
    frame.inputs = [_C._autograd._make_saved_tensor(arg, False) if isinstance(arg, torch.Tensor) else arg for arg in args]

    def pack(tensor):
        return frame.pack(tensor)

    def unpack(place):
        try:
            return frame.unpack(place)
        except CheckpointError as error:
            if explain is None:
                raise
            raise explain() from error

    is_done = False
    with _hooks(pack, unpack), context:
        result = run()
        is_done = True
    if not is_done:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the "
            "checkpointed forward. This is not supported because checkpoint cannot return a value for a failed forward."
        )
    frame.is_complete = True
    return result
