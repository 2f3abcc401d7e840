//! A plan: kernels built, buffers laid out, dispatches recorded once, to be run ([`super::run`]) as often as wanted.
//!
//! Buffers come from a pool: a storage gives its buffer back after the last step that reads it. A plan is for the very sizes
//! it was made for.

use super::device::GpuDevice;
use super::kernel::{self, Adapter};
use diagnostics::error::{Error, Result};
use graph::{Graph, NodeId};
use loops::beside::{Room, beside};
use loops::language::{Prim, View};
use loops::program::{self, Argument, Everything, Fallback, Output, Program};
use loops::schedule::{Apart, Group, Limits, Step, schedule};
use loops::split::split;
use report::bundle;
use std::collections::HashMap;
use std::rc::Rc;

/// Storage buffers that every WebGPU device grants to a kernel.
const MAX_BUFFERS: usize = 8;

/// Operations that cost less than keeping their result: about what a load and a store do.
const RECOMPUTE: usize = 16;

/// What a step of a plan does.
pub(super) enum Planned {
    Dispatch {
        account: bundle::Dispatch,
        pipeline: wgpu::ComputePipeline,
        bind_group: wgpu::BindGroup,
        reads: Vec<usize>,
        writes: Vec<usize>,
    },
    Cpu {
        kernel: usize,
        fallback: Box<Fallback>,
    },
}

/// A compiled graph.
pub struct Plan {
    pub(super) program: Program,
    pub(super) steps: Vec<Planned>,
    pub(super) buffers: HashMap<usize, wgpu::Buffer>,
    pub(super) queries: Option<(wgpu::QuerySet, wgpu::Buffer)>,
    /// The kernels, and the nodes that run on the CPU with no text.
    pub kernels: Vec<bundle::Kernel>,
    /// Per node on the CPU: its name, its operator and why.
    pub fallbacks: Vec<FallbackInfo>,
    /// Bytes of device memory that are the plan's own.
    pub bytes: u64,
    /// Bytes that it takes from the memory that all plans share.
    pub shared: u64,
    /// What a reader of the results should know.
    pub notes: Vec<String>,
}

/// A node that runs on the CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FallbackInfo {
    /// Its name.
    pub node: String,
    /// Its operator.
    pub op: String,
    /// Why it does not run on the GPU.
    pub reason: String,
}

/// A value that stays on the device.
#[derive(Clone)]
pub struct Resident {
    pub(super) buffer: wgpu::Buffer,
    pub(super) view: View,
}

