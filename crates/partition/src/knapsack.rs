//! Which values are worth their memory: 0-1 knapsacks over what recomputing each value costs and how much saving it takes.
//!
//! Memory is in shares of what the fastest partition saves beyond its inputs, so a budget of 1 holds all of it. Every solver
//! answers with the items left out, which are recomputed. `dp` and its sliding variant count memory in ten-thousandths and
//! values in float32, as PyTorch's do, with the same choice among equals; `ilp` is exact.
//!
//! Bounds, for n items and C ten-thousandths in the budget (10,000 at most, since a budget is at most 1): `dp` takes O(n C) steps and a bit
//! of memory for each; `dp_knapsack_sliding_hirschberg` twice the steps in O(C) memory; `dynamic_memory_budget_dp` a hundred times the
//! steps of `dp`; `greedy` O(n log n). The exact search would take O(2ⁿ): it ends with an error after [`MOST_STEPS`] steps.

use super::config::MemoryBudgetSolver;
use super::cost::float32;
use diagnostics::error::{Error, ErrorKind, Result};
use graph::step;

/// Parts that the quantizing solvers divide the budget's unit into.
const SCALE: f64 = 10_000.0;
/// By how much a solver of integer programs lets a constraint be missed.
const TOLERANCE: f64 = 1e-7;
/// Steps the exact search may take: states that it looks at and items that it fills their room with.
const MOST_STEPS: usize = 100_000_000;
/// States it may hold, which fit a browser's memory.
const MOST_STATES: usize = 4_000_000;

/// Items to recompute: those that do not go into the knapsack.
pub(super) fn solve(solver: &MemoryBudgetSolver, memory: &[f64], runtime: &[f64], budget: f64) -> Result<Vec<usize>> {
    match solver {
        MemoryBudgetSolver::Dp => Ok(dynamic_program(memory, runtime, budget)),
        MemoryBudgetSolver::SlidingHirschberg => Ok(sliding_hirschberg(memory, runtime, budget)),
        MemoryBudgetSolver::Greedy => greedy(memory, runtime, budget),
        MemoryBudgetSolver::Ilp => exact(memory, runtime, budget),
        MemoryBudgetSolver::KneePoint => Ok(dynamic_program(memory, runtime, knee_point(memory, runtime, budget))),
        MemoryBudgetSolver::Custom(_) => Err(Error::runtime("a script's own solver is asked with its graph")),
        MemoryBudgetSolver::Other(name) => Err(Error::runtime(format!("Not aware of memory budget knapsack solver: {name}"))),
    }
}

fn quantized(memory: f64) -> usize {
    (memory * SCALE).round_ties_even() as usize
}

/// The table of best values by memory, of which only what was taken where is kept: a bit per entry.
fn dynamic_program(memory: &[f64], runtime: &[f64], budget: f64) -> Vec<usize> {
    let weights: Vec<usize> = memory.iter().map(|m| quantized(*m)).collect();
    let capacity = quantized(budget);
    let words = capacity / 64 + 1;
    let mut differs = vec![0u64; words * weights.len()];
    let mut best = vec![0f32; capacity + 1];
    for (i, weight) in weights.iter().enumerate() {
        let value = float32(runtime[i]);
        // From the largest room down, entries below are still those without this item.
        for room in (0..=capacity).rev() {
            step();
            let with = match (*weight, room.checked_sub(*weight)) {
                (0, _) => best[room] + value,
                (_, Some(rest)) => best[room].max(best[rest] + value),
                (_, None) => break,
            };
            if with != best[room] {
                best[room] = with;
                differs[i * words + room / 64] |= 1 << (room % 64);
            }
        }
    }
    let mut left_out = Vec::new();
    let mut room = capacity;
    for i in (0..weights.len()).rev() {
        if differs[i * words + room / 64] >> (room % 64) & 1 == 1 {
            room = room.saturating_sub(weights[i]);
        } else {
            left_out.push(i);
        }
    }
    left_out
}

/// Of a hundred budgets up to one, that whose choice is nearest to no memory and no time, each in shares of its range.
fn knee_point(memory: &[f64], runtime: &[f64], most: f64) -> f64 {
    const LEAST: f64 = 0.001;
    const POINTS: usize = 100;
    let sum = |of: &[f64]| of.iter().sum::<f64>();
    let points: Vec<(f64, f64, f64)> = (0..POINTS)
        .map(|i| {
            let budget = LEAST + i as f64 * (most - LEAST) / (POINTS - 1) as f64;
            let recomputed = dynamic_program(memory, runtime, budget);
            let time = recomputed.iter().map(|i| runtime[*i]).sum::<f64>() / sum(runtime);
            let mut is_saved = vec![true; memory.len()];
            recomputed.iter().for_each(|i| is_saved[*i] = false);
            let saved = (0..memory.len()).filter(|i| is_saved[*i]).map(|i| memory[i]).sum::<f64>() / sum(memory);
            (budget, time, saved)
        })
        .collect();
    let range = |of: &dyn Fn(&(f64, f64, f64)) -> f64| {
        points.iter().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let (time, saved) = (range(&|p| p.1), range(&|p| p.2));
    if time.0 == time.1 || saved.0 == saved.1 {
        return most;
    }
    let distance = |p: &(f64, f64, f64)| ((p.1 - time.0) / (time.1 - time.0)).hypot((p.2 - saved.0) / (saved.1 - saved.0));
    points.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).map_or(most, |p| p.0)
}

