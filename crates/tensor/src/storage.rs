//! Storage: the bytes that tensors share, allocated under a budget.
//!
//! Invariant: a storage either holds `nbytes` bytes or none at all (fake). Running out of budget is an error, never an abort.

use super::{Device, DeviceType, Dtype};
use diagnostics::error::{Error, ErrorKind, Result};
use shape::SymInt;
use std::cell::{Cell, Ref, RefCell, RefMut};
use std::rc::Rc;

/// How many bytes all storages together may hold, where nobody says another number.
const BUDGET: usize = 2 << 30;

thread_local! {
    static LIMIT: Cell<usize> = const { Cell::new(BUDGET) };
    static USED: Cell<usize> = const { Cell::new(0) };
    static ROOM: Cell<Option<fn() -> usize>> = const { Cell::new(None) };
    static NEXT: Cell<u64> = const { Cell::new(1) };
    static FAKE_MODE: Cell<u32> = const { Cell::new(0) };
}

/// While it lives, fake storages that are made belong to a mode of the script's.
pub struct OfFakeMode(u32);

impl OfFakeMode {
    /// The mode of this number makes them from now on; 0 stands for the compiler itself.
    pub fn new(mode: u32) -> Self {
        OfFakeMode(FAKE_MODE.replace(mode))
    }
}

impl Drop for OfFakeMode {
    fn drop(&mut self) {
        FAKE_MODE.set(self.0);
    }
}

/// What PyTorch's allocator says where it gets no memory.
pub fn not_enough_memory(bytes: u128) -> Error {
    let words = "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate";
    Error::new(ErrorKind::Memory, format!("{words} {bytes} bytes. Error code 12 (Cannot allocate memory)"))
}

/// Says how many bytes all storages of this thread together may hold, and gives what it was. `room`: where storages share their limit
/// with others, how many bytes may still be used.
pub fn set_memory_limit(bytes: usize, room: Option<fn() -> usize>) -> usize {
    ROOM.set(room);
    LIMIT.replace(bytes)
}

/// Bytes that one more allocation may take at most.
fn room() -> usize {
    ROOM.get().map_or(usize::MAX, |room| room()).min(LIMIT.get())
}

/// Refuses what is larger than all storages together may be: kernels read tensors into dense memory, and a tensor that is expanded
/// has more elements than its storage.
///
/// # Errors
/// PyTorch's where there is no memory.
pub fn check_room(elements: u64, itemsize: usize) -> Result<()> {
    let bytes = u128::from(elements) * itemsize as u128;
    if bytes > room() as u128 { Err(not_enough_memory(bytes)) } else { Ok(()) }
}

/// Refuses to make so many tensors.
///
/// # Errors
/// PyTorch's where there is no memory.
pub fn check_count(tensors: i64) -> Result<()> {
    // What a tensor's description takes, with its sizes and strides.
    const DESCRIPTION: usize = 512;
    check_room(tensors.max(0) as u64, DESCRIPTION)
}

/// Bytes aligned for every element type, counted against the budget.
struct Buffer {
    words: Vec<u64>,
    len: usize,
}

impl Buffer {
    fn zeroed(len: usize) -> Result<Buffer> {
        let refuse = || not_enough_memory(len as u128);
        if len > room() || USED.get().checked_add(len).is_none_or(|total| total > LIMIT.get()) {
            return Err(refuse());
        }
        let mut words = Vec::new();
        words.try_reserve_exact(len.div_ceil(8)).map_err(|_| refuse())?;
        words.resize(len.div_ceil(8), 0);
        USED.set(USED.get() + len);
        Ok(Buffer { words, len })
    }
    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        USED.set(USED.get().saturating_sub(self.len));
    }
}

struct StorageImpl {
    id: u64,
    nbytes: RefCell<SymInt>,
    device: Device,
    buffer: RefCell<Option<Buffer>>,
    /// Whether it stands for memory that nobody has, and nothing is fake about that.
    is_hollow: bool,
    fake_mode: u32,
}

/// A handle on shared bytes.
#[derive(Clone)]
pub struct Storage(Rc<StorageImpl>);

thread_local! {
    /// Whether a CUDA device is pretended: its tensors are computed on the CPU.
    static PRETENDS_CUDA: Cell<bool> = const { Cell::new(false) };
}

/// Says whether a CUDA device is pretended.
pub fn pretend_cuda(pretends: bool) {
    PRETENDS_CUDA.set(pretends);
}

/// Whether a CUDA device is pretended.
pub fn pretends_cuda() -> bool {
    PRETENDS_CUDA.get()
}

/// Where there is a CUDA device, or a script's mode says so, one without a number is the first.
fn numbered(device: Device) -> Device {
    let is_one = device.kind == DeviceType::Cuda && device.index.is_none() && (pretends_cuda() || FAKE_MODE.get() != 0);
    if is_one { Device { index: Some(0), ..device } } else { device }
}

