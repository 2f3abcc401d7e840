//! Running a [`Bundle`] on the GPU: forward, then backward with the saved values left where they are.

use super::device::GpuDevice;
use super::plan::{Input, Outcome, Resident};
use cpu::bundle::{backward_inputs, check_version, compare_all, draw_as, failed, output_names, parse_graph};
use diagnostics::error::Result;
use graph::Graph;
use loops::program::argument_of;
use report::bundle::{BUNDLE_VERSION, Bundle, Device, Named, PartResult, RunError, RunResult, Value};
use std::collections::HashMap;
use web_time::Instant;

/// Runs a bundle. Every difference from the CPU's values is told per output.
pub async fn run_bundle(device: &GpuDevice, bundle: &Bundle) -> Result<RunResult, RunError> {
    check_version(bundle)?;
    let forward = parse_graph(&bundle.forward)?;
    let inputs: Vec<Value> = bundle.inputs.iter().map(|n| n.value.clone()).collect();
    draw_as(&bundle.generator)?;
    let (outcome, part) = run_part(device, (&bundle.forward, &forward), &inputs, &HashMap::new(), &bundle.expected).await?;
    let mut result = RunResult {
        version: BUNDLE_VERSION,
        compilation: bundle.compilation,
        device: Device::default(),
        forward: part,
        backward: None,
        expected: None,
    };
    if let Some(part) = &bundle.backward {
        let backward = parse_graph(&part.readable)?;
        let names = output_names(&forward);
        let values: HashMap<&str, &Value> = names.iter().map(String::as_str).zip(outcome.outputs.iter().map(|(_, v)| v)).collect();
        let inputs = backward_inputs(&backward, bundle, |name| values.get(name).map(|v| (*v).clone()))?;
        let resident: HashMap<&str, &Resident> =
            names.iter().map(String::as_str).zip(&outcome.resident).filter_map(|(n, r)| Some((n, r.as_ref()?))).collect();
        draw_as(&part.generator)?;
        let (_, part) = run_part(device, (&part.readable, &backward), &inputs, &resident, &part.expected).await?;
        result.backward = Some(part);
    }
    result.device = device.described();
    Ok(result)
}

async fn run_part(
    device: &GpuDevice,
    (text, graph): (&str, &Graph),
    values: &[Value],
    resident: &HashMap<&str, &Resident>,
    expected: &[Named],
) -> Result<(Outcome, PartResult), RunError> {
    let start = Instant::now();
    let arguments = values.iter().map(argument_of).collect::<Result<Vec<_>>>().map_err(|e| failed(&e))?;
    let plan = device.plans.get(device, text, graph, &arguments).await.map_err(|e| failed(&e))?;
    let compile_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let inputs: Vec<Input> = graph
        .placeholders()
        .zip(values)
        .enumerate()
        .map(|(i, (node, value))| match resident.get(&*node.name).filter(|_| plan.takes_resident(i)) {
            Some(resident) => Input::Device(resident),
            None => Input::Host(value),
        })
        .collect();
    let outcome = plan.run(device, &inputs).await.map_err(|e| failed(&e))?;
    let run_seconds = start.elapsed().as_secs_f64();
    let computed: Vec<Value> = outcome.outputs.iter().map(|(_, v)| v.clone()).collect();
    let outputs = compare_all(&output_names(graph), &computed, expected);
    let dispatches = outcome.dispatches.clone();
    let fallbacks = plan.fallbacks.iter().map(|f| format!("{} ({}) ran on the CPU: {}", f.node, f.op, f.reason));
    let notes = fallbacks.chain(plan.notes.iter().cloned()).collect();
    Ok((outcome, PartResult { outputs, kernels: plan.kernels.clone(), dispatches, notes, compile_seconds, run_seconds }))
}
