//! Kernels of order: sort, topk, kthvalue, mode, unique values, binary search, counting.

use super::arranging::scalar_bytes;
use super::selecting::{self, top_k};
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable, Value};
use operators::shapes::wrap_dim;
use std::cmp::Ordering;
use tensor::strided::{dense_bytes, integers, number_at, numbers, write_dense};
use tensor::{Dtype, Number, Tensor, from_values};

/// The order of numbers; NaN is larger than any other.
fn compare(a: Number, b: Number) -> Ordering {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a.cmp(&b),
        _ => {
            let (a, b) = (a.to_f64(), b.to_f64());
            a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
    }
}

fn refuse_complex(tensor: &Tensor, name: &str) -> Result<()> {
    if tensor.dtype().is_complex() {
        return Err(Error::not_implemented(format!("\"{name}\" not implemented for '{}'", tensor.dtype().scalar_type())));
    }
    Ok(())
}

/// A tensor as rows along a dimension.
struct Rows {
    values: Vec<Number>,
    before: usize,
    along: usize,
    after: usize,
}

impl Rows {
    fn new(tensor: &Tensor, dim: i64, name: &str) -> Result<Rows> {
        refuse_complex(tensor, name)?;
        let sizes = tensor.concrete()?.sizes;
        let d = wrap_dim(dim, sizes.len())?;
        let before = sizes[..d.min(sizes.len())].iter().product();
        let after = if d < sizes.len() { sizes[d + 1..].iter().product() } else { 1 };
        Ok(Rows { values: numbers(tensor)?, before, along: sizes.get(d).copied().unwrap_or(1), after })
    }

    /// Writes what `f` makes of every row's positions: `wanted` positions per row, with their values.
    fn write(&self, outs: &[Tensor], wanted: usize, f: impl Fn(&[Number]) -> Vec<usize>) -> Result<()> {
        let count = self.before * wanted * self.after;
        let (mut values, mut indices) = (vec![Number::Int(0); count], vec![Number::Int(0); count]);
        for b in 0..self.before {
            for a in 0..self.after {
                let row: Vec<Number> = (0..self.along).map(|i| self.values[(b * self.along + i) * self.after + a]).collect();
                for (k, p) in f(&row).into_iter().take(wanted).enumerate() {
                    let at = (b * wanted + k) * self.after + a;
                    values[at] = row[p];
                    indices[at] = Number::Int(p as i64);
                }
            }
        }
        let dtype = outs[0].dtype();
        write_dense(&outs[0], &values.iter().flat_map(|v| v.to_bytes(dtype)).collect::<Vec<u8>>())?;
        write_dense(&outs[1], &indices.iter().flat_map(|v| v.to_bytes(Dtype::Int64)).collect::<Vec<u8>>())
    }
}

/// Positions of a row in order. Where the sort is `stable`, equal values keep theirs.
fn ordered(row: &[Number], descending: bool, stable: bool) -> Vec<usize> {
    let mut places: Vec<usize> = (0..row.len()).collect();
    let order = |a: &usize, b: &usize| {
        let order = compare(row[*a], row[*b]);
        if descending { order.reverse() } else { order }
    };
    if stable {
        places.sort_by(order);
    } else {
        selecting::sort(&mut places, |a, b| order(a, b) == Ordering::Less);
    }
    places
}

fn sort(call: &Call, outs: &[Tensor]) -> Result<()> {
    let rows = Rows::new(call.tensor("self")?, call.int("dim")?, "sort")?;
    let descending = call.bool("descending")?;
    let stable = call.entry.schema.position("stable").is_some() && !call.get("stable").is_none() && call.bool("stable")?;
    // Many integers are sorted by their digits, which keeps equal ones in place.
    let by_digits = rows.along >= 32768 && call.tensor("self")?.dtype().is_integral() && !descending;
    rows.write(outs, rows.along, |row| ordered(row, descending, stable || by_digits))
}

