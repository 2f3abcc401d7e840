//! Running a plan. Values move between host and device only where a step needs them on the other side.

use super::device::GpuDevice;
use super::plan::{Input, MAX_TIMED, Outcome, Plan, Planned, Resident};
use super::transfer::{from_device, to_device};
use diagnostics::error::{Error, Result};
use dispatch::Value;
use loops::language::View;
use loops::program::{Fallback, Output};
use report::bundle;
use serde_bytes::ByteBuf;
use std::collections::{HashMap, HashSet};
use tensor::{Dtype, Geometry, Storage, Tensor};
use web_time::Instant;

/// Bytes of a dispatch's two timestamps.
const TIMES: u64 = 16;

/// Where values are while a plan runs.
#[derive(Default)]
pub(super) struct State {
    /// Values the host knows.
    pub(super) host: HashMap<usize, Storage>,
    /// Values that are in their buffers.
    pub(super) on_device: HashSet<usize>,
}

/// Commands that are recorded and not submitted yet.
pub(super) struct Recording {
    pub(super) encoder: wgpu::CommandEncoder,
    something: bool,
}

impl Recording {
    pub(super) fn new(device: &GpuDevice) -> Self {
        Recording { encoder: device.device.create_command_encoder(&Default::default()), something: false }
    }

    /// Submits what is recorded, if anything is.
    fn submit(&mut self, device: &GpuDevice) {
        if self.something {
            let recorded = std::mem::replace(self, Recording::new(device));
            device.queue.submit([recorded.encoder.finish()]);
        }
    }
}

/// What is seen of a run: its dispatches, and which of them are timed.
#[derive(Default)]
pub(super) struct Watch {
    dispatches: Vec<bundle::Dispatch>,
    timed: Vec<usize>,
}

