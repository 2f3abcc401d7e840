//! What steps of compiled graphs cost on the GPU that wgpu finds natively: `workloads.py` has the models.
//!
//! `cargo bench --bench gpu` (`-- MLP,CNN`: only these). For each workload, a step is forward and backward, and for MLP an update;
//! the loss of each is read back. With `KERNELS=1` every dispatch of a step is listed with its time.

use aot_playground::backend::cpu::step::Then;
use aot_playground::backend::gpu::{GpuDevice, GpuTrainer};
use aot_playground::bundle::{Bundle, Recipe};
use aot_playground::python::{Interpreter, RunOptions, on_large_stack};
use aot_playground::report::Event;
use pollster::block_on;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

const SECONDS: f64 = 1.0;

/// The compilation of a workload, with its inputs.
fn bundle(workload: &str) -> Option<Bundle> {
    let program = format!("WORKLOAD = \"{workload}\"\n{}", include_str!("workloads.py"));
    let outcome = on_large_stack(move || {
        let found = Rc::new(RefCell::new(None));
        let sink = found.clone();
        let fold = move |event: Event| match event {
            Event::Runnable { bundle } => drop(sink.borrow_mut().replace(bundle)),
            Event::Finished { exception: Some(e), .. } => println!("{}", e.traceback),
            _ => {}
        };
        Interpreter::new().run(&program, "workloads.py", &RunOptions::default(), Rc::new(fold));
        found.take()
    });
    outcome.ok().flatten()
}

fn main() {
    let only = std::env::args().nth(1).filter(|a| !a.starts_with("--"));
    let wanted = |name: &str| only.as_ref().is_none_or(|o| o.split(',').any(|w| w == name));
    let Some(device) = block_on(GpuDevice::request()).expect("asking for a device").map(Rc::new) else {
        return println!("no GPU adapter here");
    };
    println!("{} ({})", device.info.name, device.info.description);
    for workload in ["MLP", "PW", "CNN", "ATT"].into_iter().filter(|name| wanted(name)) {
        let Some(bundle) = bundle(workload) else { return println!("{workload}: nothing was compiled") };
        let parameters = bundle.parameters.iter().map(|i| bundle.inputs[*i as usize].name.clone()).collect();
        let recipe = Recipe { parameters, loss: None, lr: 0.05, momentum: 0.0 };
        let then = if workload == "MLP" { Then::Descend(&recipe) } else { Then::Return };
        let start = Instant::now();
        let (mut trainer, training) = block_on(GpuTrainer::start(device.clone(), &bundle, then)).expect("it compiles");
        let built = start.elapsed().as_secs_f64();
        let loss = block_on(trainer.steps(1, recipe.lr)).expect("it runs");
        let first = start.elapsed().as_secs_f64();
        let (start, mut times) = (Instant::now(), Vec::new());
        while times.len() < 3 || start.elapsed().as_secs_f64() < SECONDS {
            let step = Instant::now();
            block_on(trainer.steps(1, recipe.lr)).expect("it runs");
            times.push(step.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let (kernels, dispatches) = block_on(trainer.profile()).expect("it runs");
        let moved: u64 = dispatches.iter().map(|d| d.bytes[0] + d.bytes[1]).sum();
        let operations: u64 = dispatches.iter().map(|d| d.operations).sum();
        println!(
            "{workload}: {:.2} ms a step, first {:.2} s ({built:.2} s building); {} dispatches, {moved} bytes moved, {operations} operations, loss {:?}; on the CPU: {}",
            times[times.len() / 2],
            first,
            training.dispatches,
            loss,
            training.fallbacks,
        );
        if std::env::var_os("KERNELS").is_some() {
            for dispatch in &dispatches {
                let kernel = &kernels[dispatch.kernel as usize];
                let microseconds = dispatch.microseconds.unwrap_or(f64::NAN);
                println!(
                    "  {microseconds:9.0} µs {:7.2} Gop/s {:?} {}",
                    dispatch.operations as f64 / microseconds / 1e3,
                    dispatch.workgroups,
                    kernel.nodes.join(" ")
                );
                if let Some(apart) = &kernel.apart {
                    println!("            not fused with {}: it {}", apart.node, apart.why);
                }
                if std::env::var("KERNELS").is_ok_and(|name| kernel.nodes.contains(&name)) {
                    println!("{}", kernel.wgsl);
                }
            }
        }
    }
}
