//! Products of matrices and vectors that have a kernel of their own: mm, bmm, addmm, baddbmm, mv, dot, ...
//!
//! Their derivatives keep the memory layout of the input: a column-major matrix gets a column-major gradient, made by
//! multiplying the transposes, so that no copy is needed.

use super::complex::conj;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Batch, Call, CastPolicy, Complex, Grads, OpBuilder, OpClasses, Rule, Tags, Value};
use shape::SymInt;
use tensor::{Dtype, Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op("mm(Tensor self, Tensor mat2) -> Tensor", Rule::Fresh(mm_spec))
        .doc("The product of two matrices.")
        .classes(OpClasses::COMPUTE_INTENSIVE)
        .autocast(CastPolicy::LowerPrecisionFp)
        .batch(Batch::Rule(super::batch_rules::matrix_product))
        .complex(Complex::Product(&["self", "mat2"]))
        .tags(Tags::COMPLEX_GRAD | Tags::CONJ_FALLTHROUGH)
        .grad("MmBackward", &["self", "mat2"], mm_grad)
        .serves(&[("self", "mat2"), ("mat2", "self")]);
    b.op(
        "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor",
        Rule::Fresh(scaled_mm_spec),
    )
    .doc("The product of two matrices of 8-bit floats, times their scales.")
    .classes(OpClasses::COMPUTE_INTENSIVE);
    b.op("bmm(Tensor self, Tensor mat2) -> Tensor", Rule::Fresh(bmm_spec))
        .doc("Products of matrices, batch by batch.")
        .classes(OpClasses::COMPUTE_INTENSIVE)
        .autocast(CastPolicy::LowerPrecisionFp)
        .batch(Batch::Rule(super::batch_rules::matrix_product))
        .complex(Complex::Product(&["self", "mat2"]))
        .tags(Tags::COMPLEX_GRAD | Tags::CONJ_FALLTHROUGH)
        .grad("BmmBackward", &["self", "mat2"], bmm_grad)
        .serves(&[("self", "mat2"), ("mat2", "self")]);
    b.op("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", Rule::Fresh(addmm_spec))
        .complex(Complex::Product(&["mat1", "mat2"]))
        .tags(Tags::COMPLEX_GRAD)
        .doc("`beta * self + alpha * (mat1 @ mat2)`.")
        .classes(OpClasses::COMPUTE_INTENSIVE)
        .autocast(CastPolicy::LowerPrecisionFp)
        .batch(Batch::Composed(super::batch_composed::addmm))
        .tags(Tags::CONJ_FALLTHROUGH)
        .grad("AddmmBackward", &["mat1", "mat2"], addmm_grad)
        .serves(&[("mat1", "mat2"), ("mat2", "mat1")])
        .inplace();
    b.op("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", Rule::Fresh(baddbmm_spec))
        .complex(Complex::Product(&["batch1", "batch2"]))
        .doc("`beta * self + alpha * (batch1 @ batch2)`, batch by batch.")
        .autocast(CastPolicy::LowerPrecisionFp)
        .batch(Batch::Composed(super::batch_composed::baddbmm))
        .tags(Tags::COMPLEX_GRAD | Tags::CONJ_FALLTHROUGH)
        .grad("BaddbmmBackward", &["batch1", "batch2"], baddbmm_grad)
        .serves(&[("batch1", "batch2"), ("batch2", "batch1")])
        .inplace();
    b.op("addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", Rule::Fresh(addbmm_spec))
        .complex(Complex::Product(&["batch1", "batch2"]))
        .doc("`beta * self + alpha * sum(batch1 @ batch2)`.")
        .autocast(CastPolicy::LowerPrecisionFp)
        .batch(Batch::Composed(super::batch_composed::addbmm))
        .tags(Tags::COMPLEX_GRAD)
        .grad("AddbmmBackward", &["batch1", "batch2"], addbmm_grad)
        .serves(&[("batch1", "batch2"), ("batch2", "batch1")])
        .inplace();
    b.op("mv(Tensor self, Tensor vec) -> Tensor", Rule::Fresh(mv_spec))
        .doc("The product of a matrix and a vector.")
        .batch(Batch::Rule(super::batch_rules::mv))
        .complex(Complex::Product(&["self", "vec"]))
        .tags(Tags::COMPLEX_GRAD | Tags::HOLOMORPHIC)
        .grad("MvBackward", &["self", "vec"], mv_grad)
        .serves(&[("self", "vec"), ("vec", "self")]);
    b.op("addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor", Rule::Fresh(addmv_spec))
        .complex(Complex::Product(&["mat", "vec"]))
        .tags(Tags::COMPLEX_GRAD)
        .doc("`beta * self + alpha * (mat @ vec)`.")
        .batch(Batch::Composed(super::batch_composed::addmv))
        .grad("AddmvBackward", &["mat", "vec"], addmv_grad)
        .serves(&[("mat", "vec"), ("vec", "mat")])
        .inplace();
    b.op("dot(Tensor self, Tensor tensor) -> Tensor", Rule::Fresh(dot_spec))
        .doc("The product of two vectors.")
        .batch(Batch::Rule(super::batch_rules::dot))
        .complex(Complex::Product(&["self", "tensor"]))
        .tags(Tags::COMPLEX_GRAD | Tags::HOLOMORPHIC | Tags::CONJ_FALLTHROUGH)
        .grad("DotBackward", &["self", "tensor"], dot_grad)
        .serves(&[("self", "tensor"), ("tensor", "self")]);
    b.op("vdot(Tensor self, Tensor other) -> Tensor", Rule::Fresh(vdot_spec))
        .doc("The product of two vectors, the first conjugated.")
        .batch(Batch::Rule(super::batch_rules::dot))
        .complex(Complex::Product(&["self", "other"]))
        .tags(Tags::COMPLEX_GRAD | Tags::CONJ_FALLTHROUGH)
        .grad("VdotBackward", &["self", "other"], vdot_grad)
        .serves(&[("self", "other"), ("other", "self")]);
    b.op("addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", Rule::Fresh(addr_spec))
        .complex(Complex::Product(&["vec1", "vec2"]))
        .tags(Tags::COMPLEX_GRAD)
        .doc("`beta * self + alpha * outer(vec1, vec2)`.")
        .grad("AddrBackward", &["vec1", "vec2"], addr_grad)
        .serves(&[("vec1", "vec2"), ("vec2", "vec1")])
        .inplace();
}