impl Plan {
    /// Runs the plan.
    pub async fn run(&self, device: &GpuDevice, inputs: &[Input<'_>]) -> Result<Outcome> {
        device.check()?;
        let mut state = State::default();
        let mut recording = Recording::new(device);
        self.take_inputs(inputs, &mut state, &mut recording.encoder)?;
        let mut watch = Watch::default();
        self.advance(device, &mut state, &mut recording, Some(&mut watch)).await?;
        self.collect(device, recording.encoder, state, watch).await
    }

    /// Takes every step once, from what `state` holds; what is on the device is recorded and not yet submitted.
    pub(super) async fn advance(
        &self,
        device: &GpuDevice,
        state: &mut State,
        recording: &mut Recording,
        mut watch: Option<&mut Watch>,
    ) -> Result<()> {
        for step in &self.steps {
            match step {
                Planned::Dispatch { account, pipeline, bind_group, reads, writes } => {
                    for storage in reads.iter().chain(writes) {
                        if !state.on_device.contains(storage)
                            && let Some(host) = state.host.get(storage)
                        {
                            // A write takes place before what is recorded, and its buffer may have another tenant there.
                            recording.submit(device);
                            self.upload(device, *storage, host)?;
                            state.on_device.insert(*storage);
                        }
                    }
                    let times = watch.as_ref().filter(|w| w.timed.len() < MAX_TIMED).and(self.queries.as_ref());
                    let timestamp_writes = times.zip(watch.as_ref()).map(|((set, _), w)| wgpu::ComputePassTimestampWrites {
                        query_set: set,
                        beginning_of_pass_write_index: Some(2 * w.timed.len() as u32),
                        end_of_pass_write_index: Some(2 * w.timed.len() as u32 + 1),
                    });
                    let is_timed = timestamp_writes.is_some();
                    let label = Some(self.kernels[account.kernel as usize].name.as_str());
                    let mut pass = recording.encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label, timestamp_writes });
                    pass.set_pipeline(pipeline);
                    pass.set_bind_group(0, bind_group, &[]);
                    let [x, y, z] = account.workgroups;
                    pass.dispatch_workgroups(x, y, z);
                    drop(pass);
                    recording.something = true;
                    for storage in writes {
                        state.on_device.insert(*storage);
                        state.host.remove(storage);
                    }
                    if let Some(watch) = watch.as_deref_mut() {
                        if is_timed {
                            watch.timed.push(watch.dispatches.len());
                        }
                        watch.dispatches.push(account.clone());
                    }
                }
                Planned::Cpu { kernel, fallback } => {
                    let missing: Vec<usize> = fallback.reads.iter().map(|v| v.storage).filter(|s| !state.host.contains_key(s)).collect();
                    if !missing.is_empty() {
                        let recorded = std::mem::replace(recording, Recording::new(device));
                        self.download(device, recorded.encoder, &missing, state).await?;
                    }
                    let start = Instant::now();
                    self.run_on_cpu(fallback, state)?;
                    let microseconds = Some(start.elapsed().as_secs_f64() * 1e6);
                    if let Some(watch) = watch.as_deref_mut() {
                        watch.dispatches.push(bundle::Dispatch { kernel: *kernel as u32, microseconds, ..bundle::Dispatch::default() });
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn take_inputs(&self, inputs: &[Input<'_>], state: &mut State, encoder: &mut wgpu::CommandEncoder) -> Result<()> {
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
                    let host = Storage::zeroed(
                        self.program.storages[storage].elements.max(0) as usize * region.dtype.itemsize(),
                        tensor::Device::CPU,
                    )?;
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

    pub(super) async fn download(
        &self,
        device: &GpuDevice,
        mut recorded: wgpu::CommandEncoder,
        storages: &[usize],
        state: &mut State,
    ) -> Result<()> {
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
            let host = Storage::zeroed(values.len(), tensor::Device::CPU)?;
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
    async fn collect(&self, device: &GpuDevice, mut encoder: wgpu::CommandEncoder, state: State, watch: Watch) -> Result<Outcome> {
        let Watch { mut dispatches, timed } = watch;
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
        let times = if self.queries.is_some() { timed.len() as u64 * TIMES } else { 0 };
        let staging = staging(device, times_at + times);
        for ((_, output), span) in self.program.outputs.iter().zip(&spans) {
            if let (Output::Tensor(view), Some((at, bytes))) = (output, span)
                && let Some(buffer) = self.buffers.get(&view.storage).filter(|_| *bytes > 0)
            {
                encoder.copy_buffer_to_buffer(buffer, view.offset as u64 * 4, &staging, *at, *bytes);
            }
        }
        self.copy_times(&mut encoder, timed.len(), &staging, times_at);
        device.queue.submit([encoder.finish()]);
        let read = device.read(&staging).await?;
        note_times(device, &read[times_at as usize..], &timed, &mut dispatches);
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

    /// Copies the timestamps of so many dispatches, where the device has them.
    fn copy_times(&self, encoder: &mut wgpu::CommandEncoder, dispatches: usize, staging: &wgpu::Buffer, at: u64) {
        if let Some((set, resolved)) = self.queries.as_ref().filter(|_| dispatches > 0) {
            encoder.resolve_query_set(set, 0..2 * dispatches as u32, resolved, 0);
            encoder.copy_buffer_to_buffer(resolved, 0, staging, at, dispatches as u64 * TIMES);
        }
    }

    /// The dispatches of a run of which nothing is read back but how long each took.
    pub(super) async fn watched(
        &self,
        device: &GpuDevice,
        mut encoder: wgpu::CommandEncoder,
        watch: Watch,
    ) -> Result<Vec<bundle::Dispatch>> {
        let Watch { mut dispatches, timed } = watch;
        let staging = staging(device, timed.len() as u64 * TIMES);
        self.copy_times(&mut encoder, timed.len(), &staging, 0);
        device.queue.submit([encoder.finish()]);
        note_times(device, &device.read(&staging).await?, &timed, &mut dispatches);
        Ok(dispatches)
    }

    /// Whether the placeholder of this index is read by a kernel, so that a value on the device serves it.
    pub fn takes_resident(&self, input: usize) -> bool {
        self.program.inputs.get(input).and_then(Option::as_ref).is_some_and(|v| self.buffers.contains_key(&v.storage))
    }
}

/// Notes how long dispatches took, from the device's two timestamps of each that is timed.
fn note_times(device: &GpuDevice, timestamps: &[u8], timed: &[usize], dispatches: &mut [bundle::Dispatch]) {
    let period = f64::from(device.queue.get_timestamp_period());
    let (ticks, _) = timestamps.as_chunks::<8>();
    for (i, dispatch) in timed.iter().enumerate() {
        if let (Some(start), Some(end)) = (ticks.get(2 * i), ticks.get(2 * i + 1)) {
            let passed = u64::from_le_bytes(*end).wrapping_sub(u64::from_le_bytes(*start));
            dispatches[*dispatch].microseconds = Some(passed as f64 * period / 1000.0);
        }
    }
}

pub(super) fn staging(device: &GpuDevice, bytes: u64) -> wgpu::Buffer {
    device.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("results"),
        size: bytes.max(4),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// A real tensor over a host storage.
fn tensor_of(host: &Storage, view: &View) -> Tensor {
    let geometry = Geometry { sizes: shape::ints(&view.sizes), strides: shape::ints(&view.strides), offset: view.offset.into() };
    Tensor::from_storage(host.clone(), geometry, view.dtype)
}

pub(super) fn data(view: &View, bytes: Vec<u8>) -> bundle::Value {
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