fn topk(call: &Call, outs: &[Tensor]) -> Result<()> {
    let rows = Rows::new(call.tensor("self")?, call.int("dim")?, "topk_cpu")?;
    let largest = call.bool("largest")?;
    let (k, sorted) = (call.int("k")? as usize, call.bool("sorted")?);
    let wanted = if largest { Ordering::Greater } else { Ordering::Less };
    rows.write(outs, k, |row| {
        let mut items: Vec<(Number, usize)> = row.iter().copied().zip(0..).collect();
        top_k(&mut items, k, sorted, |a, b| compare(a.0, b.0) == wanted);
        items[..k].iter().map(|(_, place)| *place).collect()
    })
}

fn kthvalue(call: &Call, outs: &[Tensor]) -> Result<()> {
    let rows = Rows::new(call.tensor("self")?, call.int("dim")?, "kthvalue_cpu")?;
    let k = call.int("k")? as usize;
    rows.write(outs, 1, |row| vec![selected(row, k - 1)])
}

/// Where the element stands that would be number `k` in order. Of equal ones it is the one that a quickselect with the median of
/// first, middle and last as pivot comes to.
fn selected(row: &[Number], k: usize) -> usize {
    let mut at: Vec<usize> = (0..row.len()).collect();
    let above = |at: &[usize], a: usize, b: usize| compare(row[at[a]], row[at[b]]) == Ordering::Greater;
    let (mut left, mut right) = (0, row.len().saturating_sub(1));
    while left + 1 < right {
        at.swap(left + (right - left) / 2, left + 1);
        for (a, b) in [(left + 1, right), (left, right), (left + 1, left)] {
            if above(&at, a, b) {
                at.swap(a, b);
            }
        }
        let (mut i, mut j) = (left + 1, right);
        loop {
            i += 1;
            while above(&at, left, i) {
                i += 1;
            }
            j -= 1;
            while above(&at, j, left) {
                j -= 1;
            }
            if j < i {
                break;
            }
            at.swap(i, j);
        }
        at.swap(left, j);
        if j >= k {
            right = j.saturating_sub(1);
        }
        if j <= k {
            left = i;
        }
    }
    if left + 1 == right && above(&at, left, right) {
        at.swap(left, right);
    }
    at[k]
}

/// The most frequent value, the smallest of several, where it stands last.
fn mode(call: &Call, outs: &[Tensor]) -> Result<()> {
    let rows = Rows::new(call.tensor("self")?, call.int("dim")?, "mode")?;
    rows.write(outs, 1, |row| {
        let places = ordered(row, false, true);
        let (mut best, mut most, mut start) = (0, 0, 0);
        for i in 1..=places.len() {
            if i == places.len() || compare(row[places[i]], row[places[start]]) != Ordering::Equal {
                if i - start > most {
                    (best, most) = (places[i - 1], i - start);
                }
                start = i;
            }
        }
        vec![best]
    })
}

fn positions(values: &[usize], sizes: &[i64]) -> Result<Value> {
    let numbers: Vec<Number> = values.iter().map(|v| Number::Int(*v as i64)).collect();
    from_values(&numbers, sizes, Dtype::Int64).map(Value::from)
}

