//! Pooling over windows and resizing, of images with or without samples.

use super::rule::{Lower, Rule, floats_only};
use crate::language::{Combine, Loop, View, X, coord, float, int, over, truth};
use diagnostics::error::{Error, Result};

/// Lowerings by operator name.
pub const RULES: &[(&str, Rule)] = &[
    ("aten.max_pool2d_with_indices.default", max_pool),
    ("aten.max_pool2d_with_indices_backward.default", max_pool_backward),
    ("aten.avg_pool2d.default", avg_pool),
    ("aten.avg_pool2d_backward.default", avg_pool_backward),
    ("aten._adaptive_avg_pool2d.default", adaptive),
    ("aten._adaptive_avg_pool2d_backward.default", adaptive_backward),
    ("aten.upsample_nearest2d.default", nearest),
];

/// A window's numbers, for rows and columns.
struct Window {
    kernel: [i64; 2],
    stride: [i64; 2],
    padding: [i64; 2],
    dilation: [i64; 2],
}

impl Window {
    fn of(l: &Lower) -> Result<Window> {
        let two = |name: &str, otherwise: [i64; 2]| -> Result<[i64; 2]> {
            if l.call.entry.schema.position(name).is_none() {
                return Ok(otherwise);
            }
            Ok(match l.call.ints(name)?.as_slice() {
                [] => otherwise,
                [both] => [*both; 2],
                [a, b, ..] => [*a, *b],
            })
        };
        let kernel = two("kernel_size", [1; 2])?;
        Ok(Window { kernel, stride: two("stride", kernel)?, padding: two("padding", [0; 2])?, dilation: two("dilation", [1; 2])? })
    }

    /// Where tap `k` of output position `o` reads in dimension `s`.
    fn position(&self, s: usize, o: X, k: X) -> X {
        o * int(self.stride[s]) + k * int(self.dilation[s]) - int(self.padding[s])
    }

    /// How many windows an element of dimension `s` lies in, at most.
    fn overlap(&self, s: usize) -> i64 {
        if self.dilation[s] == 1 { (self.kernel[s] + self.stride[s] - 1) / self.stride[s] } else { self.kernel[s] }
    }

    /// The output position of the `n`th window that element `p` of dimension `s` lies in, and whether there is one. Dilated windows are
    /// counted by their taps, others from the last one backwards. `from` elements are read, `size` written.
    fn origin(&self, s: usize, p: X, n: X, [from, size]: [i64; 2]) -> (X, X) {
        let (kernel, stride, padding) = (self.kernel[s], self.stride[s], self.padding[s]);
        let place = p + int(padding);
        if self.dilation[s] != 1 {
            let scaled = place - n * int(self.dilation[s]);
            let o = scaled.div_by(stride);
            let exists = scaled.ge(&int(0)).and(&scaled.rem_by(stride).equals(&int(0))).and(&o.lt(&int(size)));
            return (o, exists);
        }
        let o = place.div_by(stride) - n;
        let mut exists = truth(true);
        if self.overlap(s) > 1 {
            exists = exists.and(&o.ge(&int(0)));
        }
        if (from - 1 + padding) / stride >= size {
            exists = exists.and(&o.lt(&int(size)));
        }
        if kernel % stride != 0 {
            exists = exists.and(&(place - o.clone() * int(stride)).lt(&int(kernel)));
        }
        (o, exists)
    }

    /// Fills a region with the sum of what the windows that an element lies in give.
    fn gather(&self, l: &mut Lower, out: &View, body: X, exists: X) {
        let over = vec![self.overlap(0), self.overlap(1)];
        if over == [1, 1] {
            let here: Vec<X> = (0..out.dim()).map(coord).collect();
            let value = X::where_(&exists, &body, &float(0.0));
            l.b.pointwise(out, value.placed(&here, &[int(0), int(0)]));
        } else {
            l.b.emit(out, Loop::Reduce { over, combine: Combine::Sum, body, mask: Some(exists) });
        }
    }
}

fn inside(p: &X, size: i64) -> X {
    p.ge(&int(0)).and(&p.lt(&int(size)))
}

