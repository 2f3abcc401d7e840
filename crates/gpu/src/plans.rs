//! What a device keeps between runs: a plan for each graph and set of sizes, and the memory that plans share.
//!
//! Plans never run at the same time, and what a step computes is over when its plan is: so all of them take their intermediate values
//! from one pool, which is as large as the largest of them needs. Inputs that stay, constants and outputs are a plan's own.

use super::device::GpuDevice;
use super::plan::{Plan, compile_for};
use diagnostics::error::Result;
use graph::Graph;
use loops::program::Argument;
use report::bundle::PlanInfo;
use std::cell::RefCell;
use std::rc::Rc;

/// Plans that are kept: those that ran last.
const MOST: usize = 32;

/// The plans of a device.
#[derive(Default)]
pub struct Plans {
    /// The one that ran last is the last.
    known: RefCell<Vec<Known>>,
    pool: RefCell<Vec<Shared>>,
}

struct Known {
    /// The graph's text and what it is given.
    key: (String, String),
    plan: Rc<Plan>,
    runs: u32,
}

/// A buffer of the pool.
struct Shared {
    elements: u64,
    buffer: wgpu::Buffer,
}

/// The buffers of the pool that a plan has taken so far, each with the last step that needs it.
pub(super) type Taken = Vec<(usize, usize)>;

impl Plans {
    /// The plan of a graph for these arguments, made where there is none.
    pub(super) async fn get(&self, device: &GpuDevice, text: &str, graph: &Graph, arguments: &[Argument]) -> Result<Rc<Plan>> {
        let key = (text.to_owned(), format!("{arguments:?}"));
        let known = {
            let mut all = self.known.borrow_mut();
            let at = all.iter().position(|known| known.key == key);
            at.map(|at| all.remove(at))
        };
        let mut known = match known {
            Some(known) => known,
            None => Known { key, plan: Rc::new(compile_for(device, graph, arguments).await?), runs: 0 },
        };
        known.runs += 1;
        let plan = known.plan.clone();
        let mut all = self.known.borrow_mut();
        all.push(known);
        if all.len() > MOST {
            all.remove(0);
        }
        Ok(plan)
    }

    /// A buffer of the pool for a value that is written at step `first` and read at `last` for the last time.
    pub(super) fn take(&self, device: &GpuDevice, elements: u64, (first, last): (usize, usize), taken: &mut Taken) -> wgpu::Buffer {
        let mut pool = self.pool.borrow_mut();
        let is_free = |at: usize| taken.iter().all(|(known, until)| *known != at || *until < first);
        let fits = |shared: &Shared| shared.elements >= elements && shared.elements <= 2 * elements;
        let found = (0..pool.len()).filter(|at| fits(&pool[*at]) && is_free(*at)).min_by_key(|at| pool[*at].elements);
        let at = found.unwrap_or_else(|| {
            pool.push(Shared { elements, buffer: device.buffer("shared", elements) });
            pool.len() - 1
        });
        match taken.iter_mut().find(|(known, _)| *known == at) {
            Some((_, until)) => *until = last,
            None => taken.push((at, last)),
        }
        pool[at].buffer.clone()
    }

    /// Bytes of some buffers of the pool.
    pub(super) fn bytes_of(&self, taken: &Taken) -> u64 {
        let pool = self.pool.borrow();
        taken.iter().filter_map(|(at, _)| pool.get(*at)).map(|shared| shared.elements * 4).sum()
    }

    /// Bytes of the pool.
    pub fn pool_bytes(&self) -> u64 {
        self.pool.borrow().iter().map(|shared| shared.elements * 4).sum()
    }

    /// The plans that there are, the one that ran last first.
    pub fn list(&self) -> Vec<PlanInfo> {
        let all = self.known.borrow();
        let one = |known: &Known| PlanInfo {
            inputs: known.plan.inputs(),
            dispatches: known.plan.dispatches() as u32,
            bytes: known.plan.bytes,
            shared: known.plan.shared,
            runs: known.runs,
        };
        all.iter().rev().map(one).collect()
    }
}