/// Groups of equal rows as `unique` returns them: the rows, each row's group, and how many each group has.
fn grouped(tensor: &Tensor, d: Option<usize>, sorted: bool, wanted: (bool, bool)) -> Result<Value> {
    let sizes: Vec<i64> = tensor.concrete()?.sizes.iter().map(|s| *s as i64).collect();
    let (bytes, n, dtype) = (dense_bytes(tensor)?, tensor.dtype().itemsize(), tensor.dtype());
    let (before, along, after) = match d {
        Some(d) => (sizes[..d].iter().product::<i64>(), sizes[d], sizes[d + 1..].iter().product::<i64>()),
        None => (1, sizes.iter().product(), 1),
    };
    let (before, along, after) = (before as usize, along as usize, after as usize);
    let offsets = |i: usize| (0..before).flat_map(move |b| ((b * along + i) * after)..((b * along + i + 1) * after));
    let rows: Vec<Vec<Number>> = (0..along).map(|i| offsets(i).map(|o| number_at(&bytes, o, dtype)).collect()).collect();
    let compare_rows = |a: &[Number], b: &[Number]| {
        a.iter().zip(b).map(|(x, y)| compare(*x, *y)).find(|o| *o != Ordering::Equal).unwrap_or(Ordering::Equal)
    };
    // Two NaN are not equal, so that each makes a group of its own.
    let equal = |a: usize, b: usize| rows[a].iter().zip(&rows[b]).all(|(x, y)| compare(*x, *y) == Ordering::Equal && !x.to_f64().is_nan());
    let mut order: Vec<usize> = (0..along).collect();
    if sorted {
        selecting::sort(&mut order, |a, b| compare_rows(&rows[*a], &rows[*b]) == Ordering::Less);
    }
    let (mut first, mut group, mut counts) = (Vec::new(), vec![0usize; along], Vec::new());
    for (k, i) in order.iter().enumerate() {
        if k == 0 || !equal(order[k - 1], *i) {
            first.push(*i);
            counts.push(0usize);
        }
        group[*i] = first.len() - 1;
        counts[first.len() - 1] += 1;
    }
    // The groups lie row by row in memory, whichever dimension they are of.
    let mut shape = vec![first.len() as i64];
    shape.extend(d.map_or(vec![], |d| [&sizes[..d], &sizes[d + 1..]].concat()));
    let chosen: Vec<u8> = first.iter().flat_map(|i| offsets(*i)).flat_map(|o| bytes[o * n..o * n + n].iter().copied()).collect();
    let groups = Tensor::from_bytes(&chosen, &shape, dtype)?;
    let mut order: Vec<i64> = (1..shape.len() as i64).collect();
    order.insert(d.unwrap_or(0), 0);
    let groups = groups.view_as(operators::geometry::permute(&groups.geometry(), &order)?);
    let group_sizes = if d.is_some() { vec![along as i64] } else { sizes };
    Ok(Value::List(vec![
        groups.into(),
        if wanted.0 { positions(&group, &group_sizes)? } else { positions(&[], &[0])? },
        if wanted.1 { positions(&counts, &[counts.len() as i64])? } else { positions(&[], &[0])? },
    ]))
}

fn unique(call: &Call) -> Result<Value> {
    let tensor = call.tensor("self")?;
    refuse_complex(tensor, "unique")?;
    let flag = |name: &str| if call.get(name).is_none() { Ok(false) } else { call.bool(name) };
    let name = call.entry.schema.name.as_str();
    let d = match call.get("dim") {
        Value::None => None,
        given => Some(operators::shapes::dim_of(tensor, given.int()?)?),
    };
    let mut result = grouped(tensor, d, name != "unique_consecutive", (flag("return_inverse")?, flag("return_counts")?))?;
    if let (Value::List(items), "_unique") = (&mut result, name) {
        items.truncate(2);
    }
    Ok(result)
}

/// Whether a search for `value` goes no further than a boundary. One that does not compare, as NaN, is passed.
fn stops(boundary: Number, value: Number, right: bool) -> bool {
    let order = match (boundary, value) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        _ => boundary.to_f64().partial_cmp(&value.to_f64()),
    };
    order == Some(Ordering::Greater) || (!right && order == Some(Ordering::Equal))
}

fn searchsorted(call: &Call, outs: &[Tensor]) -> Result<()> {
    let sequence = match call.get("sorted_sequence") {
        Value::Tensor(t) => t,
        _ => call.tensor("boundaries")?,
    };
    let wanted = match call.get("self") {
        Value::Tensor(t) => numbers(t)?,
        number => {
            let dtype = if matches!(number, Value::Float(_)) { Dtype::Float64 } else { Dtype::Int64 };
            vec![number_at(&scalar_bytes(number, dtype)?, 0, dtype)]
        }
    };
    let right = call.bool("right")? || (!call.get("side").is_none() && call.str("side")? == "right");
    let (all, length) = (numbers(sequence)?, sequence.concrete()?.sizes.last().copied().unwrap_or(1));
    let sorter = call.opt_tensor("sorter").map(integers).transpose()?;
    let per_row = if sequence.dim() > 1 { wanted.len() / (all.len() / length.max(1)).max(1) } else { wanted.len() };
    let dtype = outs[0].dtype();
    let mut bytes = Vec::new();
    for (i, value) in wanted.iter().enumerate() {
        let start = if sequence.dim() > 1 { i / per_row.max(1) * length } else { 0 };
        let at = |k: usize| {
            let k = sorter.as_ref().map_or(k, |s| s[start + k].clamp(0, length as i64 - 1) as usize);
            all[start + k]
        };
        let (mut low, mut high) = (0, length);
        while low < high {
            let middle = (low + high) / 2;
            if stops(at(middle), *value, right) { high = middle } else { low = middle + 1 }
        }
        bytes.extend(Number::Int(low as i64).to_bytes(dtype));
    }
    write_dense(&outs[0], &bytes)
}

