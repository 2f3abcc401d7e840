import torch
from torch.testing._internal.logging_tensor import LoggingTensor, capture_logs, capture_logs_with_logging_tensor_mode, log_input

x = torch.linspace(0, 1, 4, requires_grad=True)
w = torch.ones(2, 2)
with capture_logs_with_logging_tensor_mode() as log:
    y = (x.view(2, 2) @ w).sin()
    z = torch.cat([y, y * 2], 1)
    (z[0].sum() + z[-1].sum()).backward()
print("\n".join(log))
with capture_logs_with_logging_tensor_mode() as log:
    (torch.ones(2, dtype=torch.bfloat16) * 2).to(torch.int8)
print("\n".join(log))
with capture_logs(is_mode=False) as log:
    a = LoggingTensor(torch.ones(2))
    log_input("a", a)
    b = a.exp() * 3
    torch.add(b, a, alpha=2).sum()
print("\n".join(log))
with capture_logs_with_logging_tensor_mode(python_tb=True) as (log, traces):

    def called(t):
        return t.neg()

    called(w)
print(log, [frame["name"] for frame in traces[0] if "operators_as_a_log" in frame["filename"]][:1])
