"""FlexAttention: attention whose scores a function of the script's changes, and whose mask says by blocks what is left out."""

import contextlib
import functools
import inspect
import itertools
import math
import operator
import sys
import warnings
from enum import Enum
from typing import NamedTuple

import torch
import torch.fx.traceback
from torch._higher_order_ops.flex_attention import flex_attention as _operator

__all__ = [
    "BlockMask",
    "flex_attention",
    "AuxOutput",
    "AuxRequest",
    "FlexKernelOptions",
    "create_block_mask",
    "create_mask",
    "or_masks",
    "and_masks",
    "noop_mask",
]

_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = False

_BACKENDS = ("AUTO", "TRITON", "FLASH", "TRITON_DECODE")
_DEFAULT_SPARSE_BLOCK_SIZE = 128
# The size of the one block of a mask that leaves nothing out.
_LARGE_SPARSE_BLOCK_SIZE = 1 << 30

_TOO_SMALL = (
    "block_mask was created for a smaller length than you're "
    "using it for, you likely need to create a new block mask."
)
_TOO_LARGE = (
    "block_mask was created for a larger length than you're "
    "using it for, you can either 1. create a new block mask with "
    "the correct length, or 2. 'adjust' the existing block mask to "
    "the correct length by calling block_mask._adjust(q_len, kv_len). "
    "This essentially 'crops' the block mask to the upper left corner, "
    "which does not work for all mask_mods!"
)
_UNCOMPILED = (
    "flex_attention called without torch.compile() - this will use an unfused implementation that materializes the full scores matrix instead of generating a fused kernel.\n\n"
    "SOLUTION: Use torch.compile(flex_attention)(...)\n\n"
    "If you want to debug your score_mod/mask_mod, you can set:\n"
    "torch.nn.attention.flex_attention._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True\n\n"
    "This will allow you to use print statements or breakpoints. Note: This doesn't work with the backwards pass and may produce incorrect results."
)
_SLICED = (
    "Cannot use mask_mod from a sliced BlockMask. "
    "When you slice a BlockMask using [], the mask_mod attribute is reset. "
    "You must set it from the original BlockMask's mask_mod."
    "\n\nIncorrect usage:"
    "\n  base_mask = create_block_mask(my_mask_fn, ...)"
    "\n  sliced_mask = base_mask[:, :, block_idx]"
    "\n  sliced_mask.mask_mod = apply_offset(sliced_mask.mask_mod, offset)  # WRONG!"
    "\n\nCorrect usage:"
    "\n  base_mask = create_block_mask(my_mask_fn, ...)"
    "\n  sliced_mask = base_mask[:, :, block_idx]"
    "\n  sliced_mask.mask_mod = apply_offset(base_mask.mask_mod, offset)  # Use base_mask!"
)

_WARNINGS_SHOWN = set()


def _warn_once(warning_id, message, category=UserWarning):
    if warning_id in _WARNINGS_SHOWN:
        return
    _WARNINGS_SHOWN.add(warning_id)
    if not torch.compiler.is_compiling():
        warnings.warn(message, category, stacklevel=2)


# What a kernel may be told; a dict in all but its class.
FlexKernelOptions = dict


class AuxRequest(NamedTuple):
    """What `flex_attention` is to give besides the attention."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What it gave besides; None for what was not asked for."""

    lse: torch.Tensor = None
    max_scores: torch.Tensor = None


class _ModificationType(Enum):
    """Whether a function changes scores or says what is left out."""

    SCORE_MOD = 1
    MASK_MOD = 2
    UNKNOWN = 3


def _get_mod_type(fn):
    if hasattr(fn, "__code__"):
        count = fn.__code__.co_argcount - len(getattr(fn, "__defaults__", None) or ())
    else:
        count = sum(parameter.default is inspect.Parameter.empty for parameter in inspect.signature(fn).parameters.values())
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return _ModificationType.SCORE_MOD if count == 5 else _ModificationType.MASK_MOD


def _vmap_for_bhqkv(fn, prefix, suffix=(), out_dims=0, group_dim=False):
    """A function of one score's position, mapped over batches, heads, queries and keys."""
    dimensions = [(None, None, None, 0), (None, None, 0, None), (None, 0, None, None)]
    if group_dim:
        dimensions.append((None, 0, None, None))
    dimensions.append((0, None, None, None))
    for dims in dimensions:
        fn = torch.vmap(fn, in_dims=prefix + dims + suffix, out_dims=out_dims)
    return fn