fn bincount(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (values, out) = (integers(call.tensor("self")?)?, &outs[0]);
    let weights = call.opt_tensor("weights").map(numbers).transpose()?;
    let mut sums = vec![0f64; out.concrete()?.numel()];
    for (i, v) in values.iter().enumerate() {
        sums[*v as usize] += weights.as_ref().map_or(1.0, |w| w[i].to_f64());
    }
    write_dense(out, &sums.iter().flat_map(|s| Number::Float(*s).to_bytes(out.dtype())).collect::<Vec<u8>>())
}

fn histc(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, out) = (call.tensor("self")?, &outs[0]);
    if !tensor.dtype().is_floating() {
        return Err(Error::not_implemented(format!("\"histogram_cpu\" not implemented for '{}'", tensor.dtype().scalar_type())));
    }
    let values: Vec<f64> = numbers(tensor)?.iter().map(|v| v.to_f64()).collect();
    let (mut low, mut high) = (call.float("min")?, call.float("max")?);
    if low == high && !values.is_empty() {
        low = values.iter().copied().fold(f64::INFINITY, f64::min);
        high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    }
    if low == high {
        (low, high) = (low - 1.0, high + 1.0);
    }
    if !low.is_finite() || !high.is_finite() {
        return Err(Error::runtime(format!("range of [{low}, {high}] is not finite")));
    }
    if low > high {
        return Err(Error::runtime("max must be larger than min"));
    }
    let bins = out.concrete()?.numel();
    let mut counts = vec![0f64; bins];
    // A bin is found in the precision of the elements.
    let single = tensor.dtype() != Dtype::Float64;
    let round = |v: f64| if single { f64::from(v as f32) } else { v };
    let (low, high) = (round(low), round(high));
    for v in values.into_iter().filter(|v| *v >= low && *v <= high) {
        let bin = round(round(round(v - low) / round(high - low)) * bins as f64) as usize;
        counts[bin.min(bins - 1)] += 1.0;
    }
    write_dense(out, &counts.iter().flat_map(|s| Number::Float(*s).to_bytes(out.dtype())).collect::<Vec<u8>>())
}

fn isin(call: &Call, outs: &[Tensor]) -> Result<()> {
    let read = |value: &Value| match value {
        Value::Tensor(t) => numbers(t),
        Value::Int(number) => Ok(vec![Number::Int(number.guard_int()?)]),
        number => Ok(vec![Number::Float(number.float()?)]),
    };
    let (elements, tests, invert) = (read(&call.args[0])?, read(&call.args[1])?, call.bool("invert")?);
    let found = |e: &Number| tests.iter().any(|t| compare(*e, *t) == Ordering::Equal && !e.to_f64().is_nan());
    write_dense(&outs[0], &elements.iter().map(|e| u8::from(found(e) != invert)).collect::<Vec<u8>>())
}

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.sort.default", sort);
    t.fill("aten.sort.stable", sort);
    t.fill("aten.topk.default", topk);
    t.fill("aten.kthvalue.default", kthvalue);
    t.fill("aten.mode.default", mode);
    t.make("aten._unique.default", unique);
    t.make("aten._unique2.default", unique);
    t.make("aten.unique_consecutive.default", unique);
    t.make("aten.unique_dim.default", unique);
    t.fill("aten.searchsorted.Tensor", searchsorted);
    t.fill("aten.searchsorted.Scalar", searchsorted);
    t.fill("aten.bucketize.Tensor", searchsorted);
    t.fill("aten.bucketize.Scalar", searchsorted);
    t.fill("aten.bincount.default", bincount);
    t.fill("aten.histc.default", histc);
    t.fill("aten.isin.Tensor_Tensor", isin);
    t.fill("aten.isin.Tensor_Scalar", isin);
    t.fill("aten.isin.Scalar_Tensor", isin);
}