/// Best values by memory of some items.
fn profile(items: std::ops::Range<usize>, weights: &[usize], runtime: &[f64], size: usize) -> Vec<f32> {
    let mut best = vec![0f32; size];
    for i in items {
        let value = float32(runtime[i]);
        match weights[i] {
            0 => best.iter_mut().for_each(|b| {
                step();
                *b += value;
            }),
            weight => {
                for room in (weight..size).rev() {
                    step();
                    best[room] = best[room].max(best[room - weight] + value);
                }
            }
        }
    }
    best
}

/// The same table, halved again and again instead of kept.
fn sliding_hirschberg(memory: &[f64], runtime: &[f64], budget: f64) -> Vec<usize> {
    let weights: Vec<usize> = memory.iter().map(|m| quantized(*m)).collect();
    let most = quantized(budget);
    let mut left_out = Vec::new();
    let mut stack = vec![(0..weights.len(), most)];
    while let Some((items, capacity)) = stack.pop() {
        match items.len() {
            0 => continue,
            1 => {
                if weights[items.start] > capacity || runtime[items.start] <= 0.0 {
                    left_out.push(items.start);
                }
                continue;
            }
            _ => {}
        }
        let middle = items.start + items.len() / 2;
        let (left, right) = (middle..items.end, items.start..middle);
        let size = capacity + 1;
        let first = profile(left.clone(), &weights, runtime, size);
        let second = profile(right.clone(), &weights, runtime, size);
        let sum = |room: usize| first[room] + second[capacity - room];
        let split = (1..size).fold(0, |best, room| if sum(room) > sum(best) { room } else { best });
        stack.push((right, (size - split).min(most)));
        stack.push((left, split.min(most)));
    }
    left_out.sort_unstable_by(|a, b| b.cmp(a));
    left_out
}

/// Items in order of cost per memory, as long as they fit.
fn greedy(memory: &[f64], runtime: &[f64], budget: f64) -> Result<Vec<usize>> {
    if memory.contains(&0.0) {
        return Err(Error::new(ErrorKind::ZeroDivision, "float division by zero"));
    }
    let mut left_out = Vec::new();
    let mut used = 0.0;
    for i in by_ratio(memory, runtime) {
        step();
        if used + memory[i] <= budget {
            used += memory[i];
        } else {
            left_out.push(i);
        }
    }
    Ok(left_out)
}

fn by_ratio(memory: &[f64], runtime: &[f64]) -> Vec<usize> {
    let ratio = |i: usize| runtime[i] / memory[i];
    let mut order: Vec<usize> = (0..memory.len()).collect();
    order.sort_by(|a, b| ratio(*b).total_cmp(&ratio(*a)));
    order
}

/// A choice among the first items: no other takes less memory for as much value.
#[derive(Clone, Copy)]
struct State {
    memory: f64,
    value: f64,
    /// The state it extends and the item it takes.
    from: Option<(usize, usize)>,
}

