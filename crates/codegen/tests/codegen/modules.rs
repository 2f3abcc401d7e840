//! WebAssembly in a test engine beside tiles: the same bits, for every step, at every length.

use super::random::Random;
use codegen::kernel::{Binary, Code, Id, Step, Test, Unary};
use codegen::tiles::{TILE, Tiles};
use codegen::wasm::{FUNCTION, MEMORY, write};
use wasmi::{Engine, Linker, Memory, MemoryType, Module, Store};

const UNARY: [Unary; 15] = [
    Unary::Neg,
    Unary::Abs,
    Unary::Sqrt,
    Unary::Floor,
    Unary::Ceil,
    Unary::Trunc,
    Unary::Nearest,
    Unary::Sign,
    Unary::Exp,
    Unary::Expm1,
    Unary::Log,
    Unary::Log1p,
    Unary::Tanh,
    Unary::Sigmoid,
    Unary::Erf,
];
const BINARY: [Binary; 6] = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Maximum, Binary::Minimum];
const TESTS: [Test; 4] = [Test::Lt, Test::Le, Test::Eq, Test::Ne];

/// Runs a module on inputs; gives its outputs, and asserts that nothing else was written.
fn run_module(code: &Code, constants: &[f32], inputs: &[Vec<f32>], n: usize) -> Vec<Vec<f32>> {
    const GUARD: u8 = 0xa5;
    let engine = Engine::default();
    let module = Module::new(&engine, write(code)).unwrap();
    let mut store = Store::new(&engine, ());
    let memory = Memory::new(&mut store, MemoryType::new(16, None)).unwrap();
    let mut linker = Linker::new(&engine);
    linker.define(MEMORY.0, MEMORY.1, memory).unwrap();
    let instance = linker.instantiate_and_start(&mut store, &module).unwrap();
    let function = instance.get_typed_func::<i32, ()>(&store, FUNCTION).unwrap();
    memory.data_mut(&mut store).fill(GUARD);
    // Every place begins off the vectors' own alignment.
    let mut next = 1024 + 4;
    let mut place = |bytes: usize| {
        let at = next;
        next += bytes.next_multiple_of(16) + 32;
        at
    };
    let mut given = vec![n as u32];
    for input in inputs {
        let at = place(input.len() * 4);
        memory.write(&mut store, at, bytemuck::cast_slice(input)).unwrap();
        given.push(at as u32);
    }
    let outputs: Vec<usize> = code.outputs.iter().map(|_| place(n * 4)).collect();
    given.extend(outputs.iter().map(|at| *at as u32));
    given.extend(constants.iter().map(|v| v.to_bits()));
    memory.write(&mut store, 16, bytemuck::cast_slice(&given)).unwrap();
    function.call(&mut store, 16).unwrap();
    let read =
        |at: usize| -> Vec<f32> { memory.data(&store)[at..at + n * 4].as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect() };
    for at in &outputs {
        assert_eq!(memory.data(&store)[at + n * 4..at + n * 4 + 8], [GUARD; 8], "{n} elements: more was written");
    }
    outputs.into_iter().map(read).collect()
}

fn run_tiles(code: &Code, constants: &[f32], inputs: &[Vec<f32>], n: usize) -> Vec<Vec<f32>> {
    let mut tiles = Tiles::new(code);
    let same: Vec<f32> = inputs.iter().map(|input| input[0]).collect();
    tiles.begin(constants, &same);
    let slices: Vec<&[f32]> = inputs.iter().map(|input| input.as_slice()).collect();
    tiles.run(&slices, n);
    (0..code.outputs.len()).map(|i| tiles.passes(i).map_or_else(|| tiles.output(i), |input| slices[input])[..n].to_vec()).collect()
}

/// Equal bits; of NaN only that it is NaN.
fn assert_same(code: &Code, tiles: &[Vec<f32>], module: &[Vec<f32>], inputs: &[Vec<f32>]) {
    for (o, (a, b)) in tiles.iter().zip(module).enumerate() {
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            let given: Vec<f32> = inputs.iter().map(|input| input[i.min(input.len() - 1)]).collect();
            assert!(
                a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
                "output {o} of {given:?}: {a:?} here, {b:?} there, by {code:?}"
            );
        }
    }
}

