//! What `torch._functorch.config` says, as the partitioners take it, and `torch._inductor.config`, as the passes do.

use std::rc::Rc;

use rustpython_vm::builtins::PyStr;
use rustpython_vm::{PyObjectRef, PyResult, VirtualMachine};

use crate::aot::compile::example;
use crate::aot::passes::Passes;
use crate::aot::schemas::Switches;
use crate::dynamo::settings::{setting, switch_of};
use crate::error::{Error, Result};
use crate::graph::{Graph, NodeId};
use crate::partition::{Candidates, MemoryBudgetSolver, PartitionConfig, Partitioner, RuntimeEstimator, Scripted, is_tangent};
use crate::python::native::graph_module::{PyGraphModule, script_module};
use crate::python::native::tensor::{from_value, raised};

/// Sets switches to what a module says of them.
fn read(module: &'static str, vm: &VirtualMachine, switches: &mut [(&'static str, &mut bool)]) {
    for (name, target) in switches {
        if let Some(value) = setting(module, name, vm).and_then(|o| o.try_to_bool(vm).ok()) {
            **target = value;
        }
    }
}

/// Which of Inductor's passes run.
pub fn passes() -> Passes {
    let mut passes = Passes::default();
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let switches = &mut [
            ("use_joint_graph_passes", &mut passes.use_joint_graph_passes),
            ("joint_graph_constant_folding", &mut passes.joint_graph_constant_folding),
            ("pattern_matcher", &mut passes.pattern_matcher),
            ("fallback_random", &mut passes.fallback_random),
        ];
        read("torch._inductor.config", vm, switches);
    });
    passes
}

/// What tracing and the runtime wrappers obey.
pub fn switches() -> Switches {
    let mut switches = Switches::default();
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let guess = &mut switches.disable_guess_zero_tangent_for_mutated_input_subclass;
        let switches = &mut [
            ("functionalize_rng_ops", &mut switches.functionalize_rng_ops),
            ("donated_buffer", &mut switches.donated_buffer),
            ("force_non_lazy_backward_lowering", &mut switches.force_non_lazy_backward_lowering),
            ("guess_tangent_strides_as_outputs", &mut switches.guess_tangent_strides_as_outputs),
            ("unlift_effect_tokens", &mut switches.unlift_effect_tokens),
            ("enable_complex_wrapper", &mut switches.enable_complex_wrapper),
            ("disable_guess_zero_tangent_for_mutated_input_subclass", guess),
            ("is_non_builtin_to_include", &mut switches.is_non_builtin_to_include),
            ("fake_tensor_propagate_real_tensors", &mut switches.fake_tensor_propagate_real_tensors),
        ];
        read("torch._functorch.config", vm, switches);
    });
    switches
}

/// A switch of `torch._functorch.config` that is off by default.
pub fn is_on(name: &'static str) -> bool {
    switch_of("torch._functorch.config", name) == Some(true)
}

/// The settings of a partitioner.
pub fn partition(partitioner: Partitioner) -> PartitionConfig {
    let mut config = PartitionConfig { partitioner, ..PartitionConfig::default() };
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let get = |name: &'static str| setting("torch._functorch.config", name, vm);
        let min_cut = &mut config.min_cut;
        let switches = &mut [
            ("cse", &mut config.cse),
            ("treat_parameters_as_free_to_save", &mut config.treat_parameters_as_free_to_save),
            ("recompute_views", &mut config.recompute_views),
            ("aggressive_recomputation", &mut config.aggressive_recomputation),
            ("ban_recompute_used_far_apart", &mut min_cut.ban_if_used_far_apart),
            ("ban_recompute_long_fusible_chains", &mut min_cut.ban_if_long_fusible_chains),
            ("ban_recompute_materialized_backward", &mut min_cut.ban_if_materialized_backward),
            ("ban_recompute_not_in_allowlist", &mut min_cut.ban_if_not_in_allowlist),
            ("ban_recompute_reductions", &mut min_cut.ban_if_reduction),
            ("activation_memory_budget_require_full_coverage", &mut config.activation_memory_budget_require_full_coverage),
        ];
        read("torch._functorch.config", vm, switches);
        if let Some(far) = get("max_dist_from_bw").and_then(|o| o.try_to_value::<u64>(vm).ok()) {
            config.max_dist_from_bw = far;
        }
        if let Some(budget) = get("activation_memory_budget").and_then(|o| o.try_float(vm).ok()).map(|f| f.to_f64()) {
            config.activation_memory_budget = budget;
        }
        let named = |o: &PyObjectRef| o.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned());
        if let Some(solver) = get("activation_memory_budget_solver") {
            config.activation_memory_budget_solver = match named(&solver) {
                Some(name) => MemoryBudgetSolver::of(&name),
                None => MemoryBudgetSolver::Custom(Scripted(Rc::new(move |candidates| choose_recomputed(&solver, candidates)))),
            };
        }
        if let Some(estimator) = get("activation_memory_budget_runtime_estimator") {
            config.activation_memory_budget_runtime_estimator = match named(&estimator) {
                Some(name) => RuntimeEstimator::of(&name),
                None => RuntimeEstimator::Custom(Scripted(Rc::new(move |graph, nodes| estimate_runtimes(&estimator, graph, nodes)))),
            };
        }
    });
    config
}