/// An optimum: item by item, the choices that no other beats, without those that cannot reach the best value known. An error after
/// [`MOST_STEPS`] steps, or where it would hold more than [`MOST_STATES`] states.
fn exact(memory: &[f64], runtime: &[f64], budget: f64) -> Result<Vec<usize>> {
    let order = by_ratio(memory, runtime);
    let room = budget + TOLERANCE;
    // What the items from a position on add at most, given room: whole items by ratio, then a part of one.
    let mut memory_before = vec![0.0];
    let mut value_before = vec![0.0];
    for i in &order {
        memory_before.push(memory_before[memory_before.len() - 1] + memory[*i]);
        value_before.push(value_before[value_before.len() - 1] + runtime[*i]);
    }
    let bound = |position: usize, room: f64| {
        let end = position + memory_before[position + 1..].partition_point(|m| m - memory_before[position] <= room);
        let whole = value_before[end] - value_before[position];
        match order.get(end) {
            Some(i) => whole + runtime[*i] * (room - (memory_before[end] - memory_before[position])).max(0.0) / memory[*i],
            None => whole,
        }
    };
    let filled = |position: usize, mut state: State| {
        for i in &order[position..] {
            step();
            if state.memory + memory[*i] <= room {
                state.memory += memory[*i];
                state.value += runtime[*i];
            }
        }
        state.value
    };
    let mut arena = vec![State { memory: 0.0, value: 0.0, from: None }];
    let mut front = vec![0];
    let mut known = filled(0, arena[0]);
    let mut steps = order.len();
    for (position, item) in order.iter().enumerate() {
        let mut both: Vec<(Option<usize>, State)> = front.iter().map(|s| (Some(*s), arena[*s])).collect();
        both.extend(front.iter().filter_map(|s| {
            let (memory, value) = (arena[*s].memory + memory[*item], arena[*s].value + runtime[*item]);
            (memory <= room).then_some((None, State { memory, value, from: Some((*s, *item)) }))
        }));
        steps += both.len();
        both.sort_by(|(_, a), (_, b)| a.memory.total_cmp(&b.memory).then(b.value.total_cmp(&a.value)));
        let mut best = f64::NEG_INFINITY;
        front.clear();
        for (place, state) in both {
            step();
            let hopeless = state.value + bound(position + 1, room - state.memory) < known * (1.0 - 1e-12);
            if state.value <= best || hopeless {
                continue;
            }
            best = state.value;
            front.push(place.unwrap_or_else(|| {
                steps += order.len() - position;
                known = known.max(filled(position + 1, state));
                arena.push(state);
                arena.len() - 1
            }));
        }
        if arena.len() > MOST_STATES || steps > MOST_STEPS {
            return Err(Error::runtime("The exact search for a memory budget takes too many steps; use the dp solver"));
        }
    }
    let best = front.iter().copied().max_by(|a, b| arena[*a].value.total_cmp(&arena[*b].value));
    let mut taken = vec![false; memory.len()];
    let mut at = best;
    while let Some((before, item)) = at.and_then(|s| arena[s].from) {
        taken[item] = true;
        at = Some(before);
    }
    Ok((0..memory.len()).filter(|i| !taken[*i]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every choice tried.
    fn best_of_all(memory: &[f64], runtime: &[f64], budget: f64) -> f64 {
        let sum = |of: &[f64], set: u32| (0..of.len()).filter(|i| set >> i & 1 == 1).map(|i| of[i]).sum::<f64>();
        let sets = (0..1u32 << memory.len()).filter(|set| sum(memory, *set) <= budget + TOLERANCE);
        sets.map(|set| sum(runtime, set)).fold(0.0, f64::max)
    }

    fn value(solver: &MemoryBudgetSolver, memory: &[f64], runtime: &[f64], budget: f64) -> (f64, f64) {
        let left_out = solve(solver, memory, runtime, budget).unwrap();
        let taken = (0..memory.len()).filter(|i| !left_out.contains(i));
        taken.fold((0.0, 0.0), |(m, v), i| (m + memory[i], v + runtime[i]))
    }

    #[test]
    fn the_exact_solver_finds_what_trying_everything_does() {
        let mut state = 9u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / f64::from(1u32 << 31)
        };
        for round in 0..200 {
            let n = 1 + round % 13;
            let memory: Vec<f64> = (0..n).map(|_| (next() * 20.0).ceil() / 40.0).collect();
            let runtime: Vec<f64> = (0..n).map(|_| 1.0 + (next() * 50.0).floor()).collect();
            let budget = next();
            let (used, found) = value(&MemoryBudgetSolver::Ilp, &memory, &runtime, budget);
            assert!(used <= budget + TOLERANCE);
            assert_eq!(found, best_of_all(&memory, &runtime, budget), "{memory:?} {runtime:?} {budget}");
            // The others find a choice that fits, if not always the best one.
            for solver in [MemoryBudgetSolver::Dp, MemoryBudgetSolver::SlidingHirschberg, MemoryBudgetSolver::Greedy] {
                let (used, found_here) = value(&solver, &memory, &runtime, budget);
                assert!(used <= budget + 1e-3 && found_here <= found + 1e-9, "{solver:?}: {used} {found_here}");
            }
        }
    }

    #[test]
    fn equal_items_do_not_make_the_exact_solver_slow() {
        let (memory, runtime) = (vec![0.0073; 300], vec![2.0; 300]);
        let (_, found) = value(&MemoryBudgetSolver::Ilp, &memory, &runtime, 0.5);
        assert_eq!(found, 2.0 * 68.0);
    }

    #[test]
    fn the_exact_solver_ends_where_no_choice_can_be_left_out() {
        // Of items whose cost is their memory, no choice beats another.
        let memory: Vec<f64> = (0..200).map(|i| f64::from(i + 1).sqrt() / 3000.0).collect();
        let error = solve(&MemoryBudgetSolver::Ilp, &memory, &memory, 0.5).unwrap_err();
        assert_eq!(error.message, "The exact search for a memory budget takes too many steps; use the dp solver");
    }

    #[test]
    fn an_item_without_memory_has_no_ratio() {
        let error = solve(&MemoryBudgetSolver::Greedy, &[0.0, 0.5], &[1.0, 1.0], 0.5).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::ZeroDivision, "float division by zero"));
    }
}
