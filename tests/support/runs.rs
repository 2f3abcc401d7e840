//! Runs of many programs: as many at once as the machine has processors.

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The report of a program, as `run --json` gives it; null where there is none.
pub fn report(program: &Path, backend: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_aot-playground"))
        .args(["run", program.to_str().unwrap(), "--backend", backend, "--json", "--time-limit", "60"])
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

/// The recordings of `expected.json`, each with the program and the backend that it is of.
pub fn recordings(expected: &Value) -> Vec<(&String, &String, &Value)> {
    let programs = expected.as_object().unwrap().iter();
    programs.flat_map(|(name, backends)| backends.as_object().unwrap().iter().map(move |(backend, want)| (name, backend, want))).collect()
}

/// The compilations that came to an end: what is given up and traced again is not split, so that nothing was recorded of it.
pub fn compilations(report: &Value) -> Vec<&Value> {
    report["compilations"].as_array().into_iter().flatten().filter(|c| c["abandoned"].is_null()).collect()
}

/// 64-bit FNV-1a, as `tests/programs/record.py` computes it.
pub fn fnv(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

/// What `work` gives for every item, in the items' order.
pub fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        while let i = next.fetch_add(1, Ordering::Relaxed)
            && let Some(item) = items.get(i)
        {
            done.push((i, work(item)));
        }
        done
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(take)).collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, r)| r).collect()
}
