//! The bytecode of a function as far as capture reads it: which locals live on after an instruction, whether a loop is left open,
//! and where comprehensions stand.
//!
//! PyTorch's Dynamo asks the same of CPython's bytecode when a graph breaks: what is dead is no output of the graph, and a
//! frame whose graph breaks inside a loop is not captured at all.

pub(super) mod decoded;
pub(super) mod instruction;
mod stack;

use instruction::{Operation, Step};
use stack::Stack;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use rustpython_vm::builtins::PyCode;
use rustpython_vm::bytecode::{CodeFlags, find_exception_handler, oparg};

/// The decoded code of a function.
pub struct Code {
    /// Its instructions in order.
    pub steps: Vec<Step>,
    index: HashMap<u32, usize>,
    /// How many slots there are.
    slots: usize,
    /// Per instruction, the slots whose values are read later on.
    live: Vec<OnceCell<Vec<u64>>>,
    /// Per instruction, where exceptions that it raises are handled.
    handlers: Vec<Option<usize>>,
    /// Per instruction, the stack before it.
    stacks: OnceCell<Vec<Option<Stack>>>,
    /// Where comprehensions begin and end, those within others left out.
    comprehensions: Vec<(u32, u32)>,
}

/// The variable of a comprehension's loop that an instruction puts aside.
fn loop_variable(step: &Step) -> Option<u32> {
    match step.op {
        Operation::LoadFastAndClear(slot) => Some(slot),
        _ => None,
    }
}

/// The attribute, global or name that an instruction loads.
fn named<'a>(step: &Step, code: &'a PyCode) -> Option<&'a rustpython_vm::builtins::PyStrInterned> {
    code.names.get(step.op.name()? as usize).copied()
}

impl Code {
    /// Decodes a function's code.
    pub fn new(code: &PyCode) -> Rc<Self> {
        let units = &code.instructions;
        let mut steps = Vec::new();
        // Words that an instruction begins with where its argument is large: what goes on or jumps there goes on with it.
        let mut index = HashMap::new();
        let (mut at, mut extended) = (0, 0);
        while at < units.len() {
            let op = units.read_op(at).deoptimize();
            let arg = extended << 8 | u32::from(u8::from(units.read_arg(at)));
            index.insert(at as u32, steps.len());
            if instruction::extends(op) {
                extended = arg;
                at += 1;
                continue;
            }
            extended = 0;
            let line = code.locations.get(at).map_or(0, |(start, _)| start.line.get());
            let step = Step::of(op, arg, at as u32, line);
            steps.push(step);
            at = step.next as usize;
        }
        let slots = code.localspluskinds.len();
        let live = steps.iter().map(|_| OnceCell::new()).collect();
        let handler = |s: &Step| index.get(&find_exception_handler(&code.exceptiontable, s.at)?.target).copied();
        let handlers = steps.iter().map(handler).collect();
        let mut decoded = Code { steps, index, slots, live, handlers, stacks: OnceCell::new(), comprehensions: Vec::new() };
        decoded.comprehensions = decoded.find_comprehensions();
        Rc::new(decoded)
    }

    /// Whether an instruction is one that others jump to.
    pub fn jumps_to(&self, at: u32) -> bool {
        self.steps.iter().any(|s| s.target == Some(at))
    }

    /// The comprehension that an instruction stands in: where it begins and ends.
    pub fn comprehension(&self, at: u32) -> Option<(u32, u32)> {
        self.comprehensions.iter().find(|(begin, end)| (*begin..=*end).contains(&at)).copied()
    }

    /// Variables of the function's that a comprehension reads, which begins there: to CPython's older bytecode those are cells.
    pub fn enclosed(&self, begin: u32) -> Vec<u32> {
        let Some((_, end)) = self.comprehension(begin) else { return Vec::new() };
        let inside = || self.steps.iter().filter(|s| (begin..=end).contains(&s.at));
        let own: Vec<u32> = inside().filter_map(loop_variable).collect();
        let mut read: Vec<u32> = inside().flat_map(|s| s.op.reads()).filter(|slot| !own.contains(slot)).collect();
        read.sort_unstable();
        read.dedup();
        read
    }

