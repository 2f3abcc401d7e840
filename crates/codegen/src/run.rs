//! A kernel run on storages, tile by tile: what does not lie side by side is gathered before a tile and scattered after it.

use super::kernel::{Kernel, Place, Walk};
use super::machine::Machine;
use cpu::elementwise::for_runs_between;
use diagnostics::error::{Error, Result};
use std::cell::Ref;
use tensor::Storage;

/// A kernel with the machine that runs its code.
pub struct Ready {
    kernel: Kernel,
    machine: Machine,
    /// Per input, room for a tile of it where it has to be gathered.
    gathered: Vec<Vec<f32>>,
}

fn missing() -> Error {
    Error::runtime("a kernel's value is not there")
}

/// Elements of a storage that a place reaches.
fn reach(walk: &Walk, elements: usize) -> usize {
    match walk {
        Walk::Flat(offset) => offset + elements,
        Walk::Same(offset) => offset + 1,
        Walk::Strided(sizes, strides, offset) => {
            let last: isize = sizes.iter().zip(strides).map(|(size, stride)| (*size as isize - 1) * stride.max(&0)).sum();
            (offset + last + 1).max(0) as usize
        }
    }
}

impl Ready {
    /// Makes a kernel ready to run.
    ///
    /// # Errors
    /// Where the machine refuses its code.
    pub fn new(kernel: Kernel) -> Result<Ready> {
        let machine = Machine::new(&kernel.code)?;
        let gathered = kernel.inputs.iter().map(|place| if is_direct(place) { Vec::new() } else { vec![0.0; machine.tile()] }).collect();
        Ok(Ready { kernel, machine, gathered })
    }

    /// Runs it. Every storage that it writes must be there.
    ///
    /// # Errors
    /// Where a storage is not there or too small.
    pub fn run(&mut self, storages: &dyn Fn(usize) -> Option<Storage>) -> Result<()> {
        let Ready { kernel, machine, gathered } = self;
        if kernel.elements == 0 {
            return Ok(());
        }
        let of = |places: &[Place]| -> Result<Vec<Storage>> {
            let checked = |place: &Place| {
                let storage = storages(place.storage).ok_or_else(missing)?;
                let size = if place.truth { 1 } else { 4 };
                let held = storage.bytes()?.len() / size;
                if reach(&place.walk, kernel.elements) <= held { Ok(storage) } else { Err(missing()) }
            };
            places.iter().map(checked).collect()
        };
        let (inputs, outputs) = (of(&kernel.inputs)?, of(&kernel.outputs)?);
        let same: Vec<f32> = kernel
            .inputs
            .iter()
            .zip(&inputs)
            .map(|(place, storage)| match (&place.walk, place.truth) {
                (Walk::Same(at), false) => Ok(storage.slice::<f32>()?[*at]),
                (Walk::Same(at), true) => Ok(f32::from(u8::from(storage.bytes()?[*at] != 0))),
                _ => Ok(0.0),
            })
            .collect::<Result<_>>()?;
        machine.begin(&kernel.constants, &same);
        let mut start = 0;
        while start < kernel.elements {
            let n = machine.tile().min(kernel.elements - start);
            for ((place, storage), to) in kernel.inputs.iter().zip(&inputs).zip(gathered.iter_mut()) {
                let room = n.min(to.len());
                gather(place, storage, start, &mut to[..room])?;
            }
            let direct: Vec<Option<Ref<[f32]>>> = kernel
                .inputs
                .iter()
                .zip(&inputs)
                .map(|(place, storage)| match &place.walk {
                    Walk::Flat(offset) if !place.truth => {
                        Ok(Some(Ref::map(storage.slice::<f32>()?, |all| &all[offset + start..offset + start + n])))
                    }
                    _ => Ok(None),
                })
                .collect::<Result<_>>()?;
            let slices: Vec<&[f32]> = direct.iter().zip(gathered.iter()).map(|(d, g)| d.as_deref().unwrap_or(g)).collect();
            machine.run(&slices, n);
            // What goes out as it came in may lie where something is written.
            let kept: Vec<Option<Vec<f32>>> =
                (0..outputs.len()).map(|i| machine.passes(i).map(|input| slices[input][..n].to_vec())).collect();
            drop(slices);
            drop(direct);
            for (i, (place, storage)) in kernel.outputs.iter().zip(&outputs).enumerate() {
                let values = kept[i].as_deref().unwrap_or_else(|| machine.output(i));
                scatter(place, storage, start, &values[..n])?;
            }
            start += n;
        }
        Ok(())
    }
}