/// Coordinates of the dimensions before the image's.
fn lead(view: &View) -> Vec<X> {
    (0..view.dim() - 2).map(coord).collect()
}

fn image(l: &mut Lower) -> Result<View> {
    let x = l.view("self")?;
    floats_only(&x)?;
    if x.dim() < 3 { Err(Error::not_implemented("an image without channels")) } else { Ok(x) }
}

fn max_pool(l: &mut Lower) -> Result<()> {
    let (x, values, indices) = (image(l)?, l.out(0)?, l.out(1)?);
    let (w, r) = (Window::of(l)?, x.dim() - 2);
    let (height, width) = (x.sizes[r], x.sizes[r + 1]);
    let (row, column) = (w.position(0, coord(r), over(0)), w.position(1, coord(r + 1), over(1)));
    let mask = inside(&row, height).and(&inside(&column, width));
    let best = l.b.temp(&values.sizes, tensor::Dtype::Int32);
    let body = x.at([lead(&x), vec![row, column]].concat()).f();
    l.b.emit(&best, Loop::Reduce { over: w.kernel.to_vec(), combine: Combine::ArgMax, body, mask: Some(mask) });
    let tap = best.here();
    let row = w.position(0, coord(r), tap.div_by(w.kernel[1]));
    let column = w.position(1, coord(r + 1), tap.rem_by(w.kernel[1]));
    l.b.pointwise(&indices, row.clone() * int(width) + column.clone());
    l.b.pointwise(&values, x.at([lead(&x), vec![row, column]].concat()));
    Ok(())
}

fn max_pool_backward(l: &mut Lower) -> Result<()> {
    let (g, x, indices, out) = (l.view("grad_output")?, image(l)?, l.view("indices")?, l.out(0)?);
    let (w, r) = (Window::of(l)?, x.dim() - 2);
    let (o_row, row_exists) = w.origin(0, coord(r), over(0), [x.sizes[r], g.sizes[r]]);
    let (o_column, column_exists) = w.origin(1, coord(r + 1), over(1), [x.sizes[r + 1], g.sizes[r + 1]]);
    let at = [lead(&g), vec![o_row, o_column]].concat();
    let me = coord(r) * int(x.sizes[r + 1]) + coord(r + 1);
    let chosen = indices.at(at.clone()).i().equals(&me);
    // The choice is looked up only where the window exists.
    let body = X::where_(&chosen, &g.at(at).f(), &float(0.0));
    w.gather(l, &out, body, row_exists.and(&column_exists));
    Ok(())
}

/// What a window's sum is divided by, its output position given.
fn divisor(l: &Lower, w: &Window, sizes: [i64; 2], o: [X; 2]) -> Result<X> {
    if !l.call.get("divisor_override").is_none() {
        return Ok(float(l.call.int("divisor_override")? as f64));
    }
    let padded = l.call.bool("count_include_pad")?;
    let mut count = float(1.0);
    for (s, o) in o.into_iter().enumerate() {
        let start = o * int(w.stride[s]) - int(w.padding[s]);
        let end = X::call_int("min", &[&(start.clone() + int(w.kernel[s])), &int(sizes[s] + w.padding[s])]);
        let length =
            if padded { end - start } else { X::call_int("min", &[&end, &int(sizes[s])]) - X::call_int("max", &[&start, &int(0)]) };
        count = count * length.f();
    }
    Ok(count)
}

fn avg_pool(l: &mut Lower) -> Result<()> {
    let (x, out) = (image(l)?, l.out(0)?);
    let (w, r) = (Window::of(l)?, x.dim() - 2);
    let (row, column) = (w.position(0, coord(r), over(0)), w.position(1, coord(r + 1), over(1)));
    let mask = Some(inside(&row, x.sizes[r]).and(&inside(&column, x.sizes[r + 1])));
    let sum = l.temp(&out.sizes);
    let body = x.at([lead(&x), vec![row, column]].concat()).f();
    l.b.emit(&sum, Loop::Reduce { over: w.kernel.to_vec(), combine: Combine::Sum, body, mask });
    let by = divisor(l, &w, [x.sizes[r], x.sizes[r + 1]], [coord(r), coord(r + 1)])?;
    l.b.pointwise(&out, sum.here() / by);
    Ok(())
}

