//! The most that a device can do, measured: operations and bytes a second, beside which a kernel's own rates mean something.

use super::device::GpuDevice;
use diagnostics::error::Result;
use report::bundle::Roof;
use web_time::Instant;

/// Elements of the buffers that are copied.
const ELEMENTS: u32 = 1 << 22;
/// Seconds that a measurement takes at least: more turns are taken until it does.
const LEAST: f64 = 0.01;

/// Sixteen chains of multiplications and additions in each thread; `{turns}` of them.
const OPERATIONS: &str = "
@group(0) @binding(0) var<storage, read_write> b0: array<vec4<f32>>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let x = b0[id.x];
  var a = x;
  var b = x + 1.0f;
  var c = x + 2.0f;
  var d = x + 3.0f;
  for (var turn = 0; turn < {turns}; turn += 1) {
    a = a * x + b;
    b = b * x + c;
    c = c * x + d;
    d = d * x + a;
  }
  b0[id.x] = a + b + c + d;
}
";
/// Operations of a turn: four products and four sums of four numbers.
const PER_TURN: u32 = 32;
const THREADS: u32 = 1 << 14;

const COPY: &str = "
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<f32>>;
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) { b1[id.x] = b0[id.x]; }
";

/// Measures a device.
pub async fn roof(device: &GpuDevice) -> Result<Roof> {
    let (from, to) = (device.buffer("roof", ELEMENTS.into()), device.buffer("roof", ELEMENTS.into()));
    let mut turns = 64;
    let operations = loop {
        let kernel = Kernel::new(device, &OPERATIONS.replace("{turns}", &turns.to_string()), &[&from]);
        let seconds = kernel.seconds(THREADS / 64, 1).await?;
        if seconds >= LEAST || turns > 1 << 20 {
            break f64::from(turns) * f64::from(PER_TURN) * f64::from(THREADS) / seconds;
        }
        turns *= 8;
    };
    let kernel = Kernel::new(device, COPY, &[&from, &to]);
    let mut times = 1;
    let bytes = loop {
        let seconds = kernel.seconds(ELEMENTS / 4 / 256, times).await?;
        if seconds >= LEAST || times > 1 << 12 {
            break f64::from(times) * f64::from(ELEMENTS) * 8.0 / seconds;
        }
        times *= 8;
    };
    Ok(Roof { operations, bytes })
}

struct Kernel<'a> {
    device: &'a GpuDevice,
    pipeline: wgpu::ComputePipeline,
    bind_group: wgpu::BindGroup,
    /// What it writes to.
    result: wgpu::Buffer,
}

impl<'a> Kernel<'a> {
    fn new(device: &'a GpuDevice, wgsl: &str, buffers: &[&wgpu::Buffer]) -> Self {
        let pipeline = device.pipeline("roof", wgsl);
        let entries: Vec<wgpu::BindGroupEntry> =
            buffers.iter().zip(0..).map(|(b, binding)| wgpu::BindGroupEntry { binding, resource: b.as_entire_binding() }).collect();
        let layout = pipeline.get_bind_group_layout(0);
        let descriptor = wgpu::BindGroupDescriptor { label: Some("roof"), layout: &layout, entries: &entries };
        let bind_group = device.device.create_bind_group(&descriptor);
        let result = buffers[buffers.len() - 1].clone();
        Kernel { device, pipeline, bind_group, result }
    }

    /// Seconds of so many dispatches, after one to warm up.
    async fn seconds(&self, workgroups: u32, times: u32) -> Result<f64> {
        self.run(workgroups, 1).await?;
        let start = Instant::now();
        self.run(workgroups, times).await?;
        Ok(start.elapsed().as_secs_f64())
    }

    async fn run(&self, workgroups: u32, times: u32) -> Result<()> {
        let device = self.device;
        let mut encoder = device.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bind_group, &[]);
        for _ in 0..times {
            pass.dispatch_workgroups(workgroups, 1, 1);
        }
        drop(pass);
        // What is read back is of no concern: it comes when everything before it is done.
        let staging = super::run::staging(device, 4);
        encoder.copy_buffer_to_buffer(&self.result, 0, &staging, 0, 4);
        device.queue.submit([encoder.finish()]);
        device.read(&staging).await.map(|_| ())
    }
}