    /// Whether a comprehension reads a variable of the function's.
    pub fn is_enclosed(&self, slot: u32) -> bool {
        self.comprehensions.iter().any(|(begin, _)| self.enclosed(*begin).contains(&slot))
    }

    /// Comprehensions put the variables of their loops aside first, and put them back behind the outermost loop.
    fn find_comprehensions(&self) -> Vec<(u32, u32)> {
        let mut found: Vec<(u32, u32)> = Vec::new();
        let is_begin = |s: &Step| loop_variable(s).is_some();
        for (i, step) in self.steps.iter().enumerate().filter(|(_, s)| is_begin(s)) {
            if found.last().is_some_and(|(_, end)| step.at <= *end) {
                continue;
            }
            let variables = self.steps[i..].iter().take_while(|s| is_begin(s)).count();
            let loops = self.steps[i..].iter().find(|s| matches!(s.op, Operation::ForIter));
            let Some(exit) = loops.and_then(|s| s.target).and_then(|t| self.index.get(&t)) else { continue };
            let stores = |op: Operation| match op {
                Operation::StoreFast(_) => 1,
                Operation::StoreFastPair(..) => 2,
                _ => 0,
            };
            let mut left = variables;
            let last = self.steps[*exit..].iter().find(|s| {
                left = left.saturating_sub(stores(s.op));
                left == 0
            });
            found.extend(last.map(|last| (step.at, last.at)));
        }
        found
    }

    /// The position of the instruction that stands at or around a place.
    pub fn position(&self, at: u32) -> Option<usize> {
        self.index.get(&at).copied().or_else(|| self.steps.iter().rposition(|s| s.at <= at))
    }

    /// Positions that may come after an instruction.
    pub fn successors(&self, i: usize) -> Vec<usize> {
        let step = &self.steps[i];
        let mut after = Vec::new();
        if !step.op.leaves() {
            after.extend(self.index.get(&step.next));
        }
        after.extend(step.target.and_then(|t| self.index.get(&t)));
        after
    }

    /// Whether what comes after an instruction, exceptions among it, may come to another.
    pub fn leads_to(&self, from: usize, to: usize) -> bool {
        let (mut seen, mut open) = (vec![false; self.steps.len()], vec![from]);
        while let Some(i) = open.pop() {
            if i == to {
                return true;
            }
            if !std::mem::replace(&mut seen[i], true) {
                open.extend(self.successors(i).into_iter().chain(self.handlers[i]));
            }
        }
        false
    }

    /// Where the code ends that begins with an instruction and runs before another does for the last time: there, or where a loop ends
    /// that has begun since.
    pub fn end_since(&self, from: usize, to: usize) -> u32 {
        let (begin, at) = (self.steps[from].at, self.steps[to].at);
        let repeats = |s: &&Step| s.target.is_some_and(|head| (begin..=at).contains(&head) && head < s.at);
        self.steps.iter().filter(repeats).map(|s| s.at).fold(at, u32::max)
    }

    /// Whether an instruction raises for an assertion that Dynamo recognizes: behind the only jump that leads there, with a constant as
    /// message or without one.
    pub fn raises_for_assertion(&self, position: usize) -> bool {
        let before: Vec<usize> = (0..position).rev().filter(|i| !matches!(self.steps[*i].op, Operation::Nop)).take(4).collect();
        let op = |i: usize| before.get(i).map(|i| self.steps[*i].op);
        let error = match (op(0), op(1)) {
            (Some(Operation::LoadAssertionError), _) => 0,
            (Some(Operation::Call(_)), Some(Operation::LoadConst(_))) if matches!(op(2), Some(Operation::LoadAssertionError)) => 2,
            _ => return false,
        };
        let place = self.steps[before[error]].at;
        matches!(op(error + 1), Some(Operation::PopJumpIf(true))) && self.steps.iter().all(|s| s.target != Some(place))
    }