/// What a placeholder is given.
pub enum Input<'a> {
    /// A value from the host.
    Host(&'a bundle::Value),
    /// A value that another plan left on the device.
    Device(&'a Resident),
}

/// What running a plan gave.
pub struct Outcome {
    /// One value per output of the graph, with the name of the node it is of.
    pub outputs: Vec<(String, bundle::Value)>,
    /// The same values on the device, where they are there. They are overwritten when the plan runs again.
    pub resident: Vec<Option<Resident>>,
    /// The dispatches, in order; a node on the CPU has no workgroups.
    pub dispatches: Vec<bundle::Dispatch>,
}

/// Dispatches whose time is measured; a query set holds two queries each.
pub(super) const MAX_TIMED: usize = 2048;

/// Compiles a graph for the sizes that its own metadata says.
pub async fn compile(device: &GpuDevice, graph: &Graph) -> Result<Plan> {
    compile_for(device, graph, &program::arguments_of(graph)?).await
}

/// Compiles a graph for given arguments.
pub async fn compile_for(device: &GpuDevice, graph: &Graph, arguments: &[Argument]) -> Result<Plan> {
    compile_with(device, graph, arguments, false).await
}

/// What a graph is made of before a device is asked for anything.
struct Written {
    program: Program,
    steps: Vec<Step>,
    kernels: Vec<bundle::Kernel>,
    fallbacks: Vec<FallbackInfo>,
    /// Per step, its kernel's source.
    sources: Vec<Option<kernel::Source>>,
}

/// The kernels of a graph for the sizes that its own metadata says, without a device. A node that runs on the CPU has no text.
pub fn kernels(graph: &Graph, adapter: Adapter) -> Result<Vec<bundle::Kernel>> {
    Ok(write(graph, &program::arguments_of(graph)?, adapter)?.kernels)
}

fn write(graph: &Graph, arguments: &[Argument], adapter: Adapter) -> Result<Written> {
    let mut program = program::lower(graph, arguments, Rc::new(Everything))?;
    split(&mut program, adapter.threads());
    let scheduled = schedule(&program, Limits { buffers: MAX_BUFFERS, recompute: RECOMPUTE });
    let name_of = |id: NodeId| graph.node(id).name.to_string();
    let (mut kernels, mut fallbacks, mut sources) = (Vec::new(), Vec::new(), Vec::new());
    let stored = |prim: &Prim| scheduled.stored.contains(&prim.out.storage);
    let kind = |group: &Group| kernel::kind(group, adapter, &stored);
    let elements = |storage: usize| program.storages[storage].elements;
    let steps = beside(scheduled.steps, &Room { buffers: MAX_BUFFERS, kind: &kind, stored: &scheduled.stored, elements: &elements });
    for step in &steps {
        match step {
            Step::Kernel { groups, nodes, apart } => {
                let mut names: Vec<String> = Vec::new();
                for id in nodes {
                    let name = name_of(*id);
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                let source = kernel::write(groups, adapter, &stored)?;
                let buffers = source.bindings.iter().map(|b| program.storages[b.storage].name.to_string()).collect();
                let shown = if names.len() > 4 { format!("{}_{}", names[..4].join("_"), names.len() - 4) } else { names.join("_") };
                kernels.push(bundle::Kernel {
                    name: format!("k{}_{shown}", kernels.len()),
                    nodes: names,
                    buffers,
                    apart: apart.map(|(node, why)| bundle::Apart { node: name_of(node), why: why_apart(why).to_owned() }),
                    wgsl: source.wgsl.clone(),
                });
                sources.push(Some(source));
            }
            Step::Fallback(fallback) => {
                let node = name_of(fallback.node);
                fallbacks.push(FallbackInfo { node: node.clone(), op: fallback.callee.name().to_owned(), reason: fallback.reason.clone() });
                kernels.push(bundle::Kernel { name: format!("cpu_{node}"), nodes: vec![node], ..bundle::Kernel::default() });
                sources.push(None);
            }
        }
    }
    Ok(Written { program, steps, kernels, fallbacks, sources })
}

/// Why a kernel is not part of the one whose result it reads, as a clause that has the kernel for its subject.
fn why_apart(why: Apart) -> &'static str {
    match why {
        Apart::Nest => "has loops of another kind",
        Apart::Sizes => "has another number of elements",
        Apart::View => "reads elements, through a view or an index, that other threads make",
        Apart::Buffers => "would bind more buffers than a kernel can",
        Apart::Order => "also needs what is made later",
    }
}

/// Compiles a graph for given arguments. Where inputs are kept, no other value takes the place of one that is read for the
/// last time: the plan can run again on what it left.
pub(super) async fn compile_with(device: &GpuDevice, graph: &Graph, arguments: &[Argument], keep_inputs: bool) -> Result<Plan> {
    let Written { program, steps: scheduled, kernels, fallbacks, sources } = write(graph, arguments, device.adapter)?;
    let Memory { buffers, bytes, shared } = allocate(device, &program, &scheduled, &sources, keep_inputs);
    let mut steps = Vec::new();
    for (i, (step, source)) in scheduled.into_iter().zip(sources).enumerate() {
        match (step, source) {
            (Step::Fallback(fallback), _) => steps.push(Planned::Cpu { kernel: i, fallback }),
            (Step::Kernel { .. }, Some(source)) => {
                let pipeline = device.pipeline(&kernels[i].name, &source.wgsl);
                let mut entries = Vec::new();
                for (binding, b) in source.bindings.iter().enumerate() {
                    let buffer = buffers.get(&b.storage).ok_or_else(|| Error::runtime("a kernel reads a value without a buffer"))?;
                    entries.push(wgpu::BindGroupEntry { binding: binding as u32, resource: buffer.as_entire_binding() });
                }
                let bind_group = device.device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some(&kernels[i].name),
                    layout: &pipeline.get_bind_group_layout(0),
                    entries: &entries,
                });
                let size = |storages: &[usize]| storages.iter().map(|s| program.storages[*s].elements.max(0) as u64 * 4).sum();
                let reads: Vec<usize> = source.bindings.iter().filter(|b| b.read).map(|b| b.storage).collect();
                let writes: Vec<usize> = source.bindings.iter().filter(|b| b.write).map(|b| b.storage).collect();
                let account = bundle::Dispatch {
                    kernel: i as u32,
                    workgroups: source.workgroups,
                    bytes: [size(&reads), size(&writes)],
                    operations: source.operations,
                    microseconds: None,
                };
                steps.push(Planned::Dispatch { account, pipeline, bind_group, reads, writes });
            }
            (Step::Kernel { .. }, None) => return Err(Error::runtime("a kernel has no source")),
        }
        device.check().map_err(|e| Error { message: format!("{} (kernel {})\n{}", e.message, kernels[i].name, kernels[i].wgsl), ..e })?;
    }
    let queries = (device.timestamps && !steps.is_empty()).then(|| {
        let count = 2 * steps.len().min(MAX_TIMED) as u32;
        let set = device.device.create_query_set(&wgpu::QuerySetDescriptor { label: Some("times"), ty: wgpu::QueryType::Timestamp, count });
        let resolved = device.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("times"),
            size: u64::from(count) * 8,
            usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        (set, resolved)
    });
    let notes = program.notes.clone();
    Ok(Plan { program, steps, buffers, queries, kernels, fallbacks, bytes, shared, notes })
}

