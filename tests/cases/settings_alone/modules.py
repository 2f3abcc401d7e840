"""Modules of settings: reading, setting, patching, saving and loading; names that are not there."""

import importlib
import os
import pickle
import warnings

import torch

os.environ.pop("TORCHINDUCTOR_AUTOGRAD_CACHE", None)
os.environ["TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS"] = "1"
os.environ["TORCHINDUCTOR_MAX_AUTOTUNE"] = "1"
os.environ["AOT_PARTITIONER_DEBUG"] = "7"
os.environ["TORCHDYNAMO_REPRO_LEVEL"] = "4"
os.environ["TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE"] = "2"

import torch._dynamo.config as dynamo
import torch._functorch.config as functorch
import torch._inductor.config as inductor
import torch.compiler.config as compiler
import torch.fx.experimental._config as shapes

warnings.simplefilter("ignore")
print(dynamo.capture_scalar_outputs, inductor.max_autotune, functorch.debug_partitioner, dynamo.repro_level, inductor.fx_graph_remote_cache)


def tried(what, *args, **kwargs):
    try:
        return what(*args, **kwargs)
    except Exception as e:
        return f"{type(e).__name__}: {e}"


for module in (dynamo, functorch, inductor, compiler, shapes):
    print(tried(getattr, module, "no_such_setting"), tried(setattr, module, "no_such_setting", 1), hasattr(module, "no_such_setting"))
    with_unknown = module.patch(no_such_setting=1)
    print(tried(with_unknown.__enter__))
    print(len(module.get_config_copy()), type(module.save_config()).__name__)
print(tried(getattr, inductor.triton, "no_such_setting"), tried(setattr, inductor.triton, "no_such_setting", 1))

# Patches: as contexts, decorators, with names, keywords and dicts, of sections, one in another.
with functorch.patch({"max_dist_from_bw": 3, "cse": False}):
    with functorch.patch(max_dist_from_bw=4), functorch.patch("recompute_views", True):
        print(functorch.max_dist_from_bw, functorch.cse, functorch.recompute_views)
    print(functorch.max_dist_from_bw, functorch.cse, functorch.recompute_views)
print(functorch.max_dist_from_bw, functorch.cse)


@dynamo.patch("recompile_limit", 3)
@inductor.patch({"triton.cudagraphs": True, "cpp.threads": 2})
def inside(a, b=2):
    """What it does."""
    return a, b, dynamo.recompile_limit, dynamo.cache_size_limit, compiler.recompile_limit, inductor.triton.cudagraphs, inductor.cpp.threads


print(inside(1), inside(1, b=3), inside.__name__, inside.__doc__)
print(dynamo.recompile_limit, inductor.triton.cudagraphs, getattr(inductor, "triton.cudagraphs"))
for arguments in (("cse", 1, {"a": 1}), ({"cse": False}, 2, {}), (None, 3, {}), ("cse", None, {}), ({"cse": False}, None, {"cse": True})):
    print(tried(functorch.patch, arguments[0], arguments[1], **arguments[2]))
try:
    with functorch.patch(cse=False):
        raise KeyError("out")
except KeyError:
    print("cse again", functorch.cse)

# Names of one setting in several modules.
compiler.recompile_limit = 5
print(dynamo.recompile_limit, dynamo.cache_size_limit, "recompile_limit" in compiler.get_config_copy(), "cache_size_limit" in dynamo.get_config_copy())
dynamo.cache_size_limit = 8
print(compiler.recompile_limit)
with compiler.patch(assume_static_by_default=False):
    print(dynamo.assume_static_by_default)
print(dynamo.assume_static_by_default)

# Saving and loading.
saved = functorch.save_config()
copied = functorch.get_config_copy()
functorch.cse = False
functorch.activation_memory_budget = 0.5
print(functorch.codegen_config())
functorch.load_config(saved)
print(functorch.cse, functorch.activation_memory_budget, repr(functorch.codegen_config()))
functorch.load_config({"cse": False})
functorch.load_config(copied)
print(functorch.cse, sorted(pickle.loads(saved))[:3])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    functorch.load_config({"no_such_setting": 1})
    print(functorch.shallow_copy_dict() == copied, functorch.to_dict() == copied)
    print([f"{w.category.__name__}: {w.message}" for w in caught])
print(sorted(k for k in functorch.save_config_portable() if k.startswith("ban_")), "_sync_decision_cross_ranks" in functorch.save_config_portable())
print("_sync_decision_cross_ranks" in functorch.save_config_portable(ignore_private_configs=False))
print("trace.enabled" in inductor.save_config_portable(), "trace.enabled" in inductor.get_config_copy(), "joint_custom_pre_pass" in pickle.loads(inductor.save_config()))
before = functorch.get_hash()
with functorch.patch(cse=False):
    print(before == functorch.get_hash(), len(before))
print(before == functorch.get_hash())
with dynamo.patch(verbose=True):
    print(dynamo.codegen_config())

# Values that a script may change in place are its own.
dynamo.compiled_autograd_kwargs_override["fullgraph"] = False
print(dynamo.get_config_copy()["compiled_autograd_kwargs_override"], dynamo.codegen_config().split("\n")[-1])
dynamo.compiled_autograd_kwargs_override = {}

# A setting that others follow.
with inductor.patch(numerics="strict"):
    print(inductor.emulate_precision_casts, inductor.eager_numerics.disable_ftz, inductor.get_config_copy()["eager_numerics.division_rounding"])
print(inductor.emulate_precision_casts, inductor.eager_numerics.disable_ftz)

# Deprecated names are read all the same, and said to be so once.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(dynamo.inline_inbuilt_nn_modules, dynamo.inline_inbuilt_nn_modules, inductor.use_mixed_mm)
    dynamo.skip_code_recursive_on_cache_limit_hit = False
    print([f"{w.category.__name__}: {w.message}" for w in caught])
print(functorch.get_type("cse"), functorch.get_type("max_dist_from_bw"))
del functorch.cse
print(hasattr(functorch, "cse"))
functorch.cse = True
print(hasattr(functorch, "cse"), functorch.cse)

# Options of torch.compile.
def twice(x):
    return x * 2


for options in ({"max_autotune": True, "triton.cudagraphs": False}, {"epilogue-fusion": True}, {"max_autotune": 1}, {"cpp.threads": "2"}):
    print(tried(lambda: torch.compile(twice, options=options)(torch.ones(2))))
unknown = tried(torch.compile, twice, options={"no_such_option": 1})
print(unknown[:80], len(unknown.split(",")))
print(tried(torch.compile, twice, mode="fastest"), tried(torch.compile, twice, mode="max-autotune", options={"dce": True}))
print(len(torch._inductor.list_options()), torch._inductor.list_mode_options("reduce-overhead"), list(torch._inductor.list_mode_options()))
print(shapes.AggressiveGuardFreeMode.SKIP_RANGE_ANALYSIS == 2)
