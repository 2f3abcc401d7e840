//! The device: adapter, limits, what is lost and what is refused, all as values.

use super::kernel::Adapter;
use super::plans::Plans;
use diagnostics::error::{Error, Result};
use report::bundle;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// What went wrong and has not been told yet.
#[derive(Default)]
struct Failure {
    /// Why the device is gone, for good.
    lost: Option<String>,
    /// The first thing it refused.
    refused: Option<String>,
}

/// A device to compile for and run on.
pub struct GpuDevice {
    /// wgpu's device.
    pub device: wgpu::Device,
    /// Its queue.
    pub queue: wgpu::Queue,
    /// What it is, for people.
    pub info: bundle::Device,
    /// What decides how kernels are written for it.
    pub adapter: Adapter,
    /// Whether the device tells how long a dispatch took.
    pub timestamps: bool,
    /// What it keeps between runs.
    pub(super) plans: Plans,
    /// The first thing that went wrong: the device was lost, or refused what it was asked.
    failure: Arc<Mutex<Failure>>,
    pipelines: RefCell<HashMap<String, wgpu::ComputePipeline>>,
}

impl GpuDevice {
    /// Asks for the fastest adapter. `None` where there is none: no WebGPU, no driver.
    pub async fn request() -> Result<Option<GpuDevice>> {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::VULKAN | wgpu::Backends::BROWSER_WEBGPU;
        let instance = wgpu::Instance::new(descriptor);
        let options = wgpu::RequestAdapterOptions { power_preference: wgpu::PowerPreference::HighPerformance, ..Default::default() };
        let Ok(adapter) = instance.request_adapter(&options).await else { return Ok(None) };
        let timestamps = adapter.features().contains(wgpu::Features::TIMESTAMP_QUERY);
        let required_features = if timestamps { wgpu::Features::TIMESTAMP_QUERY } else { wgpu::Features::empty() };
        let granted = adapter.limits();
        // Sizes as the adapter allows; everything else as every WebGPU device grants it.
        let required_limits = wgpu::Limits {
            max_buffer_size: granted.max_buffer_size,
            max_storage_buffer_binding_size: granted.max_storage_buffer_binding_size,
            ..wgpu::Limits::default()
        };
        let descriptor =
            wgpu::DeviceDescriptor { label: Some("compiled graphs"), required_features, required_limits, ..Default::default() };
        let (device, queue) =
            adapter.request_device(&descriptor).await.map_err(|e| Error::runtime(format!("the GPU refused a device: {e}")))?;
        let failure: Arc<Mutex<Failure>> = Arc::default();
        let slot = failure.clone();
        device.set_device_lost_callback(move |reason, message| {
            if let Ok(mut failure) = slot.lock() {
                failure.lost.get_or_insert(format!("the GPU device was lost ({reason:?}): {message}"));
            }
        });
        let slot = failure.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            if let Ok(mut failure) = slot.lock() {
                failure.refused.get_or_insert(format!("the GPU refused: {error}"));
            }
        }));
        let info = describe(&adapter, &device);
        let adapter = Adapter { software: info.software };
        Ok(Some(GpuDevice { device, queue, info, adapter, timestamps, plans: Plans::default(), failure, pipelines: RefCell::default() }))
    }

    /// Fails where the device was lost, or has refused something since it was last asked.
    pub fn check(&self) -> Result<()> {
        let Ok(mut failure) = self.failure.lock() else { return Err(Error::runtime("the GPU device's state is unknown")) };
        match failure.lost.clone().or_else(|| failure.refused.take()) {
            Some(text) => Err(Error::runtime(text)),
            None => Ok(()),
        }
    }

    /// The pipeline of a kernel, built once per text.
    pub fn pipeline(&self, label: &str, wgsl: &str) -> wgpu::ComputePipeline {
        if let Some(known) = self.pipelines.borrow().get(wgsl) {
            return known.clone();
        }
        let module = self
            .device
            .create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(label), source: wgpu::ShaderSource::Wgsl(wgsl.into()) });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(label),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        self.pipelines.borrow_mut().insert(wgsl.to_owned(), pipeline.clone());
        pipeline
    }

    /// What it is and what it keeps, for people.
    pub fn described(&self) -> bundle::Device {
        bundle::Device { plans: self.plans.list(), pool: self.plans.pool_bytes(), ..self.info.clone() }
    }

    /// How many pipelines it has built.
    pub fn pipelines_built(&self) -> u32 {
        self.pipelines.borrow().len() as u32
    }

    /// A buffer for `elements` four-byte elements.
    pub fn buffer(&self, label: &str, elements: u64) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: elements.max(1) * 4,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }

    /// Reads bytes back from a buffer that may be mapped. In a browser this waits without blocking.
    pub async fn read(&self, staging: &wgpu::Buffer) -> Result<Vec<u8>> {
        let (sender, receiver) = oneshot();
        staging.slice(..).map_async(wgpu::MapMode::Read, move |result| sender.send(result));
        self.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| Error::runtime(format!("the GPU did not finish: {e}")))?;
        receiver
            .await
            .map_err(|e| self.check().err().unwrap_or_else(|| Error::runtime(format!("the GPU's results cannot be read: {e}"))))?;
        self.check()?;
        let bytes = {
            let view =
                staging.slice(..).get_mapped_range().map_err(|e| Error::runtime(format!("the GPU's results cannot be read: {e}")))?;
            view.to_vec()
        };
        staging.unmap();
        Ok(bytes)
    }
}

