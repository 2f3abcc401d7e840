"""Clocks, warnings and loggers end a graph; the function goes on behind them."""
import logging
import time
import warnings

import torch


@torch.compile
def warns(x):
    y = x.sin()
    warnings.warn("careful")
    return y * 2


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(warns(torch.ones(2)))
    print(warns(torch.ones(2)))
    print([str(w.message) for w in caught], [w.lineno for w in caught])
log = logging.getLogger("example")


@torch.compile
def logs(x):
    y = x * 2
    log.info("value %d", 3)
    return y + 1


print(logs(torch.ones(2)))


@torch.compile
def timed(x):
    start = time.time()
    y = x * 2
    took = time.perf_counter() - start
    return y + 1, took < start


print(timed(torch.ones(2)))
for reason in torch._dynamo.utils.counters["graph_break"]:
    print(reason.splitlines()[0])
