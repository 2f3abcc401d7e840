//! Views against index arithmetic: random chains of view operators over random shapes, empty and zero-dimensional ones too. The
//! model of a view is the list of the places in storage that its elements stand at; what a tensor's sizes, strides and offset say
//! must be that list. Beside it, `tests/eager/views.py` has chains that PyTorch recorded.

use dispatch::{Value, call, fill_args, lookup};
use tensor::Tensor;

const CHAINS: usize = 4000;

/// A small generator of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Factors of a number, with ones among them.
    fn factors(&mut self, mut n: usize) -> Vec<usize> {
        if n == 0 {
            return vec![2, 0];
        }
        let mut out = Vec::new();
        while n > 1 {
            let divisors: Vec<usize> = (2..=n).filter(|d| n.is_multiple_of(*d)).collect();
            out.push(self.pick(&divisors));
            n /= out[out.len() - 1];
        }
        if self.below(2) == 0 {
            out.insert(self.below(out.len() + 1), 1);
        }
        out
    }
}

/// A view: its sizes, and where in storage each of its elements stands, row by row.
#[derive(Clone, Debug)]
struct Model {
    sizes: Vec<usize>,
    places: Vec<i64>,
}

impl Model {
    /// The view whose element at an index is this one's element at another index.
    fn gather(&self, sizes: Vec<usize>, of: impl Fn(&[usize]) -> Vec<usize>) -> Model {
        let count = sizes.iter().product();
        let mut places = Vec::with_capacity(count);
        for flat in 0..count {
            let (mut rest, mut index) = (flat, vec![0; sizes.len()]);
            for d in (0..sizes.len()).rev() {
                index[d] = rest % sizes[d];
                rest /= sizes[d];
            }
            let at = of(&index).iter().zip(&self.sizes).fold(0, |at, (i, size)| at * size + i);
            places.push(self.places[at]);
        }
        Model { sizes, places }
    }

    fn reshaped(&self, sizes: Vec<usize>) -> Model {
        Model { sizes, places: self.places.clone() }
    }

    /// Whether elements follow one another in storage.
    fn is_contiguous(&self) -> bool {
        self.places.windows(2).all(|w| w[1] == w[0] + 1)
    }
}

fn ints(sizes: &[usize]) -> Value {
    Value::List(sizes.iter().map(|s| Value::from(*s as i64)).collect())
}

fn run(name: &str, tensor: &Tensor, rest: Vec<Value>) -> Result<Value, String> {
    let entry = lookup(name).unwrap();
    let args = [vec![Value::from(tensor)], rest].concat();
    fill_args(entry, args, &[]).and_then(|args| call(entry, args)).map_err(|e| e.message)
}

fn one(name: &str, tensor: &Tensor, rest: Vec<Value>) -> Result<Tensor, String> {
    run(name, tensor, rest)?.into_tensor().map_err(|e| e.message)
}

/// A step: what it is called, what the model says, and the tensor; `None` where the operator does not fit such a shape.
type Step = Option<(String, Model, Result<Tensor, String>)>;

fn moved(r: &mut Random, t: &Tensor, m: &Model) -> Step {
    let n = m.sizes.len();
    if n == 0 {
        return None;
    }
    let (a, b) = (r.below(n), r.below(n));
    let signed = |d: usize, negative: bool| Value::from(if negative { d as i64 - n as i64 } else { d as i64 });
    let (na, nb) = (r.below(2) == 0, r.below(2) == 0);
    let mut order: Vec<usize> = (0..n).collect();
    let (name, args) = match r.below(3) {
        0 => {
            order.swap(a, b);
            ("aten.transpose.int", vec![signed(a, na), signed(b, nb)])
        }
        1 => {
            let d = order.remove(a);
            order.insert(b, d);
            ("aten.movedim.int", vec![signed(a, na), signed(b, nb)])
        }
        _ => {
            for i in (1..n).rev() {
                order.swap(i, r.below(i + 1));
            }
            ("aten.permute.default", vec![ints(&order)])
        }
    };
    let sizes = order.iter().map(|d| m.sizes[*d]).collect();
    let back = order.clone();
    let model = m.gather(sizes, |index| {
        let mut own = vec![0; n];
        back.iter().zip(index).for_each(|(d, i)| own[*d] = *i);
        own
    });
    Some((format!("{name} {order:?}"), model, one(name, t, args)))
}

