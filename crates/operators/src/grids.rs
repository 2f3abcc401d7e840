//! Grids and combinations, composed of views and comparisons.

use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Batch, Call, OpBuilder, Rule, Tags, Value};
use shape::SymInt;
use tensor::{Dtype, Layout, Tensor};

/// `torch.meshgrid`
pub fn meshgrid(tensors: &[Tensor], indexing: &str) -> Result<Vec<Tensor>> {
    let Some(first) = tensors.first() else { return Err(Error::runtime("meshgrid expects a non-empty TensorList")) };
    if tensors.iter().any(|t| t.dtype() != first.dtype()) {
        return Err(Error::runtime("torch.meshgrid expects all tensors to have the same dtype"));
    }
    if let Some(t) = tensors.iter().find(|t| t.dim() > 1) {
        return Err(Error::runtime(format!("torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {:?}", t.sizes())));
    }
    let swap = match indexing {
        "xy" => tensors.len() >= 2,
        "ij" => false,
        _ => {
            return Err(Error::runtime(format!("torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {indexing}")));
        }
    };
    let mut order: Vec<&Tensor> = tensors.iter().collect();
    if swap {
        order.swap(0, 1);
    }
    let shape: Vec<SymInt> = order.iter().map(|t| t.numel()).collect();
    let mut grids = Vec::new();
    for (i, tensor) in order.iter().enumerate() {
        let mut view = vec![1i64; shape.len()];
        view[i] = -1;
        grids.push(t!("expand", t!("view", *tensor, view)?, &shape)?);
    }
    if swap {
        grids.swap(0, 1);
    }
    Ok(grids)
}

fn cartesian_prod(call: &Call) -> Result<Value> {
    let tensors = call.tensors("tensors")?;
    if let Some(t) = tensors.iter().find(|t| t.dim() != 1) {
        return Err(Error::runtime(format!("Expect a 1D vector, but got shape {:?}", t.sizes())));
    }
    if let [only] = tensors.as_slice() {
        return Ok(only.into());
    }
    let grids: Result<Vec<Tensor>> = meshgrid(&tensors, "ij")?.iter().map(|g| t!("flatten.using_ints", g)).collect();
    t!("stack", grids?, 1).map(Value::from)
}

fn combinations(call: &Call) -> Result<Value> {
    let (tensor, r, again) = (call.tensor("self")?, call.int("r")?, call.bool("with_replacement")?);
    if tensor.dim() != 1 {
        return Err(Error::runtime(format!("Expect a 1D vector, but got shape {:?}", tensor.sizes())));
    }
    if r < 0 {
        return Err(Error::runtime(format!("Expect a non-negative number, but got {r}")));
    }
    let (n, device) = (tensor.size(0).guard_int()?, tensor.device());
    let layout = || Value::Layout(Layout::Strided);
    if r == 0 {
        return t!("empty.memory_format", vec![0i64]; dtype = tensor.dtype(), layout = layout(), device = device).map(Value::from);
    }
    tensor::check_count(r)?;
    // So many elements have the mask and every grid.
    if (0..r).try_fold(1i64, |all, _| all.checked_mul(n)).is_none() {
        return Err(Error::runtime("numel: integer multiplication overflow"));
    }
    let places = t!("arange", n; dtype = Dtype::Int64, layout = layout(), device = device)?;
    let grids = meshgrid(&vec![places; r as usize], "ij")?;
    let mask = t!("full", vec![n; r as usize], true; dtype = Dtype::Bool, layout = layout(), device = device)?;
    for pair in grids.windows(2) {
        let ordered = if again { t!("le.Tensor", &pair[0], &pair[1])? } else { t!("lt.Tensor", &pair[0], &pair[1])? };
        t!("mul_.Tensor", &mask, ordered)?;
    }
    let top = if again { n + r - 1 } else { n };
    let count = (0..r).fold(1i128, |c, i| c * i128::from((top - i).max(0)) / i128::from(i + 1)) as i64;
    let index = t!("nonzero_static", mask; size = count)?;
    t!("index.Tensor", tensor, vec![Value::from(index)]).map(Value::from)
}

