"""Which values are worth their memory. Each solver gives the cost of what is saved, the positions that are saved, and the others."""

import torch
from torch import _native_partition


def _solve(solver, memory, runtime, max_memory):
    left_out = _native_partition.left_out(solver, list(map(float, memory)), list(map(float, runtime)), float(max_memory))
    among = set(left_out)
    return [i for i in range(len(memory)) if i not in among], left_out


def _float32_sum(values):
    total = torch.zeros((), dtype=torch.float32)
    for value in values:
        total = total + torch.tensor(value, dtype=torch.float32)
    return total.item()


def greedy_knapsack(memory, runtimes, max_memory):
    """By cost per memory."""
    saved, left_out = _solve("greedy", memory, runtimes, max_memory)
    saved.sort(key=lambda i: runtimes[i] / memory[i], reverse=True)
    return sum((runtimes[i] for i in saved), 0.0), saved, left_out


def ilp_knapsack(memory, runtimes, max_memory):
    """An exact optimum."""
    saved, left_out = _solve("ilp", memory, runtimes, max_memory)
    return sum((runtimes[i] for i in saved), 0.0), saved, sorted(left_out)


def dp_knapsack(memory, runtime, max_memory):
    """A table of best values, memory counted in ten-thousandths."""
    saved, left_out = _solve("dp", memory, runtime, max_memory)
    return _float32_sum(runtime[i] for i in saved), saved, left_out


def dp_knapsack_sliding_hirschberg(memory, runtime, max_memory):
    """`dp_knapsack` in less memory, with other choices among equals."""
    if not memory:
        return 0.0, [], []
    saved, left_out = _solve("dp_knapsack_sliding_hirschberg", memory, runtime, max_memory)
    return sum(runtime[i] for i in saved), saved, sorted(left_out, reverse=True)