/// C++'s name of a dtype, as some messages print it.
pub(super) fn cpp_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Bool => "bool",
        Dtype::UInt8 => "unsigned char",
        Dtype::Int8 => "signed char",
        Dtype::Int16 => "short int",
        Dtype::Int32 => "int",
        Dtype::Int64 => "long int",
        Dtype::Float8E4m3fn => "c10::Float8_e4m3fn",
        Dtype::Float8E5m2 => "c10::Float8_e5m2",
        Dtype::Float16 => "c10::Half",
        Dtype::BFloat16 => "c10::BFloat16",
        Dtype::Float32 => "float",
        Dtype::Float64 => "double",
        Dtype::Complex64 => "c10::complex<float>",
        Dtype::Complex128 => "c10::complex<double>",
    }
}

fn one(sizes: Vec<SymInt>, like: &Tensor) -> Result<Vec<Option<TensorSpec>>> {
    Ok(vec![Some(TensorSpec::contiguous(sizes, like.dtype(), like.device()))])
}

/// The product's sizes, checked in the words of `name`.
fn matrix_product(name: &str, a: &Tensor, b: &Tensor) -> Result<Vec<SymInt>> {
    for (what, t) in [("self", a), ("mat2", b)] {
        if t.dim() != 2 {
            return Err(Error::runtime(format!("{name}: {what} must be a matrix, got {}-D tensor", t.dim())));
        }
    }
    if !a.size(1).sym_eq(b.size(0))? {
        if a.is_fake() {
            return Err(Error::runtime(format!("a and b must have same reduction dim, but got {:?} X {:?}.", a.sizes(), b.sizes())));
        }
        return Err(Error::runtime(format!(
            "{name}: mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})",
            a.size(0),
            a.size(1),
            b.size(0),
            b.size(1)
        )));
    }
    // Fake tensors may differ in dtype: PyTorch leaves it to the kernel to refuse them.
    if a.is_fake() || b.is_fake() {
        return Ok(vec![a.size(0), b.size(1)]);
    }
    if a.dtype() != b.dtype() && name == "addmm" {
        return Err(Error::runtime(format!(
            "mat1 and mat2 must have the same dtype, but got {} and {}",
            a.dtype().scalar_type(),
            b.dtype().scalar_type()
        )));
    }
    if a.dtype() != b.dtype() {
        return Err(Error::runtime(format!(
            "expected m1 and m2 to have the same dtype, but got: {} != {}",
            cpp_name(a.dtype()),
            cpp_name(b.dtype())
        )));
    }
    Ok(vec![a.size(0), b.size(1)])
}

