//! A plan: kernels built, buffers laid out, dispatches recorded once; and running it, as often as wanted.
//!
//! Buffers come from a pool: a storage gives its buffer back after the last step that reads it. A plan is for the very sizes
//! it was made for. Values move between host and device only where a step needs them on the other side.

use super::device::GpuDevice;
use super::ir::View;
use super::kernel;
use super::program::{self, Argument, Fallback, Output, Program};
use super::schedule::{Step, schedule};
use super::transfer::{from_device, to_device};
use crate::bundle;
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::graph::{Graph, NodeId};
use crate::tensor::{Dtype, Geometry, Storage, Tensor};
use serde_bytes::ByteBuf;
use std::collections::HashMap;
use web_time::Instant;

/// What a step of a plan does.
enum Planned {
    Dispatch {
        kernel: usize,
        pipeline: wgpu::ComputePipeline,
        bind_group: wgpu::BindGroup,
        workgroups: [u32; 3],
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
    program: Program,
    steps: Vec<Planned>,
    buffers: HashMap<usize, wgpu::Buffer>,
    queries: Option<(wgpu::QuerySet, wgpu::Buffer)>,
    /// The kernels, and the nodes that run on the CPU with no text.
    pub kernels: Vec<bundle::Kernel>,
    /// Per node on the CPU: its name, its operator and why.
    pub fallbacks: Vec<FallbackInfo>,
    /// Bytes of device memory the plan holds.
    pub bytes: u64,
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
    buffer: wgpu::Buffer,
    view: View,
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
const MAX_TIMED: usize = 2048;

/// Compiles a graph for the sizes that its own metadata says.
pub async fn compile(device: &GpuDevice, graph: &Graph) -> Result<Plan> {
    compile_for(device, graph, &program::arguments_of(graph)?).await
}

/// Compiles a graph for given arguments.
pub async fn compile_for(device: &GpuDevice, graph: &Graph, arguments: &[Argument]) -> Result<Plan> {
    let program = program::lower(graph, arguments)?;
    let scheduled = schedule(&program);
    let name_of = |id: NodeId| graph.node(id).name.to_string();
    let storage_name = |s: usize| {
        let mut name = format!("{}_buf", program.storages[s].name);
        while name.contains("__") {
            name = name.replace("__", "_");
        }
        name
    };
    let (mut kernels, mut fallbacks, mut sources) = (Vec::new(), Vec::new(), Vec::new());
    for step in &scheduled.steps {
        match step {
            Step::Kernel(group, nodes) => {
                let mut names: Vec<String> = Vec::new();
                for id in nodes {
                    let name = name_of(*id);
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                let title = names.join(", ");
                let source = kernel::write(group, &title, &|prim| scheduled.stored.contains(&prim.out.storage), &storage_name);
                let shown = if names.len() > 4 { format!("{}_{}", names[..4].join("_"), names.len() - 4) } else { names.join("_") };
                kernels.push(bundle::Kernel { name: format!("k{}_{shown}", kernels.len()), nodes: names, wgsl: source.wgsl.clone() });
                sources.push(Some(source));
            }
            Step::Fallback(fallback) => {
                let node = name_of(fallback.node);
                fallbacks.push(FallbackInfo { node: node.clone(), op: fallback.callee.name().to_owned(), reason: fallback.reason.clone() });
                kernels.push(bundle::Kernel { name: format!("cpu_{node}"), nodes: vec![node], wgsl: String::new() });
                sources.push(None);
            }
        }
    }
    let (buffers, bytes) = allocate(device, &program, &scheduled.steps, &sources);
    let mut steps = Vec::new();
    for (i, (step, source)) in scheduled.steps.into_iter().zip(sources).enumerate() {
        match (step, source) {
            (Step::Fallback(fallback), _) => steps.push(Planned::Cpu { kernel: i, fallback }),
            (Step::Kernel(..), Some(source)) => {
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
                let reads = source.bindings.iter().filter(|b| !b.write).map(|b| b.storage).collect();
                let writes = source.bindings.iter().filter(|b| b.write).map(|b| b.storage).collect();
                steps.push(Planned::Dispatch { kernel: i, pipeline, bind_group, workgroups: source.workgroups, reads, writes });
            }
            (Step::Kernel(..), None) => return Err(Error::runtime("a kernel has no source")),
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
    Ok(Plan { program, steps, buffers, queries, kernels, fallbacks, bytes, notes })
}

/// Buffers for every storage that a kernel binds, reused once their storage is dead.
fn allocate(
    device: &GpuDevice,
    program: &Program,
    steps: &[Step],
    sources: &[Option<kernel::Source>],
) -> (HashMap<usize, wgpu::Buffer>, u64) {
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
    program.inputs.iter().flatten().for_each(|v| touch(v.storage, 0));
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
    let (mut buffers, mut bytes) = (HashMap::new(), 0);
    let mut pool: Vec<(u64, usize, wgpu::Buffer)> = Vec::new();
    for storage in storages {
        let (first, last) = life[&storage];
        let size = program.storages[storage].elements.max(1) as u64;
        let fit = (0..pool.len()).filter(|p| pool[*p].1 < first && pool[*p].0 >= size && pool[*p].0 <= 2 * size).min_by_key(|p| pool[*p].0);
        let buffer = match fit {
            Some(p) => {
                pool[p].1 = last;
                pool[p].2.clone()
            }
            None => {
                let buffer = device.buffer(&program.storages[storage].name, size);
                bytes += size * 4;
                pool.push((size, last, buffer.clone()));
                buffer
            }
        };
        buffers.insert(storage, buffer);
    }
    (buffers, bytes)
}

/// Where values are while a plan runs.
struct State {
    host: HashMap<usize, Storage>,
    on_device: std::collections::HashSet<usize>,
}

impl Plan {
    /// Runs the plan.
    pub async fn run(&self, device: &GpuDevice, inputs: &[Input<'_>]) -> Result<Outcome> {
        device.check()?;
        let mut state = State { host: HashMap::new(), on_device: Default::default() };
        let mut encoder = device.device.create_command_encoder(&Default::default());
        self.take_inputs(inputs, &mut state, &mut encoder)?;
        let mut dispatches = Vec::new();
        let mut timed = Vec::new();
        for step in &self.steps {
            match step {
                Planned::Dispatch { kernel, pipeline, bind_group, workgroups, reads, writes } => {
                    for storage in reads.iter().chain(writes) {
                        if !state.on_device.contains(storage)
                            && let Some(host) = state.host.get(storage)
                        {
                            self.upload(device, *storage, host)?;
                            state.on_device.insert(*storage);
                        }
                    }
                    let query = (timed.len() < MAX_TIMED).then_some(2 * timed.len() as u32);
                    let writes_of_time = self.queries.as_ref().zip(query).map(|((set, _), q)| wgpu::ComputePassTimestampWrites {
                        query_set: set,
                        beginning_of_pass_write_index: Some(q),
                        end_of_pass_write_index: Some(q + 1),
                    });
                    if writes_of_time.is_some() {
                        timed.push(dispatches.len());
                    }
                    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                        label: Some(&self.kernels[*kernel].name),
                        timestamp_writes: writes_of_time,
                    });
                    pass.set_pipeline(pipeline);
                    pass.set_bind_group(0, bind_group, &[]);
                    pass.dispatch_workgroups(workgroups[0], workgroups[1], workgroups[2]);
                    drop(pass);
                    for storage in writes {
                        state.on_device.insert(*storage);
                        state.host.remove(storage);
                    }
                    dispatches.push(bundle::Dispatch { kernel: *kernel as u32, workgroups: *workgroups, microseconds: None });
                }
                Planned::Cpu { kernel, fallback } => {
                    let missing: Vec<usize> = fallback.reads.iter().map(|v| v.storage).filter(|s| !state.host.contains_key(s)).collect();
                    if !missing.is_empty() {
                        let recorded = std::mem::replace(&mut encoder, device.device.create_command_encoder(&Default::default()));
                        self.download(device, recorded, &missing, &mut state).await?;
                    }
                    let start = Instant::now();
                    self.run_on_cpu(fallback, &mut state)?;
                    let microseconds = Some(start.elapsed().as_secs_f64() * 1e6);
                    dispatches.push(bundle::Dispatch { kernel: *kernel as u32, workgroups: [0; 3], microseconds });
                }
            }
        }
        self.collect(device, encoder, state, dispatches, timed).await
    }

    fn take_inputs(&self, inputs: &[Input<'_>], state: &mut State, encoder: &mut wgpu::CommandEncoder) -> Result<()> {
        if inputs.len() != self.program.inputs.len() {
            return Err(Error::type_error(format!("expected {} inputs, not {}", self.program.inputs.len(), inputs.len())));
        }
        for (view, tensor) in &self.program.constants {
            state.host.insert(view.storage, tensor.storage().clone());
        }
        for (region, input) in self.program.inputs.iter().zip(inputs) {
            let Some(region) = region else { continue };
            let storage = region.storage;
            match input {
                Input::Device(resident) => {
                    let resident: &Resident = resident;
                    if resident.view.sizes != region.sizes || resident.view.dtype != region.dtype {
                        return Err(Error::runtime("a value on the device has other sizes than the graph was compiled for"));
                    }
                    let Some(buffer) = self.buffers.get(&storage) else {
                        return Err(Error::runtime("a value on the device is not read there"));
                    };
                    let bytes = resident.view.extent() as u64 * 4;
                    if bytes > 0 {
                        encoder.copy_buffer_to_buffer(
                            &resident.buffer,
                            resident.view.offset as u64 * 4,
                            buffer,
                            region.offset as u64 * 4,
                            bytes,
                        );
                    }
                    state.on_device.insert(storage);
                }
                Input::Host(bundle::Value::Tensor { tensor }) => {
                    let expected = region.extent() as usize * region.dtype.itemsize();
                    let same = tensor.shape.iter().map(|s| *s as i64).eq(region.sizes.iter().copied());
                    if !same || tensor.bytes.len() != expected || Dtype::parse(&tensor.dtype) != Some(region.dtype) {
                        return Err(Error::runtime("an input has another shape or dtype than the graph was compiled for"));
                    }
                    let host = Storage::zeroed(self.program.storages[storage].elements.max(0) as usize * region.dtype.itemsize())?;
                    let at = region.offset as usize * region.dtype.itemsize();
                    host.bytes_mut()?[at..at + expected].copy_from_slice(&tensor.bytes);
                    state.host.insert(storage, host);
                }
                Input::Host(_) => return Err(Error::type_error("a tensor was expected")),
            }
        }
        Ok(())
    }

    fn upload(&self, device: &GpuDevice, storage: usize, host: &Storage) -> Result<()> {
        let info = &self.program.storages[storage];
        if let Some(buffer) = self.buffers.get(&storage) {
            let words =
                to_device(info.dtype, &host.bytes()?).map_err(|e| Error { message: format!("{}: {}", info.name, e.message), ..e })?;
            if !words.is_empty() {
                device.queue.write_buffer(buffer, 0, &words);
            }
        }
        Ok(())
    }

    async fn download(&self, device: &GpuDevice, mut recorded: wgpu::CommandEncoder, storages: &[usize], state: &mut State) -> Result<()> {
        let mut spans = Vec::new();
        let mut total = 0;
        for &storage in storages {
            let bytes = self.program.storages[storage].elements.max(0) as u64 * 4;
            spans.push((storage, total, bytes));
            total += bytes;
        }
        let staging = staging(device, total);
        for (storage, at, bytes) in &spans {
            if let Some(buffer) = self.buffers.get(storage).filter(|_| *bytes > 0) {
                recorded.copy_buffer_to_buffer(buffer, 0, &staging, *at, *bytes);
            }
        }
        device.queue.submit([recorded.finish()]);
        let read = device.read(&staging).await?;
        for (storage, at, bytes) in spans {
            let info = &self.program.storages[storage];
            let values = from_device(info.dtype, &read[at as usize..(at + bytes) as usize])?;
            let host = Storage::zeroed(values.len())?;
            host.bytes_mut()?.copy_from_slice(&values);
            state.host.insert(storage, host);
        }
        Ok(())
    }

    fn run_on_cpu(&self, fallback: &Fallback, state: &mut State) -> Result<()> {
        let mut reads = fallback.reads.iter();
        let mut args = Vec::new();
        for arg in &fallback.args {
            args.push(arg.map_tensors(&mut |_| {
                let view = reads.next().ok_or_else(|| Error::runtime("an argument has no region"))?;
                let host = state.host.get(&view.storage).ok_or_else(|| Error::runtime("an argument has no value"))?;
                Ok(tensor_of(host, view))
            })?);
        }
        let name = fallback.callee.name();
        let result = fallback.callee.run(&args).map_err(|e| Error { message: format!("{name}: {}", e.message), ..e })?;
        let mut made = Vec::new();
        result.for_each_tensor(&mut |t| made.push(t.clone()));
        for (view, tensor) in fallback.writes.iter().zip(made) {
            let expected = self.program.storages[view.storage].elements.max(0) as usize * view.dtype.itemsize();
            if tensor.storage().bytes()?.len() != expected {
                return Err(Error::runtime(format!("{name}: the result's size is not the one its rule promised")));
            }
            state.host.insert(view.storage, tensor.storage().clone());
            state.on_device.remove(&view.storage);
        }
        Ok(())
    }

    /// Reads outputs and times back.
    async fn collect(
        &self,
        device: &GpuDevice,
        mut encoder: wgpu::CommandEncoder,
        state: State,
        mut dispatches: Vec<bundle::Dispatch>,
        timed: Vec<usize>,
    ) -> Result<Outcome> {
        let mut spans: Vec<Option<(u64, u64)>> = Vec::new();
        let mut total = 0;
        for (_, output) in &self.program.outputs {
            spans.push(match output {
                Output::Tensor(view) if state.on_device.contains(&view.storage) && !state.host.contains_key(&view.storage) => {
                    let bytes = view.extent() as u64 * 4;
                    total += bytes;
                    Some((total - bytes, bytes))
                }
                _ => None,
            });
        }
        let times_at = total.div_ceil(8) * 8;
        let times = if self.queries.is_some() { timed.len() as u64 * 16 } else { 0 };
        let staging = staging(device, times_at + times);
        for ((_, output), span) in self.program.outputs.iter().zip(&spans) {
            if let (Output::Tensor(view), Some((at, bytes))) = (output, span)
                && let Some(buffer) = self.buffers.get(&view.storage).filter(|_| *bytes > 0)
            {
                encoder.copy_buffer_to_buffer(buffer, view.offset as u64 * 4, &staging, *at, *bytes);
            }
        }
        if let Some((set, resolved)) = self.queries.as_ref().filter(|_| times > 0) {
            encoder.resolve_query_set(set, 0..2 * timed.len() as u32, resolved, 0);
            encoder.copy_buffer_to_buffer(resolved, 0, &staging, times_at, times);
        }
        device.queue.submit([encoder.finish()]);
        let read = device.read(&staging).await?;
        let period = f64::from(device.queue.get_timestamp_period());
        let (ticks, _) = read[times_at as usize..].as_chunks::<8>();
        for (i, dispatch) in timed.iter().enumerate() {
            if let (Some(start), Some(end)) = (ticks.get(2 * i), ticks.get(2 * i + 1)) {
                let passed = u64::from_le_bytes(*end).wrapping_sub(u64::from_le_bytes(*start));
                dispatches[*dispatch].microseconds = Some(passed as f64 * period / 1000.0);
            }
        }
        let (mut outputs, mut resident) = (Vec::new(), Vec::new());
        for ((name, output), span) in self.program.outputs.iter().zip(&spans) {
            let value = match (output, span) {
                (Output::Tensor(view), Some((at, bytes))) => {
                    data(view, from_device(view.dtype, &read[*at as usize..(at + bytes) as usize])?)
                }
                (Output::Tensor(view), None) if view.numel() == 0 => data(view, Vec::new()),
                (Output::Tensor(view), None) => {
                    let host = state.host.get(&view.storage).ok_or_else(|| Error::runtime(format!("{name}: it was not computed")))?;
                    let size = view.dtype.itemsize();
                    let start = view.offset as usize * size;
                    data(view, host.bytes()?[start..start + view.extent() as usize * size].to_vec())
                }
                (Output::Constant(value), _) => constant(value)?,
            };
            resident.push(match (output, span) {
                (Output::Tensor(view), Some(_)) => {
                    self.buffers.get(&view.storage).map(|b| Resident { buffer: b.clone(), view: view.clone() })
                }
                _ => None,
            });
            outputs.push((name.to_string(), value));
        }
        Ok(Outcome { outputs, resident, dispatches })
    }

    /// Whether the placeholder of this index is read by a kernel, so that a value on the device serves it.
    pub fn takes_resident(&self, input: usize) -> bool {
        self.program.inputs.get(input).and_then(Option::as_ref).is_some_and(|v| self.buffers.contains_key(&v.storage))
    }
}

fn staging(device: &GpuDevice, bytes: u64) -> wgpu::Buffer {
    device.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("results"),
        size: bytes.max(4),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// A real tensor over a host storage.
fn tensor_of(host: &Storage, view: &View) -> Tensor {
    let geometry =
        Geometry { sizes: crate::shape::ints(&view.sizes), strides: crate::shape::ints(&view.strides), offset: view.offset.into() };
    Tensor::from_storage(host.clone(), geometry, view.dtype)
}

fn data(view: &View, bytes: Vec<u8>) -> bundle::Value {
    let list = |v: &[i64]| v.iter().map(|s| *s as u64).collect();
    let tensor = bundle::TensorData {
        dtype: view.dtype.name().to_owned(),
        shape: list(&view.sizes),
        stride: list(&view.strides),
        bytes: ByteBuf::from(bytes),
    };
    bundle::Value::Tensor { tensor }
}

fn constant(value: &Value) -> Result<bundle::Value> {
    Ok(match value {
        Value::None => bundle::Value::None,
        Value::Bool(v) => bundle::Value::Bool { value: *v },
        Value::Int(v) => bundle::Value::Int { value: v.guard_int()? },
        Value::Float(v) => bundle::Value::Float { value: *v },
        other => return Err(Error::not_implemented(format!("a {} as an output", other.kind()))),
    })
}