/// A function of `torch._functorch.partitioners`, called with a joint graph and names of its nodes.
fn asked(
    function: &'static str,
    object: &PyObjectRef,
    graph: &Graph,
    nodes: &[NodeId],
    rest: &dyn Fn(&VirtualMachine) -> Vec<PyObjectRef>,
) -> Result<PyObjectRef> {
    if crate::python::current::current().is_none() {
        return Err(Error::runtime("a script's own solver or estimator can be asked only while the script runs"));
    }
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let ask = || -> PyResult {
            let module = crate::python::native::calls::imported("torch._functorch.partitioners", vm)?;
            let joint = script_module(PyGraphModule::new(graph.clone()), vm)?;
            let mut args = vec![object.clone(), joint, names(graph, nodes, vm)];
            args.extend(rest(vm));
            module.get_attr(function, vm)?.call(args, vm)
        };
        ask().map_err(raised)
    })
}

fn names(graph: &Graph, nodes: &[NodeId], vm: &VirtualMachine) -> PyObjectRef {
    vm.ctx.new_list(nodes.iter().map(|id| vm.ctx.new_str(&*graph.node(*id).name).into()).collect()).into()
}

fn choose_recomputed(solver: &PyObjectRef, candidates: &Candidates) -> Result<Vec<usize>> {
    let numbers = |of: &[f64], vm: &VirtualMachine| vm.ctx.new_list(of.iter().map(|v| vm.ctx.new_float(*v).into()).collect()).into();
    let found = asked("_choose_recomputed", solver, candidates.graph, candidates.nodes, &|vm| {
        vec![
            numbers(candidates.memory, vm),
            vm.ctx.new_float(candidates.budget).into(),
            names(candidates.graph, candidates.inputs, vm),
            names(candidates.graph, candidates.required_fw_nodes, vm),
            names(candidates.graph, candidates.required_bw_nodes, vm),
            names(candidates.graph, candidates.tangents_closure, vm),
            names(candidates.graph, candidates.static_inputs, vm),
        ]
    })?;
    rustpython_vm::vm::thread::with_current_vm(|vm| found.try_to_value(vm).map_err(raised))
}

fn estimate_runtimes(estimator: &PyObjectRef, graph: &Graph, nodes: &[NodeId]) -> Result<Vec<f64>> {
    let found = asked("_estimate_runtimes", estimator, graph, nodes, &|_| Vec::new())?;
    rustpython_vm::vm::thread::with_current_vm(|vm| found.try_to_value(vm).map_err(raised))
}

/// Logs what a partitioner decided, where `debug_partitioner` asks for it, as PyTorch does.
pub fn log_decision(report: &[String]) {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        if !is_on("debug_partitioner") {
            return;
        }
        // A script that broke logging loses the log, nothing else.
        let _ = vm.import("logging", 0).and_then(|logging| {
            let logger = vm.call_method(&logging, "getLogger", ("torch._functorch.partitioners",))?;
            for line in report {
                vm.call_method(&logger, "info", (line.as_str(),))?;
            }
            Ok(())
        });
    });
}

/// What a partitioner is given beside the joint graph: fake primals and fake tangents.
pub fn joint_inputs(joint: &Graph, vm: &VirtualMachine) -> Result<PyObjectRef> {
    let (mut primals, mut tangents) = (Vec::new(), Vec::new());
    for node in joint.placeholders() {
        let fake = from_value(example(node)?, vm).map_err(raised)?;
        if is_tangent(node) { tangents.push(fake) } else { primals.push(fake) }
    }
    Ok(vm.ctx.new_tuple(vec![vm.ctx.new_list(primals).into(), vm.ctx.new_list(tangents).into()]).into())
}