fn mm_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (a, b) = (c.tensor("self")?, c.tensor("mat2")?);
    one(matrix_product("mm", a, b)?, a)
}

fn scaled_mm_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (a, b) = (c.tensor("self")?, c.tensor("mat2")?);
    if let Some(other) = [a, b].into_iter().find(|t| !t.dtype().is_float8()) {
        return Err(Error::runtime(format!("Expected both operands of _scaled_mm to be floats of 8 bits, but got {}", other.dtype())));
    }
    let sizes = matrix_product("mm", a, b)?;
    Ok(vec![Some(TensorSpec::contiguous(sizes, c.get("out_dtype").dtype()?.unwrap_or(a.dtype()), a.device()))])
}

fn batch_product(a: &Tensor, b: &Tensor) -> Result<Vec<SymInt>> {
    for (what, t) in [("batch1", a), ("batch2", b)] {
        if t.dim() != 3 {
            return Err(Error::runtime(format!("{what} must be a 3D tensor")));
        }
    }
    if !(b.size(0).sym_eq(a.size(0))? && b.size(1).sym_eq(a.size(2))?) {
        return Err(Error::runtime(format!(
            "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: [{}, {}].",
            a.size(0),
            a.size(2),
            b.size(0),
            b.size(1)
        )));
    }
    if a.dtype() != b.dtype() {
        return Err(Error::runtime(format!("expected scalar type {} but found {}", a.dtype().scalar_type(), b.dtype().scalar_type())));
    }
    Ok(vec![a.size(0), a.size(1), b.size(2)])
}

fn bmm_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (a, b) = (c.tensor("self")?, c.tensor("mat2")?);
    one(batch_product(a, b)?, a)
}

/// Refuses a tensor that does not expand to the sizes.
pub fn check_expands(t: &Tensor, sizes: &[SymInt]) -> Result<()> {
    let own = t.sizes();
    let lead = sizes.len() as i64 - own.len() as i64;
    if lead < 0 {
        return Err(Error::runtime(format!(
            "expand(torch.{}Tensor{{{own:?}}}, size={sizes:?}): the number of sizes provided ({}) must be greater or equal to the number of dimensions in the tensor ({})",
            t.dtype().scalar_type(),
            sizes.len(),
            own.len()
        )));
    }
    for (i, size) in own.iter().enumerate().rev() {
        let want = &sizes[i + lead as usize];
        if !size.sym_eq(want.clone())? && !size.sym_eq(1)? {
            return Err(Error::runtime(format!(
                "The expanded size of the tensor ({want}) must match the existing size ({size}) at non-singleton dimension {}.  Target sizes: {sizes:?}.  Tensor sizes: {own:?}",
                i + lead as usize
            )));
        }
    }
    Ok(())
}

