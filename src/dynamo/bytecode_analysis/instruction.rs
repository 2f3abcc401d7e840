//! What an instruction of the interpreter's bytecode does: which variables it reads and writes, what it takes from the stack and puts
//! there, and where it may go on. Nothing else of the project knows the bytecode itself.

use rustpython_vm::bytecode::{CommonConstant, Instruction, OpArg, RaiseKind, oparg};

/// An operation with its arguments. Instructions that differ only in how they count references are one operation. Variables are slots,
/// names are positions among the code's names, `count`s are numbers of values.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// A constant of the code, by its position.
    LoadConst(u32),
    /// The class `AssertionError`.
    LoadAssertionError,
    /// An integer.
    LoadSmallInt(u32),
    /// A variable.
    LoadFast(u32),
    /// Two variables, the second on top.
    LoadFastPair(u32, u32),
    /// The variable of a comprehension's loop, put aside.
    LoadFastAndClear(u32),
    /// A variable that functions share.
    LoadDeref(u32),
    /// The same in the body of a class.
    LoadFromDictOrDeref(u32),
    /// A variable becomes one that functions share.
    MakeCell(u32),
    /// A variable gets a value.
    StoreFast(u32),
    /// Two variables get values, the first that on top.
    StoreFastPair(u32, u32),
    /// The first gets a value, the second is read.
    StoreFastLoadFast(u32, u32),
    /// A variable that functions share gets a value.
    StoreDeref(u32),
    /// A variable loses its value.
    DeleteFast(u32),
    /// A name of a module's or a class's body.
    LoadName(u32),
    /// A global or a builtin; with an empty place for `self` where it is called.
    LoadGlobal { name: u32, is_called: bool },
    /// An attribute; a method and its object where it is called.
    LoadAttr { name: u32, is_called: bool },
    /// `super().name`, likewise.
    LoadSuperAttr { name: u32, is_called: bool },
    /// `object.name = value`
    StoreAttr(u32),
    /// `container[key] = value`
    StoreSubscr,
    /// A global gets a value.
    StoreGlobal,
    /// `del x.name`
    DeleteAttr,
    /// `del x[i]`
    DeleteSubscr,
    /// An empty place for `self`.
    PushNull,
    /// The value so far below the top once more.
    Copy(u32),
    /// The top and the value so far below it change places.
    Swap(u32),
    /// The top is dropped.
    PopTop,
    /// A tuple or a list of the topmost.
    BuildSequence(u32),
    /// A dictionary of so many pairs.
    BuildMap(u32),
    /// `list.extend(top)`
    ListExtend,
    /// A value for a list so far below.
    ListAppend(u32),
    /// `dictionary.update(top)`
    DictUpdate,
    /// A call with so many arguments.
    Call(u32),
    /// A call with so many arguments, the last of them by names that are on top.
    CallKw(u32),
    /// `f(*args, **kwargs)`
    CallFunctionEx,
    /// One of the interpreter's own functions of the top.
    CallIntrinsic1,
    /// The items of a sequence of so many.
    UnpackSequence(u32),
    /// `x[start:stop]`
    BinarySlice,
    /// Arithmetic, and `x[i]`.
    BinaryOp(oparg::BinaryOperator),
    /// A comparison.
    CompareOp(oparg::ComparisonOperator),
    /// `is`, `is not`
    IsOp { is_negated: bool },
    /// `in`, `not in`
    ContainsOp { is_negated: bool },
    /// The truth of the top.
    ToBool,
    /// `not`
    UnaryNot,
    /// `-x`, `~x`
    UnaryArithmetic,
    /// Jumps where the top is that truth.
    PopJumpIf(bool),
    /// Jumps where the top is `None`, or where it is not.
    PopJumpIfNone(bool),
    /// An iterator of the top.
    GetIter,
    /// The next item, or a jump behind the loop.
    ForIter,
    /// The end of a loop.
    EndFor,
    /// An iterator is dropped.
    PopIter,
    /// On further down.
    JumpForward,
    /// Back to a loop's begin.
    JumpBackward,
    /// The function returns the top.
    ReturnValue,
    /// `raise`; of one exception, without a cause, or otherwise.
    Raise { is_plain: bool },
    /// A handler passes an exception on.
    Reraise,
    /// A function, without its defaults.
    MakeFunction,
    /// Defaults and the like of a function.
    SetFunctionAttribute,
    /// A handler begins.
    PushExcInfo,
    /// `__exit__` is called with an exception.
    WithExceptStart,
    /// Nothing.
    Nop,
    /// What is known by its effect on the stack alone.
    Other,
}

