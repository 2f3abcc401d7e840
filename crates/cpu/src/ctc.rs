//! Connectionist temporal classification. The labels of a sequence with a blank before, between and after them are its states;
//! a table holds, per frame and state, the log-likelihood of all ways that end there (`alpha`) or begin there (`beta`).

use super::dense::{Lane, Real};
use crate::dense::for_floats;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable, Value};
use operators::ctc::lengths;
use tensor::{Dtype, Tensor, TensorSpec};

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    for name in ["aten._ctc_loss.default", "aten._ctc_loss.Tensor"] {
        t.make(name, forward);
    }
    for name in ["aten._ctc_loss_backward.default", "aten._ctc_loss_backward.Tensor"] {
        t.fill(name, backward);
    }
}

/// A batch of sequences: its sizes, and of each the labels and the number of frames.
struct Batch {
    frames: usize,
    size: usize,
    classes: usize,
    blank: usize,
    labels: Vec<Vec<usize>>,
    lengths: Vec<usize>,
    longest: usize,
}

impl Batch {
    fn of(c: &Call) -> Result<Batch> {
        let (log_probs, targets) = (c.tensor("log_probs")?, c.tensor("targets")?);
        let (sizes, shape) = (log_probs.concrete()?.sizes, targets.concrete()?.sizes);
        let [frames, size, classes] = sizes[..] else {
            return Err(Error::runtime(format!(
                "Expected 3-dimensional tensor, but got {}-dimensional tensor for argument #1 'log_probs' (while checking arguments for ctc_loss_allocate_outputs)",
                sizes.len()
            )));
        };
        if log_probs.numel().sym_eq(0)? {
            return Err(Error::runtime("log_probs tensor must not be empty"));
        }
        if !matches!(targets.dtype(), Dtype::Int64 | Dtype::Int32) {
            return Err(Error::runtime(format!(
                "Expected tensor for argument #2 'targets' to have one of the following scalar types: Long, Int; but got torch.{}Tensor instead (while checking arguments for ctc_loss_allocate_outputs)",
                targets.dtype().scalar_type()
            )));
        }
        let blank = c.int("blank")?;
        if !(0..classes as i64).contains(&blank) {
            return Err(Error::runtime("blank must be in label range"));
        }
        let (inputs, counts) = (lengths(c, "input_lengths")?, lengths(c, "target_lengths")?);
        for (name, given) in [("input_lengths", &inputs), ("target_lengths", &counts)] {
            if given.len() != size {
                return Err(Error::runtime(format!("{name} must be of size batch_size")));
            }
            if let Some(negative) = given.iter().find(|n| **n < 0) {
                return Err(Error::runtime(format!(
                    "Expected {name} to have value at least 0, but got value {negative} (while checking arguments for ctc_loss_allocate_outputs)"
                )));
            }
        }
        if let Some(long) = inputs.iter().find(|n| **n > frames as i64) {
            return Err(Error::runtime(format!(
                "Expected input_lengths to have value at most {frames}, but got value {long} (while checking arguments for ctc_loss_allocate_outputs)"
            )));
        }
        let longest = counts.iter().copied().max().unwrap_or(0) as usize;
        let labels = labels(targets, &shape, &counts, size, longest)?;
        if labels.iter().flatten().any(|l| *l >= classes) {
            return Err(Error::runtime("ctc_loss: a target is not in the range of labels"));
        }
        let lengths = inputs.into_iter().map(|n| n as usize).collect();
        Ok(Batch { frames, size, classes, blank: blank as usize, labels, lengths, longest })
    }

    /// The label of a state of sequence `b`.
    fn label(&self, b: usize, state: usize) -> usize {
        if state.is_multiple_of(2) { self.blank } else { self.labels[b][state / 2] }
    }
    fn states(&self, b: usize) -> usize {
        2 * self.labels[b].len() + 1
    }
    /// Whether the blank before a state may be left out: its label differs from the last one.
    fn skips(&self, b: usize, state: usize) -> bool {
        state > 1 && self.label(b, state - 2) != self.label(b, state)
    }
    fn width(&self) -> usize {
        2 * self.longest + 1
    }
    /// Where a frame's score of a label lies.
    fn score(&self, frame: usize, b: usize, label: usize) -> usize {
        (frame * self.size + b) * self.classes + label
    }
    /// Where a state lies in the table.
    fn cell(&self, b: usize, frame: usize, state: usize) -> usize {
        (b * self.frames + frame) * self.width() + state
    }
}

/// Each sequence's labels: a row of a matrix, or a piece of one long vector.
fn labels(targets: &Tensor, shape: &[usize], counts: &[i64], size: usize, longest: usize) -> Result<Vec<Vec<usize>>> {
    let (values, total) = (i64::read(targets)?, counts.iter().sum::<i64>());
    let wrong = |wanted: i64, dim: usize| {
        Error::runtime(format!(
            "Expected tensor to have size {wanted} at dimension {dim}, but got size {} for argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)",
            shape[dim]
        ))
    };
    match shape {
        [all] if *all as i64 != total => return Err(wrong(total, 0)),
        [_] => {}
        [rows, _] if *rows != size => return Err(wrong(size as i64, 0)),
        [_, columns] if *columns < longest => {
            return Err(Error::runtime(format!(
                "Expected tensor to have size at least {longest} at dimension 1, but got size {columns} for argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)"
            )));
        }
        [_, _] => {}
        _ => {
            return Err(Error::runtime(format!(
                "Expected 1 to 2 dimensions, but got {}-dimensional tensor for argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)",
                shape.len()
            )));
        }
    }
    let mut start = 0;
    let pieces = counts.iter().enumerate().map(|(b, n)| {
        let from = if let [_, columns] = shape { b * columns } else { start };
        start += *n as usize;
        // A negative label is no index: it is refused like one that is too large.
        values[from..from + *n as usize].iter().map(|v| usize::try_from(*v).unwrap_or(usize::MAX)).collect()
    });
    Ok(pieces.collect())
}