fn cut(r: &mut Random, t: &Tensor, m: &Model) -> Step {
    let n = m.sizes.len();
    if n == 0 {
        return None;
    }
    let d = r.below(n);
    let size = m.sizes[d];
    let dim = Value::from(d as i64);
    let part = |start: usize, count: usize, step: usize| {
        let mut sizes = m.sizes.clone();
        sizes[d] = count;
        m.gather(sizes, |index| {
            let mut own = index.to_vec();
            own[d] = start + index[d] * step;
            own
        })
    };
    let (start, length) = (r.below(size + 1), r.below(size + 1));
    match r.below(6) {
        0 => {
            let (step, stop) = (1 + r.below(3), r.below(size + 2));
            let count = stop.min(size).saturating_sub(start).div_ceil(step);
            // From the end as often as from the beginning.
            let from = if r.below(2) == 0 && start < size { start as i64 - size as i64 } else { start as i64 };
            let args = vec![dim, Value::from(from), Value::from(stop as i64), Value::from(step as i64)];
            Some((format!("slice {d} {from} {stop} {step}"), part(start, count, step), one("aten.slice.Tensor", t, args)))
        }
        1 if start + length <= size => {
            let args = vec![dim, Value::from(start as i64), Value::from(length as i64)];
            Some((format!("narrow {d} {start} {length}"), part(start, length, 1), one("aten.narrow.default", t, args)))
        }
        2 if start < size => {
            let mut sizes = m.sizes.clone();
            sizes.remove(d);
            let model = m.gather(sizes, |index| {
                let mut own = index.to_vec();
                own.insert(d, start);
                own
            });
            let at = if r.below(2) == 0 { start as i64 } else { start as i64 - size as i64 };
            Some((format!("select {d} {at}"), model, one("aten.select.int", t, vec![dim, Value::from(at)])))
        }
        3 if size > 0 => {
            let each = 1 + r.below(size);
            let which = r.below(size.div_ceil(each));
            let parts = run("aten.split.Tensor", t, vec![Value::from(each as i64), dim]).and_then(|v| v.tensors().map_err(|e| e.message));
            let first = which * each;
            let model = part(first, each.min(size - first), 1);
            Some((format!("split {each} {d} [{which}]"), model, parts.map(|parts| parts[which].clone())))
        }
        4 => {
            let chunks = 1 + r.below(4);
            let parts = run("aten.tensor_split.sections", t, vec![Value::from(chunks as i64), dim]);
            let parts = parts.and_then(|v| v.tensors().map_err(|e| e.message));
            let which = r.below(chunks);
            let (each, more) = (size / chunks, size % chunks);
            let first = which * each + which.min(more);
            let model = part(first, each + usize::from(which < more), 1);
            Some((format!("tensor_split {chunks} {d} [{which}]"), model, parts.map(|parts| parts[which].clone())))
        }
        5 if size > 0 => {
            let (window, step) = (1 + r.below(size), 1 + r.below(3));
            let mut sizes = m.sizes.clone();
            sizes[d] = (size - window) / step + 1;
            sizes.push(window);
            let model = m.gather(sizes, |index| {
                let mut own = index[..n].to_vec();
                own[d] = index[d] * step + index[n];
                own
            });
            let args = vec![dim, Value::from(window as i64), Value::from(step as i64)];
            Some((format!("unfold {d} {window} {step}"), model, one("aten.unfold.default", t, args)))
        }
        _ => None,
    }
}

fn shaped(r: &mut Random, t: &Tensor, m: &Model) -> Step {
    let n = m.sizes.len();
    match r.below(7) {
        0 => {
            let sizes = r.factors(m.places.len());
            let (mut asked, inferred) = (ints(&sizes), r.below(3) == 0 && !m.places.is_empty() && !sizes.is_empty());
            if let (true, Value::List(items)) = (inferred, &mut asked) {
                items[r.below(sizes.len())] = Value::from(-1);
            }
            let view = one("aten.view.default", t, vec![asked]);
            // Not every shape is a view of what lies in pieces.
            if view.is_err() && !m.is_contiguous() {
                return None;
            }
            Some((format!("view {sizes:?}"), m.reshaped(sizes), view))
        }
        1 => {
            let d = r.below(n + 1);
            let mut sizes = m.sizes.clone();
            sizes.insert(d, 1);
            Some((format!("unsqueeze {d}"), m.reshaped(sizes), one("aten.unsqueeze.default", t, vec![Value::from(d as i64)])))
        }
        2 => {
            let sizes = m.sizes.iter().copied().filter(|s| *s != 1).collect();
            Some(("squeeze".to_owned(), m.reshaped(sizes), one("aten.squeeze.default", t, Vec::new())))
        }
        3 if n > 0 => {
            let d = r.below(n);
            let mut sizes = m.sizes.clone();
            if sizes[d] == 1 {
                sizes.remove(d);
            }
            Some((format!("squeeze {d}"), m.reshaped(sizes), one("aten.squeeze.dim", t, vec![Value::from(d as i64)])))
        }
        4 => {
            let lead: Vec<usize> = (0..r.below(2)).map(|_| 1 + r.below(2)).collect();
            let own: Vec<usize> = m.sizes.iter().map(|s| if *s == 1 { 1 + r.below(3) } else { *s }).collect();
            let sizes = [lead.clone(), own].concat();
            let model = m.gather(sizes.clone(), |index| {
                index[lead.len()..].iter().zip(&m.sizes).map(|(i, size)| if *size == 1 { 0 } else { *i }).collect()
            });
            Some((format!("expand {sizes:?}"), model, one("aten.expand.default", t, vec![ints(&sizes)])))
        }
        5 if n > 1 => {
            let (a, b) = (r.below(n), r.below(n));
            if a == b {
                return None;
            }
            let offset = r.below(5) as i64 - 2;
            let (down, right) = ((-offset).max(0) as usize, offset.max(0) as usize);
            let length = m.sizes[a].saturating_sub(down).min(m.sizes[b].saturating_sub(right));
            let rest: Vec<usize> = (0..n).filter(|d| *d != a && *d != b).collect();
            let sizes = rest.iter().map(|d| m.sizes[*d]).chain([length]).collect();
            let model = m.gather(sizes, |index| {
                let mut own = vec![0; n];
                rest.iter().zip(index).for_each(|(d, i)| own[*d] = *i);
                own[a] = index[rest.len()] + down;
                own[b] = index[rest.len()] + right;
                own
            });
            let args = vec![Value::from(offset), Value::from(a as i64), Value::from(b as i64)];
            Some((format!("diagonal {offset} {a} {b}"), model, one("aten.diagonal.default", t, args)))
        }
        6 if n > 0 => {
            let d = r.below(n);
            let parts = r.factors(m.sizes[d]);
            let parts = if parts.is_empty() { vec![1] } else { parts };
            let sizes = [&m.sizes[..d], &parts, &m.sizes[d + 1..]].concat();
            let args = vec![Value::from(d as i64), ints(&parts)];
            Some((format!("unflatten {d} {parts:?}"), m.reshaped(sizes), one("aten.unflatten.int", t, args)))
        }
        _ => None,
    }
}