fn describe(adapter: &wgpu::Adapter, device: &wgpu::Device) -> bundle::Device {
    let info = adapter.get_info();
    let text = format!("{} {} {}", info.name, info.driver, info.driver_info).to_lowercase();
    let software = info.device_type == wgpu::DeviceType::Cpu || ["swiftshader", "llvmpipe", "lavapipe"].iter().any(|s| text.contains(s));
    let limits = device.limits();
    let mut told = BTreeMap::new();
    for (name, value) in [
        ("maxBufferSize", limits.max_buffer_size as f64),
        ("maxStorageBufferBindingSize", limits.max_storage_buffer_binding_size as f64),
        ("maxStorageBuffersPerShaderStage", f64::from(limits.max_storage_buffers_per_shader_stage)),
        ("maxComputeInvocationsPerWorkgroup", f64::from(limits.max_compute_invocations_per_workgroup)),
        ("maxComputeWorkgroupSizeX", f64::from(limits.max_compute_workgroup_size_x)),
        ("maxComputeWorkgroupStorageSize", f64::from(limits.max_compute_workgroup_storage_size)),
        ("maxComputeWorkgroupsPerDimension", f64::from(limits.max_compute_workgroups_per_dimension)),
    ] {
        told.insert(name.to_owned(), value);
    }
    let backend = match info.backend {
        wgpu::Backend::BrowserWebGpu => "webgpu".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    };
    let description = [info.name.as_str(), info.driver.as_str(), info.driver_info.as_str()];
    bundle::Device {
        backend,
        name: if info.name.is_empty() { "unnamed".to_owned() } else { info.name.clone() },
        description: description.into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(", "),
        software,
        features: features(adapter.features()),
        plans: Vec::new(),
        pool: 0,
        limits: told,
    }
}

/// What of WebGPU's optional features matters to computing, by its names.
fn features(there: wgpu::Features) -> Vec<String> {
    let known = [
        ("timestamp-query", wgpu::Features::TIMESTAMP_QUERY),
        ("shader-f16", wgpu::Features::SHADER_F16),
        ("subgroups", wgpu::Features::SUBGROUP),
    ];
    known.iter().filter(|(_, feature)| there.contains(*feature)).map(|(name, _)| (*name).to_owned()).collect()
}

/// A value that arrives once.
struct Slot<T> {
    value: Option<T>,
    waker: Option<std::task::Waker>,
}

struct Sender<T>(Arc<Mutex<Slot<T>>>);
struct Receiver<T>(Arc<Mutex<Slot<T>>>);

fn oneshot<T>() -> (Sender<T>, Receiver<T>) {
    let slot = Arc::new(Mutex::new(Slot { value: None, waker: None }));
    (Sender(slot.clone()), Receiver(slot))
}

impl<T> Sender<T> {
    fn send(self, value: T) {
        if let Ok(mut slot) = self.0.lock() {
            slot.value = Some(value);
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
        }
    }
}

impl<T> Future for Receiver<T> {
    type Output = T;
    fn poll(self: std::pin::Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<T> {
        if let Ok(mut slot) = self.0.lock() {
            if let Some(value) = slot.value.take() {
                return std::task::Poll::Ready(value);
            }
            slot.waker = Some(context.waker().clone());
        }
        std::task::Poll::Pending
    }
}
