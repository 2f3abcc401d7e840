//! What a script does to graphs between the compiler's steps: custom passes, and partitioners of its own.

use std::rc::Rc;

use rustpython_vm::function::{FuncArgs, KwArgs};
use rustpython_vm::{PyObjectRef, PyResult, VirtualMachine};

use super::config::joint_inputs;
use crate::aot::schemas::{CustomPasses, GraphCompiler, GraphPass, PartitionFn};
use crate::dynamo::settings::value_of;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::python::native::aot_functions::take_last_partition;
use crate::python::native::calls::imported;
use crate::python::native::edited_graph::graph_of;
use crate::python::native::graph_module::{PyGraphModule, script_module};
use crate::python::native::tensor::raised;

/// Runs Python for the compiler.
fn with_script<R>(run: impl FnOnce(&VirtualMachine) -> PyResult<R>) -> Result<R> {
    if crate::python::current::current().is_none() {
        return Err(Error::runtime("a script's own pass or partitioner can be asked only while the script runs"));
    }
    rustpython_vm::vm::thread::with_current_vm(|vm| run(vm).map_err(raised))
}

/// The passes of a script's that are set; those of Inductor only where its passes run.
pub fn custom_passes(of_inductor: bool) -> CustomPasses {
    let pass = |name| value_of("torch._inductor.config", name).filter(|_| of_inductor).map(|passes| graph_pass(passes, None));
    let joint = value_of("torch._functorch.config", "joint_custom_pass").map(|pass| {
        Rc::new(move |graph: Graph| {
            let inputs = |vm: &VirtualMachine| joint_inputs(&graph, vm);
            with_script(|vm| {
                let inputs = inputs(vm).map_err(|e| crate::python::native::tensor::raise(e, vm))?;
                let module = script_module(PyGraphModule::new(graph.clone()), vm)?;
                graph_of(&*pass.call((module, inputs), vm)?, vm)
            })
        }) as GraphPass
    });
    CustomPasses { joint, joint_pre: pass("joint_custom_pre_pass"), joint_post: pass("joint_custom_post_pass") }
}

/// A setting of Inductor's that holds a pass, or several: each is given the `torch.fx.Graph`, and edits it.
fn graph_pass(passes: PyObjectRef, is_inference: Option<bool>) -> GraphPass {
    Rc::new(move |graph| {
        with_script(|vm| {
            let module = script_module(PyGraphModule::new(graph), vm)?;
            let apply = imported("torch._inductor.custom_graph_pass", vm)?.get_attr("_apply", vm)?;
            let is_inference = is_inference.map_or_else(|| vm.ctx.none(), |is| vm.ctx.new_bool(is).into());
            apply.call((passes.clone(), module.clone(), is_inference), vm)?;
            graph_of(&module, vm)
        })
    })
}

/// A compiler that gives the script's passes on forwards and backwards the graph first.
pub fn with_post_grad_passes(compiler: GraphCompiler, is_inference: bool) -> GraphCompiler {
    let pass = |name| value_of("torch._inductor.config", name).map(|passes| graph_pass(passes, Some(is_inference)));
    let passes: Vec<GraphPass> = [pass("post_grad_custom_pre_pass"), pass("post_grad_custom_post_pass")].into_iter().flatten().collect();
    if passes.is_empty() {
        return compiler;
    }
    Rc::new(move |graph, examples| compiler(passes.iter().try_fold(graph, |graph, pass| pass(graph))?, examples))
}

/// The partitioner that a script gave Inductor.
pub fn custom_partitioner() -> Option<PartitionFn> {
    let partitioner = value_of("torch._inductor.config", "custom_partitioner_fn")?;
    Some(partition_fn(partitioner, true))
}

/// A partitioner of a script's.
pub fn partition_fn(partitioner: PyObjectRef, of_inductor: bool) -> PartitionFn {
    Rc::new(move |joint, num_fwd_outputs, static_inputs| {
        let inputs = |vm: &VirtualMachine| joint_inputs(joint, vm).map_err(|e| crate::python::native::tensor::raise(e, vm));
        with_script(|vm| {
            if of_inductor {
                imported("torch._inductor.custom_graph_pass", vm)?.get_attr("_check_partitioner", vm)?.call((partitioner.clone(),), vm)?;
            }
            let module = script_module(PyGraphModule::new(joint.clone()), vm)?;
            let static_inputs = static_inputs.iter().map(|i| PyObjectRef::from(vm.ctx.new_int(*i))).collect();
            let mut keywords = vec![
                ("num_fwd_outputs".to_owned(), PyObjectRef::from(vm.ctx.new_int(num_fwd_outputs))),
                ("static_lifetime_input_indices".to_owned(), vm.ctx.new_list(static_inputs).into()),
            ];
            if of_inductor {
                keywords.push(("compiler".to_owned(), vm.ctx.new_str("inductor").into()));
            }
            let keywords: KwArgs = keywords.into_iter().collect();
            take_last_partition();
            let pair = partitioner.call(FuncArgs::new(vec![module, inputs(vm)?], keywords), vm)?;
            let pair: Vec<PyObjectRef> = pair.try_to_value(vm)?;
            let decided = take_last_partition();
            match pair.as_slice() {
                [forward, backward] => Ok((graph_of(forward, vm)?, graph_of(backward, vm)?, decided)),
                _ => Err(vm.new_type_error("a partitioner gives two graph modules")),
            }
        })
    })
}