/// The buffers of a plan.
struct Memory {
    buffers: HashMap<usize, wgpu::Buffer>,
    /// Bytes of those that are its own, and of those that all plans share.
    bytes: u64,
    shared: u64,
}

/// Buffers for every storage that a kernel binds; those of intermediate values are reused once their storage is dead.
fn allocate(device: &GpuDevice, program: &Program, steps: &[Step], sources: &[Option<kernel::Source>], keep_inputs: bool) -> Memory {
    let mut life: HashMap<usize, (usize, usize)> = HashMap::new();
    let mut touch = |storage: usize, at: usize| {
        let span = life.entry(storage).or_insert((at, at));
        *span = (span.0.min(at), span.1.max(at));
    };
    let mut bound = std::collections::HashSet::new();
    for (i, (step, source)) in steps.iter().zip(sources).enumerate() {
        if let Some(source) = source {
            source.bindings.iter().for_each(|b| {
                touch(b.storage, i);
                bound.insert(b.storage);
            });
        }
        if let Step::Fallback(f) = step {
            f.reads.iter().chain(&f.writes).for_each(|v| touch(v.storage, i));
        }
    }
    // Inputs arrive before the first step, constants and outputs stay for good.
    for view in program.inputs.iter().flatten() {
        touch(view.storage, 0);
        if keep_inputs {
            touch(view.storage, usize::MAX);
        }
    }
    for (view, _) in &program.constants {
        touch(view.storage, 0);
        touch(view.storage, usize::MAX);
    }
    for (_, output) in &program.outputs {
        if let Output::Tensor(view) = output {
            touch(view.storage, usize::MAX);
        }
    }
    let mut storages: Vec<usize> = life.keys().copied().filter(|s| bound.contains(s)).collect();
    storages.sort_by_key(|s| (life[s].0, *s));
    let (mut buffers, mut bytes, mut taken) = (HashMap::new(), 0, Vec::new());
    for storage in storages {
        let (first, last) = life[&storage];
        let size = program.storages[storage].elements.max(1) as u64;
        let buffer = if last == usize::MAX {
            bytes += size * 4;
            device.buffer(&program.storages[storage].name, size)
        } else {
            device.plans.take(device, size, (first, last), &mut taken)
        };
        buffers.insert(storage, buffer);
    }
    Memory { buffers, bytes, shared: device.plans.bytes_of(&taken) }
}