/// A Rust type of a tensor's elements. Bools are bytes that hold 0 or 1.
pub trait Element: bytemuck::Pod {
    /// The dtype it stands for.
    const DTYPE: Dtype;
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident),*) => { $(impl Element for $rust { const DTYPE: Dtype = Dtype::$dtype; })* };
}
elements!(u8 => UInt8, i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, super::float8::F8E4M3FN => Float8E4m3fn, super::float8::F8E5M2 => Float8E5m2, half::f16 => Float16, half::bf16 => BFloat16, f32 => Float32, f64 => Float64);

impl Storage {
    fn new(nbytes: SymInt, device: Device, buffer: Option<Buffer>, is_hollow: bool) -> Self {
        let id = NEXT.get();
        NEXT.set(id + 1);
        Storage(Rc::new(StorageImpl {
            id,
            nbytes: RefCell::new(nbytes),
            device,
            is_hollow,
            fake_mode: if buffer.is_none() && !is_hollow { FAKE_MODE.get() } else { 0 },
            buffer: RefCell::new(buffer),
        }))
    }

    /// Zeroed bytes, which lie in the CPU's memory whatever device is pretended.
    pub fn zeroed(nbytes: usize, device: Device) -> Result<Self> {
        Ok(Self::new(SymInt::Int(nbytes as i64), numbered(device), Some(Buffer::zeroed(nbytes)?), false))
    }

    /// A storage without bytes.
    pub fn fake(nbytes: SymInt, device: Device) -> Self {
        Self::new(nbytes, numbered(device), None, false)
    }

    /// The storage of a tensor that has no memory of its own, in a run: others stand for it.
    pub fn hollow(nbytes: SymInt, device: Device) -> Self {
        Self::new(nbytes, device, None, true)
    }

    /// An identity that no other storage ever has.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Where it lies.
    pub fn device(&self) -> Device {
        self.0.device
    }

    /// Its size in bytes.
    pub fn nbytes(&self) -> SymInt {
        self.0.nbytes.borrow().clone()
    }

    /// Whether its bytes are not there because nothing is computed.
    pub fn is_fake(&self) -> bool {
        self.0.buffer.borrow().is_none() && !self.0.is_hollow
    }

    /// The number of the script's mode that made it without bytes; 0 where none did.
    pub fn fake_mode(&self) -> u32 {
        self.0.fake_mode
    }

    /// Grows or shrinks it, keeping what fits.
    pub fn resize(&self, nbytes: SymInt) -> Result<()> {
        if self.0.buffer.borrow().is_some() {
            let wanted = nbytes.guard_int()?.max(0);
            let mut grown = Buffer::zeroed(usize::try_from(wanted).map_err(|_| not_enough_memory(wanted as u128))?)?;
            let mut slot = self.0.buffer.borrow_mut();
            if let Some(old) = slot.as_ref() {
                let n = old.len.min(grown.len);
                grown.bytes_mut()[..n].copy_from_slice(&old.bytes()[..n]);
            }
            *slot = Some(grown);
        }
        *self.0.nbytes.borrow_mut() = nbytes;
        Ok(())
    }

    fn no_data(&self) -> Error {
        if self.0.device.kind == DeviceType::Meta {
            return Error::not_implemented("Cannot copy out of meta tensor; no data!");
        }
        Error::new(ErrorKind::DataDependent, "the values of a fake tensor were asked for")
    }

    /// The bytes.
    pub fn bytes(&self) -> Result<Ref<'_, [u8]>> {
        Ref::filter_map(self.0.buffer.borrow(), |b| b.as_ref().map(Buffer::bytes)).map_err(|_| self.no_data())
    }

    /// The bytes, to write.
    pub fn bytes_mut(&self) -> Result<RefMut<'_, [u8]>> {
        let guard = self.0.buffer.try_borrow_mut().map_err(|_| Error::runtime("a storage is read and written at once"))?;
        RefMut::filter_map(guard, |b| b.as_mut().map(Buffer::bytes_mut)).map_err(|_| self.no_data())
    }

    /// The elements of the whole storage, for the Rust type of the tensor's dtype.
    pub fn slice<T: Element>(&self) -> Result<Ref<'_, [T]>> {
        Ok(Ref::map(self.bytes()?, |b| bytemuck::cast_slice(&b[..b.len() / size_of::<T>() * size_of::<T>()])))
    }

    /// The elements, to write.
    pub fn slice_mut<T: Element>(&self) -> Result<RefMut<'_, [T]>> {
        Ok(RefMut::map(self.bytes_mut()?, |b| {
            let n = b.len() / size_of::<T>() * size_of::<T>();
            bytemuck::cast_slice_mut(&mut b[..n])
        }))
    }

    /// Whether two handles share their bytes.
    pub fn same(&self, other: &Storage) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}