def _identity(score, batch, head, token_q, token_kv):
    return score


def noop_mask(batch, head, token_q, token_kv):
    """Leaves nothing out."""
    return batch.new_ones(size=(), dtype=torch.bool, device=batch.device)


def _sliced_mask_mod_error(batch, head, token_q, token_kv):
    raise RuntimeError(_SLICED)


def _cdiv(a, b):
    return (a + b - 1) // b


def _round_up_to_multiple(x, multiple):
    return _cdiv(x, multiple) * multiple


def _ordered_to_dense(num_blocks_in_row, col_indices, num_cols):
    """Which blocks a list of them names, as a matrix of ones and zeros."""
    num_rows, max_entries = col_indices.shape[-2:]
    device = num_blocks_in_row.device

    def create_dense_one(kv_num_blocks, kv_indices):
        # What is past the number of blocks is written into a column of its own.
        dense_mask = kv_indices.new_zeros(num_rows, num_cols + 1, dtype=torch.int32)
        row_indices = torch.arange(num_rows, dtype=torch.int, device=device).unsqueeze(-1)
        col_range = torch.arange(max_entries, dtype=torch.int, device=device)
        index_mask = col_range < kv_num_blocks.unsqueeze(-1)
        valid_indices = torch.where(index_mask, kv_indices, num_cols)
        dense_mask[row_indices, valid_indices] = dense_mask.new_ones(())
        return dense_mask[:, :num_cols].contiguous()

    of_all = create_dense_one
    for _ in num_blocks_in_row.shape[:-1]:
        of_all = torch.vmap(of_all, in_dims=(0, 0))
    out = of_all(num_blocks_in_row, col_indices)
    return out


def _dense_to_ordered(dense_mask):
    """The blocks of each row of a matrix: how many, and which, those that are there first."""
    dense_mask = dense_mask.to(dtype=torch.int32)
    num_blocks_in_row = dense_mask.sum(dim=-1)
    with torch.fx.traceback.annotate({"fallback_to_eager": True}):
        col_indices = torch.argsort(dense_mask, dim=-1, descending=True, stable=True)
    counts = num_blocks_in_row.to(torch.int32, memory_format=torch.contiguous_format)
    return counts, col_indices.to(torch.int32, memory_format=torch.contiguous_format)


def _transpose_ordered(num_blocks_in_row, col_indices, num_cols=None):
    dense = _ordered_to_dense(num_blocks_in_row, col_indices, col_indices.shape[-1] if num_cols is None else num_cols)
    return _dense_to_ordered(dense.transpose(-2, -1))


def _adjust_num_blocks_and_indices(num_blocks, indices, new_num_rows, new_num_cols):
    indices = indices[:, :, :new_num_rows, :new_num_cols]
    num_blocks = num_blocks[:, :, :new_num_rows]
    entries = torch.arange(indices.shape[-1], dtype=num_blocks.dtype, device=indices.device)
    is_there = (entries < num_blocks[..., None]) & (indices < new_num_cols)
    return torch.sum(is_there, dim=-1).to(torch.int32), indices


def _both_or_neither(counts, indices, names):
    if (counts is None) != (indices is None):
        raise AssertionError(f"{names} must be both provided or omitted")


