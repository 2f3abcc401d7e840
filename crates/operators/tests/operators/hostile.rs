//! Every operator with arguments that no program means: sizes, dimensions and numbers at the ends of their ranges, tensors without
//! elements and with more than fit memory. On real tensors, fake ones and backwards it answers or refuses; a panic is an error of the
//! script's natively (`dispatch::contained`), but ends a page's interpreter. `SEED=5 cargo test -p operators hostile` draws others.

use autograd::{BackwardOptions, gradient_edge, meta, run_backward};
use dispatch::{OpEntry, Type, Value, all, call};
use shape::{SymInt, ints};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tensor::{Device, Dtype, Geometry, Tensor, TensorSpec, set_memory_limit};

/// Calls of each operator of each kind.
const CALLS: usize = 40;
/// What is drawn where nothing else is asked for: a run that fails is one that fails again.
const SEED: u64 = 1;
/// Bytes that all tensors together may have.
const MEMORY: usize = 16 << 20;
/// How long one call may take, at most.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Real,
    Fake,
    Backward,
}

struct Draw(u64);

impl Draw {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % below as u64) as usize
    }
    fn of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.next(values.len())].clone()
    }

    /// Small numbers that mean something, more often than not: what comes after the first check is to be met, too.
    fn int(&mut self) -> i64 {
        match self.next(3) {
            0 => self.of(&[i64::MIN, i64::MIN + 1, -(1 << 40), -65, -2, 1 << 31, 1 << 40, 1 << 62, i64::MAX - 1, i64::MAX]),
            _ => self.of(&[-1, 0, 1, 1, 2, 3, 4]),
        }
    }

    fn float(&mut self) -> f64 {
        self.of(&[0.0, -0.0, 0.5, 1.0, -1.0, 2.0, 1e300, -1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY])
    }

    fn tensor(&mut self, kind: Kind) -> Tensor {
        let dtype = self.of(&[
            Dtype::Float32,
            Dtype::Float32,
            Dtype::Float32,
            Dtype::Float64,
            Dtype::Int64,
            Dtype::Int64,
            Dtype::Bool,
            Dtype::Float16,
            Dtype::Int32,
            Dtype::UInt8,
            Dtype::Complex64,
        ]);
        let sizes: Vec<i64> = self.of(&[
            vec![],
            vec![0],
            vec![4],
            vec![3],
            vec![2, 3],
            vec![3, 3],
            vec![0, 3],
            vec![2, 3, 4],
            vec![1, 2, 4, 4],
            vec![1, 2, 3, 4, 4],
        ]);
        let spec = TensorSpec::contiguous(ints(&sizes), dtype, Device::CPU);
        if kind == Kind::Fake {
            let huge = match self.next(4) {
                0 => vec![1 << 40],
                1 => vec![1 << 30, 1 << 20, 2],
                _ => sizes.clone(),
            };
            return Tensor::fake(&TensorSpec::contiguous(ints(&huge), dtype, Device::CPU)).expect("it is small enough to describe");
        }
        let t = Tensor::zeros(&spec).expect("it is small");
        for byte in t.storage().bytes_mut().expect("it has memory").iter_mut() {
            *byte = match dtype {
                Dtype::Bool => self.next(2) as u8,
                Dtype::UInt8 => self.next(5) as u8,
                // Integers are now and then indices, more often far off.
                Dtype::Int64 | Dtype::Int32 => [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 255][self.next(16)],
                _ => self.next(256) as u8,
            };
        }
        match self.next(8) {
            // More elements than memory.
            0 if !sizes.contains(&0) => t.view_as(Geometry { sizes: ints(&[1 << 40, 2]), strides: ints(&[0, 0]), offset: SymInt::Int(0) }),
            _ => t,
        }
    }

    fn value(&mut self, ty: &Type, kind: Kind) -> Value {
        match ty {
            Type::Tensor => self.tensor(kind).into(),
            Type::Int => Value::Int(SymInt::Int(self.int())),
            Type::Float => Value::Float(self.float()),
            Type::Bool => Value::Bool(self.next(2) == 0),
            Type::Scalar if self.next(2) == 0 => Value::Float(self.float()),
            Type::Scalar => Value::Int(SymInt::Int(self.int())),
            Type::Str => Value::Str(self.of(&["", "sum", "mean", "none", "linear", "ij", "?"]).into()),
            Type::Dtype => Value::Dtype(self.of(&[Dtype::Float32, Dtype::Int64, Dtype::Bool, Dtype::Complex64, Dtype::Float16])),
            Type::Device => Value::Device(Device::CPU),
            Type::Layout | Type::MemoryFormat | Type::Generator | Type::Dimname => Value::None,
            Type::Optional(_) if self.next(3) == 0 => Value::None,
            Type::Optional(inner) => self.value(inner, kind),
            Type::List(inner, length) => {
                let length = length.filter(|_| self.next(4) > 0).unwrap_or_else(|| self.next(5));
                Value::List((0..length).map(|_| self.value(inner, kind)).collect())
            }
        }
    }
}

