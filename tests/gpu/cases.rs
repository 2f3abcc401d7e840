// Name, inputs, lines, results of small graphs. A name that ends in "(CPU)" may run nodes on the CPU.
const CASES: &[(&str, &str, &str, &str)] = &[
    ("mm", r#"a: "f32[3, 5][5, 1]", b: "f32[5, 4][1, 5]""#, "mm = torch.ops.aten.mm.default(a, b)", "mm"),
    ("mm in tiles", r#"a: "f32[70, 33][1, 70]", b: "f32[33, 65][65, 1]""#, "mm = torch.ops.aten.mm.default(a, b)", "mm"),
    ("mm over much", r#"a: "f32[3, 3000][3000, 1]", b: "f32[3000, 4][4, 1]""#, "mm = torch.ops.aten.mm.default(a, b)", "mm"),
    (
        "linear with its activation",
        r#"a: "f32[40, 16][16, 1]", w: "f32[64, 16][16, 1]", b: "f32[64][1]""#,
        "t = torch.ops.aten.t.default(w)
        addmm = torch.ops.aten.addmm.default(b, a, t)
        relu = torch.ops.aten.relu.default(addmm)
        sum_1 = torch.ops.aten.sum.dim_IntList(relu, [0], True)",
        "relu, sum_1",
    ),
    ("bmm", r#"a: "f32[2, 30, 40][1200, 1, 30]", b: "f32[2, 40, 50][2000, 50, 1]""#, "bmm = torch.ops.aten.bmm.default(a, b)", "bmm"),
    ("softmax", r#"a: "f32[4, 6, 5][30, 1, 6]""#, "s = torch.ops.aten._softmax.default(a, 1, False)\nl = torch.ops.aten._log_softmax.default(a, -1, False)", "s, l"),
    (
        "softmax backward",
        r#"g: "f32[4, 6][6, 1]", y: "f32[4, 6][6, 1]""#,
        "s = torch.ops.aten._softmax_backward_data.default(g, y, 1, torch.float32)
        l = torch.ops.aten._log_softmax_backward_data.default(g, y, 0, torch.float32)",
        "s, l",
    ),
    (
        "pointwise with broadcasts",
        r#"a: "f32[3, 4][4, 1]", b: "f32[4][1]", c: "f32[3, 1][1, 1]""#,
        "add = torch.ops.aten.add.Tensor(a, b, alpha = 2)
        mul = torch.ops.aten.mul.Tensor(add, c)
        sin = torch.ops.aten.sin.default(mul)
        cos = torch.ops.aten.cos.default(mul)
        div = torch.ops.aten.div.Tensor(sin, 3)
        sub = torch.ops.aten.sub.Tensor(cos, div)",
        "add, sub, mul",
    ),
    (
        "functions",
        r#"a: "f32[7, 9][1, 7]""#,
        "tanh = torch.ops.aten.tanh.default(a)
        sigmoid = torch.ops.aten.sigmoid.default(a)
        gelu = torch.ops.aten.gelu.default(a)
        gelu_t = torch.ops.aten.gelu.default(a, approximate = 'tanh')
        erf = torch.ops.aten.erf.default(a)
        expm1 = torch.ops.aten.expm1.default(a)
        silu = torch.ops.aten.silu.default(a)
        elu = torch.ops.aten.elu.default(a)
        leaky = torch.ops.aten.leaky_relu.default(a)
        softplus = torch.ops.aten.softplus.default(a)
        pow_1 = torch.ops.aten.pow.Tensor_Scalar(a, 3)
        pow_2 = torch.ops.aten.pow.Tensor_Scalar(sigmoid, 1.5)
        log = torch.ops.aten.log.default(sigmoid)
        log1p = torch.ops.aten.log1p.default(sigmoid)
        rsqrt = torch.ops.aten.rsqrt.default(sigmoid)
        neg = torch.ops.aten.neg.default(a)
        abs_1 = torch.ops.aten.abs.default(a)",
        "tanh, sigmoid, gelu, gelu_t, erf, expm1, silu, elu, leaky, softplus, pow_1, pow_2, log, log1p, rsqrt, neg, abs_1",
    ),
    (
        "gradients of activations",
        r#"g: "f32[5, 6][6, 1]", x: "f32[5, 6][1, 5]""#,
        "a = torch.ops.aten.gelu_backward.default(g, x)
        b = torch.ops.aten.gelu_backward.default(g, x, approximate = 'tanh')
        c = torch.ops.aten.silu_backward.default(g, x)
        d = torch.ops.aten.elu_backward.default(g, 1.0, 1.0, 1.0, False, x)
        e = torch.ops.aten.leaky_relu_backward.default(g, x, 0.01, False)
        f = torch.ops.aten.tanh_backward.default(g, x)
        h = torch.ops.aten.sigmoid_backward.default(g, x)
        i = torch.ops.aten.threshold_backward.default(g, x, 0)
        j = torch.ops.aten.hardtanh_backward.default(g, x, -1.0, 1.0)
        k = torch.ops.aten.softplus_backward.default(g, x, 1.0, 20.0)",
        "a, b, c, d, e, f, h, i, j, k",
    ),
    (
        "choices and comparisons",
        r#"a: "f32[6][1]", b: "f32[6][1]", m: "b8[6][1]", i: "i64[6][1]""#,
        "gt = torch.ops.aten.gt.Scalar(a, 0.3)
        le = torch.ops.aten.le.Tensor(a, b)
        and_1 = torch.ops.aten.bitwise_and.Tensor(gt, le)
        not_1 = torch.ops.aten.bitwise_not.default(m)
        where = torch.ops.aten.where.self(not_1, a, b)
        fill = torch.ops.aten.masked_fill.Scalar(a, m, -inf)
        clamp = torch.ops.aten.clamp.default(a, -0.5, 0.5)
        clamp_min = torch.ops.aten.clamp_min.default(i, 1)
        mul = torch.ops.aten.mul.Tensor(i, 3)
        eq = torch.ops.aten.eq.Scalar(i, 1)
        maximum = torch.ops.aten.maximum.default(a, b)
        to = torch.ops.aten._to_copy.default(m, dtype = torch.float32)",
        "and_1, where, fill, clamp, clamp_min, mul, eq, maximum, to",
    ),
    (
        "reductions",
        r#"a: "f32[4, 5, 6][30, 1, 5]", b: "f32[3, 2000][2000, 1]", i: "i64[4, 5][5, 1]""#,
        "sum_1 = torch.ops.aten.sum.dim_IntList(a, [0, 2])
        sum_2 = torch.ops.aten.sum.default(a)
        sum_3 = torch.ops.aten.sum.dim_IntList(b, [1], True)
        sum_4 = torch.ops.aten.sum.default(i)
        mean = torch.ops.aten.mean.dim(a, [1], True)
        mean_1 = torch.ops.aten.mean.default(b)
        amax = torch.ops.aten.amax.default(a, [1])
        amin = torch.ops.aten.amin.default(b, [1])
        prod = torch.ops.aten.prod.dim_int(a, 0)
        argmax = torch.ops.aten.argmax.default(b, 1)
        max_1 = torch.ops.aten.max.dim(a, 1)
        getitem = max_1[0]
        getitem_1 = max_1[1]
        var = torch.ops.aten.var.correction(a, [2], correction = 1)
        cumsum = torch.ops.aten.cumsum.default(a, 1)",
        "sum_1, sum_2, sum_3, sum_4, mean, mean_1, amax, amin, prod, argmax, getitem, getitem_1, var, cumsum",
    ),
    (
        "a reduction takes what feeds it and what follows",
        r#"a: "f32[8, 4][4, 1]", b: "f32[8, 4][4, 1]""#,
        "sub = torch.ops.aten.sub.Tensor(a, b)
        pow_1 = torch.ops.aten.pow.Tensor_Scalar(sub, 2)
        mean = torch.ops.aten.mean.default(pow_1)
        mul = torch.ops.aten.mul.Tensor(mean, 3)
        expand = torch.ops.aten.expand.default(mul, [8, 4])
        div = torch.ops.aten.div.Scalar(expand, 32)
        mul_1 = torch.ops.aten.mul.Tensor(div, sub)",
        "mean, mul_1",
    ),
    (
        "views fold into loads",
        r#"a: "f32[4, 6][6, 1]", b: "f32[2, 12][12, 1]""#,
        "add = torch.ops.aten.add.Tensor(a, 1)
        view = torch.ops.aten.view.default(add, [2, 12])
        mul = torch.ops.aten.mul.Tensor(view, b)
        view_1 = torch.ops.aten.view.default(mul, [4, 3, 2])
        permute = torch.ops.aten.permute.default(view_1, [2, 0, 1])
        slice_1 = torch.ops.aten.slice.Tensor(permute, 1, 1, 3)
        select = torch.ops.aten.select.int(slice_1, 0, 1)
        neg = torch.ops.aten.neg.default(select)
        clone = torch.ops.aten.clone.default(permute, memory_format = torch.contiguous_format)
        view_2 = torch.ops.aten.view.default(clone, [-1])",
        "neg, view_2, permute",
    ),
    (
        "narrow floats",
        r#"a: "f16[5, 4][4, 1]", b: "bf16[5, 4][4, 1]", c: "f32[5, 4][4, 1]""#,
        "x = torch.ops.aten.mul.Tensor(a, a)
        y = torch.ops.aten.add.Tensor(b, b, alpha = 3)
        z = torch.ops.aten._to_copy.default(c, dtype = torch.bfloat16)
        w = torch.ops.aten.exp.default(x)",
        "x, y, z, w",
    ),
];
