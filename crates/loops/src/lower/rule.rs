//! What a lowering sees and writes to.

use crate::language::{Combine, Loop, Ty, View, X, scalar};
use crate::program::Builder;
use diagnostics::error::{Error, Result};
use dispatch::{Call, Value};
use tensor::{Category, Dtype, promote};

/// A lowering.
pub type Rule = fn(&mut Lower) -> Result<()>;

/// What a rule sees and writes to.
pub struct Lower<'a, 'b> {
    /// Where loops go.
    pub b: &'a mut Builder,
    /// The call.
    pub call: &'a Call<'b>,
    pub(super) outs: &'a [Option<View>],
}

impl Lower<'_, '_> {
    /// The region of a result.
    pub fn out(&self, i: usize) -> Result<View> {
        self.outs.get(i).cloned().flatten().ok_or_else(|| Error::not_implemented("an undefined result"))
    }
    /// The region of a result, where it is defined and not empty of meaning.
    pub fn opt_out(&self, i: usize) -> Option<View> {
        self.outs.get(i).cloned().flatten()
    }
    /// The region of a tensor argument.
    pub fn view(&mut self, name: &str) -> Result<View> {
        let tensor = self.call.tensor(name)?;
        self.b.view(tensor)
    }
    /// The region of a tensor argument that may be `None`.
    pub fn opt_view(&mut self, name: &str) -> Result<Option<View>> {
        match self.call.opt_tensor(name) {
            Some(tensor) => self.b.view(tensor).map(Some),
            None => Ok(None),
        }
    }
    /// Rank of the first result.
    pub fn rank(&self) -> usize {
        self.outs.first().and_then(Option::as_ref).map_or(0, View::dim)
    }
    /// A tensor argument broadcast to the first result, or a number.
    pub fn x(&mut self, name: &str) -> Result<X> {
        match self.call.get(name) {
            Value::Tensor(t) => Ok(self.b.view(t)?.broadcast(self.rank())),
            other => scalar(other),
        }
    }
    /// The argument's element in a call that is computed in a dtype, to which it is cast first.
    pub fn cast(&mut self, name: &str, dtype: Dtype) -> Result<X> {
        let ty = Ty::of(dtype).ok_or_else(|| Error::not_implemented("complex numbers"))?;
        match self.call.get(name) {
            Value::Tensor(t) if t.dtype() != dtype && t.dtype().category() == dtype.category() && t.dim() == 0 => {
                Err(Error::not_implemented("a tensor without dimensions that is cast first"))
            }
            Value::Tensor(_) => Ok(self.x(name)?.cast(ty)),
            number => Ok(scalar(&number.cast_number(dtype)?)?.cast(ty)),
        }
    }
    /// The argument's element as the type that the first result is computed in.
    pub fn as_out(&mut self, name: &str) -> Result<X> {
        let ty = self.ty()?;
        Ok(self.x(name)?.cast(ty))
    }
    /// The type of the first result.
    pub fn ty(&self) -> Result<Ty> {
        let out = self.out(0)?;
        Ty::of(out.dtype).ok_or_else(|| Error::not_implemented("complex numbers"))
    }
    /// The dtype that arguments are brought to before they are combined, by PyTorch's promotion.
    pub fn common(&self, names: &[&str]) -> Dtype {
        let mut groups: [Option<Dtype>; 3] = [None; 3];
        for name in names {
            let (rank, dtype) = match self.call.get(name) {
                Value::Tensor(t) => (usize::from(t.dim() == 0), t.dtype()),
                Value::Bool(_) => (2, Dtype::Bool),
                Value::Int(_) => (2, Dtype::Int64),
                Value::Float(_) => (2, Dtype::Float32),
                _ => continue,
            };
            groups[rank] = Some(groups[rank].map_or(dtype, |d| promote(d, dtype)));
        }
        let weaker = |strong: Option<Dtype>, weak: Option<Dtype>| match (strong, weak) {
            (Some(s), Some(w)) if w.category() > s.category() => Some(promote(s, w)),
            (Some(s), _) => Some(s),
            (None, w) => w,
        };
        weaker(weaker(groups[0], groups[1]), groups[2]).unwrap_or(Dtype::Float32)
    }
    /// Fills a region with a reduction.
    pub fn reduce(&mut self, out: &View, over: Vec<i64>, combine: Combine, body: X) {
        self.b.emit(out, Loop::Reduce { over, combine, body, mask: None });
    }
    /// A float32 region of its own, or of the wider type the results have.
    pub fn temp(&mut self, sizes: &[i64]) -> View {
        self.b.temp(sizes, Dtype::Float32)
    }
}

/// A dimension counted from the front.
pub fn wrap(dim: i64, rank: usize) -> Result<usize> {
    let rank = rank.max(1) as i64;
    if (-rank..rank).contains(&dim) { Ok(((dim + rank) % rank) as usize) } else { Err(Error::index("Dimension out of range")) }
}

/// Dimensions counted from the front; all of them where none is given.
pub fn wrap_all(value: &Value, rank: usize) -> Result<Vec<usize>> {
    let dims = if value.is_none() { Vec::new() } else { value.ints()? };
    if dims.is_empty() { Ok((0..rank).collect()) } else { dims.into_iter().map(|d| wrap(d, rank)).collect() }
}

/// Refuses dtypes that are not floats.
pub fn floats_only(view: &View) -> Result<()> {
    if view.dtype.category() == Category::Floating { Ok(()) } else { Err(Error::not_implemented("integers here")) }
}
