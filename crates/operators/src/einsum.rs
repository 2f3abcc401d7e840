//! `einsum`: the equation is read, operands are permuted to common dimensions and contracted pair by pair with bmm.

use diagnostics::error::{Error, Result};
use dispatch::aten;
use dispatch::t;
use dispatch::{Call, OpBuilder, Rule, Value};
use shape::{Relation, SymInt};
use tensor::Tensor;

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op("einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", Rule::Composite(einsum));
}

/// Letters, upper case first, then the ellipsis.
const LABELS: usize = 53;
const ELLIPSIS: usize = 52;

fn label(c: u8) -> usize {
    if c.is_ascii_uppercase() { (c - b'A') as usize } else { (c - b'a') as usize + 26 }
}

fn letter(label: usize) -> char {
    if label < 26 { (b'A' + label as u8) as char } else { (b'a' + (label - 26) as u8) as char }
}

fn fail<T>(message: String) -> Result<T> {
    Err(Error::runtime(format!("einsum(): {message}")))
}

/// The labels of each operand.
fn parse_inputs(equation: &str, operands: &[Tensor]) -> Result<Vec<Vec<usize>>> {
    let left = equation.find("->").map_or(equation, |i| &equation[..i]);
    let (bytes, mut labels, mut dots) = (left.as_bytes(), vec![Vec::new(); operands.len()], false);
    let (mut current, mut i) = (0, 0);
    while i < bytes.len() {
        match bytes[i] {
            b' ' => {}
            b'.' => {
                if dots {
                    return fail(format!("found '.' for operand {current} for which an ellipsis was already found"));
                }
                if bytes.get(i + 1..i + 3) != Some(b"..") {
                    return fail(format!("found '.' for operand {current} that is not part of any ellipsis"));
                }
                i += 2;
                labels[current].push(ELLIPSIS);
                dots = true;
            }
            b',' => {
                current += 1;
                if current >= operands.len() {
                    return fail("fewer operands were provided than specified in the equation".into());
                }
                dots = false;
            }
            c if c.is_ascii_alphabetic() => labels[current].push(label(c)),
            _ => return fail(format!("invalid subscript given at index {i} in the equation string, subscripts must be in [a-zA-Z]")),
        }
        i += 1;
    }
    if current + 1 != operands.len() {
        return fail("more operands were provided than specified in the equation".into());
    }
    Ok(labels)
}

/// Which dimension of the common space each label takes; result dimensions come first.
struct Space {
    index: [Option<usize>; LABELS],
    ellipsis_at: usize,
    ellipsis_dims: usize,
    results: usize,
    dims: usize,
}

fn lay_out(equation: &str, inputs: &[Vec<usize>], operands: &[Tensor]) -> Result<Space> {
    let (mut count, mut ellipsis_dims) = ([0usize; LABELS], 0);
    for (i, labels) in inputs.iter().enumerate() {
        let (ndim, has_dots) = (operands[i].dim(), labels.contains(&ELLIPSIS));
        let named = labels.len() - usize::from(has_dots);
        if if has_dots { named > ndim } else { named != ndim } {
            return fail(format!(
                "the number of subscripts in the equation ({named}){} for operand {i}{}",
                if has_dots {
                    format!(" is more than the number of dimensions ({ndim})")
                } else {
                    format!(" does not match the number of dimensions ({ndim})")
                },
                if has_dots { "" } else { " and no ellipsis was given" }
            ));
        }
        for l in labels {
            count[*l] += 1;
        }
        if has_dots {
            ellipsis_dims = ellipsis_dims.max(ndim - named);
        }
    }
    let mut space = Space { index: [None; LABELS], ellipsis_at: 0, ellipsis_dims, results: 0, dims: 0 };
    let mut dots = false;
    match equation.find("->") {
        None => {
            // The ellipsis, then labels that occur once, in order.
            space.dims = ellipsis_dims;
            dots = true;
            for l in 0..ELLIPSIS {
                if count[l] == 1 {
                    space.index[l] = Some(space.dims);
                    space.dims += 1;
                }
            }
        }
        Some(arrow) => {
            let (bytes, mut i) = (equation.as_bytes(), arrow + 2);
            while i < bytes.len() {
                match bytes[i] {
                    b' ' => {}
                    b'.' => {
                        if dots {
                            return fail("found '.' for output but an ellipsis (...) was already found".into());
                        }
                        if bytes.get(i + 1..i + 3) != Some(b"..") {
                            return fail("found '.' for output that is not part of any ellipsis (...)".into());
                        }
                        i += 2;
                        space.ellipsis_at = space.dims;
                        space.dims += ellipsis_dims;
                        dots = true;
                    }
                    c if c.is_ascii_alphabetic() => {
                        let l = label(c);
                        if space.index[l].is_some() {
                            return fail(format!("output subscript {} appears more than once in the output", c as char));
                        }
                        if count[l] == 0 {
                            return fail(format!("output subscript {} does not appear in the equation for any input operand", c as char));
                        }
                        space.index[l] = Some(space.dims);
                        space.dims += 1;
                    }
                    _ => {
                        return fail(format!(
                            "invalid subscript given at index {i} in the equation string, subscripts must be in [a-zA-Z]"
                        ));
                    }
                }
                i += 1;
            }
        }
    }
    space.results = space.dims;
    if !dots {
        space.ellipsis_at = space.dims;
        space.dims += ellipsis_dims;
    }
    for l in 0..ELLIPSIS {
        if count[l] > 0 && space.index[l].is_none() {
            space.index[l] = Some(space.dims);
            space.dims += 1;
        }
    }
    Ok(space)
}