/// Whether a machine reads it where it lies.
fn is_direct(place: &Place) -> bool {
    matches!((&place.walk, place.truth), (Walk::Same(_), _) | (Walk::Flat(_), false))
}

fn gather(place: &Place, storage: &Storage, start: usize, to: &mut [f32]) -> Result<()> {
    match (&place.walk, place.truth) {
        (Walk::Same(_), _) | (Walk::Flat(_), false) => {}
        (Walk::Flat(offset), true) => {
            let bytes = storage.bytes()?;
            let from = &bytes[offset + start..offset + start + to.len()];
            to.iter_mut().zip(from).for_each(|(to, from)| *to = f32::from(u8::from(*from != 0)));
        }
        (Walk::Strided(sizes, strides, offset), false) => {
            let all = storage.slice::<f32>()?;
            gathered(sizes, strides, *offset, start, to, &all, |v| *v);
        }
        (Walk::Strided(sizes, strides, offset), true) => {
            let all = storage.bytes()?;
            gathered(sizes, strides, *offset, start, to, &all, |v| f32::from(u8::from(*v != 0)));
        }
    }
    Ok(())
}

fn gathered<T>(sizes: &[usize], strides: &[isize], offset: isize, start: usize, to: &mut [f32], all: &[T], read: impl Fn(&T) -> f32) {
    let mut next = 0;
    for_runs_between(sizes, strides, offset, start, start + to.len(), &mut |first, stride, length| {
        let to = &mut to[next..next + length];
        match stride {
            0 => to.fill(read(&all[first as usize])),
            1 => to.iter_mut().zip(&all[first as usize..]).for_each(|(to, from)| *to = read(from)),
            _ => to.iter_mut().enumerate().for_each(|(i, to)| *to = read(&all[(first + i as isize * stride) as usize])),
        }
        next += length;
    });
}

fn scatter(place: &Place, storage: &Storage, start: usize, values: &[f32]) -> Result<()> {
    let n = values.len();
    match (&place.walk, place.truth) {
        (Walk::Flat(offset), false) => storage.slice_mut::<f32>()?[offset + start..offset + start + n].copy_from_slice(values),
        (Walk::Flat(offset), true) => {
            let mut bytes = storage.bytes_mut()?;
            bytes[offset + start..offset + start + n].iter_mut().zip(values).for_each(|(to, from)| *to = u8::from(*from != 0.0));
        }
        (Walk::Strided(sizes, strides, offset), false) => {
            scattered(sizes, strides, *offset, start, values, &mut storage.slice_mut::<f32>()?, |v| v);
        }
        (Walk::Strided(sizes, strides, offset), true) => {
            scattered(sizes, strides, *offset, start, values, &mut storage.bytes_mut()?, |v| u8::from(v != 0.0));
        }
        (Walk::Same(_), _) => return Err(missing()),
    }
    Ok(())
}

fn scattered<T>(sizes: &[usize], strides: &[isize], offset: isize, start: usize, values: &[f32], all: &mut [T], write: impl Fn(f32) -> T) {
    let mut next = 0;
    for_runs_between(sizes, strides, offset, start, start + values.len(), &mut |first, stride, length| {
        for (i, v) in values[next..next + length].iter().enumerate() {
            all[(first + i as isize * stride) as usize] = write(*v);
        }
        next += length;
    });
}