fn avg_pool_backward(l: &mut Lower) -> Result<()> {
    let (g, x, out) = (l.view("grad_output")?, image(l)?, l.out(0)?);
    let (w, r) = (Window::of(l)?, x.dim() - 2);
    let (o_row, row_exists) = w.origin(0, coord(r), over(0), [x.sizes[r], g.sizes[r]]);
    let (o_column, column_exists) = w.origin(1, coord(r + 1), over(1), [x.sizes[r + 1], g.sizes[r + 1]]);
    let by = divisor(l, &w, [x.sizes[r], x.sizes[r + 1]], [o_row.clone(), o_column.clone()])?;
    let body = g.at([lead(&g), vec![o_row, o_column]].concat()).f() / by;
    w.gather(l, &out, body, row_exists.and(&column_exists));
    Ok(())
}

/// First position of window `o` of `count` over `size` elements, and the one after its last.
fn span(o: X, size: i64, count: i64) -> (X, X) {
    let start = (o.clone() * int(size)).div_by(count);
    let end = ((o + int(1)) * int(size) + int(count - 1)).div_by(count);
    (start, end)
}

/// The longest window of `count` over `size` elements.
fn longest(size: i64, count: i64) -> i64 {
    (0..count).map(|o| ((o + 1) * size + count - 1) / count - o * size / count).max().unwrap_or(1)
}

fn adaptive(l: &mut Lower) -> Result<()> {
    let (x, out) = (image(l)?, l.out(0)?);
    let r = x.dim() - 2;
    let (mut mask, mut at, mut count, mut turns) = (truth(true), lead(&x), float(1.0), Vec::new());
    for s in [r, r + 1] {
        let (start, end) = span(coord(s), x.sizes[s], out.sizes[s]);
        let position = start.clone() + over(s - r);
        mask = mask.and(&position.lt(&end));
        count = count * (end - start).f();
        at.push(position);
        turns.push(longest(x.sizes[s], out.sizes[s]));
    }
    let sum = l.temp(&out.sizes);
    l.b.emit(&sum, Loop::Reduce { over: turns, combine: Combine::Sum, body: x.at(at).f(), mask: Some(mask) });
    l.b.pointwise(&out, sum.here() / count);
    Ok(())
}

fn adaptive_backward(l: &mut Lower) -> Result<()> {
    let (g, x, out) = (l.view("grad_output")?, image(l)?, l.out(0)?);
    let r = x.dim() - 2;
    let (mut mask, mut count) = (truth(true), float(1.0));
    for s in [r, r + 1] {
        let (start, end) = span(over(s - r), x.sizes[s], g.sizes[s]);
        mask = mask.and(&start.le(&coord(s))).and(&coord(s).lt(&end));
        count = count * (end - start).f();
    }
    let body = g.at([lead(&g), vec![over(0), over(1)]].concat()).f() / count;
    let turns = vec![g.sizes[r], g.sizes[r + 1]];
    l.b.emit(&out, Loop::Reduce { over: turns, combine: Combine::Sum, body, mask: Some(mask) });
    Ok(())
}

fn nearest(l: &mut Lower) -> Result<()> {
    let (x, out) = (image(l)?, l.out(0)?);
    let r = x.dim() - 2;
    let mut at = lead(&x);
    for (s, scale) in [(r, "scales_h"), (r + 1, "scales_w")] {
        if !l.call.get(scale).is_none() && (out.sizes[s] as f64) != x.sizes[s] as f64 * l.call.float(scale)? {
            return Err(Error::not_implemented("a scale that is not the ratio of the sizes"));
        }
        at.push((coord(s) * int(x.sizes[s])).div_by(out.sizes[s]));
    }
    l.b.pointwise(&out, x.at(at));
    Ok(())
}