    /// Slots whose values may be read from an instruction on, as Dynamo's `livevars_analysis` finds them: what is written before the first
    /// jump is not read of what was there before; behind that everything is that is read anywhere, though it be written first.
    fn live_from(&self, position: usize) -> Vec<u64> {
        let mut live = vec![0u64; self.slots.div_ceil(64).max(1)];
        let mut written = live.clone();
        let mut seen = vec![false; self.steps.len()];
        let mut open = Vec::new();
        for i in position..self.steps.len() {
            self.note_reads(i, &written, &mut live);
            for slot in self.accessed(i).1 {
                written[slot as usize / 64] |= 1 << (slot % 64);
            }
            open.extend(self.handlers[i]);
            let jumps = self.steps[i].target.is_some();
            let ends = jumps || self.steps[i].op.leaves();
            if ends {
                open.extend(self.successors(i));
            }
            while let Some(next) = open.pop() {
                if !std::mem::replace(&mut seen[next], true) {
                    self.note_reads(next, &written, &mut live);
                    open.extend(self.successors(next));
                    open.extend(self.handlers[next]);
                }
            }
            if ends {
                break;
            }
        }
        live
    }

    /// Adds what an instruction reads of the values that were there, `written` being what was put in their place.
    fn note_reads(&self, i: usize, written: &[u64], live: &mut [u64]) {
        for slot in self.accessed(i).0 {
            let (word, bit) = (slot as usize / 64, 1 << (slot % 64));
            live[word] |= bit & !written[word];
        }
    }

    /// The slots that an instruction reads and writes; to delete one is to read it. The variables of a comprehension's loops are its own.
    fn accessed(&self, i: usize) -> (Vec<u32>, Vec<u32>) {
        let step = &self.steps[i];
        let (mut read, mut written) = match step.op {
            Operation::DeleteFast(slot) => (vec![slot], Vec::new()),
            op => (op.reads(), op.writes()),
        };
        if let Some((begin, end)) = self.comprehension(step.at) {
            let inside = self.steps.iter().filter(|s| (begin..=end).contains(&s.at));
            let own: Vec<u32> = inside.filter_map(loop_variable).collect();
            read.retain(|slot| !own.contains(slot));
            written.retain(|slot| !own.contains(slot));
        }
        (read, written)
    }

    /// Whether a slot's value may be read at an instruction or after it.
    pub fn is_live(&self, position: usize, slot: usize) -> bool {
        let Some(cell) = self.live.get(position) else { return true };
        cell.get_or_init(|| self.live_from(position)).get(slot / 64).is_some_and(|w| w & (1 << (slot % 64)) != 0)
    }

    /// Slots whose values are operands of what is evaluated when an instruction is done.
    pub fn operands(&self, position: usize) -> Vec<u32> {
        self.stack(position).map_or_else(Vec::new, |s| stack::left(&self.steps[position], s))
    }

    /// How many values, and places for missing ones, are on the stack before an instruction, and how many of them it takes.
    pub fn height(&self, position: usize) -> Option<(usize, usize)> {
        self.stack(position).map(|s| (s.len(), self.steps[position].popped))
    }

    /// How many values of expressions under way lie below what an instruction gives.
    pub fn below(&self, position: usize) -> usize {
        self.stack(position).map_or(0, |s| stack::below(&self.steps[position], s))
    }

    /// Whether what one instruction gives is held while another runs, which comes later.
    pub fn holds(&self, from: usize, to: usize) -> bool {
        stack::is_held(&self.steps, self.stacks(), (from, to))
    }

    /// Whether what an instruction gives is put into a variable, which still has it at another and lives on.
    pub fn keeps(&self, from: usize, to: usize) -> bool {
        let Some(slot) = self.steps.get(from + 1).and_then(|s| s.op.writes().first().copied()) else { return false };
        let is_set = |s: &Step| s.op.writes().contains(&slot);
        from + 1 < to && !self.steps[from + 2..to].iter().any(is_set) && self.is_live(to, slot as usize)
    }

