//! A kernel's code as a WebAssembly module: one loop over a tile, four elements at a time, and what is left over one by one with the
//! same instructions. The module imports the memory that it works on.
//!
//! The function takes the address of what differs between calls: the number of elements, then the addresses of inputs and of outputs,
//! then the constants, four bytes each.

use super::functions::{self, Lanes};
use super::kernel::{Binary, Code, Step, Test, Unary};
use std::collections::HashMap;
use wasm_encoder::{
    BlockType, CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection, ImportSection, Instruction, MemArg,
    MemArgTarget, MemoryType, Module, TypeSection, ValType,
};

/// What the module imports its memory as, and exports its function as.
pub const MEMORY: (&str, &str) = ("m", "m");
/// The name of the function.
pub const FUNCTION: &str = "f";

const BYTES: u32 = 4;
/// Locals: the argument, the bytes done, the bytes of whole vectors and of all.
const ARGUMENT: u32 = 0;
const DONE: u32 = 1;
const WHOLE: u32 = 2;
const ALL: u32 = 3;
const ADDRESSES: u32 = 4;

fn place(offset: u32, align: u32) -> MemArg {
    MemArg { offset: offset.into(), align, target: MemArgTarget::default(), ordering: None }
}

/// Writes the module.
pub fn write(code: &Code) -> Vec<u8> {
    let addresses = u32::from(code.inputs) + code.outputs.len() as u32;
    let mut writer =
        Writer { before: Vec::new(), body: Vec::new(), next: ADDRESSES + addresses, numbers: HashMap::new(), once: HashMap::new() };
    let mut prologue = vec![
        Instruction::LocalGet(ARGUMENT),
        Instruction::I32Load(place(0, 2)),
        Instruction::I32Const(2),
        Instruction::I32Shl,
        Instruction::LocalTee(ALL),
        Instruction::I32Const(-16),
        Instruction::I32And,
        Instruction::LocalSet(WHOLE),
    ];
    for i in 0..addresses {
        prologue.extend([
            Instruction::LocalGet(ARGUMENT),
            Instruction::I32Load(place(BYTES * (1 + i), 2)),
            Instruction::LocalSet(ADDRESSES + i),
        ]);
    }
    let vectors = writer.steps(code, false);
    let singles = writer.steps(code, true);
    let mut body = prologue;
    body.append(&mut writer.before);
    body.extend(repeated(vectors, WHOLE, 16));
    body.extend(repeated(singles, ALL, 4));
    body.push(Instruction::End);
    let vectors = writer.next - ADDRESSES - addresses;
    let mut function = Function::new([(ADDRESSES - 1 + addresses, ValType::I32), (vectors, ValType::V128)]);
    body.iter().for_each(|i| {
        function.instruction(i);
    });
    module(function)
}

/// A loop that goes on until so many bytes are done.
fn repeated(body: Vec<Instruction<'static>>, until: u32, step: i32) -> Vec<Instruction<'static>> {
    let mut all = vec![
        Instruction::Block(BlockType::Empty),
        Instruction::LocalGet(DONE),
        Instruction::LocalGet(until),
        Instruction::I32GeU,
        Instruction::BrIf(0),
        Instruction::Loop(BlockType::Empty),
    ];
    all.extend(body);
    all.extend([
        Instruction::LocalGet(DONE),
        Instruction::I32Const(step),
        Instruction::I32Add,
        Instruction::LocalTee(DONE),
        Instruction::LocalGet(until),
        Instruction::I32LtU,
        Instruction::BrIf(0),
        Instruction::End,
        Instruction::End,
    ]);
    all
}

fn module(function: Function) -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32], []);
    let mut imports = ImportSection::new();
    let memory = MemoryType { minimum: 0, maximum: None, memory64: false, shared: false, page_size_log2: None };
    imports.import(MEMORY.0, MEMORY.1, EntityType::Memory(memory));
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut exports = ExportSection::new();
    exports.export(FUNCTION, ExportKind::Func, 0);
    let mut code = CodeSection::new();
    code.function(&function);
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&functions).section(&exports).section(&code);
    module.finish()
}

/// Writes instructions; every value has a local of its own.
struct Writer {
    /// What is done once: constants.
    before: Vec<Instruction<'static>>,
    body: Vec<Instruction<'static>>,
    next: u32,
    /// Locals of constants, by their bits.
    numbers: HashMap<u32, u32>,
    /// Locals of what is loaded once.
    once: HashMap<Step, u32>,
}

impl Writer {
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// The result of an instruction on values.
    fn made(&mut self, operands: &[u32], instruction: Instruction<'static>) -> u32 {
        self.body.extend(operands.iter().map(|local| Instruction::LocalGet(*local)));
        self.body.push(instruction);
        self.kept()
    }