class BlockMask:
    """A mask by blocks. Per row of blocks: how many are partly masked and which (`kv_num_blocks`, `kv_indices`), the same of blocks that
    are not masked at all (`full_kv_*`), and the same by columns (`q_*`, `full_q_*`). `mask_mod` says what of a partly masked block is left
    out."""

    _TENSOR_ATTRS = [
        "kv_num_blocks",
        "kv_indices",
        "full_kv_num_blocks",
        "full_kv_indices",
        "q_num_blocks",
        "q_indices",
        "full_q_num_blocks",
        "full_q_indices",
        "dq_write_order",
        "dq_write_order_full",
        "dq_kv_order",
    ]
    _CONTEXT_ATTRS = ["seq_lengths", "BLOCK_SIZE", "mask_mod", "dq_kv_order_spt"]

    def __init__(
        self,
        seq_lengths,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks,
        full_kv_indices,
        q_num_blocks,
        q_indices,
        full_q_num_blocks,
        full_q_indices,
        BLOCK_SIZE=(_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod=noop_mask,
        *,
        dq_write_order=None,
        dq_write_order_full=None,
        dq_kv_order=None,
        dq_kv_order_spt=None,
    ):
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if kv_num_blocks is None:
            raise AssertionError("kv_num_blocks must be provided")
        _both_or_neither(full_kv_num_blocks, full_kv_indices, "full_kv_num_blocks and full_kv_indices")
        _both_or_neither(full_q_num_blocks, full_q_indices, "full_q_num_blocks and full_q_indices")
        if dq_write_order_full is not None and dq_write_order is None:
            raise ValueError("dq_write_order_full requires dq_write_order")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.dq_write_order = dq_write_order
        self.dq_write_order_full = dq_write_order_full
        self.dq_kv_order = dq_kv_order
        self.dq_kv_order_spt = dq_kv_order_spt
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod=None,
        seq_lengths=None,
        compute_q_blocks=True,
        *,
        dq_write_order=None,
        dq_write_order_full=None,
        dq_kv_order=None,
    ):
        """A mask of the blocks of each row; those of each column follow from them."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        _both_or_neither(full_kv_num_blocks, full_kv_indices, "full_kv_num_blocks and full_kv_indices")
        if isinstance(BLOCK_SIZE, int):
            BLOCK_SIZE = (BLOCK_SIZE, BLOCK_SIZE)
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * BLOCK_SIZE[0], kv_indices.shape[-1] * BLOCK_SIZE[1])
        q_num_blocks = q_indices = full_q_num_blocks = full_q_indices = None
        if compute_q_blocks:
            columns = _cdiv(seq_lengths[1], BLOCK_SIZE[1])
            q_num_blocks, q_indices = _transpose_ordered(kv_num_blocks, kv_indices, columns)
            if full_kv_num_blocks is not None:
                full_q_num_blocks, full_q_indices = _transpose_ordered(full_kv_num_blocks, full_kv_indices, columns)
        if dq_kv_order is not None and not isinstance(dq_kv_order, (bool, torch.Tensor)):
            raise ValueError("dq_kv_order must be a bool, Tensor, or None")
        return cls(
            seq_lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            q_num_blocks,
            q_indices,
            full_q_num_blocks,
            full_q_indices,
            BLOCK_SIZE,
            noop_mask if mask_mod is None else mask_mod,
            dq_write_order=dq_write_order,
            dq_write_order_full=dq_write_order_full,
            dq_kv_order=dq_kv_order if isinstance(dq_kv_order, torch.Tensor) else None,
            dq_kv_order_spt=dq_kv_order if isinstance(dq_kv_order, bool) else None,
        )

    def as_tuple(self, flatten=True):
        """Everything that it holds; with `flatten`, lengths and sizes of blocks one by one."""
        lengths, sizes = (self.seq_lengths,), (self.BLOCK_SIZE,)
        if flatten:
            lengths, sizes = (self.seq_lengths[0], self.seq_lengths[1]), (self.BLOCK_SIZE[0], self.BLOCK_SIZE[1])
        return (
            *lengths,
            self.kv_num_blocks,
            self.kv_indices,
            self.full_kv_num_blocks,
            self.full_kv_indices,
            self.q_num_blocks,
            self.q_indices,
            self.full_q_num_blocks,
            self.full_q_indices,
            self.dq_write_order,
            self.dq_write_order_full,
            self.dq_kv_order,
            self.dq_kv_order_spt,
            *sizes,
            self.mask_mod,
        )

    @property
    def shape(self):
        return tuple(self.kv_indices.shape[:-2]) + self.seq_lengths

    def __str__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self):
        shown = [f"{name}={_shape_of(getattr(self, name))}" for name in self._TENSOR_ATTRS[:8]]
        shown += [f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}", f"sparsity={self.sparsity():.2f}%"]
        shown.append(f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}")
        return "BlockMask(\n    " + ",\n    ".join(shown) + "\n)"

    def _refuse_order(self, what):
        if self.dq_kv_order is not None:
            raise NotImplementedError(
                f"{what} BlockMask with tensor dq_kv_order is not supported yet. "
                "Construct a new BlockMask with matching precomputed dq_write_order metadata."
            )

    def _with_blocks(self, blocks, mask_mod, seq_lengths):
        """A mask of other blocks of this one."""
        made = BlockMask.from_kv_blocks(
            *blocks,
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=mask_mod,
            seq_lengths=seq_lengths,
            compute_q_blocks=self.q_indices is not None,
        )
        made.dq_kv_order_spt = self.dq_kv_order_spt
        if self.dq_write_order is not None:
            orders = _compute_dq_write_order_from_block_mask(made, dq_kv_order=made.dq_kv_order_spt)
            made.dq_write_order, made.dq_write_order_full = orders
        return made

    def __getitem__(self, index):
        """Selects batches, heads and rows of blocks. What it masks by position is the caller's to say anew."""
        self._refuse_order("Slicing")
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > 3:
            raise IndexError("BlockMask indexing supports batch, head, and Q-block dimensions")
        index += (slice(None),) * (3 - len(index))
        index = tuple(_as_slice(i, size) if isinstance(i, int) else i for i, size in zip(index, self.kv_num_blocks.shape[:3]))
        new_kv_num_blocks = self.kv_num_blocks[index]
        new_kv_indices = self.kv_indices[index]
        blocks = [new_kv_num_blocks, new_kv_indices, None, None]
        if self.full_kv_num_blocks is not None:
            blocks[2:] = [self.full_kv_num_blocks[index], self.full_kv_indices[index]]
        queries = self._length_of_rows(index[2], new_kv_indices.shape[-2])
        return self._with_blocks(blocks, _sliced_mask_mod_error, (queries, self.seq_lengths[1]))

    def _length_of_rows(self, index, rows):
        """How many queries the selected rows of blocks have: the last may have fewer than a block."""
        size, length = self.BLOCK_SIZE[0], self.seq_lengths[0]
        if not isinstance(index, slice):
            return rows * size
        last = self.kv_num_blocks.shape[-1] - 1
        selected = range(last + 1)[index]
        if len(selected) == 0:
            return 0
        if selected.step == 1:
            return min(selected.stop * size, length) - min(selected.start * size, length)
        lacking = size - length % size if length % size and last in selected else 0
        return len(selected) * size - lacking

    def _adjust(self, new_q_len, new_kv_len):
        """The upper left corner of the mask, for other lengths."""
        self._refuse_order("Adjusting")
        rows, columns = _cdiv(new_q_len, self.BLOCK_SIZE[0]), _cdiv(new_kv_len, self.BLOCK_SIZE[1])
        blocks = [*_adjust_num_blocks_and_indices(self.kv_num_blocks, self.kv_indices, rows, columns), None, None]
        if self.full_kv_num_blocks is not None:
            blocks[2:] = _adjust_num_blocks_and_indices(self.full_kv_num_blocks, self.full_kv_indices, rows, columns)
        return self._with_blocks(blocks, self.mask_mod, (new_q_len, new_kv_len))

    def numel(self):
        """How many scores there are, masked or not."""
        return functools.reduce(operator.mul, self.shape, 1)

    def sparsity(self):
        """The percentage of blocks that are left out."""
        total = math.prod(self.kv_num_blocks.shape[:-1])
        for length, size in zip(self.seq_lengths, self.BLOCK_SIZE):
            total *= _cdiv(length, size)
        computed = self.kv_num_blocks.sum()
        if self.full_kv_num_blocks is not None:
            computed += self.full_kv_num_blocks.sum()
        return 100 * (1 - computed.item() / total)

    def to_dense(self):
        """Which blocks are computed, as a matrix of ones and zeros."""
        dense = _ordered_to_dense(self.kv_num_blocks, self.kv_indices, self.kv_indices.shape[-1])
        if self.full_kv_num_blocks is None:
            return dense
        return dense | _ordered_to_dense(self.full_kv_num_blocks, self.full_kv_indices, self.full_kv_indices.shape[-1])

    def to_string(self, grid_size=(20, 20), limit=4):
        """A picture of the mask per batch and head, no larger than the grid."""
        dense = self.to_dense()
        *batch_dims, rows, columns = dense.shape
        most_rows, most_columns = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        row_step, column_step = max(1, _cdiv(rows, most_rows)), max(1, _cdiv(columns, most_columns))
        pictures = []
        for count, batch in enumerate(itertools.product(*map(range, batch_dims))):
            if count == limit:
                pictures.append("...")
                pictures.append("To print out more, set BlockMask.to_string(limit=N)")
                pictures.append("You can also index (BlockMask[batch, head]) to choose a specific batch or head")
                break
            lines = [f"{batch}"]
            for r in range(0, rows, row_step):
                parts = [dense[batch][r : r + row_step, c : c + column_step] for c in range(0, columns, column_step)]
                lines.append("".join(2 * _shade(part.float().mean().item()) for part in parts))
            pictures.append("\n".join(lines) + "\n")
        return "\n".join(pictures)

    def to(self, device):
        """The mask on a device; this one stays as it is."""
        tensors = (getattr(self, name) for name in self._TENSOR_ATTRS)
        moved = [t if t is None else t.to(device) for t in tensors]
        return BlockMask(
            self.seq_lengths,
            **dict(zip(self._TENSOR_ATTRS, moved)),
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=self.mask_mod,
            dq_kv_order_spt=self.dq_kv_order_spt,
        )


