# Knapsacks by hand.
import random
from torch._functorch._activation_checkpointing.knapsack import dp_knapsack, greedy_knapsack, ilp_knapsack, dp_knapsack_sliding_hirschberg
from torch._functorch import partitioners as p
from torch._functorch import config
for solver in (greedy_knapsack, dp_knapsack, dp_knapsack_sliding_hirschberg):
    print(solver.__name__)
    print(solver([0.1, 0.2, 0.3, 0.4], [1.0, 5.0, 2.0, 9.0], 0.6))
    print(solver([0.5, 0.5, 0.5], [1, 2, 3], 1.0))
    print(solver([1.0, 2.0, 3.0], [10, 15, 40], 5))
    print(solver([0.3, 0.6], [1.0, 2.0], 0.1))
    print(solver([], [], 0.5) if solver is not ilp_knapsack else None)
    random.seed(3)
    memory = [random.random() / 5 for _ in range(12)]
    cost = [random.randint(1, 50) for _ in range(12)]
    r, s, o = solver(memory, cost, 0.5)
    print(r, s, o)
try:
    greedy_knapsack([0.0, 0.5], [1.0, 1.0], 0.5)
except ZeroDivisionError as e:
    print(e)
for name in ("greedy", "dp", "nothing"):
    with config.patch(activation_memory_budget_solver=name):
        try:
            print(name, p._optimize_runtime_with_given_memory(None, [0.1, 0.2, 0.3], [3.0, 2.0, 9.0], 0.4, None, []))
        except RuntimeError as e:
            print(e)
