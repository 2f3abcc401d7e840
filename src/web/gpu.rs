//! The GPU's worker: runs bundles and trains them. It lives apart from the interpreter, so that stopping a script costs neither device
//! nor pipelines.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use js_sys::Reflect;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};

use super::{from_js, scope};
use crate::backend::cpu::step::Then;
use crate::backend::{cpu, gpu};
use crate::bundle::{Bundle, Device, Named, Recipe, Roof, RunError, RunResult, Timed, Training};
use crate::report::protocol::{FromGpu, Runner, ToGpu};

/// Losses are told this often in milliseconds, about: as many steps at once as fit.
const TELL_EVERY: f64 = 60.0;
const MOST_AT_ONCE: u32 = 1024;

/// A training in progress, on whichever device it was started on.
enum Trainer {
    Gpu(gpu::GpuTrainer),
    Cpu(cpu::training::CpuTrainer),
}

thread_local! {
    // One for the life of the worker, with its pipelines; another once it is lost.
    static DEVICE: RefCell<Option<Rc<gpu::GpuDevice>>> = const { RefCell::new(None) };
    static ROOF: Cell<Option<Roof>> = const { Cell::new(None) };
    // A page trains one thing at a time. It is taken out while it is at work.
    static TRAINER: RefCell<Option<Trainer>> = const { RefCell::new(None) };
    /// What waits its turn.
    static WAITING: RefCell<VecDeque<ToGpu>> = const { RefCell::new(VecDeque::new()) };
    static IS_BUSY: Cell<bool> = const { Cell::new(false) };
    /// Of the training that goes on.
    static LR: Cell<f64> = const { Cell::new(0.0) };
    static IS_PAUSED: Cell<bool> = const { Cell::new(false) };
}

/// Serves as the GPU's worker. `waiting`: messages that came before the module.
///
/// # Errors
/// Outside of a worker.
#[wasm_bindgen]
pub fn serve_gpu(waiting: Vec<JsValue>) -> Result<(), JsValue> {
    scope::post(&FromGpu::Ready);
    scope::serve(waiting, |message| match from_js(message) {
        // These are heard while steps are taken; everything else waits its turn.
        Ok(ToGpu::Adjust { lr }) => LR.set(lr),
        Ok(ToGpu::Pause) => IS_PAUSED.set(true),
        Ok(ToGpu::Print { ask, tensor }) => scope::post(&match cpu::bundle::printed(&tensor) {
            Ok(text) => FromGpu::Printed { ask, text },
            Err(error) => FromGpu::Failed { message: error.message },
        }),
        Ok(message) => {
            WAITING.with_borrow_mut(|waiting| waiting.push_back(message));
            if !IS_BUSY.replace(true) {
                spawn_local(async {
                    while let Some(message) = WAITING.with_borrow_mut(VecDeque::pop_front) {
                        handle(message).await;
                    }
                    IS_BUSY.set(false);
                });
            }
        }
        Err(message) => scope::post(&FromGpu::Failed { message }),
    })
}

async fn handle(message: ToGpu) {
    let (run, done) = match message {
        ToGpu::Run { run, bundle, device } => (run, one_run(run, &bundle, device).await),
        ToGpu::Train { run, bundle, recipe, device, steps } => (run, train(run, &bundle, &recipe, device, steps).await),
        ToGpu::Continue { run, lr, steps } => (run, take_steps(run, steps, lr).await),
        ToGpu::Time { run, bundle, recipe, device, seconds } => (run, time(run, &bundle, recipe.as_ref(), device, seconds).await),
        ToGpu::Print { .. } | ToGpu::Adjust { .. } | ToGpu::Pause => return,
    };
    if let Err(RunError { message, node }) = done {
        scope::post(&FromGpu::Refused { run, message, node });
    }
}

async fn one_run(run: u32, bundle: &Bundle, runner: Runner) -> Result<(), RunError> {
    let mut result = run_bundle(bundle, runner).await?;
    name(&mut result.device).await;
    scope::post(&FromGpu::Result { run, result });
    Ok(())
}

/// Runs a bundle.
///
/// # Errors
/// Where it cannot be run there.
pub async fn run_bundle(bundle: &Bundle, runner: Runner) -> Result<RunResult, RunError> {
    let (bundle, expected) = cpu::bundle::completed(bundle)?;
    let result = match runner {
        Runner::Webgpu => gpu::run_bundle(&*device().await?, &bundle).await,
        Runner::Cpu => cpu::bundle::run_bundle_cpu(&bundle),
    }?;
    Ok(RunResult { expected, ..result })
}

async fn train(run: u32, bundle: &Bundle, recipe: &Recipe, runner: Runner, steps: u32) -> Result<(), RunError> {
    // What was trained before is let go of.
    TRAINER.take();
    let mut training = begin(bundle, Then::Descend(recipe), runner).await?;
    name(&mut training.device).await;
    scope::post(&FromGpu::Training { run, training });
    take_steps(run, steps, recipe.lr).await
}

async fn begin(bundle: &Bundle, then: Then<'_>, runner: Runner) -> Result<Training, RunError> {
    let bundle = &*cpu::bundle::completed(bundle)?.0;
    let (trainer, training) = match runner {
        Runner::Webgpu => {
            let (trainer, training) = gpu::GpuTrainer::start(device().await?, bundle, then).await?;
            (Trainer::Gpu(trainer), training)
        }
        Runner::Cpu => {
            let (trainer, training) = cpu::training::CpuTrainer::start(bundle, then)?;
            (Trainer::Cpu(trainer), training)
        }
    };
    TRAINER.set(Some(trainer));
    Ok(training)
}

/// Steps that are timed at least, however long they take, and at most.
const TIMED_STEPS: std::ops::RangeInclusive<usize> = 3..=1000;