fn check(code: &Code, constants: &[f32], inputs: &[Vec<f32>], n: usize) {
    assert_same(code, &run_tiles(code, constants, inputs, n), &run_module(code, constants, inputs, n), inputs);
}

fn floats(random: &mut Random, n: usize) -> Vec<f32> {
    (0..n.max(1)).map(|_| random.float()).collect()
}

#[test]
fn every_step_at_every_length() {
    let mut random = Random(1);
    let both = |step: Step, inputs: u16| {
        let steps: Vec<Step> = (0..inputs).map(Step::Input).chain([step]).collect();
        Code { outputs: vec![steps.len() as Id - 1], steps, inputs, constants: 0 }
    };
    let condition = |step: Step| {
        let steps = vec![Step::Input(0), Step::Input(1), step, Step::Number(2)];
        Code { steps, inputs: 2, constants: 0, outputs: vec![3] }
    };
    let mut codes: Vec<Code> = UNARY.iter().map(|f| both(Step::Unary(*f, 0), 1)).collect();
    codes.extend(BINARY.iter().map(|f| both(Step::Binary(*f, 0, 1), 2)));
    codes.extend(TESTS.iter().map(|f| condition(Step::Test(*f, 0, 1))));
    for code in &codes {
        for n in [1, 2, 3, 4, 5, 7, 8, 63, TILE - 1, TILE] {
            let inputs: Vec<Vec<f32>> = (0..code.inputs).map(|_| floats(&mut random, n)).collect();
            check(code, &[], &inputs, n);
        }
    }
}

#[test]
fn functions_of_every_size_of_number() {
    for f in UNARY {
        let code = Code { steps: vec![Step::Input(0), Step::Unary(f, 0)], inputs: 1, constants: 0, outputs: vec![1] };
        for first in 0..8u32 {
            let input: Vec<f32> = (0..TILE as u32).map(|i| f32::from_bits((first * TILE as u32 + i).wrapping_mul(1_048_573))).collect();
            check(&code, &[], &[input], TILE);
        }
    }
}

#[test]
fn random_kernels() {
    let mut random = Random(2);
    for _ in 0..60 {
        let inputs = 1 + random.below(3) as u16;
        let constants = floats(&mut random, 2);
        // Values of floats, and conditions.
        let (mut steps, mut values, mut conditions): (Vec<Step>, Vec<Id>, Vec<Id>) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..inputs {
            values.push(steps.len() as Id);
            steps.push(if random.below(4) == 0 { Step::Same(i) } else { Step::Input(i) });
        }
        for i in 0..2 {
            values.push(steps.len() as Id);
            steps.push(Step::Constant(i));
        }
        for _ in 0..3 + random.below(20) {
            let a = values[random.below(values.len())];
            let b = values[random.below(values.len())];
            let id = steps.len() as Id;
            let truth = conditions.get(random.below(conditions.len().max(1))).copied();
            let (step, is_condition) = match (random.below(8), truth) {
                (0 | 1, _) => (Step::Unary(UNARY[random.below(UNARY.len())], a), false),
                (2 | 3, _) => (Step::Binary(BINARY[random.below(BINARY.len())], a, b), false),
                (4, Some(c)) => (Step::Select(c, a, b), false),
                (5, Some(c)) => (Step::Number(c), false),
                (6, Some(c)) => match random.below(3) {
                    0 => (Step::Not(c), true),
                    1 => (Step::And(c, conditions[0]), true),
                    _ => (Step::Or(c, conditions[0]), true),
                },
                _ => (Step::Test(TESTS[random.below(TESTS.len())], a, b), true),
            };
            steps.push(step);
            if is_condition { conditions.push(id) } else { values.push(id) }
        }
        let outputs = (0..1 + random.below(3)).map(|_| values[values.len() - 1 - random.below(values.len().min(4))]).collect();
        let code = Code { steps, inputs, constants: 2, outputs };
        let n = 1 + random.below(TILE);
        let given: Vec<Vec<f32>> = (0..inputs).map(|_| floats(&mut random, n)).collect();
        check(&code, &constants, &given, n);
    }
}