/// `torch.nn.functional.one_hot`
fn one_hot(call: &Call) -> Result<Value> {
    let (tensor, classes) = (call.tensor("self")?, call.int("num_classes")?);
    if tensor.dtype() != Dtype::Int64 {
        return Err(Error::runtime("one_hot is only applicable to index tensor of type LongTensor."));
    }
    let device = tensor.device();
    let as_aten = dispatch::modes().calls_as_aten;
    if as_aten && (classes == -1 || !tensor.is_fake()) && tensor.numel().as_int() != Some(0) {
        // ATen reads the smallest and the largest class.
        let read = if classes == -1 { t!("max", tensor)? } else { t!("min", tensor)? };
        dispatch::aten!("_local_scalar_dense", read)?;
    }
    if as_aten && tensor.is_fake() && classes != -1 {
        let range = t!("arange", classes; dtype = Dtype::Int64, layout = Layout::Strided, device = device)?;
        return t!("_to_copy", t!("eq.Tensor", t!("unsqueeze", tensor, -1)?, range)?; dtype = Dtype::Int64).map(Value::from);
    }
    if tensor.is_fake() && classes != -1 {
        let fits = t!("all", t!("ge.Scalar", tensor, 0)?)?;
        dispatch::aten!("_assert_async.msg", fits, "one_hot: Class values must be non-negative.")?;
        let fits = t!("all", t!("lt.Scalar", tensor, classes)?)?;
        dispatch::aten!("_assert_async.msg", fits, "one_hot: Class values must be smaller than num_classes.")?;
        let wide = t!("unsqueeze", tensor, -1)?;
        let range = t!("arange", classes; dtype = Dtype::Int64, device = device, pin_memory = false)?;
        return t!("_to_copy", t!("eq.Tensor", wide, range)?; dtype = Dtype::Int64).map(Value::from);
    }
    let values = tensor::strided::integers(tensor)?;
    let mut sizes = tensor.sizes();
    if values.is_empty() && classes <= 0 {
        return Err(Error::runtime("Can not infer total number of classes from empty tensor."));
    }
    if values.iter().any(|v| *v < 0) {
        return Err(Error::runtime("Class values must be non-negative."));
    }
    let largest = values.iter().copied().max().unwrap_or(-1);
    let classes = if classes == -1 { largest + 1 } else { classes };
    if classes < 1 {
        return Err(Error::runtime("num_classes should be positive"));
    }
    if largest >= classes {
        return Err(Error::runtime("Class values must be smaller than num_classes."));
    }
    sizes.push(SymInt::Int(classes));
    let layout = Value::Layout(Layout::Strided);
    let zeros = t!("zeros", sizes; dtype = Dtype::Int64, layout = layout, device = device)?;
    t!("scatter_.value", zeros, -1, t!("unsqueeze", tensor, -1)?, 1).map(Value::from)
}

/// Registers grids.
pub fn register(b: &mut OpBuilder) {
    b.op("meshgrid(Tensor[] tensors) -> Tensor[]", Rule::Composite(|c| meshgrid(&c.tensors("tensors")?, "ij").map(Value::from)));
    b.op(
        "meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
        Rule::Composite(|c| meshgrid(&c.tensors("tensors")?, c.str("indexing")?).map(Value::from)),
    );
    b.op("cartesian_prod(Tensor[] tensors) -> Tensor", Rule::Composite(cartesian_prod)).tags(Tags::APART_IN_EXPORT);
    b.op("combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", Rule::Composite(combinations))
        .doc("Combinations of elements, a row each.")
        .function();
    b.op("one_hot(Tensor self, int num_classes=-1) -> Tensor", Rule::Composite(one_hot))
        .doc("Vectors with a one at the class.")
        .function()
        .batch(Batch::Composed(super::batch_composed::one_hot));
}
