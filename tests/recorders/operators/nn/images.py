def cl(t):
    return t.detach().to(memory_format=torch.channels_last).requires_grad_(t.requires_grad)


for n, s in [(1, (1, 2, 3)), (2, (1, 2, 3, 4)), (3, (1, 1, 2, 3, 2))]:
    case(f"upsample_nearest{n}d", f"aten.upsample_nearest{n}d.vec", r(*s), None, [2.0] * n)
    case(f"upsample_nearest{n}d to a size", f"aten.upsample_nearest{n}d.vec", r(*s), [5] * n, None)
    case(f"upsample_nearest_exact{n}d", f"aten._upsample_nearest_exact{n}d.vec", r(*s), None, [1.5] * n)
    name = ["linear1d", "bilinear2d", "trilinear3d"][n - 1]
    case(f"upsample_{name}", f"aten.upsample_{name}.vec", r(*s), None, False, [2.0] * n)
    case(f"upsample_{name} corners", f"aten.upsample_{name}.vec", r(*s), [4] * n, True, None)
case("upsample_bilinear2d channels last", "aten.upsample_bilinear2d.vec", cl(r(1, 3, 2, 2)), None, False, [2.0, 2.0])
case("upsample_bicubic2d", "aten.upsample_bicubic2d.vec", r(1, 2, 3, 3), None, False, [2.0, 1.5])
case("upsample_bicubic2d corners", "aten.upsample_bicubic2d.vec", r(1, 1, 3, 3), [4, 5], True, None)
case("pixel_shuffle", "aten.pixel_shuffle.default", r(2, 8, 2, 3), 2)
case("pixel_unshuffle", "aten.pixel_unshuffle.default", r(1, 2, 4, 6), 2)
case("pixel_shuffle int64", "aten.pixel_shuffle.default", ints(9, 4, 2, 2), 2)
case("channel_shuffle", "aten.channel_shuffle.default", r(1, 6, 2), 2)
case("im2col", "aten.im2col.default", r(2, 2, 4, 5), [2, 3], [1, 1], [0, 1], [2, 1])
case("im2col single", "aten.im2col.default", r(2, 4, 4), [2, 2], [2, 1], [0, 0], [1, 1])
case("col2im", "aten.col2im.default", r(1, 8, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1])
for kind in ["reflection", "replication"]:
    for n, s in [(1, (2, 3, 4)), (2, (1, 2, 3, 4)), (3, (1, 1, 2, 3, 2))]:
        case(f"{kind}_pad{n}d", f"aten.{kind}_pad{n}d.default", r(*s), ([1, 2] if n == 1 else [1, 1, 0, 2] if n == 2 else [1, 1, 1, 2, 1, 1]))
case("reflection_pad2d channels last", "aten.reflection_pad2d.default", cl(r(1, 2, 3, 3)), [1, 1, 1, 1])
for mode, name in enumerate(["bilinear", "nearest", "bicubic"]):
    for padding, pad in enumerate(["zeros", "border", "reflection"]):
        grid = ((torch.randn(1, 2, 3, 2) * 90).round() / 100).requires_grad_()
        case(f"grid_sampler {name} {pad}", "aten.grid_sampler_2d.default", r(1, 2, 3, 4), grid, mode, padding, mode == padding)
for mode, name in enumerate(["sum", "mean", "max"]):
    case(f"embedding_bag {name}", "aten._embedding_bag.default", r(6, 3), torch.tensor([1, 3, 1, 0, 5]), torch.tensor([0, 2, 2]), False, mode)
case("embedding_bag weighted", "aten._embedding_bag.default", r(6, 3), torch.tensor([1, 3, 1, 0, 5]), torch.tensor([0, 2]), False, 0, False,
     u(5), False, 3)
