//! Training steps on the CPU, node by node: where there is no GPU, and to compare with.

use super::bundle::{cpu, draw_as, failed, numbers, to_plain, to_value};
use super::interpret::interpret;
use crate::step::{Step, Then, step};
use diagnostics::error::{Error, Result};
use dispatch::Value;
use graph::readable;
use report::bundle::{Bundle, Named, RunError, Training, Value as Plain};

/// A training in progress.
pub struct CpuTrainer {
    step: Step,
    /// One per placeholder; steps write to them.
    values: Vec<Value>,
}

impl CpuTrainer {
    /// Builds a bundle's training step.
    pub fn start(bundle: &Bundle, then: Then) -> Result<(CpuTrainer, Training), RunError> {
        let step = step(bundle, then)?;
        draw_as(&bundle.generator)?;
        let values = step.inputs.iter().map(|n| to_value(&n.value)).collect::<Result<Vec<_>>>().map_err(|e| failed(&e))?;
        let training = Training {
            device: cpu(),
            loss: step.loss.clone(),
            stands_in: step.stands_in,
            parameters: step.parameters.iter().filter_map(|i| Some(step.inputs.get(*i)?.name.clone())).collect(),
            carried: step.carried.clone(),
            readable: readable(&step.graph),
            ..Training::default()
        };
        Ok((CpuTrainer { step, values }, training))
    }

    /// Takes steps of size `lr` and gives the loss before each.
    pub fn steps(&mut self, count: u32, lr: f64) -> Result<Vec<f64>, RunError> {
        self.take(count, lr).map_err(|e| failed(&e))
    }

    fn take(&mut self, count: u32, lr: f64) -> Result<Vec<f64>> {
        if let Some(Value::Tensor(rate)) = self.step.lr.and_then(|lr| self.values.get(lr)) {
            rate.storage().bytes_mut()?[..4].copy_from_slice(&(lr as f32).to_le_bytes());
        }
        let mut losses = Vec::new();
        for _ in 0..count {
            let returned = interpret(&self.step.graph, self.values.clone())?;
            let Some(Plain::Tensor { tensor }) = returned.first().map(to_plain).transpose()? else {
                return Err(Error::runtime("the loss is no tensor"));
            };
            losses.extend(numbers(&tensor).map_err(Error::runtime)?.first());
        }
        Ok(losses)
    }

    /// The parameters as they are now.
    pub fn parameters(&self) -> Result<Vec<Named>, RunError> {
        let one = |i: &usize| -> Result<Named> {
            Ok(Named { name: self.step.inputs[*i].name.clone(), label: None, value: to_plain(&self.values[*i])? })
        };
        self.step.parameters.iter().map(one).collect::<Result<_>>().map_err(|e| failed(&e))
    }
}
