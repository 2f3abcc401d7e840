# keep: exception
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print(device, torch.device(device), torch.cuda.is_bf16_supported() if torch.cuda.is_available() else None)
for f in (lambda: torch.ones(2, device="cuda"), lambda: torch.ones(2).cuda(), lambda: nn.Linear(2, 2).to("cuda"), lambda: torch.cuda.current_device(), lambda: torch.cuda.synchronize(),
          lambda: torch.cuda.memory_allocated(), lambda: torch.cuda.get_device_name(), lambda: torch.cuda.manual_seed_all(0),           lambda: torch.cuda.empty_cache(), lambda: torch.cuda.max_memory_allocated(), lambda: torch.zeros(2).to("cuda:0")):
    print("ok", f())
torch.set_default_device("cpu")
with torch.device("meta"):
    m = nn.Linear(1000, 1000)
print(m.weight.device, m.weight)
m = m.to_empty(device="cpu")
print(m.weight.shape)
x = torch.ones(3, device=device)
with torch.autocast(device_type=device, dtype=torch.bfloat16, enabled=device == "cuda"):
    print((x[None] @ x[:, None]).dtype)
scaler = torch.amp.GradScaler(device, enabled=torch.cuda.is_available())
print(scaler.is_enabled(), scaler.get_scale())
print(torch.ones(2).pin_memory if torch.cuda.is_available() else torch.ones(2).is_pinned())