/// An operand permuted to the common space; `uses` counts operands per dimension that are not of size one there.
fn align(mut operand: Tensor, number: usize, labels: &[usize], space: &Space, known: &mut [SymInt], uses: &mut [usize]) -> Result<Tensor> {
    let mut order: Vec<Option<usize>> = vec![None; space.dims];
    let covered = operand.dim() + 1 - labels.len().min(operand.dim() + 1);
    let mut dim = 0;
    let mut note = |place: usize, size: SymInt, what: &dyn Fn() -> String| -> Result<()> {
        dispatch::compare_sizes(&size, Relation::Ne, &SymInt::Int(1))?;
        if !size.sym_eq(1)? {
            dispatch::compare_sizes(&known[place], Relation::Eq, &SymInt::Int(1))?;
            dispatch::compare_sizes(&known[place], Relation::Eq, &size)?;
            if !known[place].sym_eq(1)? && !known[place].sym_eq(size.clone())? {
                return fail(format!(
                    "{} for operand {number} which does not broadcast with previously seen size {}",
                    what(),
                    known[place]
                ));
            }
            known[place] = size;
            uses[place] += 1;
        }
        Ok(())
    };
    for l in labels {
        if *l == ELLIPSIS {
            for j in space.ellipsis_dims - covered..space.ellipsis_dims {
                let size = operand.size(dim);
                note(space.ellipsis_at + j, size.clone(), &|| format!("dimension {dim} covered by ellipsis has size {size}"))?;
                order[space.ellipsis_at + j] = Some(dim);
                dim += 1;
            }
            continue;
        }
        let place = space.index[*l].unwrap_or(0);
        match order[place] {
            None => {
                let size = operand.size(dim);
                note(place, size.clone(), &|| format!("subscript {} has size {size}", letter(*l)))?;
                order[place] = Some(dim);
                dim += 1;
            }
            Some(before) => {
                let (size, other) = (operand.size(dim), operand.size(before));
                if !size.sym_eq(other.clone())? {
                    return fail(format!(
                        "subscript {} is repeated for operand {number} but the sizes don't match, {size} != {other}",
                        letter(*l)
                    ));
                }
                let diagonal = t!("diagonal", operand, 0, before, dim)?;
                operand = t!("movedim.int", diagonal, -1, before)?;
            }
        }
    }
    let mut permutation = Vec::with_capacity(space.dims);
    for place in order {
        permutation.push(match place {
            Some(d) => d as i64,
            None => {
                operand = t!("unsqueeze", operand, dim)?;
                dim += 1;
                dim as i64 - 1
            }
        });
    }
    t!("permute", operand, permutation)
}

fn einsum(c: &Call) -> Result<Value> {
    let (equation, operands) = (c.str("equation")?, c.tensors("tensors")?);
    if operands.is_empty() {
        return fail("must provide at least one operand".into());
    }
    let path = if c.get("path").is_none() { None } else { Some(c.ints("path")?) };
    if path.as_ref().is_some_and(|p| p.len() != 2 * (operands.len() - 1)) {
        return fail(
            "expected contraction path given in path parameter to have length ".to_owned() + &(2 * (operands.len() - 1)).to_string(),
        );
    }
    let inputs = parse_inputs(equation, &operands)?;
    let space = lay_out(equation, &inputs, &operands)?;
    let (mut known, mut uses) = (vec![SymInt::Int(1); space.dims], vec![0usize; space.dims]);
    let mut pending = std::collections::VecDeque::new();
    for (i, (operand, labels)) in operands.iter().zip(&inputs).enumerate() {
        pending.push_back(align(operand.clone(), i, labels, &space, &mut known, &mut uses)?);
    }
    let count = operands.len();
    let mut steps = path.as_deref().map(|p| p.chunks(2));
    while pending.len() > 1 {
        let (i, j) = match steps.as_mut().and_then(Iterator::next) {
            Some(&[a, b]) => (a.min(b).max(0) as usize, a.max(b).max(0) as usize),
            _ => (0, 1),
        };
        let (Some(b), Some(a)) = (pending.remove(j), pending.remove(i)) else {
            return fail("invalid contraction path".into());
        };
        let product = contract(a, b, &space, &mut uses)?;
        if path.is_some() { pending.push_back(product) } else { pending.push_front(product) }
    }
    let Some(result) = pending.pop_front() else { return fail("must provide at least one operand".into()) };
    if space.dims == space.results {
        return Ok(result.into());
    }
    if count > 1 {
        // Every dimension to sum has been summed and is one.
        return aten!("view", &result, result.sizes()[..space.results].to_vec());
    }
    aten!("sum.dim_IntList", result, (space.results as i64..space.dims as i64).collect::<Vec<_>>())
}