/// Takes steps for about so many seconds, and tells how long each took.
async fn time(run: u32, bundle: &Bundle, recipe: Option<&Recipe>, runner: Runner, seconds: f64) -> Result<(), RunError> {
    TRAINER.take();
    let built = || DEVICE.with_borrow(|device| device.as_ref().map_or(0, |device| device.pipelines_built()));
    let (before, began) = (built(), scope::now());
    let training = begin(bundle, recipe.map_or(Then::Return, Then::Descend), runner).await?;
    let lr = recipe.map_or(0.0, |recipe| recipe.lr);
    let loss = training_steps(1, lr).await?.first().copied().unwrap_or(f64::NAN);
    let mut timed = Timed {
        device: training.device,
        first_seconds: (scope::now() - began) / 1000.0,
        loss,
        pipelines: built() - before,
        bytes: training.bytes,
        notes: training.notes,
        readable: training.readable,
        ..Timed::default()
    };
    name(&mut timed.device).await;
    let began = scope::now();
    while timed.seconds.len() < *TIMED_STEPS.start()
        || (scope::now() - began < seconds * 1000.0 && timed.seconds.len() < *TIMED_STEPS.end())
    {
        let step = scope::now();
        training_steps(1, lr).await?;
        timed.seconds.push((scope::now() - step) / 1000.0);
    }
    if let Some(Trainer::Gpu(mut trainer)) = TRAINER.take() {
        (timed.kernels, timed.dispatches) = trainer.profile().await?;
        timed.roof = Some(roof().await?);
    }
    scope::post(&FromGpu::Timed { run, timed });
    Ok(())
}

/// Takes steps, as many at once as it may be silent for.
async fn take_steps(run: u32, steps: u32, lr: f64) -> Result<(), RunError> {
    LR.set(lr);
    IS_PAUSED.set(false);
    let (mut left, mut at_once) = (steps, 1);
    while left > 0 && !IS_PAUSED.get() {
        let began = scope::now();
        let losses = training_steps(left.min(at_once), LR.get()).await?;
        let passed = scope::now() - began;
        // A step that gives no loss would be taken for ever.
        left = left.saturating_sub((losses.len() as u32).max(1));
        scope::post(&FromGpu::Losses { run, losses, seconds: passed / 1000.0 });
        if passed * 2.0 < TELL_EVERY {
            at_once = (at_once * 2).min(MOST_AT_ONCE);
        } else if passed > TELL_EVERY {
            at_once = (at_once / 2).max(1);
        }
        // The turn of messages: the visitor may have paused.
        scope::turn().await;
    }
    let parameters = trained_parameters().await?;
    scope::post(&FromGpu::Trained { run, parameters });
    Ok(())
}

async fn training_steps(count: u32, lr: f64) -> Result<Vec<f64>, RunError> {
    let mut trainer = TRAINER.take().ok_or_else(nothing)?;
    let losses = match &mut trainer {
        Trainer::Gpu(trainer) => trainer.steps(count, lr).await,
        Trainer::Cpu(trainer) => trainer.steps(count, lr),
    };
    TRAINER.set(Some(trainer));
    losses
}

async fn trained_parameters() -> Result<Vec<Named>, RunError> {
    let mut trainer = TRAINER.take().ok_or_else(nothing)?;
    let values = match &mut trainer {
        Trainer::Gpu(trainer) => trainer.parameters().await,
        Trainer::Cpu(trainer) => trainer.parameters(),
    };
    TRAINER.set(Some(trainer));
    values
}

fn failed(message: String) -> RunError {
    RunError { message, node: None }
}

fn nothing() -> RunError {
    failed("no training is going on".to_owned())
}

async fn device() -> Result<Rc<gpu::GpuDevice>, RunError> {
    let known = DEVICE.with_borrow(Option::clone);
    if let Some(device) = known.filter(|device| device.check().is_ok()) {
        return Ok(device);
    }
    let device = gpu::GpuDevice::request().await.map_err(|error| failed(error.to_string()))?;
    let device = Rc::new(device.ok_or_else(|| failed("There is no WebGPU adapter.".to_owned()))?);
    DEVICE.set(Some(device.clone()));
    Ok(device)
}

/// The most that the device can do: measured once.
async fn roof() -> Result<Roof, RunError> {
    if let Some(known) = ROOF.get() {
        return Ok(known);
    }
    let measured = gpu::roof(&*device().await?).await.map_err(|error| failed(error.to_string()))?;
    ROOF.set(Some(measured));
    Ok(measured)
}

/// Gives a device the name that WebGPU has for its adapter: wgpu hands on a description at most, and `web-sys` has WebGPU only behind
/// a flag of the compiler's.
async fn name(device: &mut Device) {
    if device.backend == "cpu" {
        return;
    }
    let asked = || async {
        let get = |of: &JsValue, name: &str| Reflect::get(of, &name.into());
        let gpu = get(&get(&js_sys::global(), "navigator")?, "gpu")?;
        let options = js_sys::Object::new();
        Reflect::set(&options, &"powerPreference".into(), &"high-performance".into())?;
        let request: js_sys::Function = get(&gpu, "requestAdapter")?.dyn_into()?;
        let adapter = JsFuture::from(js_sys::Promise::from(request.call1(&gpu, &options)?)).await?;
        let info = get(&adapter, "info")?;
        let words = ["vendor", "architecture"].map(|name| get(&info, name).ok().and_then(|word| word.as_string()).unwrap_or_default());
        Ok::<_, JsValue>(words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
    };
    // A browser that does not say it leaves the description.
    if let Ok(name) = asked().await
        && !name.is_empty()
    {
        device.name = name;
    }
}
