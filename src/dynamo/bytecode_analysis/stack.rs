//! What the operand stack holds of a function's variables at an instruction: in `z + f()` the variable `z` is held while `f` runs, though
//! nobody reads it again. The interpreter puts variables there without counting a reference, so that counting does not show them.

use crate::dynamo::bytecode_analysis::instruction::{Operation, Step};

/// Per value on the stack, the variable that it was read from.
pub type Stack = Vec<Option<u32>>;

/// Stands for no value: what calls push for a missing `self`.
const MISSING: u32 = u32::MAX;

/// The stacks before each instruction, by the first way that leads there; none where only an exception does.
pub fn stacks(steps: &[Step], successors: impl Fn(usize) -> Vec<usize>) -> Vec<Option<Stack>> {
    let mut before: Vec<Option<Stack>> = vec![None; steps.len()];
    let mut open = Vec::new();
    if let Some(first) = before.first_mut() {
        *first = Some(Stack::new());
        open.push(0);
    }
    while let Some(i) = open.pop() {
        let Some(stack) = before[i].clone() else { continue };
        let after = after(&steps[i], stack);
        for next in successors(i) {
            if before[next].is_none() {
                before[next] = Some(after.clone());
                open.push(next);
            }
        }
    }
    before
}

/// Variables on the stack that an instruction leaves there.
pub fn left(step: &Step, stack: &Stack) -> Vec<u32> {
    stack[..stack.len().saturating_sub(step.popped)].iter().flatten().copied().collect()
}

/// How many values an instruction leaves on the stack below its result.
pub fn below(step: &Step, stack: &Stack) -> usize {
    stack[..stack.len().saturating_sub(step.popped)].iter().filter(|value| **value != Some(MISSING)).count()
}

/// Whether what an instruction gives lies on the stack below what another, which comes later, takes from it.
pub fn is_held(steps: &[Step], stacks: &[Option<Stack>], (from, to): (usize, usize)) -> bool {
    let height = |i: usize| stacks.get(i)?.as_ref().map(Vec::len);
    let below = |i: usize| height(i).map(|n| n.saturating_sub(steps[i].popped));
    let Some(at) = below(from) else { return false };
    from < to && (from + 1..=to).all(|i| below(i).is_none_or(|n| n > at))
}

fn after(step: &Step, mut stack: Stack) -> Stack {
    let nth = |stack: &Stack, n: u32| stack.len().checked_sub(n as usize);
    match step.op {
        Operation::Copy(n) => {
            let copied = nth(&stack, n).and_then(|n| stack.get(n).copied()).flatten();
            stack.push(copied);
        }
        Operation::Swap(n) => {
            if let (Some(n), Some(top)) = (nth(&stack, n), stack.len().checked_sub(1)) {
                stack.swap(n, top);
            }
        }
        op => {
            stack.truncate(stack.len().saturating_sub(step.popped));
            let read = op.reads();
            let is_load = read.len() == step.pushed && !matches!(op, Operation::MakeCell(_));
            stack.extend((0..step.pushed).map(|i| is_load.then(|| read[i])));
            if let Some(last) = stack.last_mut().filter(|_| op.gives_empty_place()) {
                *last = Some(MISSING);
            }
        }
    }
    stack
}
