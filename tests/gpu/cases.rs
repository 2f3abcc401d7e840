// Name, inputs, lines, results of small graphs. A name that ends in "(CPU)" may run nodes on the CPU.
pub const CASES: &[(&str, &str, &str, &str)] = &[
    ("mm", r#"a: "f32[3, 5][5, 1]", b: "f32[5, 4][1, 5]""#, "mm = torch.ops.aten.mm.default(a, b)", "mm"),
    ("mm in tiles", r#"a: "f32[70, 33][1, 70]", b: "f32[33, 65][65, 1]""#, "mm = torch.ops.aten.mm.default(a, b)", "mm"),
    ("mm over much", r#"a: "f32[3, 3000][3000, 1]", b: "f32[3000, 4][4, 1]""#, "mm = torch.ops.aten.mm.default(a, b)", "mm"),
    ("mm over a prime", r#"a: "f32[3, 1009][1009, 1]", b: "f32[1009, 5][5, 1]""#, "mm = torch.ops.aten.mm.default(a, b)", "mm"),
    (
        "few sums of much",
        r#"a: "f32[2, 3, 4099][12297, 4099, 1]", h: "f16[2, 3001][3001, 1]", i: "i64[20011][1]""#,
        "sum_1 = torch.ops.aten.sum.dim_IntList(a, [0, 2])
        amax = torch.ops.aten.amax.default(a, [1, 2])
        amin = torch.ops.aten.amin.default(a)
        sigmoid = torch.ops.aten.sigmoid.default(a)
        mean = torch.ops.aten.mean.default(sigmoid)
        sum_2 = torch.ops.aten.sum.dim_IntList(h, [1])
        sum_3 = torch.ops.aten.sum.default(i)
        argmax = torch.ops.aten.argmax.default(a)",
        "sum_1, amax, amin, mean, sum_2, sum_3, argmax",
    ),
    (
        "a convolution of few channels over much",
        r#"g: "f32[9, 2, 13, 11][286, 143, 11, 1]", x: "f32[9, 3, 13, 11][429, 143, 11, 1]", w: "f32[2, 3, 3, 3][27, 9, 3, 1]""#,
        "convolution_backward = torch.ops.aten.convolution_backward.default(g, x, w, [2], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True])
        getitem = convolution_backward[0]
        getitem_1 = convolution_backward[1]
        getitem_2 = convolution_backward[2]",
        "getitem, getitem_1, getitem_2",
    ),
    (
        "a convolution to one element",
        r#"x: "f32[1, 3, 4, 5][60, 20, 5, 1]", w: "f32[1, 3, 4, 5][60, 1, 15, 3]""#,
        "convolution = torch.ops.aten.convolution.default(x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)",
        "convolution",
    ),
    (
        "linear with its activation",
        r#"a: "f32[40, 16][16, 1]", w: "f32[64, 16][16, 1]", b: "f32[64][1]""#,
        "t = torch.ops.aten.t.default(w)
        addmm = torch.ops.aten.addmm.default(b, a, t)
        relu = torch.ops.aten.relu.default(addmm)
        sum_1 = torch.ops.aten.sum.dim_IntList(relu, [0], True)",
        "relu, sum_1",
    ),
    (
        "norms of the whole",
        r#"a: "f32[5, 70][70, 1]""#,
        "two = torch.ops.aten.norm.Scalar(a)
        one = torch.ops.aten.norm.Scalar(a, 1)
        most = torch.ops.aten.norm.Scalar(a, inf)",
        "two, one, most",
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
    (
        "layer norm",
        r#"x: "f32[3, 4, 8][32, 1, 4]", w: "f32[8][1]", b: "f32[8][1]", g: "f32[3, 4, 8][32, 8, 1]""#,
        "n = torch.ops.aten.native_layer_norm.default(x, [8], w, b, 1e-05)
        y = n[0]
        mean = n[1]
        rstd = n[2]
        back = torch.ops.aten.native_layer_norm_backward.default(g, x, [8], mean, rstd, w, b, [True, True, True])
        gx = back[0]
        gw = back[1]
        gb = back[2]",
        "y, mean, rstd, gx, gw, gb",
    ),
    (
        "batch norm",
        r#"x: "f32[4, 3, 5][15, 5, 1]", w: "f32[3][1]", b: "f32[3][1]", m: "f32[3][1]", v: "f32[3][1]", g: "f32[4, 3, 5][15, 5, 1]""#,
        "abs_1 = torch.ops.aten.abs.default(v)
        n = torch.ops.aten._native_batch_norm_legit_functional.default(x, w, b, m, abs_1, True, 0.1, 1e-05)
        y = n[0]
        mean = n[1]
        rstd = n[2]
        new_mean = n[3]
        new_var = n[4]
        e = torch.ops.aten._native_batch_norm_legit_no_training.default(x, w, b, m, abs_1, 0.1, 1e-05)
        z = e[0]
        back = torch.ops.aten.native_batch_norm_backward.default(g, x, w, m, abs_1, mean, rstd, True, 1e-05, [True, True, True])
        gx = back[0]
        gw = back[1]
        gb = back[2]",
        "y, mean, rstd, new_mean, new_var, z, gx, gw, gb",
    ),
    (
        "group norm",
        r#"x: "f32[2, 6, 5][30, 5, 1]", w: "f32[6][1]", b: "f32[6][1]", g: "f32[2, 6, 5][30, 5, 1]""#,
        "n = torch.ops.aten.native_group_norm.default(x, w, b, 2, 6, 5, 3, 1e-05)
        y = n[0]
        mean = n[1]
        rstd = n[2]
        back = torch.ops.aten.native_group_norm_backward.default(g, x, mean, rstd, w, 2, 6, 5, 3, [True, True, True])
        gx = back[0]
        gw = back[1]
        gb = back[2]",
        "y, mean, rstd, gx, gw, gb",
    ),
    (
        "convolution",
        r#"x: "f32[2, 4, 9, 8][288, 72, 8, 1]", w: "f32[6, 2, 3, 3][18, 9, 3, 1]", b: "f32[6][1]", g: "f32[2, 6, 5, 4][120, 20, 4, 1]""#,
        "y = torch.ops.aten.convolution.default(x, w, b, [2, 2], [1, 1], [1, 1], False, [0, 0], 2)
        back = torch.ops.aten.convolution_backward.default(g, x, w, [6], [2, 2], [1, 1], [1, 1], False, [0, 0], 2, [True, True, True])
        gx = back[0]
        gw = back[1]
        gb = back[2]
        relu = torch.ops.aten.relu.default(y)",
        "relu, y, gx, gw, gb",
    ),
    (
        "convolution in tiles",
        r#"x: "f32[2, 8, 12, 12][1152, 144, 12, 1]", w: "f32[32, 8, 3, 3][72, 9, 3, 1]", b: "f32[32][1]""#,
        "y = torch.ops.aten.convolution.default(x, w, b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)",
        "y",
    ),
    (
        "transposed convolution",
        r#"x: "f32[2, 3, 5][15, 5, 1]", w: "f32[3, 4, 3][12, 3, 1]", b: "f32[4][1]", g: "f32[2, 4, 10][40, 10, 1]""#,
        "y = torch.ops.aten.convolution.default(x, w, b, [2], [1], [1], True, [1], 1)
        back = torch.ops.aten.convolution_backward.default(g, x, w, [4], [2], [1], [1], True, [1], 1, [True, True, True])
        gx = back[0]
        gw = back[1]
        gb = back[2]",
        "y, gx, gw, gb",
    ),
    (
        "pooling",
        r#"x: "f32[2, 3, 7, 8][168, 56, 8, 1]", g: "f32[2, 3, 4, 4][48, 16, 4, 1]", h: "f32[2, 3, 3, 2][18, 6, 2, 1]""#,
        "p = torch.ops.aten.max_pool2d_with_indices.default(x, [3, 3], [2, 2], [1, 1])
        y = p[0]
        i = p[1]
        gx = torch.ops.aten.max_pool2d_with_indices_backward.default(g, x, [3, 3], [2, 2], [1, 1], [1, 1], False, i)
        a = torch.ops.aten.avg_pool2d.default(x, [3, 3], [2, 2], [1, 1])
        ga = torch.ops.aten.avg_pool2d_backward.default(g, x, [3, 3], [2, 2], [1, 1], False, True, None)
        ad = torch.ops.aten._adaptive_avg_pool2d.default(x, [3, 2])
        gad = torch.ops.aten._adaptive_avg_pool2d_backward.default(h, x)",
        "y, i, gx, a, ga, ad, gad",
    ),
    (
        "joins and scatters of slices",
        r#"a: "f32[3, 4][4, 1]", b: "f32[3, 2][1, 3]", c: "f32[3, 4][1, 3]""#,
        "cat = torch.ops.aten.cat.default([a, b, c], 1)
        stack = torch.ops.aten.stack.default([a, c], 1)
        ss = torch.ops.aten.slice_scatter.default(a, b, 1, 1, 3)
        select = torch.ops.aten.select.int(a, 1, 2)
        sel = torch.ops.aten.select_scatter.default(c, select, 1, -1)
        sb = torch.ops.aten.slice_backward.default(b, [3, 4], 1, 0, 4, 2)
        slb = torch.ops.aten.select_backward.default(select, [3, 5], 1, 3)
        flip = torch.ops.aten.flip.default(c, [0, 1])
        repeat = torch.ops.aten.repeat.default(b, [2, 1, 3])
        pad = torch.ops.aten.constant_pad_nd.default(a, [1, 2, 0, 1], 0.5)
        ast = torch.ops.aten.as_strided_scatter.default(a, select, [3], [4], 1)
        tril = torch.ops.aten.tril.default(a, 1)
        roll = torch.ops.aten.roll.default(a, [1, -1], [0, 1])",
        "cat, stack, ss, sel, sb, slb, flip, repeat, pad, ast, tril, roll",
    ),
    (
        "indexing",
        r#"x: "f32[3, 4, 5][20, 1, 4]", i: "i64[6][1]", j: "i64[2, 6][6, 1]", s: "f32[2, 4, 5][20, 5, 1]", k: "i64[2, 4, 5][20, 5, 1]", v: "f32[6, 4, 5][20, 5, 1]""#,
        "gather = torch.ops.aten.gather.default(x, 0, k)
        scatter = torch.ops.aten.scatter.src(x, 0, k, s)
        add = torch.ops.aten.scatter_add.default(x, 0, k, s)
        value = torch.ops.aten.scatter.value(x, 1, k, 3.5)
        select = torch.ops.aten.index_select.default(x, 1, i)
        index = torch.ops.aten.index.Tensor(x, [i])
        index_1 = torch.ops.aten.index.Tensor(x, [None, i, j])
        index_2 = torch.ops.aten.index.Tensor(x, [i, None, j])
        put = torch.ops.aten.index_put.default(x, [i], v)
        put_1 = torch.ops.aten.index_put.default(x, [i], v, True)
        added = torch.ops.aten.index_add.default(x, 0, i, v, alpha = 2)",
        "gather, scatter, add, value, select, index, index_1, index_2, put, put_1, added",
    ),
    (
        "embedding",
        r#"w: "f32[5, 4][1, 5]", i: "i64[2, 3][1, 2]", g: "f32[2, 3, 4][12, 4, 1]""#,
        "e = torch.ops.aten.embedding.default(w, i)
        back = torch.ops.aten.embedding_dense_backward.default(g, i, 5, -1, False)
        back_1 = torch.ops.aten.embedding_dense_backward.default(g, i, 5, 1, False)",
        "e, back, back_1",
    ),
    (
        "losses",
        r#"x: "f32[4, 3][3, 1]", y: "f32[4, 3][1, 4]", t: "i64[4][1]", w: "f32[3][1]", g: "f32[][]""#,
        "mse = torch.ops.aten.mse_loss.default(x, y)
        mse_1 = torch.ops.aten.mse_loss_backward.default(g, x, y, 1)
        smooth = torch.ops.aten.smooth_l1_loss.default(x, y, 2, 0.5)
        huber = torch.ops.aten.huber_loss.default(x, y, 0, 0.5)
        p = torch.ops.aten.sigmoid.default(x)
        q = torch.ops.aten.sigmoid.default(y)
        bce = torch.ops.aten.binary_cross_entropy.default(p, q)
        bce_1 = torch.ops.aten.binary_cross_entropy_backward.default(g, p, q)
        logits = torch.ops.aten.binary_cross_entropy_with_logits.default(x, q)
        l = torch.ops.aten._log_softmax.default(x, 1, False)
        nll = torch.ops.aten.nll_loss_forward.default(l, t, w, 1, -100)
        loss = nll[0]
        total = nll[1]
        nll_1 = torch.ops.aten.nll_loss_forward.default(l, t, None, 2, 1)
        loss_1 = nll_1[0]
        back = torch.ops.aten.nll_loss_backward.default(g, l, t, w, 1, -100, total)",
        "mse, mse_1, smooth, huber, bce, bce_1, logits, loss, total, loss_1, back",
    ),
    (
        "sorting",
        r#"x: "f32[3, 7][1, 3]", i: "i64[9][1]""#,
        "k = torch.ops.aten.topk.default(x, 3)
        a = k[0]
        b = k[1]
        s = torch.ops.aten.sort.stable(i, stable = True, dim = 0, descending = True)
        c = s[0]
        d = s[1]",
        "a, b, c, d",
    ),
    (
        "pools whose windows lie apart, side by side, and spread",
        r#"x: "f32[2, 2, 5, 7][70, 35, 7, 1]", g: "f32[2, 2, 2, 3][12, 6, 3, 1]", h: "f32[2, 2, 2, 2][8, 4, 2, 1]", k: "f32[2, 2, 3, 5][30, 15, 5, 1]""#,
        "p = torch.ops.aten.max_pool2d_with_indices.default(x, [2, 2], [2, 2])
        y = p[0]
        i = p[1]
        gx = torch.ops.aten.max_pool2d_with_indices_backward.default(g, x, [2, 2], [2, 2], [0, 0], [1, 1], False, i)
        q = torch.ops.aten.max_pool2d_with_indices.default(x, [2, 2], [3, 3])
        z = q[0]
        j = q[1]
        hx = torch.ops.aten.max_pool2d_with_indices_backward.default(h, x, [2, 2], [3, 3], [0, 0], [1, 1], False, j)
        r = torch.ops.aten.max_pool2d_with_indices.default(x, [2, 2], [1, 1], [0, 0], [2, 2])
        w = r[0]
        n = r[1]
        kx = torch.ops.aten.max_pool2d_with_indices_backward.default(k, x, [2, 2], [1, 1], [0, 0], [2, 2], False, n)
        a = torch.ops.aten.avg_pool2d_backward.default(g, x, [2, 2], [2, 2], [0, 0], False, True, None)
        b = torch.ops.aten.avg_pool2d_backward.default(h, x, [2, 2], [3, 3], [0, 0], False, True, None)
        c = torch.ops.aten.sum.dim_IntList(a, [2, 3])
        d = torch.ops.aten.sum.dim_IntList(gx, [3])",
        "y, i, gx, z, j, hx, w, n, kx, a, b, c, d",
    ),
    (
        "attention",
        r#"q: "f32[2, 3, 5, 4][60, 20, 4, 1]", k: "f32[2, 3, 6, 4][72, 24, 4, 1]", v: "f32[2, 3, 6, 4][72, 24, 4, 1]", g: "f32[2, 3, 5, 4][60, 20, 4, 1]""#,
        "f = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v, 0.0, True)
        y = f[0]
        lse = f[1]
        back = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default(g, q, k, v, y, lse, 0.0, True)
        gq = back[0]
        gk = back[1]
        gv = back[2]",
        "y, lse, gq, gk, gv",
    ),
    (
        "attention with masks: of no row, of some, of all that a row meets",
        r#"q: "f32[2, 2, 5, 4][40, 20, 4, 1]", k: "f32[2, 2, 6, 4][48, 24, 4, 1]", v: "f32[2, 2, 6, 4][48, 24, 4, 1]", g: "f32[2, 2, 5, 4][40, 20, 4, 1]", m: "f32[5, 6][6, 1]""#,
        "some = torch.ops.aten.ge.Scalar(m, 0.3)
        none = torch.ops.aten.ge.Scalar(m, 10)
        zero = torch.ops.aten.full.default([], 0.0, dtype = torch.float32, layout = torch.strided, device = device(type='cpu'), pin_memory = False)
        low = torch.ops.aten.full.default([], -inf, dtype = torch.float32, layout = torch.strided, device = device(type='cpu'), pin_memory = False)
        w = torch.ops.aten.where.self(some, zero, low)
        n = torch.ops.aten.where.self(none, zero, low)
        f = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v, 0.0, False, attn_mask = w, scale = 0.7)
        y = f[0]
        lse = f[1]
        back = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default(g, q, k, v, y, lse, 0.0, False, attn_mask = w, scale = 0.7)
        gq = back[0]
        gk = back[1]
        gv = back[2]
        f_1 = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v, 0.0, False, attn_mask = n)
        y_1 = f_1[0]
        lse_1 = f_1[1]
        back_1 = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default(g, q, k, v, y_1, lse_1, 0.0, False, attn_mask = n)
        gq_1 = back_1[0]
        gv_1 = back_1[2]",
        "y, lse, gq, gk, gv, y_1, lse_1, gq_1, gv_1",
    ),
    (
        "attention of rows too long for registers",
        r#"q: "f32[1, 2, 3, 70][420, 210, 70, 1]", k: "f32[1, 2, 4, 70][560, 280, 70, 1]", v: "f32[1, 2, 4, 70][560, 280, 70, 1]", g: "f32[1, 2, 3, 70][420, 210, 70, 1]", m: "f32[3, 4][4, 1]""#,
        "none = torch.ops.aten.ge.Scalar(m, 10)
        zero = torch.ops.aten.full.default([], 0.0, dtype = torch.float32, layout = torch.strided, device = device(type='cpu'), pin_memory = False)
        low = torch.ops.aten.full.default([], -inf, dtype = torch.float32, layout = torch.strided, device = device(type='cpu'), pin_memory = False)
        n = torch.ops.aten.where.self(none, zero, low)
        f = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v, 0.0, True)
        y = f[0]
        lse = f[1]
        back = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default(g, q, k, v, y, lse, 0.0, True)
        gq = back[0]
        gk = back[1]
        gv = back[2]
        f_1 = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v, 0.0, False, attn_mask = n)
        y_1 = f_1[0]
        lse_1 = f_1[1]
        back_1 = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default(g, q, k, v, y_1, lse_1, 0.0, False, attn_mask = n)
        gq_1 = back_1[0]",
        "y, lse, gq, gk, gv, y_1, lse_1, gq_1",
    ),
    (
        "loops over the same rows: of a square, whose rows and columns are as many",
        r#"x: "f32[5, 5][5, 1]", y: "f32[5, 5][1, 5]""#,
        "row = torch.ops.aten.sum.dim_IntList(x, [1], True)
        a = torch.ops.aten.mul.Tensor(x, row)
        b = torch.ops.aten.mul.Tensor(y, row)
        flat = torch.ops.aten.view.default(row, [5])
        c = torch.ops.aten.sub.Tensor(x, flat)
        column = torch.ops.aten.sum.dim_IntList(x, [0], True)
        d = torch.ops.aten.mul.Tensor(x, column)
        e = torch.ops.aten.add.Tensor(d, row)
        most = torch.ops.aten.amax.default(e, [1], True)
        f = torch.ops.aten.sub.Tensor(e, most)",
        "a, b, c, d, e, f",
    ),
    (
        "loops over the same rows: side by side, one after the other, across views",
        r#"x: "f32[4, 3, 7][21, 7, 1]", y: "f32[12, 7][7, 1]", w: "f32[7][1]""#,
        "a = torch.ops.aten.sum.dim_IntList(x, [2])
        b = torch.ops.aten.amax.default(x, [2])
        i = torch.ops.aten.argmax.default(x, 2)
        c = torch.ops.aten.sum.dim_IntList(y, [1])
        s = torch.ops.aten._softmax.default(x, 1, False)
        t = torch.ops.aten._log_softmax.default(x, 2, False)
        u = torch.ops.aten._softmax.default(t, 2, False)
        view = torch.ops.aten.view.default(c, [4, 3, 1])
        d = torch.ops.aten.mul.Tensor(x, view)
        e = torch.ops.aten.mul.Tensor(d, w)
        g = torch.ops.aten.sum.dim_IntList(e, [2])
        back = torch.ops.aten._log_softmax_backward_data.default(e, t, 2, torch.float32)
        both = torch.ops.aten.sum.dim_IntList(x, [0, 2], True)
        h = torch.ops.aten.div.Tensor(x, both)",
        "a, b, i, c, s, t, u, d, e, g, back, h",
    ),
    (
        "loops over the same rows: long ones, a value in between that others read too",
        r#"x: "f32[6, 300][300, 1]", y: "f32[6, 300][300, 1]""#,
        "s = torch.ops.aten._softmax.default(x, 1, False)
        z = torch.ops.aten.add.Tensor(s, y)
        t = torch.ops.aten._log_softmax.default(z, 1, False)
        m = torch.ops.aten.max.dim(t, 1)
        v = m[0]
        p = m[1]
        n = torch.ops.aten.sum.default(z)",
        "s, z, t, v, p, n",
    ),
    (
        "an input is written to last",
        r#"x: "f32[3, 4][4, 1]", y: "f32[3, 4][4, 1]""#,
        "add = torch.ops.aten.add.Tensor(x, y)
        mul = torch.ops.aten.mul.Tensor(x, 2)
        copy_ = torch.ops.aten.copy_.default(x, add)",
        "mul, add, copy_",
    ),
    (
        "many inputs at once",
        r#"a0: "f32[6][1]", a1: "f32[6][1]", a2: "f32[6][1]", a3: "f32[6][1]", a4: "f32[6][1]", a5: "f32[6][1]", a6: "f32[6][1]", a7: "f32[6][1]", a8: "f32[6][1]", a9: "f32[6][1]""#,
        "s1 = torch.ops.aten.add.Tensor(a0, a1)
        s2 = torch.ops.aten.add.Tensor(s1, a2)
        s3 = torch.ops.aten.mul.Tensor(s2, a3)
        s4 = torch.ops.aten.add.Tensor(s3, a4)
        s5 = torch.ops.aten.mul.Tensor(s4, a5)
        s6 = torch.ops.aten.add.Tensor(s5, a6)
        s7 = torch.ops.aten.mul.Tensor(s6, a7)
        s8 = torch.ops.aten.add.Tensor(s7, a8)
        s9 = torch.ops.aten.mul.Tensor(s8, a9)
        sum_1 = torch.ops.aten.sum.default(s9)",
        "sum_1, s3, s9",
    ),
    (
        "a node without a lowering (CPU)",
        r#"x: "f32[4, 4][4, 1]", y: "f32[4, 4][4, 1]""#,
        "add = torch.ops.aten.add.Tensor(x, y)
        cdist = torch.ops.aten._cdist_forward.default(add, y, 2.0, None)
        mul = torch.ops.aten.mul.Tensor(cdist, add)",
        "mul",
    ),
];