    /// The value on the stack.
    fn kept(&mut self) -> u32 {
        let local = self.fresh();
        self.body.push(Instruction::LocalSet(local));
        local
    }

    fn shifted(&mut self, value: u32, by: i32, instruction: Instruction<'static>) -> u32 {
        self.body.extend([Instruction::LocalGet(value), Instruction::I32Const(by), instruction]);
        self.kept()
    }

    fn address(&mut self, which: u32) {
        self.body.extend([Instruction::LocalGet(ADDRESSES + which), Instruction::LocalGet(DONE), Instruction::I32Add]);
    }

    /// The steps of a kernel, for whole vectors or for a single element.
    fn steps(&mut self, code: &Code, single: bool) -> Vec<Instruction<'static>> {
        let mut values: Vec<u32> = Vec::new();
        let addresses = u32::from(code.inputs) + code.outputs.len() as u32;
        for step in &code.steps {
            let at = |id: u16| values[id as usize];
            let value = match *step {
                Step::Input(i) => {
                    self.address(i.into());
                    self.body.push(if single { Instruction::V128Load32Splat(place(0, 2)) } else { Instruction::V128Load(place(0, 2)) });
                    self.kept()
                }
                Step::Same(i) => {
                    self.once(*step, [Instruction::LocalGet(ADDRESSES + u32::from(i)), Instruction::V128Load32Splat(place(0, 2))])
                }
                Step::Constant(i) => {
                    let offset = BYTES * (1 + addresses + u32::from(i));
                    self.once(*step, [Instruction::LocalGet(ARGUMENT), Instruction::V128Load32Splat(place(offset, 2))])
                }
                Step::Unary(f, a) => {
                    let a = at(a);
                    match f {
                        Unary::Neg => self.neg(a),
                        Unary::Abs => self.abs(a),
                        Unary::Sqrt => self.sqrt(a),
                        Unary::Floor => self.floor(a),
                        Unary::Ceil => self.ceil(a),
                        Unary::Trunc => self.trunc(a),
                        Unary::Nearest => self.nearest(a),
                        Unary::Sign => functions::sign(self, a),
                        Unary::Exp => functions::exp(self, a),
                        Unary::Expm1 => functions::expm1(self, a),
                        Unary::Log => functions::log(self, a),
                        Unary::Log1p => functions::log1p(self, a),
                        Unary::Tanh => functions::tanh(self, a),
                        Unary::Sigmoid => functions::sigmoid(self, a),
                        Unary::Erf => functions::erf(self, a),
                    }
                }
                Step::Binary(f, a, b) => {
                    let (a, b) = (at(a), at(b));
                    match f {
                        Binary::Add => self.add(a, b),
                        Binary::Sub => self.sub(a, b),
                        Binary::Mul => self.mul(a, b),
                        Binary::Div => self.div(a, b),
                        Binary::Maximum => functions::maximum(self, a, b),
                        Binary::Minimum => functions::minimum(self, a, b),
                    }
                }
                Step::Test(f, a, b) => {
                    let (a, b) = (at(a), at(b));
                    match f {
                        Test::Lt => self.lt(a, b),
                        Test::Le => self.le(a, b),
                        Test::Eq => self.eq(a, b),
                        Test::Ne => self.ne(a, b),
                    }
                }
                Step::And(a, b) => {
                    let (a, b) = (at(a), at(b));
                    self.and(a, b)
                }
                Step::Or(a, b) => {
                    let (a, b) = (at(a), at(b));
                    self.or(a, b)
                }
                Step::Not(a) => {
                    let a = at(a);
                    self.not(a)
                }
                Step::Select(c, a, b) => {
                    let (c, a, b) = (at(c), at(a), at(b));
                    self.select(c, a, b)
                }
                Step::Number(a) => {
                    // A condition's bits are all ones or all zeros.
                    let (a, one) = (at(a), self.number(1.0));
                    self.made(&[a, one], Instruction::V128And)
                }
            };
            values.push(value);
        }
        for (i, id) in code.outputs.iter().enumerate() {
            self.address(u32::from(code.inputs) + i as u32);
            self.body.push(Instruction::LocalGet(values[*id as usize]));
            self.body.push(match single {
                true => Instruction::V128Store32Lane { memarg: place(0, 2), lane: 0 },
                false => Instruction::V128Store(place(0, 2)),
            });
        }
        std::mem::take(&mut self.body)
    }

    /// A value that is loaded once, before the loops.
    fn once(&mut self, step: Step, instructions: [Instruction<'static>; 2]) -> u32 {
        if let Some(local) = self.once.get(&step) {
            return *local;
        }
        let local = self.fresh();
        self.before.extend(instructions);
        self.before.push(Instruction::LocalSet(local));
        self.once.insert(step, local);
        local
    }
}