/// `log(sum(exp(values)))`, where minus infinity stands for nothing.
fn log_sum<T: Real>(values: &[T]) -> T {
    let none = T::of(f64::NEG_INFINITY);
    let largest = values.iter().copied().fold(none, |a, b| if b > a { b } else { a });
    let shift = if largest == none { T::of(0.0) } else { largest };
    values.iter().map(|v| (*v - shift).exp()).sum::<T>().ln() + shift
}

/// The likelihoods of all ways that end in each state, frame by frame.
fn ending<T: Real>(batch: &Batch, b: usize, scores: &[T], table: &mut [T]) {
    let none = T::of(f64::NEG_INFINITY);
    let states = batch.states(b);
    (0..batch.width()).for_each(|s| table[batch.cell(b, 0, s)] = none);
    (0..states.min(2)).for_each(|s| table[batch.cell(b, 0, s)] = scores[batch.score(0, b, batch.label(b, s))]);
    for frame in 1..batch.lengths[b] {
        for s in 0..states {
            let before = |back: usize, open: bool| if open { table[batch.cell(b, frame - 1, s - back)] } else { none };
            let ways = log_sum(&[before(0, true), before(1, s > 0), before(2, batch.skips(b, s))]);
            table[batch.cell(b, frame, s)] = ways + scores[batch.score(frame, b, batch.label(b, s))];
        }
    }
}

fn forward(c: &Call) -> Result<Value> {
    let (batch, log_probs) = (Batch::of(c)?, c.tensor("log_probs")?);
    let made = |sizes: &[usize]| {
        let sizes: Vec<_> = sizes.iter().map(|s| (*s as i64).into()).collect();
        Tensor::zeros(&TensorSpec::contiguous(sizes, log_probs.dtype(), log_probs.device()))
    };
    let (loss, table) = (made(&[batch.size])?, made(&[batch.size, batch.frames, batch.width()])?);
    for_floats!("ctc_loss_cpu", log_probs.dtype(), T => {
        let scores = T::read(log_probs)?;
        let mut cells = vec![T::of(0.0); batch.size * batch.frames * batch.width()];
        let mut losses = vec![T::of(0.0); batch.size];
        for (b, item) in losses.iter_mut().enumerate() {
            let (frames, states) = (batch.lengths[b], batch.states(b));
            if frames == 0 {
                *item = T::of(if states == 1 { 0.0 } else { f64::INFINITY });
                continue;
            }
            ending(&batch, b, &scores, &mut cells);
            let last: Vec<T> = (states.saturating_sub(2)..states).map(|s| cells[batch.cell(b, frames - 1, s)]).collect();
            *item = -log_sum(&last);
        }
        T::write(&loss, &losses)?;
        T::write(&table, &cells)
    })?;
    Ok(Value::List(vec![loss.into(), table.into()]))
}

fn backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (batch, log_probs) = (Batch::of(c)?, c.tensor("log_probs")?);
    let zero_infinity = c.bool("zero_infinity")?;
    for_floats!("ctc_loss_backward_cpu", log_probs.dtype(), T => {
        let (scores, grad) = (T::read(log_probs)?, T::read(c.tensor("grad")?)?);
        let (losses, alpha) = (T::read(c.tensor("neg_log_likelihood")?)?, T::read(c.tensor("log_alpha")?)?);
        let none = T::of(f64::NEG_INFINITY);
        let mut result = vec![T::of(0.0); scores.len()];
        for b in 0..batch.size {
            if zero_infinity && losses[b].wide() == f64::INFINITY {
                continue;
            }
            let (frames, states) = (batch.lengths[b], batch.states(b));
            let mut later = vec![none; states];
            for frame in (0..frames).rev() {
                let mut beta = vec![none; states];
                // Per label, the likelihood of all ways through its states in this frame.
                let mut through = vec![none; batch.classes];
                for s in 0..states {
                    let score = scores[batch.score(frame, b, batch.label(b, s))];
                    if frame + 1 == frames {
                        beta[s] = if s + 2 >= states { score } else { none };
                    } else {
                        let after = |ahead: usize, open: bool| if open { later[s + ahead] } else { none };
                        let ways = [after(0, true), after(1, s + 1 < states), after(2, s + 2 < states && batch.skips(b, s + 2))];
                        beta[s] = log_sum(&ways) + score;
                    }
                    let label = batch.label(b, s);
                    through[label] = log_sum(&[through[label], alpha[batch.cell(b, frame, s)] + beta[s]]);
                }
                for (label, sum) in through.into_iter().enumerate() {
                    let at = batch.score(frame, b, label);
                    result[at] = (scores[at].exp() - (sum + losses[b] - scores[at]).exp()) * grad[b];
                }
                later = beta;
            }
        }
        T::write(&out[0], &result)
    })
}