impl Operation {
    fn of(instruction: Instruction, arg: u32) -> Self {
        let pair = || {
            let (first, second) = oparg::VarNums::from_u32(arg).indexes();
            (first.as_u32(), second.as_u32())
        };
        let oparg = OpArg::new(arg);
        let is_called = arg & 1 == 1;
        match instruction {
            Instruction::LoadConst { .. } => Operation::LoadConst(arg),
            Instruction::LoadCommonConstant { .. } if arg == u32::from(CommonConstant::AssertionError.as_u8()) => {
                Operation::LoadAssertionError
            }
            Instruction::LoadSmallInt { .. } => Operation::LoadSmallInt(arg),
            Instruction::LoadFast { .. } | Instruction::LoadFastBorrow { .. } | Instruction::LoadFastCheck { .. } => {
                Operation::LoadFast(arg)
            }
            Instruction::LoadFastLoadFast { .. } | Instruction::LoadFastBorrowLoadFastBorrow { .. } => {
                Operation::LoadFastPair(pair().0, pair().1)
            }
            Instruction::LoadFastAndClear { .. } => Operation::LoadFastAndClear(arg),
            Instruction::LoadDeref { .. } => Operation::LoadDeref(arg),
            Instruction::LoadFromDictOrDeref { .. } => Operation::LoadFromDictOrDeref(arg),
            Instruction::MakeCell { .. } => Operation::MakeCell(arg),
            Instruction::StoreFast { .. } => Operation::StoreFast(arg),
            Instruction::StoreFastStoreFast { .. } => Operation::StoreFastPair(pair().0, pair().1),
            Instruction::StoreFastLoadFast { .. } => Operation::StoreFastLoadFast(pair().0, pair().1),
            Instruction::StoreDeref { .. } => Operation::StoreDeref(arg),
            Instruction::DeleteFast { .. } => Operation::DeleteFast(arg),
            Instruction::LoadName { .. } => Operation::LoadName(arg),
            Instruction::LoadGlobal { .. } => Operation::LoadGlobal { name: arg >> 1, is_called },
            Instruction::LoadAttr { .. } => Operation::LoadAttr { name: arg >> 1, is_called },
            Instruction::LoadSuperAttr { .. } => Operation::LoadSuperAttr { name: arg >> 2, is_called },
            Instruction::StoreAttr { .. } => Operation::StoreAttr(arg),
            Instruction::StoreSubscr => Operation::StoreSubscr,
            Instruction::StoreGlobal { .. } => Operation::StoreGlobal,
            Instruction::DeleteAttr { .. } => Operation::DeleteAttr,
            Instruction::DeleteSubscr => Operation::DeleteSubscr,
            Instruction::PushNull => Operation::PushNull,
            Instruction::Copy { .. } => Operation::Copy(arg),
            Instruction::Swap { .. } => Operation::Swap(arg),
            Instruction::PopTop => Operation::PopTop,
            Instruction::BuildTuple { .. } | Instruction::BuildList { .. } => Operation::BuildSequence(arg),
            Instruction::BuildMap { .. } => Operation::BuildMap(arg),
            Instruction::ListExtend { .. } => Operation::ListExtend,
            Instruction::ListAppend { .. } => Operation::ListAppend(arg),
            Instruction::DictMerge { .. } | Instruction::DictUpdate { .. } => Operation::DictUpdate,
            Instruction::Call { .. } => Operation::Call(arg),
            Instruction::CallKw { .. } => Operation::CallKw(arg),
            Instruction::CallFunctionEx => Operation::CallFunctionEx,
            Instruction::CallIntrinsic1 { .. } => Operation::CallIntrinsic1,
            Instruction::UnpackSequence { .. } => Operation::UnpackSequence(arg),
            Instruction::BinarySlice => Operation::BinarySlice,
            Instruction::BinaryOp { op } => Operation::BinaryOp(op.get(oparg)),
            Instruction::CompareOp { opname } => Operation::CompareOp(opname.get(oparg)),
            Instruction::IsOp { invert } => Operation::IsOp { is_negated: matches!(invert.get(oparg), oparg::Invert::Yes) },
            Instruction::ContainsOp { invert } => Operation::ContainsOp { is_negated: matches!(invert.get(oparg), oparg::Invert::Yes) },
            Instruction::ToBool => Operation::ToBool,
            Instruction::UnaryNot => Operation::UnaryNot,
            Instruction::UnaryNegative | Instruction::UnaryInvert => Operation::UnaryArithmetic,
            Instruction::PopJumpIfTrue { .. } => Operation::PopJumpIf(true),
            Instruction::PopJumpIfFalse { .. } => Operation::PopJumpIf(false),
            Instruction::PopJumpIfNone { .. } => Operation::PopJumpIfNone(true),
            Instruction::PopJumpIfNotNone { .. } => Operation::PopJumpIfNone(false),
            Instruction::GetIter => Operation::GetIter,
            Instruction::ForIter { .. } => Operation::ForIter,
            Instruction::EndFor => Operation::EndFor,
            Instruction::PopIter => Operation::PopIter,
            Instruction::JumpForward { .. } => Operation::JumpForward,
            Instruction::JumpBackward { .. } | Instruction::JumpBackwardNoInterrupt { .. } => Operation::JumpBackward,
            Instruction::ReturnValue => Operation::ReturnValue,
            Instruction::RaiseVarargs { .. } => Operation::Raise { is_plain: arg == u32::from(RaiseKind::Raise.as_u8()) },
            Instruction::Reraise { .. } => Operation::Reraise,
            Instruction::MakeFunction => Operation::MakeFunction,
            Instruction::SetFunctionAttribute { .. } => Operation::SetFunctionAttribute,
            Instruction::PushExcInfo => Operation::PushExcInfo,
            Instruction::WithExceptStart => Operation::WithExceptStart,
            Instruction::Nop | Instruction::NotTaken => Operation::Nop,
            _ => Operation::Other,
        }
    }

