//! Steps on the device: one plan for forward, backward and optimizer, recorded once and replayed. Parameters stay
//! in their buffers; what is read back is a loss per step, many steps at a time.

use super::device::GpuDevice;
use super::plan::{Input, Plan, Planned, compile_with};
use super::run::{Recording, State, Watch, data, staging};
use super::transfer::{from_device, to_device};
use cpu::bundle::{draw_as, failed, numbers};
use cpu::step::{Step, Then, step};
use diagnostics::error::{Error, Result};
use graph::readable;
use loops::program::{Output, argument_of};
use report::bundle::{Bundle, Dispatch, Kernel, Named, RunError, Training, Value};
use std::rc::Rc;
use tensor::Dtype;
use web_time::Instant;

/// Steps whose losses are read back at once, at most.
pub const MOST_STEPS: u32 = 4096;

/// A training in progress.
pub struct GpuTrainer {
    device: Rc<GpuDevice>,
    plan: Plan,
    step: Step,
    state: State,
    /// Losses that were not read back yet.
    history: wgpu::Buffer,
}

impl GpuTrainer {
    /// Builds a bundle's training step and uploads what it starts from.
    pub async fn start(device: Rc<GpuDevice>, bundle: &Bundle, then: Then<'_>) -> Result<(GpuTrainer, Training), RunError> {
        let step = step(bundle, then)?;
        draw_as(&bundle.generator)?;
        let start = Instant::now();
        let trainer = Self::build(device, step).await.map_err(|e| failed(&e))?;
        let (plan, step) = (&trainer.plan, &trainer.step);
        let fallbacks = plan.fallbacks.iter().map(|f| format!("{} ({}) runs on the CPU in every step: {}", f.node, f.op, f.reason));
        let names = |list: &[usize]| list.iter().filter_map(|i| Some(step.inputs.get(*i)?.name.clone())).collect();
        let training = Training {
            device: trainer.device.described(),
            loss: step.loss.clone(),
            stands_in: step.stands_in,
            parameters: names(&step.parameters),
            carried: step.carried.clone(),
            dispatches: plan.dispatches() as u32,
            fallbacks: plan.fallbacks.len() as u32,
            bytes: plan.bytes + plan.shared,
            notes: fallbacks.chain(plan.notes.iter().cloned()).collect(),
            readable: readable(&step.graph),
            compile_seconds: start.elapsed().as_secs_f64(),
        };
        Ok((trainer, training))
    }

    async fn build(device: Rc<GpuDevice>, step: Step) -> Result<GpuTrainer> {
        let arguments = step.inputs.iter().map(|n| argument_of(&n.value)).collect::<Result<Vec<_>>>()?;
        let plan = compile_with(&device, &step.graph, &arguments, true).await?;
        let history = device.buffer("losses", u64::from(MOST_STEPS));
        let mut state = State::default();
        let mut recording = Recording::new(&device);
        let inputs: Vec<Input> = step.inputs.iter().map(|n| Input::Host(&n.value)).collect();
        plan.take_inputs(&inputs, &mut state, &mut recording.encoder)?;
        Ok(GpuTrainer { device, plan, step, state, history })
    }

    /// Takes steps of size `lr` and gives the loss before each.
    pub async fn steps(&mut self, count: u32, lr: f64) -> Result<Vec<f64>, RunError> {
        self.take(count.min(MOST_STEPS), lr).await.map_err(|e| failed(&e))
    }

    async fn take(&mut self, count: u32, lr: f64) -> Result<Vec<f64>> {
        self.device.check()?;
        self.set_lr(lr)?;
        let [(_, Output::Tensor(loss)), ..] = self.plan.program.outputs.as_slice() else {
            return Err(Error::runtime("a step returns no tensor"));
        };
        let loss = loss.clone();
        let mut losses = vec![0.0; count as usize];
        let mut recording = Recording::new(&self.device);
        let mut on_device = Vec::new();
        for i in 0..count {
            if self.plan.fallbacks.is_empty() && self.everything_is_there() {
                self.plan.replay(&mut recording.encoder);
            } else {
                self.plan.advance(&self.device, &mut self.state, &mut recording, None).await?;
            }
            match (self.state.host.get(&loss.storage), self.plan.buffers.get(&loss.storage)) {
                (None, Some(buffer)) => {
                    recording.encoder.copy_buffer_to_buffer(buffer, loss.offset as u64 * 4, &self.history, u64::from(i) * 4, 4);
                    on_device.push(i);
                }
                (Some(host), _) => {
                    let size = loss.dtype.itemsize();
                    let bytes = host.bytes()?[loss.offset as usize * size..(loss.offset as usize + 1) * size].to_vec();
                    losses[i as usize] = number(&data(&loss, bytes))?;
                }
                (None, None) => return Err(Error::runtime("the loss was not computed")),
            }
        }
        let staging = staging(&self.device, u64::from(count) * 4);
        recording.encoder.copy_buffer_to_buffer(&self.history, 0, &staging, 0, u64::from(count) * 4);
        self.device.queue.submit([recording.encoder.finish()]);
        let read = self.device.read(&staging).await?;
        for i in on_device {
            let word = &read[i as usize * 4..i as usize * 4 + 4];
            losses[i as usize] = number(&data(&loss, from_device(loss.dtype, word)?))?;
        }
        Ok(losses)
    }