/// What a tensor's geometry says, beside the model.
fn compare(t: &Tensor, base: &Tensor, m: &Model) -> Result<(), String> {
    let c = t.concrete().map_err(|e| e.message)?;
    if c.sizes != m.sizes {
        return Err(format!("sizes {:?} instead of {:?}", c.sizes, m.sizes));
    }
    let mut places = vec![c.offset as i64];
    for (size, stride) in c.sizes.iter().zip(&c.strides) {
        places = places.iter().flat_map(|at| (0..*size as i64).map(move |i| at + i * *stride as i64)).collect();
    }
    if places != m.places {
        return Err(format!("elements at {places:?} instead of {:?} ({:?}, {:?}, {})", m.places, c.sizes, c.strides, c.offset));
    }
    if t.is_contiguous().map_err(|e| e.message)? != m.is_contiguous() {
        return Err(format!("contiguous or not: {:?}, {:?}", c.sizes, c.strides));
    }
    if !t.storage().same(&base.storage()) {
        return Err("not the storage of its base".to_owned());
    }
    // The base counts from zero, so that a value is its place.
    let values = one("aten.contiguous.default", t, Vec::new())?;
    let at = values.concrete().map_err(|e| e.message)?.offset;
    let read = values.with_slice::<i64, _>(|s| (0..m.places.len()).map(|i| s[at + i]).collect::<Vec<_>>()).map_err(|e| e.message)?;
    if read == m.places { Ok(()) } else { Err(format!("reads {read:?}")) }
}

#[test]
fn views_stand_where_index_arithmetic_says() {
    cpu::install();
    autograd::install();
    let mut r = Random(7);
    let (mut steps, mut wrong) = (0, Vec::new());
    for _ in 0..CHAINS {
        let sizes: Vec<usize> = match r.below(10) {
            0 => Vec::new(),
            1 => (0..1 + r.below(3)).map(|_| r.below(3)).collect(),
            _ => (0..1 + r.below(4)).map(|_| r.pick(&[1, 2, 2, 3, 4])).collect(),
        };
        let count: usize = sizes.iter().product();
        let places: Vec<i64> = (0..count as i64).collect();
        let base = Tensor::from_slice(&places, &sizes.iter().map(|s| *s as i64).collect::<Vec<_>>()).unwrap();
        let (mut tensor, mut model, mut history) = (base.clone(), Model { sizes, places }, String::new());
        history.push_str(&format!("{:?}", model.sizes));
        for _ in 0..6 {
            let step = match r.below(3) {
                0 => moved(&mut r, &tensor, &model),
                1 => cut(&mut r, &tensor, &model),
                _ => shaped(&mut r, &tensor, &model),
            };
            let Some((name, next, made)) = step else { continue };
            history.push_str(&format!(" > {name}"));
            match made.and_then(|made| compare(&made, &base, &next).map(|()| made)) {
                Ok(made) => (tensor, model) = (made, next),
                Err(why) => {
                    wrong.push(format!("{history}: {why}"));
                    break;
                }
            }
            steps += 1;
            if model.places.len() > 2000 {
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {steps}:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    assert!(steps > 10_000, "only {steps} views were made");
}