    /// The variables that it reads, in the order in which it pushes them.
    pub fn reads(self) -> Vec<u32> {
        match self {
            Operation::LoadFast(slot)
            | Operation::LoadFastAndClear(slot)
            | Operation::LoadDeref(slot)
            | Operation::LoadFromDictOrDeref(slot)
            | Operation::MakeCell(slot) => vec![slot],
            Operation::LoadFastPair(first, second) => vec![first, second],
            // Stored first, and read again.
            Operation::StoreFastLoadFast(stored, read) if stored != read => vec![read],
            _ => Vec::new(),
        }
    }

    /// The variables of the function's own that it writes, or takes away.
    pub fn writes(self) -> Vec<u32> {
        match self {
            Operation::StoreFast(slot) | Operation::DeleteFast(slot) | Operation::StoreFastLoadFast(slot, _) => vec![slot],
            Operation::StoreFastPair(first, second) => vec![first, second],
            _ => Vec::new(),
        }
    }

    /// Whether what stands behind it does not come after it.
    pub fn leaves(self) -> bool {
        matches!(
            self,
            Operation::ReturnValue | Operation::Raise { .. } | Operation::Reraise | Operation::JumpForward | Operation::JumpBackward
        )
    }

    /// Whether the topmost value that it gives is an empty place for `self`.
    pub fn gives_empty_place(self) -> bool {
        match self {
            Operation::PushNull => true,
            Operation::LoadGlobal { is_called, .. }
            | Operation::LoadAttr { is_called, .. }
            | Operation::LoadSuperAttr { is_called, .. } => is_called,
            _ => false,
        }
    }

    /// The position of the attribute, global or name that it loads.
    pub fn name(self) -> Option<u32> {
        match self {
            Operation::LoadAttr { name, .. } | Operation::LoadGlobal { name, .. } | Operation::LoadName(name) => Some(name),
            _ => None,
        }
    }
}

/// One instruction, its argument's words put together.
#[derive(Clone, Copy)]
pub struct Step {
    /// Where it stands.
    pub at: u32,
    /// What it does.
    pub op: Operation,
    /// How many values it takes from the stack.
    pub popped: usize,
    /// How many it puts there.
    pub pushed: usize,
    /// Where the next one stands.
    pub next: u32,
    /// Where it may jump to.
    pub target: Option<u32>,
    /// The line that it was made of.
    pub line: usize,
}

/// The word at a place that goes before an instruction: more of its argument.
pub fn extends(instruction: Instruction) -> bool {
    matches!(instruction, Instruction::ExtendedArg)
}

impl Step {
    /// Reads an instruction without the interpreter's shortcuts.
    pub fn of(instruction: Instruction, arg: u32, at: u32, line: usize) -> Self {
        let next = at + 1 + instruction.cache_entries() as u32;
        let op = Operation::of(instruction, arg);
        let target = match op {
            Operation::JumpBackward => Some(next.saturating_sub(arg)),
            _ => instruction.has_jump().then_some(next + arg),
        };
        let effect = instruction.stack_effect_info(arg);
        Step { at, op, popped: effect.popped() as usize, pushed: effect.pushed() as usize, next, target, line }
    }
}