    fn set_lr(&mut self, lr: f64) -> Result<()> {
        let Some(Some(view)) = self.step.lr.and_then(|lr| self.plan.program.inputs.get(lr)) else { return Ok(()) };
        if let Some(host) = self.state.host.get(&view.storage) {
            host.bytes_mut()?[..4].copy_from_slice(&(lr as f32).to_le_bytes());
        }
        if let Some(buffer) = self.plan.buffers.get(&view.storage) {
            self.device.queue.write_buffer(buffer, 0, &to_device(Dtype::Float32, &(lr as f32).to_le_bytes())?);
        }
        Ok(())
    }

    /// Whether no kernel waits for a value from the host.
    fn everything_is_there(&self) -> bool {
        self.plan.buffers.keys().all(|s| self.state.on_device.contains(s) || !self.state.host.contains_key(s))
    }

    /// The kernels of a step and its dispatches, each with the time it took where the device tells: one more step is taken for it.
    pub async fn profile(&mut self) -> Result<(Vec<Kernel>, Vec<Dispatch>), RunError> {
        let mut recording = Recording::new(&self.device);
        let mut watch = Watch::default();
        let advanced = self.plan.advance(&self.device, &mut self.state, &mut recording, Some(&mut watch)).await;
        let dispatches = match advanced {
            Ok(()) => self.plan.watched(&self.device, recording.encoder, watch).await,
            Err(error) => Err(error),
        };
        Ok((self.plan.kernels.clone(), dispatches.map_err(|e| failed(&e))?))
    }

    /// The parameters as they are now.
    pub async fn parameters(&mut self) -> Result<Vec<Named>, RunError> {
        self.read_parameters().await.map_err(|e| failed(&e))
    }

    async fn read_parameters(&mut self) -> Result<Vec<Named>> {
        let mut found = Vec::new();
        for i in self.step.parameters.clone() {
            let (Some(Some(view)), Some(given)) = (self.plan.program.inputs.get(i), self.step.inputs.get(i)) else { continue };
            if !self.state.host.contains_key(&view.storage) {
                let recording = Recording::new(&self.device);
                self.plan.download(&self.device, recording.encoder, &[view.storage], &mut self.state).await?;
            }
            let host = self.state.host.get(&view.storage).ok_or_else(|| Error::runtime("a parameter is nowhere"))?;
            let size = view.dtype.itemsize();
            let start = view.offset as usize * size;
            let bytes = host.bytes()?[start..start + view.extent() as usize * size].to_vec();
            found.push(Named { name: given.name.clone(), label: None, value: data(view, bytes) });
            // The next step writes to the buffer, and the host's copy is of now.
            if self.state.on_device.contains(&view.storage) {
                self.state.host.remove(&view.storage);
            }
        }
        Ok(found)
    }
}

/// A tensor of one element as a number.
fn number(value: &Value) -> Result<f64> {
    let Value::Tensor { tensor } = value else { return Err(Error::runtime("the loss is no tensor")) };
    numbers(tensor).map_err(Error::runtime)?.first().copied().ok_or_else(|| Error::runtime("the loss is empty"))
}

impl Plan {
    /// Its inputs and their sizes.
    pub(super) fn inputs(&self) -> Vec<String> {
        let names = self.program.inputs.iter().flatten();
        names.map(|view| format!("{}: {}{:?}", self.program.storages[view.storage].name, view.dtype.short(), view.sizes)).collect()
    }

    /// How many kernels it runs.
    pub(super) fn dispatches(&self) -> usize {
        self.steps.iter().filter(|s| matches!(s, Planned::Dispatch { .. })).count()
    }

    /// Records every dispatch, in one pass; everything they read is on the device.
    pub(super) fn replay(&self, encoder: &mut wgpu::CommandEncoder) {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for step in &self.steps {
            if let Planned::Dispatch { account, pipeline, bind_group, .. } = step {
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, bind_group, &[]);
                let [x, y, z] = account.workgroups;
                pass.dispatch_workgroups(x, y, z);
            }
        }
    }
}