def _shape_of(t):
    return None if t is None else t.shape


def _as_slice(i, size):
    start = i + size if -size <= i < 0 else i
    return slice(start, start + 1)


def _shade(share):
    return "█" if share == 1 else " " if share == 0 else "░"


def _broadcast_to_dim(x, dim):
    while x.dim() < dim:
        x = x.unsqueeze(0)
    return x


def _convert_mask_to_block_mask(
    mask, Q_BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, KV_BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, separate_full_blocks=False
):
    """Which blocks of a mask are partly masked, and which not at all: where the two are not kept apart, those with anything in them."""
    if mask.dtype != torch.bool:
        raise AssertionError(f"mask.dtype must be torch.bool, got {mask.dtype}")
    mask = _broadcast_to_dim(mask, 4)
    lacking = [_round_up_to_multiple(length, size) - length for length, size in zip(mask.shape[:-3:-1], (KV_BLOCK_SIZE, Q_BLOCK_SIZE))]
    mask = torch.nn.functional.pad(mask, (0, lacking[0], 0, lacking[1]))
    B, H, Q, KV = mask.shape
    mask = mask.view(B, H, Q // Q_BLOCK_SIZE, Q_BLOCK_SIZE, KV // KV_BLOCK_SIZE, KV_BLOCK_SIZE)
    mask = mask.permute(0, 1, 2, 4, 3, 5)
    mask_block_sum = mask.sum(dim=[-2, -1])
    if not separate_full_blocks:
        partial_blocks = mask_block_sum > 0
        partial_blocks = partial_blocks.to(dtype=torch.int8)
        return partial_blocks, None
    whole = Q_BLOCK_SIZE * KV_BLOCK_SIZE
    full_blocks = mask_block_sum == whole
    partial_blocks = (mask_block_sum > 0) & (mask_block_sum < whole)
    partial_blocks = partial_blocks.to(dtype=torch.int8)
    full_blocks = full_blocks.to(dtype=torch.int8)
    return partial_blocks, full_blocks


def or_masks(*mask_mods):
    """Leaves out what all of the functions leave out."""
    if not all(callable(mask_mod) for mask_mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def or_mask(b, h, q_idx, kv_idx):
        result = b.new_zeros((), dtype=torch.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def and_masks(*mask_mods):
    """Leaves out what any of the functions leaves out."""
    if not all(callable(mask_mod) for mask_mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def and_mask(b, h, q_idx, kv_idx):
        result = b.new_ones((), dtype=torch.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def _convert_block_mask_to_mask(block_mask, KV_BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, Q_BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE):
    if block_mask.dim() != 4:
        raise AssertionError(f"block_mask.dim() must be 4, got {block_mask.dim()}")
    B, H, Q, KV = block_mask.shape
    spread = block_mask.expand(Q_BLOCK_SIZE, KV_BLOCK_SIZE, *block_mask.shape)
    return spread.permute(2, 3, 4, 0, 5, 1).reshape(B, H, Q * Q_BLOCK_SIZE, KV * KV_BLOCK_SIZE)


def _create_sparse_block_from_block_mask(
    block_mask, mask_mod, seq_lengths, Q_BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, KV_BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE
):
    partial_blocks, full_blocks = block_mask
    blocks = _dense_to_ordered(partial_blocks)
    blocks += (None, None) if full_blocks is None else _dense_to_ordered(full_blocks)
    return BlockMask.from_kv_blocks(*blocks, BLOCK_SIZE=(Q_BLOCK_SIZE, KV_BLOCK_SIZE), mask_mod=mask_mod, seq_lengths=seq_lengths)


def _default_device():
    return torch.accelerator.current_accelerator() or "cpu"


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """What a function leaves in, score by score."""
    device = _default_device() if device is None else device
    B, H = 1 if B is None else B, 1 if H is None else H
    b = torch.arange(0, B, device=device)
    h = torch.arange(0, H, device=device)
    m = torch.arange(0, Q_LEN, device=device)
    n = torch.arange(0, KV_LEN, device=device)
    if _get_mod_type(mod_fn) == _ModificationType.MASK_MOD:
        mask = _vmap_for_bhqkv(mod_fn, prefix=())(b, h, m, n)
        return mask
    out = _vmap_for_bhqkv(mod_fn, prefix=(0,))(torch.zeros(B, H, Q_LEN, KV_LEN, device=device), b, h, m, n)
    mask = torch.where(torch.isneginf(out), False, True)
    return mask


def _compute_dq_write_order_from_block_mask(block_mask, dq_kv_order=False):
    """Per block of a column, how many blocks of its row come before it: in the order of columns, or from the last to the first."""
    q_indices, full_q_indices = block_mask.q_indices, block_mask.full_q_indices
    if block_mask.q_num_blocks is None or q_indices is None:
        raise ValueError("BlockMask must have q_num_blocks and q_indices to compute dq_write_order")
    lists = [(block_mask.kv_num_blocks, block_mask.kv_indices)]
    if block_mask.full_kv_indices is not None:
        lists.append((block_mask.full_kv_num_blocks, block_mask.full_kv_indices))
    shapes = [indices.shape[:2] for _, indices in lists] + [t.shape[:2] for t in (q_indices, full_q_indices) if t is not None]
    B, H = torch.broadcast_shapes(*shapes)
    rows, columns = block_mask.kv_indices.shape[2], q_indices.shape[2]
    dense = [_ordered_to_dense(*(t.expand(B, H, *t.shape[2:]) for t in pair), columns) for pair in lists]
    dense = dense[0] if len(dense) == 1 else (dense[0] + dense[1]).clamp(max=1)
    cumsum = dense.cumsum(dim=-1)
    rank = (cumsum - dense).to(torch.int32)
    if dq_kv_order:
        rank = (cumsum[:, :, :, -1:] - 1 - rank).to(torch.int32)
    device = block_mask.kv_indices.device

    def order(indices):
        if indices is None:
            return None
        b = torch.arange(B, device=device)[:, None, None, None]
        h = torch.arange(H, device=device)[None, :, None, None]
        n = torch.arange(indices.shape[2], device=device)[None, None, :, None]
        return rank[b, h, indices.long().clamp(0, rows - 1), n].to(torch.int32)

    return order(q_indices), order(full_q_indices) if len(lists) > 1 else None


def create_block_mask(
    mask_mod,
    B,
    H,
    Q_LEN,
    KV_LEN,
    device=None,
    BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
    _compile=False,
    separate_full_blocks=True,
    compute_dq_write_order=False,
    dq_kv_order=True,
):
    """The mask by blocks of a function."""
    device = _default_device() if device is None else device
    if _get_mod_type(mask_mod) != _ModificationType.MASK_MOD:
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    B, H = 1 if B is None else B, 1 if H is None else H
    Q_BLOCK_SIZE, KV_BLOCK_SIZE = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    if _compile:
        warnings.warn(
            "_compile flag on create_block_mask was originally added to work around a torch.compile limitation. That limitation has since been addressed. So, to compile create_block_mask, we suggest doing torch.compile(create_block_mask). This still works for now, but will be removed in the future.",
            DeprecationWarning,
            stacklevel=2,
        )
        others = (BLOCK_SIZE, False, separate_full_blocks, compute_dq_write_order, dq_kv_order)
        return torch.compile(create_block_mask)(mask_mod, B, H, Q_LEN, KV_LEN, device, *others)
    if not isinstance(dq_kv_order, bool):
        raise ValueError("dq_kv_order must be a bool when using create_block_mask")
    mask_tensor = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    blocks = _convert_mask_to_block_mask(mask_tensor, Q_BLOCK_SIZE, KV_BLOCK_SIZE, separate_full_blocks)
    block_mask = _create_sparse_block_from_block_mask(blocks, mask_mod, (Q_LEN, KV_LEN), Q_BLOCK_SIZE, KV_BLOCK_SIZE)
    if compute_dq_write_order:
        orders = _compute_dq_write_order_from_block_mask(block_mask, dq_kv_order=dq_kv_order)
        block_mask.dq_write_order, block_mask.dq_write_order_full = orders
        block_mask.dq_kv_order_spt = dq_kv_order
    return block_mask


def _create_empty_block_mask(query, key):
    """A mask of one block as large as any, which leaves nothing out."""
    device = query.device
    return BlockMask.from_kv_blocks(
        kv_num_blocks=torch.ones([1, 1, 1], dtype=torch.int32, device=device),
        kv_indices=torch.zeros([1, 1, 1, 1], dtype=torch.int32, device=device),
        BLOCK_SIZE=_LARGE_SPARSE_BLOCK_SIZE,
        seq_lengths=(1, 1),
    )


def _apply_kernel_options(query, key, value, return_lse, kernel_options, return_aux=None):
    """What the kernel is told: what the caller says, and what follows from what is asked for."""
    options = dict(kernel_options or {})
    if "BACKEND" in options:
        if options.get("FORCE_USE_FLEX_ATTENTION", False):
            raise RuntimeError(
                "BACKEND cannot be combined with legacy FORCE_USE_FLEX_ATTENTION. "
                "BACKEND supersedes the legacy knob; please drop FORCE_USE_FLEX_ATTENTION "
                "and only specify the desired BACKEND."
            )
        if options["BACKEND"] not in _BACKENDS:
            raise ValueError(f"Invalid BACKEND value '{options['BACKEND']}'. Must be one of {_BACKENDS}")
    defaults = {"PRESCALE_QK": False, "ROWS_GUARANTEED_SAFE": False, "BLOCKS_ARE_CONTIGUOUS": False, "WRITE_DQ": True}
    for name, default in {"BACKEND": "AUTO", **defaults}.items():
        options.setdefault(name, default)
    on_cpu = any(t.device.type == "cpu" for t in (query, key, value))
    wants_lse, wants_max = (return_lse, False) if return_aux is None else return_aux
    for name in ("OUTPUT_LOGSUMEXP", "OUTPUT_MAX"):
        if name in options:
            raise AssertionError(f"{name} must not be in kernel_options")
    options["OUTPUT_LOGSUMEXP"] = True if wants_lse else torch.is_grad_enabled() and not on_cpu
    if options["BACKEND"] == "FLASH" and wants_max:
        raise NotImplementedError(
            "Returning max scores is not supported with BACKEND='FLASH'. "
            "Use return_aux=AuxRequest(lse=True) or omit max_scores."
        )
    options["OUTPUT_MAX"] = wants_max
    if on_cpu and wants_max:
        raise NotImplementedError("Returning max scores is not supported on CPU.")
    return options


def _validate_inputs(query, key, value):
    if query.is_nested or key.is_nested or value.is_nested:
        raise NotImplementedError(
            "flex_attention does not support NestedTensor inputs, including "
            "torch.compile(flex_attention) with jagged NestedTensor inputs. "
            "Convert inputs to dense tensors before calling flex_attention."
        )
    if query.device != key.device or query.device != value.device:
        raise ValueError(
            f"Expected query, key, and value to have the same device type, "
            f"but got query.device: {query.device}, key.device: {key.device}, "
            f"and value.device: {value.device} instead."
        )
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise ValueError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if query.size(-1) != key.size(-1):
        raise ValueError(
            f"Expect query and key/value to have the same embedding dimension but got E={query.size(-1)} and E={key.size(-1)}."
        )
    kind = query.device.type
    if kind in ("cpu", "mps") and (query.requires_grad or key.requires_grad or value.requires_grad):
        raise NotImplementedError(
            f"FlexAttention does not support backward on {kind.upper()}. Please set the input requires_grad to False or use another device."
        )
    if kind not in {"cuda", "cpu", "xpu", "hpu", "mps"}:
        raise ValueError(
            f"FlexAttention is only supported on CUDA, CPU, HPU, or MPS devices. Found input tensors on {query.device.type} device."
        )
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")


def _validate_heads_and_batches(query, key, enable_gqa, block_mask):
    Hq, Hkv, Bq, Bkv = query.size(1), key.size(1), query.size(0), key.size(0)
    if not enable_gqa and Hq != Hkv:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads "
            f"but got Hq={Hq} and Hkv={Hkv}. "
            f"Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and Hq % Hkv != 0:
        raise ValueError(f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={Hq} and Hkv={Hkv}.")
    if Bq == Bkv:
        return
    if block_mask is None:
        raise ValueError(
            f"Expect query and key/value to have the same batch size, "
            f"or non-none block_mask, "
            f"but got block_mask=None, Bq={Bq}, and Bkv={Bkv}."
        )
    if block_mask.kv_num_blocks.size(0) != Bq:
        raise ValueError(
            f"Expect query and key/value to have the same batch size, "
            f"or block_mask and query to have the same batch size, "
            f"but got Bq={Bq}, Bkv={Bkv}, B_block_mask={block_mask.kv_num_blocks.size(0)}."
        )


def _validate_block_mask(query, key, block_mask):
    # A mask that was sliced says so before it says anything of sizes.
    if getattr(block_mask, "mask_mod", None) is _sliced_mask_mod_error:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    if tuple(block_mask.BLOCK_SIZE) != (_LARGE_SPARSE_BLOCK_SIZE, _LARGE_SPARSE_BLOCK_SIZE):
        q_len, kv_len = query.size(-2), key.size(-2)
        mask_q_len, mask_kv_len = block_mask.shape[-2], block_mask.shape[-1]
        if q_len > mask_q_len or kv_len > mask_kv_len:
            raise RuntimeError(_TOO_SMALL)
        if q_len < mask_q_len or kv_len < mask_kv_len:
            raise RuntimeError(_TOO_LARGE)


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    return_aux=None,
):
    """Attention, its scores changed by `score_mod(score, batch, head, q_idx, kv_idx)` and masked by `block_mask`."""
    _validate_inputs(query, key, value)
    _validate_heads_and_batches(query, key, enable_gqa, block_mask)
    score_mod = _identity if score_mod is None else score_mod
    block_mask = _create_empty_block_mask(query, key) if block_mask is None else block_mask
    _validate_block_mask(query, key, block_mask)
    scale = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    if query.device != block_mask.kv_num_blocks.device:
        raise RuntimeError(
            f"Expect q/k/v and block_mask to be on the same device "
            f"but got {query.device} and {block_mask.kv_num_blocks.device}."
        )
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. "
            "return_lse is deprecated, please use return_aux=AuxRequest(lse=True) instead."
        )
    if return_lse:
        _warn_once(
            "deprecated_return_lse",
            "return_lse is deprecated and will be removed in v2.10. Please use return_aux=AuxRequest(lse=True) instead.",
            category=FutureWarning,
        )
    options = _apply_kernel_options(query, key, value, return_lse, kernel_options, return_aux)
    if torch.compiler.is_dynamo_compiling():
        in_log2 = options["BACKEND"] != "FLASH"
    else:
        if not _FLEX_ATTENTION_DISABLE_COMPILE_DEBUG:
            _warn_once("flex_attention_performance", _UNCOMPILED)
        in_log2 = _FLEX_ATTENTION_DISABLE_COMPILE_DEBUG or options["BACKEND"] != "FLASH"
    call = _operator

    def _flex_attention_hop_wrapper(*args, **kwargs):
        return _operator(*args, **kwargs)

    unlimited = contextlib.nullcontext()
    if not torch.compiler.is_dynamo_compiling() and not _FLEX_ATTENTION_DISABLE_COMPILE_DEBUG:
        call = torch.compile(_flex_attention_hop_wrapper, backend="eager", fullgraph=True)
        # Each call may come with functions of its own.
        unlimited = torch._dynamo.config.patch(recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize)
    with unlimited:
        out, lse, max_scores = call(query, key, value, score_mod, block_mask.as_tuple(), scale, options)
    ln2 = math.log(2.0) if in_log2 else 1.0
    wants_lse, wants_max = (return_lse, False) if return_aux is None else return_aux
    lse = lse * ln2 if wants_lse and lse.numel() > 0 else None
    max_scores = max_scores * ln2 if wants_max and max_scores.numel() > 0 else None
    if return_aux is not None:
        return out, AuxOutput(lse, max_scores)
    return (out, lse) if return_lse else out
