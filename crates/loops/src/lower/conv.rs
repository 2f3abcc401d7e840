//! Convolutions of any rank as matrix products whose factors are gathered while they are read (implicit im2col).
//!
//! Forward, gradient of the input and gradient of the weight are three index patterns of one sum; a transposed convolution
//! swaps the first two. Padding reads as zero, and so do positions that a stride does not hit.

use super::reduce::reduced;
use super::rule::{Lower, Rule, floats_only};
use crate::language::{Combine, Loop, View, X, coord, float, int, over, truth};
use diagnostics::error::{Error, Result};

/// Lowerings by operator name.
pub const RULES: &[(&str, Rule)] = &[("aten.convolution.default", convolution), ("aten.convolution_backward.default", backward)];

/// The numbers of a convolution, one per spatial dimension.
struct Window {
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    groups: i64,
    transposed: bool,
}

impl Window {
    fn of(l: &Lower, spatial: usize) -> Result<Window> {
        let list = |name: &str| -> Result<Vec<i64>> {
            let v = l.call.ints(name)?;
            Ok(if v.len() == spatial { v } else { vec![v.first().copied().unwrap_or(0); spatial] })
        };
        Ok(Window {
            stride: list("stride")?,
            padding: list("padding")?,
            dilation: list("dilation")?,
            groups: l.call.int("groups")?,
            transposed: l.call.bool("transposed")?,
        })
    }

    /// The element of `image` (samples, groups, channels, positions) that tap `k` of output position `o` reads, or zero.
    fn tap(&self, image: &View, lead: [X; 3], o: &dyn Fn(usize) -> X, k: &dyn Fn(usize) -> X) -> X {
        let (mut inside, mut index) = (truth(true), lead.to_vec());
        for s in 0..self.stride.len() {
            let position = o(s) * int(self.stride[s]) + k(s) * int(self.dilation[s]) - int(self.padding[s]);
            inside = inside.and(&position.ge(&int(0))).and(&position.lt(&int(image.sizes[3 + s])));
            index.push(position);
        }
        X::where_(&inside, &image.at(index).f(), &float(0.0))
    }

    /// The element of `image` whose tap `k` lands on position `p`, or zero.
    fn landing(&self, image: &View, lead: [X; 3], p: &dyn Fn(usize) -> X, k: &dyn Fn(usize) -> X) -> X {
        let (mut inside, mut index) = (truth(true), lead.to_vec());
        for s in 0..self.stride.len() {
            let scaled = p(s) + int(self.padding[s]) - k(s) * int(self.dilation[s]);
            inside = inside.and(&scaled.ge(&int(0)));
            if self.stride[s] > 1 {
                inside = inside.and(&scaled.rem_by(self.stride[s]).equals(&int(0)));
            }
            let position = scaled.div_by(self.stride[s]);
            inside = inside.and(&position.lt(&int(image.sizes[3 + s])));
            index.push(position);
        }
        X::where_(&inside, &image.at(index).f(), &float(0.0))
    }

    /// Fills `out` (samples, groups, channels, positions) from `image` and the weight, split by groups in its first
    /// dimension. `gathers`: every output position reads its taps; otherwise every image position lands on its own.
    fn apply(&self, l: &mut Lower, out: &View, image: &View, weight: &View, gathers: bool) {
        let spatial = self.stride.len();
        let mut turns = vec![image.sizes[2]];
        turns.extend(&weight.sizes[3..]);
        let tap = |s: usize| over(1 + s);
        // The weight is (groups, out, in, taps) of the convolution that gathers.
        let (first, second) = if gathers { (coord(2), over(0)) } else { (over(0), coord(2)) };
        let mut index = vec![coord(1), first, second];
        index.extend((0..spatial).map(tap));
        let lead = [coord(0), coord(1), over(0)];
        let position = |s: usize| coord(3 + s);
        let b = if gathers { self.tap(image, lead, &position, &tap) } else { self.landing(image, lead, &position, &tap) };
        l.b.emit(out, Loop::Matmul { over: turns, batch: 2, rows: 1, a: weight.at(index).f(), b });
    }
}

/// An image with its channels split by groups, one sample added where there is none.
fn split_image(view: &View, groups: i64) -> View {
    view.split(1, groups)
}

fn convolution(l: &mut Lower) -> Result<()> {
    let (x, w, out) = (l.view("input")?, l.view("weight")?, l.out(0)?);
    floats_only(&x)?;
    if x.dim() != w.dim() || x.dim() < 3 {
        return Err(Error::not_implemented("a convolution without samples"));
    }
    let window = Window::of(l, x.dim() - 2)?;
    let (image, weight) = (split_image(&x, window.groups), w.split(0, window.groups));
    let bias = l.opt_view("bias")?;
    if bias.is_none() {
        window.apply(l, &split_image(&out, window.groups), &image, &weight, !window.transposed);
        return Ok(());
    }
    let made = l.temp(&out.sizes);
    window.apply(l, &split_image(&made, window.groups), &image, &weight, !window.transposed);
    if let Some(bias) = bias {
        l.b.pointwise(&out, made.here() + bias.at(vec![coord(1)]).f());
    }
    Ok(())
}

fn backward(l: &mut Lower) -> Result<()> {
    let (g, x, w) = (l.view("grad_output")?, l.view("input")?, l.view("weight")?);
    floats_only(&x)?;
    if x.dim() != w.dim() || x.dim() < 3 {
        return Err(Error::not_implemented("a convolution without samples"));
    }
    let spatial = x.dim() - 2;
    let window = Window::of(l, spatial)?;
    let (grad, image) = (split_image(&g, window.groups), split_image(&x, window.groups));
    let weight = w.split(0, window.groups);
    if let Some(out) = l.opt_out(0) {
        window.apply(l, &split_image(&out, window.groups), &grad, &weight, window.transposed);
    }
    if let Some(out) = l.opt_out(1) {
        let out = out.split(0, window.groups);
        // (groups, rows, columns, taps): rows are channels of the side that is not gathered.
        let (still, gathered) = if window.transposed { (&image, &grad) } else { (&grad, &image) };
        let mut turns = vec![still.sizes[0]];
        turns.extend(&still.sizes[3..]);
        let mut at = vec![over(0), coord(0), coord(1)];
        at.extend((0..spatial).map(|s| over(1 + s)));
        let b = window.tap(gathered, [over(0), coord(0), coord(2)], &|s| over(1 + s), &|s| coord(3 + s));
        l.b.emit(&out, Loop::Matmul { over: turns, batch: 1, rows: 1, a: still.at(at).f(), b });
    }
    if let Some(out) = l.opt_out(2) {
        let dims: Vec<usize> = (0..g.dim()).filter(|d| *d != 1).collect();
        let (body, turns) = reduced(&g, &dims, false);
        l.reduce(&out, turns, Combine::Sum, body.f());
    }
    Ok(())
}
