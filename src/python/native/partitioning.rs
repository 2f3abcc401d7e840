//! `torch._native_partition`: the partitioner's steps and the classes of operators, for `torch._functorch.partitioners`.

pub(super) use module::module_def;

#[pymodule(name = "torch._native_partition")]
mod module {
    use std::collections::BTreeSet;

    use rustpython_vm::builtins::PyStrRef;
    use rustpython_vm::{PyObjectRef, PyResult, VirtualMachine};

    use crate::dispatch::{OpEntry, Tags, all};
    use crate::dynamo::backends::config;
    use crate::partition::pieces::{self, ToldNodes};
    use crate::partition::{MemoryBudgetSolver, MinCutOptions, Partitioner, op_sets};
    use crate::python::native::edited_graph::graph_of;
    use crate::python::native::graph_module::{PyGraphModule, script_module};
    use crate::python::native::tensor::raise;

    fn list(names: impl IntoIterator<Item = String>, vm: &VirtualMachine) -> PyObjectRef {
        vm.ctx.new_list(names.into_iter().map(|name| vm.ctx.new_str(name).into()).collect()).into()
    }

    /// Overload packets of the operators that something holds for, each once.
    fn packets_of(holds: impl Fn(&OpEntry) -> bool, vm: &VirtualMachine) -> PyObjectRef {
        let found: BTreeSet<&str> = all().iter().filter(|entry| holds(entry)).map(|entry| entry.packet()).collect();
        list(found.into_iter().map(str::to_owned), vm)
    }

    /// Overload packets of a class (`aten.add`), by PyTorch's name of the list.
    #[pyfunction]
    fn packets(class: PyStrRef, vm: &VirtualMachine) -> PyResult {
        let class = class.to_string_lossy();
        let Some(wanted) = op_sets::class_named(&class) else { return Err(vm.new_value_error(format!("no class of operators: {class}"))) };
        Ok(packets_of(|entry| op_sets::has_class(entry.packet(), wanted), vm))
    }

    /// Overload packets of pointwise operators.
    #[pyfunction]
    fn pointwise(vm: &VirtualMachine) -> PyObjectRef {
        packets_of(|entry| entry.tags.has(Tags::POINTWISE), vm)
    }

    /// Names of functions on symbolic numbers that may be computed again.
    #[pyfunction]
    fn symbolic(vm: &VirtualMachine) -> PyObjectRef {
        list(op_sets::SYMBOLIC.split_ascii_whitespace().map(str::to_owned), vm)
    }

    fn told(lists: &PyObjectRef, distances: &PyObjectRef, vm: &VirtualMachine) -> PyResult<ToldNodes> {
        let lists: Vec<PyObjectRef> = lists.try_to_value(vm)?;
        let mut lists = lists.iter().map(|names| names.try_to_value::<Vec<String>>(vm)).collect::<PyResult<Vec<_>>>()?.into_iter();
        let mut next = || lists.next().unwrap_or_default();
        let (names, steps): (PyObjectRef, PyObjectRef) = match distances.try_to_value::<Vec<PyObjectRef>>(vm)?.as_slice() {
            [names, steps] => (names.clone(), steps.clone()),
            _ => return Err(vm.new_type_error("distances are names and numbers")),
        };
        let (names, steps): (Vec<String>, Vec<u64>) = (names.try_to_value(vm)?, steps.try_to_value(vm)?);
        Ok(ToldNodes {
            inputs: next(),
            required_fw: next(),
            required_bw: next(),
            tangents_closure: next(),
            is_static: next(),
            is_replayed: next(),
            dist_from_bw: names.into_iter().zip(steps).collect(),
        })
    }