impl Lanes for Writer {
    type F = u32;
    type B = u32;
    fn number(&mut self, v: f32) -> u32 {
        if let Some(local) = self.numbers.get(&v.to_bits()) {
            return *local;
        }
        let local = self.fresh();
        let lane = i128::from(v.to_bits());
        self.before.push(Instruction::V128Const(lane | lane << 32 | lane << 64 | lane << 96));
        self.before.push(Instruction::LocalSet(local));
        self.numbers.insert(v.to_bits(), local);
        local
    }
    fn add(&mut self, a: u32, b: u32) -> u32 {
        self.made(&[a, b], Instruction::F32x4Add)
    }
    fn sub(&mut self, a: u32, b: u32) -> u32 {
        self.made(&[a, b], Instruction::F32x4Sub)
    }
    fn mul(&mut self, a: u32, b: u32) -> u32 {
        self.made(&[a, b], Instruction::F32x4Mul)
    }
    fn div(&mut self, a: u32, b: u32) -> u32 {
        self.made(&[a, b], Instruction::F32x4Div)
    }
    fn neg(&mut self, a: u32) -> u32 {
        self.made(&[a], Instruction::F32x4Neg)
    }
    fn abs(&mut self, a: u32) -> u32 {
        self.made(&[a], Instruction::F32x4Abs)
    }
    fn sqrt(&mut self, a: u32) -> u32 {
        self.made(&[a], Instruction::F32x4Sqrt)
    }
    fn floor(&mut self, a: u32) -> u32 {
        self.made(&[a], Instruction::F32x4Floor)
    }
    fn ceil(&mut self, a: u32) -> u32 {
        self.made(&[a], Instruction::F32x4Ceil)
    }
    fn trunc(&mut self, a: u32) -> u32 {
        self.made(&[a], Instruction::F32x4Trunc)
    }
    fn nearest(&mut self, a: u32) -> u32 {
        self.made(&[a], Instruction::F32x4Nearest)
    }
    fn lt(&mut self, a: u32, b: u32) -> u32 {
        self.made(&[a, b], Instruction::F32x4Lt)
    }
    fn le(&mut self, a: u32, b: u32) -> u32 {
        self.made(&[a, b], Instruction::F32x4Le)
    }
    fn eq(&mut self, a: u32, b: u32) -> u32 {
        self.made(&[a, b], Instruction::F32x4Eq)
    }
    fn ne(&mut self, a: u32, b: u32) -> u32 {
        self.made(&[a, b], Instruction::F32x4Ne)
    }
    fn and(&mut self, a: u32, b: u32) -> u32 {
        self.made(&[a, b], Instruction::V128And)
    }
    fn or(&mut self, a: u32, b: u32) -> u32 {
        self.made(&[a, b], Instruction::V128Or)
    }
    fn not(&mut self, a: u32) -> u32 {
        self.made(&[a], Instruction::V128Not)
    }
    fn select(&mut self, c: u32, a: u32, b: u32) -> u32 {
        self.made(&[a, b, c], Instruction::V128Bitselect)
    }
    fn at_least(&mut self, a: u32, b: u32) -> u32 {
        self.made(&[a, b], Instruction::F32x4PMax)
    }
    fn at_most(&mut self, a: u32, b: u32) -> u32 {
        self.made(&[a, b], Instruction::F32x4PMin)
    }
    fn with_sign_of(&mut self, a: u32, b: u32) -> u32 {
        let sign = self.number(-0.0);
        let sign = self.made(&[b, sign], Instruction::V128And);
        self.made(&[a, sign], Instruction::V128Or)
    }
    fn power_of_two(&mut self, n: u32) -> u32 {
        let bias = self.number(f32::from_bits(127));
        let n = self.made(&[n, bias], Instruction::I32x4Add);
        self.shifted(n, 23, Instruction::I32x4Shl)
    }
    fn two_powers(&mut self, n: u32) -> (u32, u32) {
        let whole = self.number(functions::WHOLE);
        let n = self.made(&[n, whole], Instruction::I32x4Sub);
        let part = self.shifted(n, 1, Instruction::I32x4ShrS);
        let rest = self.made(&[n, part], Instruction::I32x4Sub);
        (self.power_of_two(part), self.power_of_two(rest))
    }
    fn frexp(&mut self, a: u32) -> (u32, u32) {
        let exponent = self.shifted(a, 23, Instruction::I32x4ShrU);
        let bias = self.number(f32::from_bits(126));
        let exponent = self.made(&[exponent, bias], Instruction::I32x4Sub);
        let exponent = self.made(&[exponent], Instruction::F32x4ConvertI32x4S);
        let (mask, half) = (self.number(f32::from_bits(0x007f_ffff)), self.number(0.5));
        let mantissa = self.made(&[a, mask], Instruction::V128And);
        (exponent, self.made(&[mantissa, half], Instruction::V128Or))
    }
}
