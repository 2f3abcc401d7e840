# Random numbers by seed and offset, which PyTorch has for CUDA devices alone, and calls in a given state of the generator.
import torch
from torch._functorch._aot_autograd.graph_capture_wrappers import PhiloxStateTracker
from torch._prims.rng_prims import run_and_save_rng_state, run_with_rng_state
from torch._subclasses import FakeTensorMode

torch.manual_seed(0)
state, out = run_and_save_rng_state(torch.ops.aten.rand.default, [3], device=torch.device("cpu"))
print(out, state.shape, torch.equal(out, run_with_rng_state(state, torch.ops.aten.rand.default, [3], device=torch.device("cpu"))), torch.rand(1))
seed, offset = torch.tensor(1), torch.tensor(0)
for device in ("cpu", "meta"):
    try:
        torch.ops.rngprims.philox_rand([2], seed, offset, None, torch.device(device), torch.float32)
    except RuntimeError as error:
        print(error)
with FakeTensorMode():
    for size in ([2, 3], [], [0]):
        print(torch.ops.rngprims.philox_rand(size, torch.tensor(1), torch.tensor(0), None, torch.device("cuda"), torch.float32))
with PhiloxStateTracker():
    PhiloxStateTracker.record_state(torch.tensor(5), torch.tensor(8), "forward")
    PhiloxStateTracker.record_state(torch.tensor(5), torch.tensor(16), "backward")
    print(PhiloxStateTracker.get_state_as_tuple(), PhiloxStateTracker.get_updated_fwd_offset())
    PhiloxStateTracker.advance_offset(6)
    PhiloxStateTracker.mark_beginning_of_backward()
    PhiloxStateTracker.advance_offset(1)
    print(PhiloxStateTracker.get_updated_fwd_offset(), PhiloxStateTracker.get_updated_bwd_offset(), PhiloxStateTracker.get_state_as_tensor())
try:
    PhiloxStateTracker.get_state_as_tuple()
except AssertionError as error:
    print(error)