fn addmm_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (bias, a, b) = (c.tensor("self")?, c.tensor("mat1")?, c.tensor("mat2")?);
    if bias.dtype() != b.dtype() && a.dim() == 2 && b.dim() == 2 && bias.dtype() == a.dtype() && !bias.is_fake() {
        return Err(Error::runtime(format!(
            "self and mat2 must have the same dtype, but got {} and {}",
            bias.dtype().scalar_type(),
            b.dtype().scalar_type()
        )));
    }
    let sizes = matrix_product("addmm", a, b)?;
    check_expands(bias, &sizes)?;
    // It is PyTorch's kernel that asks, so that a graph of fake tensors may hold such a call.
    if bias.dtype() != b.dtype() && !bias.is_fake() {
        return Err(Error::runtime(format!(
            "self and mat2 must have the same dtype, but got {} and {}",
            bias.dtype().scalar_type(),
            b.dtype().scalar_type()
        )));
    }
    one(sizes, b)
}

fn baddbmm_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (bias, a, b) = (c.tensor("self")?, c.tensor("batch1")?, c.tensor("batch2")?);
    let differ = || {
        Error::runtime(format!(
            "Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}",
            cpp_name(bias.dtype()),
            cpp_name(a.dtype()),
            cpp_name(b.dtype())
        ))
    };
    if a.dtype() != b.dtype() && a.dim() == 3 && b.dim() == 3 && !a.is_fake() {
        return Err(differ());
    }
    let sizes = batch_product(a, b)?;
    check_expands(bias, &sizes)?;
    if bias.dtype() != a.dtype() {
        return Err(differ());
    }
    one(sizes, a)
}

fn addbmm_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (bias, a) = (c.tensor("self")?, c.tensor("batch1")?);
    let sizes = batch_product(a, c.tensor("batch2")?)?[1..].to_vec();
    check_expands(bias, &sizes)?;
    one(sizes, a)
}

fn matrix_vector(input: Option<&Tensor>, mat: &Tensor, vec: &Tensor) -> Result<Vec<SymInt>> {
    if mat.dim() != 2 || vec.dim() != 1 || input.is_some_and(|t| t.dim() > 1) {
        return Err(Error::runtime(format!(
            "vector + matrix @ vector expected, got {}, {}, {}",
            input.map_or(1, Tensor::dim),
            mat.dim(),
            vec.dim()
        )));
    }
    let own = input.map_or(mat.size(0), |t| if t.dim() == 1 { t.size(0) } else { SymInt::Int(1) });
    if !mat.size(1).sym_eq(vec.size(0))? || !(own.sym_eq(mat.size(0))? || own.sym_eq(1)?) {
        if mat.is_fake() && input.is_none() {
            return Err(Error::runtime(format!("size mismatch, got input ({}x{}), vec ({})", mat.size(0), mat.size(1), vec.size(0))));
        }
        return Err(Error::runtime(format!(
            "size mismatch, got input ({own}), mat ({}x{}), vec ({})",
            mat.size(0),
            mat.size(1),
            vec.size(0)
        )));
    }
    let result = input.map_or(vec.dtype(), Tensor::dtype);
    if input.is_none() && (mat.is_fake() || vec.is_fake()) {
        return Ok(vec![mat.size(0)]);
    }
    if mat.dtype() != vec.dtype() || result != mat.dtype() {
        return Err(Error::runtime(format!(
            "addmv input tensors must have the same dtype, but got {}, {}, and {}",
            result.scalar_type(),
            mat.dtype().scalar_type(),
            vec.dtype().scalar_type()
        )));
    }
    Ok(vec![mat.size(0)])
}

fn mv_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (mat, vec) = (c.tensor("self")?, c.tensor("vec")?);
    one(matrix_vector(None, mat, vec)?, mat)
}

fn addmv_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (own, mat) = (c.tensor("self")?, c.tensor("mat")?);
    let sizes = matrix_vector(Some(own), mat, c.tensor("vec")?)?;
    // Without a product PyTorch only scales what was to be added to, in its own shape.
    let alone = mat.numel().as_int() == Some(0) && !dispatch::modes().fake;
    one(if alone { own.sizes() } else { sizes }, mat)
}

