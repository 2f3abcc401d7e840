def cl(t):
    return t.detach().to(memory_format=torch.channels_last).requires_grad_(t.requires_grad)


for n, s in [(2, (2, 3, 5, 4)), (3, (1, 2, 4, 3, 4))]:
    k = [2] * n
    case(f"max_pool{n}d", f"aten.max_pool{n}d.default", r(*s), k)
    case(f"max_pool{n}d everything", f"aten.max_pool{n}d.default", r(*s), [3] + [2] * (n - 1), [2] * n, [1] * n, [1] * (n - 1) + [2], True)
    case(f"avg_pool{n}d", f"aten.avg_pool{n}d.default", r(*s), k)
    case(f"avg_pool{n}d everything", f"aten.avg_pool{n}d.default", r(*s), [3] + [2] * (n - 1), [2] * n, [1] * n, True, True)
    case(f"avg_pool{n}d without padding counted", f"aten.avg_pool{n}d.default", r(*s), [3] + [2] * (n - 1), [2] * n, [1] * n, True, False)
    case(f"avg_pool{n}d divisor", f"aten.avg_pool{n}d.default", r(*s), k, k, [0] * n, False, True, 3)
    case(f"adaptive_avg_pool{n}d", f"aten.adaptive_avg_pool{n}d.default", r(*s), [3] * n)
    case(f"adaptive_avg_pool{n}d one", f"aten.adaptive_avg_pool{n}d.default", r(*s), [1] * n)
    case(f"adaptive_max_pool{n}d", f"aten.adaptive_max_pool{n}d.default", r(*s), [3] * n)
case("max_pool2d single", "aten.max_pool2d.default", r(3, 4, 4), [2, 2])
case("max_pool2d nan", "aten.max_pool2d.default", torch.tensor([[[1.0, float("nan")], [2.0, 3.0]]]), [2, 2])
case("max_pool2d int64", "aten.max_pool2d_with_indices.default", ints(9, 1, 1, 4, 4), [2, 2])
case("max_pool2d channels last", "aten.max_pool2d.default", cl(r(2, 3, 4, 4)), [2, 2])
case("avg_pool2d channels last", "aten.avg_pool2d.default", cl(r(2, 3, 4, 4)), [2, 2])
case("adaptive_avg_pool2d one channels last", "aten.adaptive_avg_pool2d.default", cl(r(2, 3, 4, 4)), [1, 1])
case("max_pool1d", "aten.max_pool1d.default", r(2, 3, 6), [2])
case("max_pool1d with indices", "aten.max_pool1d_with_indices.default", r(2, 3, 6), [3], [1], [1])
case("avg_pool1d", "aten.avg_pool1d.default", r(2, 3, 6), [2])
case("adaptive_avg_pool1d", "aten.adaptive_avg_pool1d.default", r(2, 3, 5), [2])
case("adaptive_max_pool1d", "aten.adaptive_max_pool1d.default", r(2, 3, 5), [2])