    /// `solve_min_cut(graph, lists, distances, rules, dont_ban)`: names of what is saved, and of what may not be recomputed. `lists` are
    /// those of `ToldNodes`, `rules` whether each of `MinCutOptions` holds.
    #[pyfunction]
    fn solve_min_cut(
        graph: PyObjectRef,
        lists: PyObjectRef,
        distances: PyObjectRef,
        rules: Vec<bool>,
        dont_ban: Vec<String>,
        vm: &VirtualMachine,
    ) -> PyResult {
        let [far_apart, long_chains, materialized, not_allowed, reduction] = rules.as_slice() else {
            return Err(vm.new_type_error("there are five rules"));
        };
        let options = MinCutOptions {
            ban_if_used_far_apart: *far_apart,
            ban_if_long_fusible_chains: *long_chains,
            ban_if_materialized_backward: *materialized,
            ban_if_not_in_allowlist: *not_allowed,
            ban_if_reduction: *reduction,
        };
        let (graph, told) = (graph_of(&graph, vm)?, told(&lists, &distances, vm)?);
        let (saved, banned) =
            pieces::solve_min_cut(&graph, &told, options, &config::partition(Partitioner::MinCut), &dont_ban).map_err(|e| raise(e, vm))?;
        Ok(vm.ctx.new_tuple(vec![list(saved, vm), list(banned, vm)]).into())
    }

    /// `choose_saved_values(graph, lists, distances, budget)`: names of what is saved.
    #[pyfunction]
    fn choose_saved_values(graph: PyObjectRef, lists: PyObjectRef, distances: PyObjectRef, budget: f64, vm: &VirtualMachine) -> PyResult {
        let (graph, told) = (graph_of(&graph, vm)?, told(&lists, &distances, vm)?);
        let saved =
            pieces::choose_saved_values(&graph, &told, &config::partition(Partitioner::MinCut), budget).map_err(|e| raise(e, vm))?;
        Ok(list(saved, vm))
    }

    /// `left_out(solver, memory, runtime, budget)`: positions of items that do not go into a knapsack.
    #[pyfunction]
    fn left_out(solver: PyStrRef, memory: Vec<f64>, runtime: Vec<f64>, budget: f64, vm: &VirtualMachine) -> PyResult {
        let solver = MemoryBudgetSolver::of(&solver.to_string_lossy());
        let found = pieces::left_out(&solver, &memory, &runtime, budget).map_err(|e| raise(e, vm))?;
        Ok(vm.ctx.new_list(found.into_iter().map(|i| vm.ctx.new_int(i).into()).collect()).into())
    }

    /// `estimate_runtime(graph, name)`: what computing a node costs, by the estimator of the settings.
    #[pyfunction]
    fn estimate_runtime(graph: PyObjectRef, name: String, vm: &VirtualMachine) -> PyResult<f64> {
        let estimator = config::partition(Partitioner::MinCut).activation_memory_budget_runtime_estimator;
        pieces::estimate_runtime(&graph_of(&graph, vm)?, &name, &estimator).map_err(|e| raise(e, vm))
    }

    /// `functionalize_rng_ops(joint, forward, backward, num_sym_nodes)`: the parts with the generator's state handed over.
    #[pyfunction]
    fn functionalize_rng_ops(
        joint: PyObjectRef,
        forward: PyObjectRef,
        backward: PyObjectRef,
        num_sym_nodes: usize,
        vm: &VirtualMachine,
    ) -> PyResult {
        let (joint, mut forward, mut backward) = (graph_of(&joint, vm)?, graph_of(&forward, vm)?, graph_of(&backward, vm)?);
        pieces::functionalize_rng_ops(&joint, &mut forward, &mut backward, num_sym_nodes).map_err(|e| raise(e, vm))?;
        let parts = [forward, backward].map(|part| script_module(PyGraphModule::new(part), vm));
        Ok(vm.ctx.new_tuple(parts.into_iter().collect::<PyResult<Vec<_>>>()?).into())
    }

    /// `sym_nodes_to_save(graph, values, sym_nodes, tangents)`: names of symbolic numbers that a backward needs.
    #[pyfunction]
    fn sym_nodes_to_save(
        graph: PyObjectRef,
        values: Vec<String>,
        sym_nodes: Vec<String>,
        tangents: Vec<String>,
        vm: &VirtualMachine,
    ) -> PyResult {
        let found = pieces::sym_nodes_to_save(&graph_of(&graph, vm)?, &values, &sym_nodes, &tangents).map_err(|e| raise(e, vm))?;
        Ok(list(found, vm))
    }
}