    fn stack(&self, position: usize) -> Option<&Stack> {
        self.stacks().get(position)?.as_ref()
    }

    fn stacks(&self) -> &[Option<Stack>] {
        self.stacks.get_or_init(|| stack::stacks(&self.steps, |i| self.successors(i)))
    }

    /// Names of attributes that are stored, in the order in which that stands in the code.
    pub fn stored_attributes(&self, code: &PyCode) -> Vec<&'static str> {
        let stored = |s: &Step| match s.op {
            Operation::StoreAttr(name) => Some(code.names.get(name as usize)?.as_str()),
            _ => None,
        };
        self.steps.iter().filter_map(stored).collect()
    }

    /// Whether Dynamo makes a resume function behind an instruction at which a graph breaks.
    pub fn resumes(&self, position: usize) -> bool {
        let decides = |s: &Step| matches!(s.op, Operation::PopJumpIf(_));
        match self.steps[position].op {
            Operation::BinaryOp(op) => matches!(op, oparg::BinaryOperator::Subscr),
            Operation::ToBool => self.steps.get(position + 1).is_some_and(decides),
            Operation::Call(0) => !self.enters_block(position),
            Operation::LoadAttr { .. }
            | Operation::LoadSuperAttr { .. }
            | Operation::IsOp { .. }
            | Operation::ContainsOp { .. }
            | Operation::UnaryNot
            | Operation::UnaryArithmetic
            | Operation::GetIter
            | Operation::UnpackSequence(_)
            | Operation::ListExtend
            | Operation::DictUpdate => false,
            _ => true,
        }
    }

    /// Whether an instruction is the call that begins the block of a context manager, whose methods it has looked up before.
    pub fn enters_block(&self, position: usize) -> bool {
        use Operation::{Call, Copy, Swap};
        let Some(steps) = position.checked_sub(5).and_then(|begin| self.steps.get(begin..=position)) else { return false };
        matches!((steps[0].op, steps[2].op, steps[3].op, steps[5].op), (Copy(1), Swap(2), Swap(3), Call(0)))
    }

    /// Whether an instruction is a jump on a truth, or asks for it.
    pub fn decides(&self, position: usize) -> bool {
        matches!(self.steps[position].op, Operation::ToBool | Operation::PopJumpIf(_))
    }

    /// Whether an instruction stands in a loop that goes on after it. The condition of a `while` does not count: CPython 3.11, whose
    /// bytecode PyTorch's Dynamo reads, repeats it at the loop's end.
    pub fn is_in_loop(&self, position: usize) -> bool {
        let at = self.steps[position].at;
        let body = self.after_jump(position);
        if body.is_some_and(|body| self.leaves_loop(body)) {
            return true;
        }
        for (i, step) in self.steps.iter().enumerate().skip(body.unwrap_or(position + 1)) {
            if matches!(step.op, Operation::ReturnValue) {
                if self.is_copied_exit(i, at) {
                    continue;
                }
                return false;
            }
            let Some(head) = step.target.filter(|t| *t <= at && *t < step.at) else { continue };
            let Some(head) = self.index.get(&head).copied() else { continue };
            if matches!(self.steps[head].op, Operation::ForIter) {
                return true;
            }
            let condition = (head..i).find(|j| self.steps[*j].target.is_some_and(|t| t > step.at));
            if condition.is_none_or(|c| position > c) {
                return true;
            }
        }
        false
    }

    /// Where the body of an `if` begins whose condition ends at an instruction, and that goes on with the loop otherwise: to older
    /// bytecode that is one jump.
    fn after_jump(&self, position: usize) -> Option<usize> {
        let tests = |s: &Step| matches!(s.op, Operation::CompareOp(_) | Operation::ToBool);
        let jump = (position..self.steps.len()).find(|i| !tests(&self.steps[*i]))?;
        let is_jump = matches!(self.steps[jump].op, Operation::PopJumpIf(_));
        let next = (jump + 1..self.steps.len()).find(|i| !matches!(self.steps[*i].op, Operation::Nop))?;
        let goes_back = is_jump && matches!(self.steps[next].op, Operation::JumpBackward);
        (goes_back && !self.repeats_condition(next)).then_some(next + 1)
    }

    /// Whether the body of an `if` ends in `break`: in older bytecode the jump back follows it. A `break` takes the iterator off, or does
    /// nothing, in a line of its own; what it leads to is copied behind it.
    fn leaves_loop(&self, body: usize) -> bool {
        let line = |i: usize| self.steps.get(i).map(|s| s.line);
        let end = (body..self.steps.len()).find(|i| matches!(self.steps[*i].op, Operation::ReturnValue)).unwrap_or(self.steps.len());
        let is_alone = |i: &usize| line(*i) != line(i - 1) && line(*i) != line(i + 1);
        (body..end).any(|i| matches!(self.steps[i].op, Operation::PopTop | Operation::Nop) && is_alone(&i))
    }

    /// Whether a jump goes back to the condition of a `while`, which older bytecode has in its place once more.
    fn repeats_condition(&self, jump: usize) -> bool {
        let Some(head) = self.steps[jump].target.and_then(|t| self.index.get(&t).copied()) else { return false };
        let leaves = |s: &Step| s.target.is_some_and(|t| t > self.steps[jump].at);
        let Some(condition) = self.steps[head..jump].iter().position(leaves) else { return false };
        let line = self.steps[head].line;
        !matches!(self.steps[head].op, Operation::ForIter) && self.steps[head..=head + condition].iter().all(|s| s.line == line)
    }

    /// Whether a `return` inside a loop is a copy of the one behind it, where `break` leads: lines above it follow in the loop.
    fn is_copied_exit(&self, exit: usize, at: u32) -> bool {
        // What handles exceptions stands behind the function, and jumps back into it.
        let rest = &self.steps[exit + 1..];
        let rest = &rest[..rest.iter().position(|s| matches!(s.op, Operation::PushExcInfo)).unwrap_or(rest.len())];
        let goes_back = |s: &Step| s.target.is_some_and(|t| t <= at && t < s.at);
        let line = self.steps[exit].line;
        rest.iter().position(goes_back).is_some_and(|end| rest[..end].iter().any(|s| s.line > 0 && s.line < line))
    }

    /// Whether what stands behind an instruction names `autograd.grad`.
    pub fn asks_for_gradients(&self, position: usize, code: &PyCode) -> bool {
        let after = self.steps.get(position + 1..).unwrap_or_default();
        let is_named = |step: &Step, name: &str| named(step, code).is_some_and(|n| n.as_str() == name);
        after.windows(2).any(|pair| is_named(&pair[0], "autograd") && is_named(&pair[1], "grad"))
    }

    /// The globals that stand behind an instruction.
    pub fn globals_after<'a>(&self, position: usize, code: &'a PyCode) -> Vec<&'a rustpython_vm::builtins::PyStrInterned> {
        let after = self.steps.get(position + 1..).unwrap_or_default();
        after.iter().filter(|step| matches!(step.op, Operation::LoadGlobal { .. })).filter_map(|step| named(step, code)).collect()
    }

    /// Whether the result of a comparison is what one of these functions is called with, which its code names before: at once, or each
    /// time that the variable is read which it is stored in.
    pub fn is_argument_of(&self, position: usize, code: &PyCode, functions: &[&str]) -> bool {
        if !self.steps.get(position).is_some_and(|step| matches!(step.op, Operation::CompareOp(_))) {
            return false;
        }
        let Some(Operation::StoreFast(slot)) = self.steps.get(position + 1).map(|step| step.op) else {
            return self.is_first_argument(position, code, functions);
        };
        let mut reads =
            (position + 2..self.steps.len()).filter(|i| matches!(self.steps[*i].op, Operation::LoadFast(s) if s == slot)).peekable();
        reads.peek().is_some() && reads.all(|read| self.is_first_argument(read, code, functions))
    }

    /// Whether what a step gives is the first argument of a call of one of these functions.
    fn is_first_argument(&self, position: usize, code: &PyCode, functions: &[&str]) -> bool {
        // What is loaded in between is the message, or what is chosen from.
        let is_loaded = |step: &&Step| {
            matches!(
                step.op,
                Operation::LoadConst(_)
                    | Operation::LoadFast(_)
                    | Operation::LoadFastPair(..)
                    | Operation::LoadDeref(_)
                    | Operation::LoadAttr { is_called: false, .. }
                    | Operation::LoadGlobal { .. }
                    | Operation::BinaryOp(_)
                    | Operation::CompareOp(_)
                    | Operation::BuildSequence(_)
                    | Operation::MakeFunction
                    | Operation::SetFunctionAttribute
            )
        };
        let call = self.steps[position + 1..].iter().find(|step| !is_loaded(step));
        let is_called = call.is_some_and(|step| matches!(step.op, Operation::Call(_) | Operation::CallKw(_)));
        let ends = |step: &&Step| !matches!(step.op, Operation::PopTop | Operation::StoreFast(_));
        let mut before = self.steps[..position].iter().rev().take_while(ends);
        is_called && before.any(|step| named(step, code).is_some_and(|name| functions.contains(&name.as_str())))
    }

    /// Whether an instruction is a comparison whose result nothing decides by at once.
    pub fn compares_for_later(&self, position: usize) -> bool {
        let takes_value = |op: &Operation| match op {
            Operation::BinaryOp(operator) => !matches!(operator, oparg::BinaryOperator::Subscr),
            Operation::BuildSequence(_) | Operation::BuildMap(_) | Operation::Call(_) | Operation::CallKw(_) => true,
            Operation::ReturnValue | Operation::StoreFast(_) | Operation::StoreAttr(_) => true,
            Operation::LoadFast(_) | Operation::LoadFastPair(..) | Operation::LoadConst(_) | Operation::LoadSmallInt(_) => true,
            Operation::LoadGlobal { .. } | Operation::LoadDeref(_) | Operation::PushNull => true,
            _ => false,
        };
        matches!(self.steps[position].op, Operation::CompareOp(_)) && self.steps.get(position + 1).is_some_and(|s| takes_value(&s.op))
    }

    /// Whether something may read the result of an instruction: it is not dropped, nor stored in a variable that nothing reads.
    pub fn keeps_result(&self, position: usize) -> bool {
        match self.steps.get(position + 1).map(|step| step.op) {
            Some(Operation::PopTop) => false,
            Some(Operation::StoreFast(slot)) => self.is_live(position + 2, slot as usize),
            _ => true,
        }
    }

    /// Whether the result of an instruction is stored in an object, a container, a global or an outer function's variable.
    pub fn stores_result(&self, position: usize) -> bool {
        let after = self.steps[position + 1..].iter().find(|s| !matches!(s.op, Operation::Swap(_) | Operation::Copy(_)));
        after.is_some_and(|s| {
            matches!(s.op, Operation::StoreAttr(_) | Operation::StoreSubscr | Operation::StoreGlobal | Operation::StoreDeref(_))
        })
    }
}

/// The positions of `*args` and of `**kwargs` among a function's variables, where it has them.
pub fn rest_variables(code: &PyCode) -> [Option<usize>; 2] {
    let has = |flag| code.flags.contains(flag);
    let first = (code.arg_count + code.kwonlyarg_count) as usize;
    let (more, keywords) = (has(CodeFlags::VARARGS), has(CodeFlags::VARKEYWORDS));
    [more.then_some(first), keywords.then_some(first + usize::from(more))]
}