/// Multiplies two aligned operands and sums what no other operand needs.
fn contract(mut a: Tensor, mut b: Tensor, space: &Space, uses: &mut [usize]) -> Result<Tensor> {
    let (mut both, mut only_a, mut only_b) = (Vec::new(), Vec::new(), Vec::new());
    for dim in space.results..space.dims {
        for size in [a.size(dim), b.size(dim)] {
            dispatch::compare_sizes(&size, Relation::Ne, &SymInt::Int(1))?;
        }
        let (in_a, in_b) = (!a.size(dim).sym_eq(1)?, !b.size(dim).sym_eq(1)?);
        if in_a && in_b {
            uses[dim] -= 1;
            if uses[dim] == 1 {
                both.push(dim as i64);
                uses[dim] = 0;
            }
        } else if uses[dim] == 1 && (in_a || in_b) {
            if in_a { &mut only_a } else { &mut only_b }.push(dim as i64);
            uses[dim] = 0;
        }
    }
    if !only_a.is_empty() {
        a = t!("sum.dim_IntList", a, only_a, true)?;
    }
    if !only_b.is_empty() {
        b = t!("sum.dim_IntList", b, only_b, true)?;
    }
    sumproduct_pair(a, b, &both)
}

/// The sum of products over some dimensions, kept as ones: one bmm over (shared, own, summed) dimensions.
fn sumproduct_pair(mut left: Tensor, mut right: Tensor, summed: &[i64]) -> Result<Tensor> {
    if summed.is_empty() {
        return t!("mul.Tensor", left, right);
    }
    let (mut shared, mut in_left, mut in_right) = (Vec::new(), Vec::new(), Vec::new());
    for dim in (0..left.dim() as i64).filter(|dim| !summed.contains(dim)) {
        let (l, r) = (left.size(dim as usize), right.size(dim as usize));
        let own = match (!l.sym_eq(1)?, !r.sym_eq(1)?) {
            (true, true) => &mut shared,
            (true, false) => &mut in_left,
            (false, _) => &mut in_right,
        };
        own.push(dim);
    }
    if let (Some(right_last), Some(left_first)) = (in_right.last(), in_left.first())
        && right_last < left_first
    {
        // The other way around the product has its dimensions in the order of the result. What is one in both stays where it was counted.
        (left, right) = (right, left);
        (in_left, in_right) = (in_right, in_left);
    }
    let one = || SymInt::Int(1);
    let (mut n_shared, mut n_left, mut n_right, mut n_sum) = (one(), one(), one(), one());
    for dim in 0..left.dim() as i64 {
        let (l, r) = (left.size(dim as usize), right.size(dim as usize));
        for size in [&l, &r] {
            dispatch::compare_sizes(size, Relation::Ne, &one())?;
        }
        if shared.contains(&dim) {
            dispatch::compare_sizes(&l, Relation::Eq, &r)?;
        }
        let (count, size) = match dim {
            d if summed.contains(&d) => (&mut n_sum, l),
            d if shared.contains(&d) => (&mut n_shared, l),
            d if in_left.contains(&d) => (&mut n_left, l),
            _ => (&mut n_right, r),
        };
        *count = dispatch::multiply(&[count.clone(), size])?;
    }
    let size = |t: &Tensor, d: &i64| t.size(*d as usize);
    let mut result: Vec<SymInt> = shared.iter().chain(&in_left).map(|d| size(&left, d)).collect();
    result.extend(summed.iter().map(|_| one()));
    result.extend(in_right.iter().map(|d| size(&right, d)));
    let order_left = [&shared[..], &in_left, summed, &in_right].concat();
    let order_right = [&shared[..], summed, &in_right, &in_left].concat();
    let mut order = vec![0i64; order_left.len()];
    for (i, d) in order_left.iter().enumerate() {
        order[*d as usize] = i as i64;
    }
    let left = t!("reshape", t!("permute", left, order_left)?, vec![n_shared.clone(), n_left, n_sum.clone()])?;
    let right = t!("reshape", t!("permute", right, order_right)?, vec![n_shared, n_sum, n_right])?;
    t!("permute", t!("view", t!("bmm", left, right)?, result)?, order)
}