fn inner_product(name: &str, a: &Tensor, b: &Tensor) -> Result<Vec<Option<TensorSpec>>> {
    if a.dim() != 1 || b.dim() != 1 {
        return Err(Error::runtime(format!("1D tensors expected, but got {}D and {}D tensors", a.dim(), b.dim())));
    }
    if a.dtype() != b.dtype() {
        return Err(Error::runtime(format!(
            "{name} : expected both vectors to have same dtype, but found {} and {}",
            a.dtype().scalar_type(),
            b.dtype().scalar_type()
        )));
    }
    if !a.size(0).sym_eq(b.size(0))? {
        // PyTorch's own rule for fake tensors lacks a space.
        let same = if a.is_fake() { "thesame" } else { "the same" };
        return Err(Error::runtime(format!(
            "inconsistent tensor size, expected tensor {:?} and src {:?} to have {same} number of elements, but got {} and {} elements respectively",
            a.sizes(),
            b.sizes(),
            a.size(0),
            b.size(0)
        )));
    }
    one(Vec::new(), a)
}

fn dot_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    inner_product("dot", c.tensor("self")?, c.tensor("tensor")?)
}

fn vdot_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    inner_product("vdot", c.tensor("self")?, c.tensor("other")?)
}

fn addr_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (input, a, b) = (c.tensor("self")?, c.tensor("vec1")?, c.tensor("vec2")?);
    if a.dim() != 1 || b.dim() != 1 {
        return Err(Error::runtime(format!(
            "addr: Expected 1-D argument {}, but got {}-D",
            if a.dim() != 1 { "vec1" } else { "vec2" },
            if a.dim() != 1 { a.dim() } else { b.dim() }
        )));
    }
    let sizes = vec![a.size(0), b.size(0)];
    check_expands(input, &sizes)?;
    let dtype = crate::shapes::result_type(&[c.get("self"), c.get("vec1"), c.get("vec2")])?;
    // The outer product is a pointwise one, of rows and columns that are broadcast.
    let strides = crate::shapes::pointwise_strides(&sizes, &[input])?;
    Ok(vec![Some(TensorSpec::strided(sizes, strides, dtype, input.device()))])
}

/// A gradient times the conjugate of a factor, unless the factor is one.
fn multiply_back(t: Tensor, factor: &Value) -> Result<Tensor> {
    let is_one = match factor {
        Value::Int(i) => i.statically_eq(1),
        Value::Float(f) => *f == 1.0,
        Value::Bool(b) => *b,
        _ => false,
    };
    if is_one { Ok(t) } else { t!("mul.Scalar", t, super::common::conjugate_number(factor)) }
}

fn column_major(spec: &TensorSpec) -> Result<bool> {
    let g = &spec.geometry;
    Ok(g.strides[0].sym_eq(1)? && g.strides[1].sym_eq(g.sizes[0].clone())?)
}

/// The gradient of a product's first matrix.
fn mat1_grad(grad: &Tensor, mat2: &Tensor, mat1: &TensorSpec, alpha: &Value) -> Result<Tensor> {
    let product =
        if column_major(mat1)? { t!("t", t!("mm", conj(mat2)?, t!("t", grad)?)?)? } else { t!("mm", grad, conj(&t!("t", mat2)?)?)? };
    multiply_back(product, alpha)
}

/// The gradient of a product's second matrix.
fn mat2_grad(grad: &Tensor, mat1: &Tensor, mat2: &TensorSpec, alpha: &Value) -> Result<Tensor> {
    let product =
        if column_major(mat2)? { t!("t", t!("mm", t!("t", grad)?, conj(mat1)?)?)? } else { t!("mm", conj(&t!("t", mat1)?)?, grad)? };
    multiply_back(product, alpha)
}

fn mm_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad, one) = (Grads::new(b), b.grad()?, Value::from(1));
    grads.set(b, "mat2", || mat2_grad(grad, b.saved("self")?, b.spec("mat2")?, &one))?;
    grads.set(b, "self", || mat1_grad(grad, b.saved("mat2")?, b.spec("self")?, &one))?;
    Ok(grads)
}