/// One call, and its backward where that is asked for. What it answers is nobody's business.
fn attempt(entry: &'static OpEntry, args: Vec<Value>, kind: Kind) -> diagnostics::error::Result<()> {
    if kind == Kind::Backward {
        let mut leaves = Vec::new();
        args.iter().for_each(|v| v.for_each_tensor(&mut |t| leaves.push(t.clone())));
        for leaf in leaves.iter().filter(|t| t.dtype().is_floating()) {
            meta::set_requires_grad(leaf, true)?;
        }
    }
    let out = call(entry, args)?;
    if kind == Kind::Backward {
        let mut results = Vec::new();
        out.for_each_tensor(&mut |t| results.push(t.clone()));
        for result in results {
            if let Some(root) = gradient_edge(&result)? {
                let grad = dispatch::call(dispatch::lookup("aten.ones_like.default").expect("it is there"), {
                    let mut args = vec![Value::None; 6];
                    args[0] = result.clone().into();
                    args
                })?;
                run_backward(vec![(root, grad.into_tensor()?)], None, BackwardOptions::default())?;
            }
        }
    }
    Ok(())
}

fn walk(kind: Kind) {
    cpu::install();
    autograd::install();
    set_memory_limit(MEMORY, None);
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED);
    println!("SEED={seed}");
    // A call that never ends would end nothing else: a thread watches it.
    static MADE: AtomicUsize = AtomicUsize::new(0);
    static SHOWN: std::sync::Mutex<String> = std::sync::Mutex::new(String::new());
    std::thread::spawn(|| {
        loop {
            let before = MADE.load(Ordering::Relaxed);
            std::thread::sleep(PATIENCE);
            if before == MADE.load(Ordering::Relaxed) && before > 0 {
                eprintln!("it does not end: {}", SHOWN.lock().map_or_else(|_| String::new(), |shown| shown.clone()));
                std::process::abort();
            }
        }
    });
    thread_local! { static PLACE: RefCell<String> = RefCell::default(); }
    let (before, own) = (std::panic::take_hook(), std::thread::current().id());
    std::panic::set_hook(Box::new(move |info| {
        // The other tests' panics are told as ever.
        if std::thread::current().id() != own {
            return before(info);
        }
        let place = info.location().map_or_else(String::new, |l| format!("{}:{}", l.file(), l.line()));
        PLACE.set(format!("{place}: {}", info.payload_as_str().unwrap_or("a panic")));
    }));
    let only = std::env::var("CASE").unwrap_or_default();
    let mut wrong: Vec<(String, String)> = Vec::new();
    for entry in all().iter().filter(|entry| entry.name.contains(&only)) {
        let mut draw = Draw(seed ^ (entry.name.bytes().fold(0, |hash: u64, byte| hash.wrapping_mul(31) ^ u64::from(byte)) << 8));
        for _ in 0..CALLS {
            let args: Vec<Value> = entry.schema.arguments.iter().map(|argument| draw.value(&argument.ty, kind)).collect();
            let shown = format!("{}{args:?}", entry.name);
            if let Ok(mut now) = SHOWN.lock() {
                now.clone_from(&shown);
            }
            MADE.fetch_add(1, Ordering::Relaxed);
            let outcome = catch_unwind(AssertUnwindSafe(|| attempt(entry, args, kind)));
            let place = PLACE.take();
            if outcome.is_err() || !place.is_empty() {
                wrong.push((place, shown));
            }
        }
    }
    let _ = std::panic::take_hook();
    // Nothing is waited for any more.
    MADE.store(0, Ordering::Relaxed);
    wrong.sort();
    let count = wrong.len();
    // One of each place.
    wrong.dedup_by(|a, b| a.0 == b.0);
    let told: Vec<String> =
        wrong.iter().map(|(place, call)| format!("{place}\n    {}", call.chars().take(300).collect::<String>())).collect();
    assert!(wrong.is_empty(), "SEED={seed}: {count} panics at {} places\n{}", wrong.len(), told.join("\n"));
}

#[test]
fn no_operator_panics() {
    // One after the other: they share the hook that says where a panic was.
    for kind in [Kind::Real, Kind::Fake, Kind::Backward] {
        println!("{kind:?}");
        walk(kind);
    }
}
