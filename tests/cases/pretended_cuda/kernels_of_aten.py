import torch, torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
def show(name, f, *args):
    print("==", name)
    try:
        make_fx(f)(*args).print_readable()
    except Exception as e:
        print(type(e).__name__, str(e)[:300])
with FakeTensorMode():
    dev = "cuda"
    x = torch.randn(2, 4, 8, 8, device=dev)
    w, b = torch.randn(4, device=dev), torch.randn(4, device=dev)
    rm, rv = torch.zeros(4, device=dev), torch.ones(4, device=dev)
    show("bn train", lambda x: F.batch_norm(x, rm, rv, w, b, True), x)
    show("bn eval", lambda x: F.batch_norm(x, rm, rv, w, b, False), x)
    show("bn nostats", lambda x: F.batch_norm(x, None, None, None, None, True), x)
    show("instance", lambda x: F.instance_norm(x), x)
    show("group", lambda x: F.group_norm(x, 2, w, b), x)
    show("layer", lambda x: F.layer_norm(x, (8,)), x)
    show("rms", lambda x: F.rms_norm(x, (8,)), x)
    show("rmsw", lambda x: F.rms_norm(x, (8,), torch.ones(8, device=dev), 1e-5), x)
    show("rms half", lambda x: F.rms_norm(x.half(), (8,)), x)
    show("lrn", lambda x: F.local_response_norm(x, 2), x)
with FakeTensorMode():
    dev = "cuda"
    x = torch.randn(2, 4, 8, 8, device=dev)
    x1 = torch.randn(2, 4, 8, device=dev)
    x3 = torch.randn(2, 4, 4, 4, 4, device=dev)
    for mode, t in (("nearest", x), ("nearest", x1), ("nearest", x3), ("linear", x1), ("bilinear", x), ("bicubic", x), ("trilinear", x3), ("area", x), ("nearest-exact", x)):
        show(mode + str(t.dim()), lambda t: F.interpolate(t, scale_factor=2, mode=mode), t)
    show("size", lambda t: F.interpolate(t, size=(5, 7), mode="bilinear", align_corners=True), x)
    i = torch.randint(0, 5, (2, 3), device=dev)
    show("one_hot", lambda i: F.one_hot(i, 5), i)
    show("one_hot no classes", lambda i: F.one_hot(i), i)
    show("pixel", lambda t: F.pixel_shuffle(t, 2), x)
    show("pool", lambda t: F.adaptive_avg_pool2d(t, 3), x)
    show("mp", lambda t: F.max_pool2d(t, 2), x)
    show("amp", lambda t: F.adaptive_max_pool2d(t, 3), x)