fn addmm_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad, alpha) = (Grads::new(b), b.grad()?, b.arg("alpha"));
    grads.set(b, "mat1", || mat1_grad(grad, b.saved("mat2")?, b.spec("mat1")?, alpha))?;
    grads.set(b, "mat2", || mat2_grad(grad, b.saved("mat1")?, b.spec("mat2")?, alpha))?;
    grads.set(b, "self", || multiply_back(grad.clone(), b.arg("beta")))?;
    Ok(grads)
}

fn batch_adjoint(t: &Tensor) -> Result<Tensor> {
    let transposed = t!("transpose.int", t, 1, 2)?;
    if t.dtype().is_complex() { t!("_conj", transposed) } else { Ok(transposed) }
}

fn bmm_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad) = (Grads::new(b), b.grad()?);
    grads.set(b, "mat2", || t!("bmm", batch_adjoint(b.saved("self")?)?, grad))?;
    grads.set(b, "self", || t!("bmm", grad, batch_adjoint(b.saved("mat2")?)?))?;
    Ok(grads)
}

fn baddbmm_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad, alpha) = (Grads::new(b), b.grad()?, b.arg("alpha"));
    grads.set(b, "batch1", || multiply_back(t!("bmm", grad, batch_adjoint(b.saved("batch2")?)?)?, alpha))?;
    grads.set(b, "batch2", || multiply_back(t!("bmm", batch_adjoint(b.saved("batch1")?)?, grad)?, alpha))?;
    grads.set(b, "self", || multiply_back(grad.clone(), b.arg("beta")))?;
    Ok(grads)
}

fn addbmm_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad, alpha) = (Grads::new(b), b.grad()?, b.arg("alpha"));
    let (first, second) = (b.sizes("batch1")?, b.sizes("batch2")?);
    let batched = || t!("expand", t!("unsqueeze", grad, 0)?, vec![first[0].clone(), first[1].clone(), second[2].clone()]);
    grads.set(b, "batch1", || multiply_back(t!("bmm", batched()?, batch_adjoint(b.saved("batch2")?)?)?, alpha))?;
    grads.set(b, "batch2", || multiply_back(t!("bmm", batch_adjoint(b.saved("batch1")?)?, batched()?)?, alpha))?;
    grads.set(b, "self", || multiply_back(grad.clone(), b.arg("beta")))?;
    Ok(grads)
}

fn mv_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad) = (Grads::new(b), b.grad()?);
    grads.set(b, "self", || t!("ger", grad, b.saved("vec")?))?;
    grads.set(b, "vec", || t!("mv", t!("t", b.saved("self")?)?, grad))?;
    Ok(grads)
}

fn addmv_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad, alpha) = (Grads::new(b), b.grad()?, b.arg("alpha"));
    grads.set(b, "mat", || multiply_back(t!("ger", grad, conj(b.saved("vec")?)?)?, alpha))?;
    grads.set(b, "self", || multiply_back(grad.clone(), b.arg("beta")))?;
    grads.set(b, "vec", || multiply_back(t!("mv", conj(&t!("t", b.saved("mat")?)?)?, grad)?, alpha))?;
    Ok(grads)
}

fn dot_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad) = (Grads::new(b), b.grad()?);
    grads.set(b, "self", || t!("mul.Tensor", grad, b.saved("tensor")?))?;
    grads.set(b, "tensor", || t!("mul.Tensor", grad, b.saved("self")?))?;
    Ok(grads)
}

fn vdot_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad) = (Grads::new(b), b.grad()?);
    grads.set(b, "other", || t!("mul.Tensor", grad, b.saved("self")?))?;
    grads.set(b, "self", || t!("mul.Tensor", super::complex::conj(grad)?, b.saved("other")?))?;
    Ok(grads)
}

fn addr_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad, alpha) = (Grads::new(b), b.grad()?, b.arg("alpha"));
    grads.set(b, "self", || multiply_back(grad.clone(), b.arg("beta")))?;
    grads.set(b, "vec1", || multiply_back(t!("mv", grad, conj(b.saved("vec2")?)?)?, alpha))?;
    grads.set(b, "vec2", || multiply_back(t!("mv", t!("t", grad)?, conj(b.saved("vec1")?)?)?, alpha))?;
    Ok(grads)
}
