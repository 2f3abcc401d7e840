case("mm", "aten.mm.default", r(2, 3), r(3, 4))
case("mm of transposes", "aten.mm.default", r(3, 2, grad=False).t().requires_grad_(), r(4, 3, grad=False).t().requires_grad_())
case("mm float64", "aten.mm.default", r(2, 3, dtype=torch.float64), r(3, 4, dtype=torch.float64))
case("mm int64", "aten.mm.default", ints(9, 2, 3), ints(9, 3, 2))
case("mm bfloat16", "aten.mm.default", r(2, 3, grad=False, dtype=torch.bfloat16), r(3, 4, grad=False, dtype=torch.bfloat16))
case("mm empty inner", "aten.mm.default", r(2, 0), r(0, 3))
case("bmm", "aten.bmm.default", r(2, 3, 4), r(2, 4, 5))
case("bmm expanded", "aten.bmm.default", r(1, 3, 4, grad=False).expand(2, 3, 4), r(2, 5, 4, grad=False).transpose(1, 2))
case("addmm", "aten.addmm.default", r(4), r(2, 3), r(3, 4))
case("addmm scaled", "aten.addmm.default", r(2, 4), r(2, 3), r(3, 4), beta=2, alpha=0.5)
case("addmm beta zero", "aten.addmm.default", torch.full((2, 4), float("nan")), r(2, 3), r(3, 4), beta=0)
case("addmm column", "aten.addmm.default", r(2, 1), r(2, 3), r(3, 4))
case("baddbmm", "aten.baddbmm.default", r(3, 5), r(2, 3, 4), r(2, 4, 5), beta=2, alpha=3)
case("addbmm", "aten.addbmm.default", r(3, 5), r(2, 3, 4), r(2, 4, 5), beta=2, alpha=3)
case("mv", "aten.mv.default", r(3, 4), r(4))
case("addmv", "aten.addmv.default", r(3), r(3, 4), r(4), beta=2, alpha=3)
case("dot", "aten.dot.default", r(4), r(4))
case("vdot", "aten.vdot.default", r(4), r(4))
case("addr", "aten.addr.default", r(4, 3), r(4), r(3))
case("outer", "aten.outer.default", r(4), r(3))
case("inner", "aten.inner.default", r(2, 3), r(4, 3))
for a, b in [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 3)), ((2, 3, 4), (4,)), ((2, 3, 4), (4, 5)), ((4,), (2, 4, 5)), ((3, 4), (2, 4, 5)),
             ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 6)), ((1, 3, 4), (5, 4, 6)), ((5, 3, 4), (1, 4, 6)), ((2, 5, 3, 4), (4,)), ((2, 3, 4), (3, 2, 4, 2))]:
    case(f"matmul {a} {b}", "aten.matmul.default", r(*a), r(*b))
    case(f"matmul {a} {b} second without grad", "aten.matmul.default", r(*a), r(*b, grad=False))
case("matmul transposed", "aten.matmul.default", r(2, 4, 3, grad=False).transpose(1, 2), r(4, 5, grad=False))
for s in [(2, 3), (3,), (2, 4, 3), (2, 2, 4, 3)]:
    case(f"linear {s}", "aten.linear.default", r(*s), r(5, 3), r(5))
    case(f"linear {s} without bias", "aten.linear.default", r(*s), r(5, 3))
case("linear strided", "aten.linear.default", r(4, 2, 3, grad=False).transpose(0, 1).requires_grad_(), r(5, 3), r(5))
case("linear of data", "aten.linear.default", r(2, 4, 3, grad=False), r(5, 3), r(5))
case("bilinear", "aten.bilinear.default", r(2, 3), r(2, 4), r(5, 3, 4), r(5))
for eq, ss in [("ij,jk->ik", ((2, 3), (3, 4))), ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))), ("bhid,bhjd->bhij", ((2, 2, 3, 4), (2, 2, 5, 4))),
               ("i,j->ij", ((2,), (3,))), ("ij->ji", ((2, 3),)), ("ij->", ((2, 3),)), ("ij->j", ((2, 3),)), ("ii->i", ((3, 3),)), ("ii", ((3, 3),)),
               ("bij,jk->bik", ((2, 3, 4), (4, 5))), ("ij,j->i", ((2, 3), (3,))), ("i,i->", ((3,), (3,))), ("ij,ij->", ((2, 3), (2, 3))),
               ("...ij,...jk->...ik", ((2, 3, 4), (2, 4, 5))), ("ab,bc,cd->ad", ((2, 3), (3, 4), (4, 5))), ("ij,ij->ij", ((2, 3), (2, 3))),
               ("ij,kl->il", ((2, 3), (4, 5))), ("b...,b...->b", ((2, 3), (2, 3))), ("ba,b", ((2, 3), (2,)))]:
    case(f"einsum {eq}", "aten.einsum.default", eq, [r(*s) for s in ss])
case("tensordot", "aten.tensordot.default", r(2, 3, 4), r(3, 4, 5), [-2, -1], [0, 1])
case("tensordot of ones", "aten.tensordot.default", r(2, 1), r(3, 5), [1], [0])
case("tensordot outer", "aten.tensordot.default", r(2), r(3), [], [])
case("kron", "aten.kron.default", r(2, 3), r(2, 2))
case("multi_dot", "aten.linalg_multi_dot.default", [r(2, 3), r(3, 4), r(4, 5)])
case("multi_dot of vectors", "aten.linalg_multi_dot.default", [r(3), r(3, 4), r(4, 2), r(2)])
