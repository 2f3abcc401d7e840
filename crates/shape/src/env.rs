//! `ShapeEnv`: the symbols of one compilation, what is known of them, and the guards that comparisons installed.

use super::validation_log::ValidationLog;
use super::{Expr, FloatExpr, Relation, SymFloat, SymInt, Symbol};
use diagnostics::error::{Error, ErrorKind, Result};
use diagnostics::source::Source;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// A condition on sizes that the compiled code relies on.
#[derive(Clone, Debug)]
pub struct ShapeGuard {
    /// Left side.
    pub left: Expr,
    /// How the sides relate.
    pub relation: Relation,
    /// Right side.
    pub right: Expr,
    /// Where several numbers were compared at once: the pairs that are all equal, or (`Ne`) not all. The sides then say the same: whether
    /// the distances add up to zero.
    pub pairs: Vec<(Expr, Expr)>,
    /// The script's line that asked.
    pub source: Option<Source>,
}

impl ShapeGuard {
    /// As Python, with the sides as `side` writes them.
    pub fn in_python(&self, side: &dyn Fn(&Expr) -> String) -> String {
        if self.pairs.is_empty() {
            return format!("{} {} {}", side(&self.left), self.relation.text(), side(&self.right));
        }
        let equal: Vec<String> = self.pairs.iter().map(|(a, b)| format!("{} == {}", side(a), side(b))).collect();
        let all = equal.join(" and ");
        if self.relation == Relation::Ne { format!("not ({all})") } else { all }
    }

    /// The sides and how they relate, turned where a number stands first: PyTorch writes it last.
    pub fn number_last(&self) -> (&Expr, Relation, &Expr) {
        match (self.left.as_int(), self.right.as_int()) {
            (Some(_), None) => (&self.right, self.relation.flipped(), &self.left),
            _ => (&self.left, self.relation, &self.right),
        }
    }
}

/// A condition on floats that the compiled code relies on.
#[derive(Clone, Debug)]
pub struct FloatGuard {
    /// Left side.
    pub left: Rc<FloatExpr>,
    /// How the sides relate.
    pub relation: Relation,
    /// Right side.
    pub right: Rc<FloatExpr>,
    /// The script's line that asked.
    pub source: Option<Source>,
}

/// A float of the call.
struct Float {
    origin: String,
    /// None for one that is known only when the program runs.
    hint: Option<f64>,
    /// Whether something needed the number.
    is_number: bool,
    /// Whether AOTAutograd wants the graph traced again with the number.
    restarts: bool,
}

/// What is known of a symbol. `upper` of `i64::MAX` stands for no bound.
#[derive(Clone, Debug)]
pub struct SymbolInfo {
    /// Where it comes from: `L['x'].size()[0]`.
    pub origin: String,
    /// Its value in the call being compiled; `None` for an unbacked symbol.
    pub hint: Option<i64>,
    /// Smallest value; `i64::MIN` stands for no bound.
    pub lower: i64,
    /// Largest value.
    pub upper: i64,
}

#[derive(Default)]
pub(super) struct Inner {
    pub(super) symbols: BTreeMap<Symbol, SymbolInfo>,
    /// Symbols in the order in which they were made.
    created: Vec<Symbol>,
    /// Whether operators do not ask if sizes are zero or one (`backed_size_oblivious`).
    size_oblivious: bool,
    /// Those that were above zero from the beginning: sizes.
    positive: BTreeSet<Symbol>,
    pub(super) replacements: BTreeMap<Symbol, Expr>,
    pub(super) guards: Vec<ShapeGuard>,
    /// What translation validation asks for.
    pub(super) log: ValidationLog,
    /// What holds of differences, without their numbers: by guards, and by conditions that the graph checks. The number and the relation
    /// to zero of the whole.
    pub(super) holding: HashMap<Expr, Vec<(i64, Relation)>>,
    floats: BTreeMap<Symbol, Float>,
    /// Floats that are no symbols any more.
    former_floats: BTreeMap<Symbol, f64>,
    float_guards: Vec<FloatGuard>,
    /// Numbers that are known to divide symbols.
    pub(super) divisors: BTreeMap<Symbol, i64>,
    unbacked: u32,
    unbacked_floats: u32,
    /// Numbers that were known only when the program ran.
    learned: HashMap<Expr, i64>,
    learned_floats: Vec<(Rc<FloatExpr>, f64)>,
    learned_conditions: Vec<(String, bool)>,
    settled: bool,
    /// What the script computed and compared in what it stated of numbers that only a run knows, by the names of Python's operators.
    stated: Vec<Rc<str>>,
    /// What operators rely on, until a graph checks it.
    deferred: Vec<(SymInt, Relation, SymInt)>,
    /// What the symbols are in the graph that follows this one.
    successors: Option<HashMap<Symbol, SymInt>>,
}

/// The symbols of one compilation. Cloning shares.
#[derive(Clone, Default)]
pub struct ShapeEnv(pub(super) Rc<RefCell<Inner>>);

impl std::fmt::Debug for ShapeEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ShapeEnv")
    }
}

impl ShapeEnv {
    /// A new symbol of the given name.
    pub fn symbol(&self, name: &str, info: SymbolInfo) -> SymInt {
        let symbol = Symbol(name.into());
        let mut inner = self.0.borrow_mut();
        if info.lower >= 1 {
            inner.positive.insert(symbol.clone());
        }
        if inner.symbols.insert(symbol.clone(), info).is_none() {
            inner.created.push(symbol.clone());
        }
        drop(inner);
        SymInt::Sym(Expr::symbol(symbol), self.clone())
    }

    /// A new unbacked symbol: an integer known only when the program runs, `lower` at least (`i64::MIN`: any).
    pub fn unbacked(&self, origin: &str, lower: i64) -> SymInt {
        let name = {
            let mut inner = self.0.borrow_mut();
            inner.unbacked += 1;
            format!("u{}", inner.unbacked - 1)
        };
        self.symbol(&name, SymbolInfo { origin: origin.to_owned(), hint: None, lower, upper: i64::MAX })
    }

    /// A symbol that was made elsewhere, such as that of a program in a file. Unbacked symbols that are made here later have other names.
    pub fn declare(&self, name: &str, info: SymbolInfo) -> SymInt {
        if let Some(number) = name.strip_prefix('u').and_then(|n| n.parse::<u32>().ok()) {
            let mut inner = self.0.borrow_mut();
            inner.unbacked = inner.unbacked.max(number.saturating_add(1));
        }
        self.symbol(name, info)
    }

    /// A new unbacked symbol for a size of an input.
    pub fn unbacked_input(&self, origin: &str, lower: i64, upper: i64) -> SymInt {
        let size = self.unbacked(origin, lower);
        if let Some(symbol) = size.expr().as_symbol()
            && let Some(info) = self.0.borrow_mut().symbols.get_mut(symbol)
        {
            info.upper = upper;
        }
        size
    }

    /// A new unbacked symbol for a size that values decide, `most` at most.
    pub fn unbacked_size(&self, most: Option<i64>) -> SymInt {
        self.unbacked_input("size", 0, most.unwrap_or(i64::MAX))
    }

    /// A new unbacked symbol: a float known only when the program runs.
    pub fn unbacked_float(&self, origin: &str) -> SymFloat {
        let name = {
            let mut inner = self.0.borrow_mut();
            inner.unbacked_floats += 1;
            format!("zuf{}", inner.unbacked_floats - 1)
        };
        self.add_float(&name, origin.to_owned(), None)
    }

    /// A symbol for a float of the call.
    pub fn float_symbol(&self, name: &str, origin: String, hint: f64) -> SymFloat {
        self.add_float(name, origin, Some(hint))
    }

    fn add_float(&self, name: &str, origin: String, hint: Option<f64>) -> SymFloat {
        let symbol = Symbol(name.into());
        self.0.borrow_mut().floats.insert(symbol.clone(), Float { origin, hint, is_number: false, restarts: false });
        SymFloat { expr: Rc::new(FloatExpr::Symbol(symbol)), env: self.clone() }
    }

    /// The program ran: an integer that was not known is.
    pub fn learn(&self, expr: &Expr, value: i64) {
        let simple = self.simplify(expr);
        let mut inner = self.0.borrow_mut();
        inner.learned.insert(expr.clone(), value);
        inner.learned.insert(simple, value);
    }

    /// The program ran: a float that was not known is.
    pub fn learn_float(&self, expr: &Rc<FloatExpr>, value: f64) {
        self.0.borrow_mut().learned_floats.push((expr.clone(), value));
    }

    /// The program ran: a condition, as it prints, that was not known is.
    pub fn learn_condition(&self, condition: String, holds: bool) {
        self.0.borrow_mut().learned_conditions.push((condition, holds));
    }

    /// A condition that was known only when the program ran.
    pub fn learned_condition(&self, condition: &str) -> Option<bool> {
        self.0.borrow().learned_conditions.iter().find(|(known, _)| known == condition).map(|(_, holds)| *holds)
    }

    /// A float that was known only when the program ran.
    pub fn learned_float(&self, expr: &Rc<FloatExpr>) -> Option<f64> {
        self.0.borrow().learned_floats.iter().find(|(e, _)| e == expr).map(|(_, value)| *value)
    }

    /// The value of a float in the call being compiled.
    pub fn float(&self, symbol: &Symbol) -> Option<f64> {
        let inner = self.0.borrow();
        inner.floats.get(symbol).and_then(|f| f.hint).or_else(|| inner.former_floats.get(symbol).copied())
    }

    /// Something needs the number that a float is.
    pub fn specialize_float(&self, symbol: &Symbol) {
        if let Some(float) = self.0.borrow_mut().floats.get_mut(symbol) {
            float.is_number = float.hint.is_some();
        }
    }

    /// AOTAutograd has no tensors for floats whose numbers were needed: the graph is to be traced again with those numbers. Gives
    /// whether there are any.
    pub fn restart_with_numbers(&self) -> bool {
        let mut inner = self.0.borrow_mut();
        inner.floats.values_mut().for_each(|float| float.restarts = float.is_number);
        inner.floats.values().any(|float| float.restarts)
    }

    /// Floats that the graph is to be traced again with as numbers, with where they come from.
    pub fn restarting_floats(&self) -> Vec<(Symbol, String, f64)> {
        let inner = self.0.borrow();
        let restarting = inner.floats.iter().filter(|(_, f)| f.restarts);
        restarting.filter_map(|(s, f)| Some((s.clone(), f.origin.clone(), f.hint?))).collect()
    }

    /// Whether something needed the number that a float is.
    pub fn is_needed(&self, symbol: &Symbol) -> bool {
        self.0.borrow().floats.get(symbol).is_some_and(|f| f.is_number)
    }

    /// Floats that are numbers by now are no symbols any more.
    pub fn forget_floats<'a>(&self, symbols: impl Iterator<Item = &'a Symbol>) {
        let mut inner = self.0.borrow_mut();
        for symbol in symbols {
            // What was computed with it still has a value.
            if let Some(hint) = inner.floats.remove(symbol).and_then(|float| float.hint) {
                inner.former_floats.insert(symbol.clone(), hint);
            }
        }
    }

    /// Where a float comes from.
    pub fn float_origin(&self, symbol: &Symbol) -> Option<String> {
        self.0.borrow().floats.get(symbol).map(|f| f.origin.clone())
    }

    /// The value of the float that comes from there.
    pub fn float_from(&self, origin: &str) -> Option<f64> {
        self.0.borrow().floats.values().find(|f| f.origin == origin).and_then(|f| f.hint)
    }

    /// Installs a condition on floats.
    pub fn guard_floats(&self, left: Rc<FloatExpr>, relation: Relation, right: Rc<FloatExpr>) {
        let mut inner = self.0.borrow_mut();
        let source = diagnostics::source::asking();
        inner.float_guards.push(FloatGuard { left, relation, right, source });
    }

    /// Conditions on floats, in order.
    pub fn float_guards(&self) -> Vec<FloatGuard> {
        self.0.borrow().float_guards.clone()
    }

    /// Whether a symbol of this name exists.
    pub fn has_symbol(&self, name: &str) -> bool {
        let (inner, symbol) = (self.0.borrow(), Symbol(name.into()));
        inner.symbols.contains_key(&symbol) || inner.floats.contains_key(&symbol)
    }

    /// What is known of a symbol.
    pub fn info(&self, symbol: &Symbol) -> Option<SymbolInfo> {
        self.0.borrow().symbols.get(symbol).cloned()
    }

    /// Whether a symbol is the size of a tensor from the beginning.
    pub fn is_size(&self, symbol: &Symbol) -> bool {
        self.info(symbol).is_some_and(|info| info.origin == "size" || info.origin.contains(".size()["))
    }

    /// Whether two handles share their symbols.
    pub fn same(&self, other: &ShapeEnv) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Says that the call being compiled is over: its symbols mean nothing to what comes after.
    pub fn settle(&self) {
        self.0.borrow_mut().settled = true;
    }

    /// Says what the symbols are in the graph that follows this one.
    pub fn succeed(&self, successors: HashMap<Symbol, SymInt>) {
        self.0.borrow_mut().successors = Some(successors);
    }

    /// What the symbols are in the graph that follows this one, where one does.
    pub fn successors(&self) -> Option<HashMap<Symbol, SymInt>> {
        self.0.borrow().successors.clone()
    }

    /// Whether the call being compiled is over.
    pub fn is_settled(&self) -> bool {
        self.0.borrow().settled
    }

    /// The expression with every known equality used.
    pub fn simplify(&self, expr: &Expr) -> Expr {
        let inner = self.0.borrow();
        if inner.replacements.is_empty() || expr.symbols().iter().all(|s| !inner.replacements.contains_key(s)) {
            return expr.clone();
        }
        expr.substitute(&|s| inner.replacements.get(s).cloned())
    }

    /// Whether an expression is known to be no less than zero, or above it (`strictly`), sizes being above zero.
    pub fn is_above(&self, expr: &Expr, strictly: bool) -> bool {
        let inner = self.0.borrow();
        expr.least(&|s| inner.positive.contains(s)).is_some_and(|n| n >= i64::from(strictly))
    }

    /// The value in the call being compiled.
    pub fn hint(&self, expr: &Expr) -> Option<i64> {
        let inner = self.0.borrow();
        let learned = inner.learned.get(expr).copied();
        let float = |s: &Symbol| inner.floats.get(s).and_then(|f| f.hint).or_else(|| inner.former_floats.get(s).copied());
        learned.or_else(|| expr.evaluate_all(&|s| inner.symbols.get(s).and_then(|i| i.hint), &float))
    }

    /// What is taken to hold of integers that are known only when the program runs, where a rule of an operator has to decide:
    /// they are sizes that are neither zero nor one and fit the others. PyTorch decides so too.
    fn presume(&self, left: &Expr, relation: Relation, right: &Expr) -> Option<bool> {
        let inner = self.0.borrow();
        let value = |s: &Symbol| {
            let info = inner.symbols.get(s)?;
            Some(info.hint.unwrap_or_else(|| 2.clamp(info.lower, info.upper.max(info.lower))))
        };
        let is_small = [left, right].iter().any(|e| matches!(e.as_int(), Some(0 | 1)));
        match relation {
            Relation::Eq => Some(!is_small),
            Relation::Ne => Some(is_small),
            _ => Some(relation.holds(left.evaluate(&value)?, right.evaluate(&value)?)),
        }
    }

    /// Operators do not ask from here on whether sizes are zero or one.
    pub fn set_size_oblivious(&self) {
        self.0.borrow_mut().size_oblivious = true;
    }

    /// [`ShapeEnv::evaluate`] for the script, which is always told the truth.
    ///
    /// # Errors
    ///
    /// Where only the run knows.
    pub fn evaluate_asked(&self, left: &Expr, relation: Relation, right: &Expr) -> Result<bool> {
        let before = std::mem::replace(&mut self.0.borrow_mut().size_oblivious, false);
        let answer = self.evaluate(left, relation, right);
        self.0.borrow_mut().size_oblivious = before;
        answer
    }

    /// The truth of a relation in the call being compiled; installs a guard unless it holds for every allowed value.
    pub fn evaluate(&self, left: &Expr, relation: Relation, right: &Expr) -> Result<bool> {
        if let Some(answer) = self.decide(left, relation, right) {
            self.note_asked(left, if answer { relation } else { relation.negated() }, right);
            return Ok(answer);
        }
        let is_small = |e: &Expr| matches!(e.as_int(), Some(0 | 1));
        let is_oblivious = self.0.borrow().size_oblivious && (is_small(left) || is_small(right));
        if is_oblivious && let Some(answer) = self.presume(left, relation, right) {
            return Ok(answer);
        }
        let (Some(l), Some(r)) = (self.hint(left), self.hint(right)) else {
            if let Some(answer) = self.presume(left, relation, right) {
                return Ok(answer);
            }
            return Err(Error::new(
                ErrorKind::GuardOnDataDependent,
                format!(
                    "Could not guard on data-dependent expression {left} {} {right} (unhinted: {left} {} {right}).",
                    relation.text(),
                    relation.text()
                ),
            ));
        };
        let answer = relation.holds(l, r);
        let floats = left.floats().into_iter().chain(right.floats());
        // A float whose rounding decides is the number it is: its own guard is enough.
        if floats.map(|float| self.specialize_float(&float)).count() > 0 {
            return Ok(answer);
        }
        let held = if answer { relation } else { relation.negated() };
        self.note_asked(left, held, right);
        let (left, right) = (self.simplify(left).expanded(), self.simplify(right).expanded());
        let is_flipped = self.flips_equalities() && matches!(held, Relation::Eq | Relation::Ne);
        self.install(&left, if is_flipped { held.negated() } else { held }, &right);
        Ok(answer)
    }

    /// Makes an expression the number it is in the call being compiled, with a guard.
    pub fn specialize(&self, expr: &Expr) -> Result<i64> {
        let value = self.hint(expr).ok_or_else(|| {
            Error::new(
                ErrorKind::GuardOnDataDependent,
                format!("Could not extract specialized integer from data-dependent expression {expr} (unhinted: {expr})."),
            )
        })?;
        self.evaluate(expr, Relation::Eq, &Expr::from(value))?;
        Ok(value)
    }

    /// The graph checks a condition on numbers that only the run knows: it holds from here on.
    pub fn expect(&self, left: &Expr, relation: Relation, right: &Expr) {
        let mut inner = self.0.borrow_mut();
        inner.hold(&left.expanded(), relation, &right.expanded());
        inner.narrow(left, relation, right);
        inner.log.expected.push((left.clone(), relation, right.clone()));
    }

    /// The same for one that an operator, and not the script, relies on: whoever records the graph takes it from here.
    pub fn defer(&self, left: &SymInt, relation: Relation, right: &SymInt) {
        self.expect(&left.expr(), relation, &right.expr());
        self.0.borrow_mut().deferred.push((left.clone(), relation, right.clone()));
    }

    /// Conditions that operators rely on, and that no graph checks yet.
    pub fn take_deferred(&self) -> Vec<(SymInt, Relation, SymInt)> {
        std::mem::take(&mut self.0.borrow_mut().deferred)
    }

    /// The script computed or compared something, by the name of Python's operator, in a condition that it states.
    pub fn note_stated(&self, operator: &str) {
        self.0.borrow_mut().stated.push(operator.into());
    }

    /// Python's operators in all that the script stated, in order.
    pub fn stated(&self) -> Vec<Rc<str>> {
        self.0.borrow().stated.clone()
    }

    /// Whether all pairs are equal in the call being compiled, asked at once as where whole shapes are compared; installs one guard where
    /// several decide that they are not.
    ///
    /// # Errors
    ///
    /// Where only the run knows.
    pub fn all_equal(&self, pairs: &[(Expr, Expr)]) -> Result<bool> {
        let is_decided = |(a, b): &&(Expr, Expr)| self.decide(a, Relation::Eq, b);
        if pairs.iter().any(|pair| is_decided(&pair) == Some(false)) {
            return Ok(false);
        }
        let mut open: Vec<(Expr, Expr)> = pairs.iter().filter(|pair| is_decided(pair).is_none()).cloned().collect();
        let numbers = |(a, b): &(Expr, Expr)| Some((self.hint(a)?, self.hint(b)?));
        let differs = |pair| numbers(pair).is_some_and(|(a, b)| a != b);
        let is_whole = |(a, b): &(Expr, Expr)| a.floats().is_empty() && b.floats().is_empty();
        let at_once = open.len() > 1 && open.iter().all(|pair| is_whole(pair) && numbers(pair).is_some());
        if !at_once {
            for (a, b) in &open {
                if !self.evaluate_asked(a, Relation::Eq, b)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        // In the order of sympy's `And`.
        open.sort_by_cached_key(|(a, b)| Relation::Eq.condition(a, b));
        let relation = if open.iter().any(differs) { Relation::Ne } else { Relation::Eq };
        let distance = |sum: Expr, (a, b): &(Expr, Expr)| sum.add(&a.sub(b).magnitude());
        let (left, right) = (open.iter().fold(Expr::from(0), distance), Expr::from(0));
        self.note_asked(&left, relation, &right);
        self.0.borrow_mut().hold(&left, relation, &right);
        let guard = ShapeGuard { left, relation, right, pairs: open.clone(), source: diagnostics::source::asking() };
        self.0.borrow_mut().guards.push(guard);
        if relation == Relation::Eq {
            open.iter().for_each(|(a, b)| self.learn_relation(a, relation, b));
        }
        Ok(relation == Relation::Eq)
    }

    fn install(&self, left: &Expr, relation: Relation, right: &Expr) {
        let source = diagnostics::source::asking();
        let guard = ShapeGuard { left: left.clone(), relation, right: right.clone(), pairs: Vec::new(), source };
        self.0.borrow_mut().guards.push(guard);
        self.learn_relation(left, relation, right);
    }

    /// What a guard says is used from here on.
    fn learn_relation(&self, left: &Expr, relation: Relation, right: &Expr) {
        let mut inner = self.0.borrow_mut();
        inner.hold(left, relation, right);
        if relation == Relation::Eq
            && right.as_int() == Some(0)
            && let Some((symbol, number)) = left.as_remainder()
        {
            let known = inner.divisors.entry(symbol.clone()).or_insert(1);
            if number % *known == 0 {
                *known = number;
            }
        }
        if relation == Relation::Eq && !left.has_division() && !right.has_division() {
            // What an equality says of a symbol is used everywhere from now on.
            let is_unbacked = |s: &Symbol| inner.symbols.get(s).is_some_and(|i| i.hint.is_none());
            let pair = match (left.as_symbol(), right.as_symbol()) {
                (Some(a), Some(b)) => Some(if a > b { (a.clone(), right.clone()) } else { (b.clone(), left.clone()) }),
                (Some(s), None) if is_unbacked(s) && !right.symbols().contains(s) => Some((s.clone(), right.clone())),
                (None, Some(s)) if is_unbacked(s) && !left.symbols().contains(s) => Some((s.clone(), left.clone())),
                _ => {
                    // Of the largest, as in PyTorch.
                    let difference = left.sub(right);
                    let hint = |s: &Symbol| inner.symbols.get(s).and_then(|i| i.hint);
                    let largest = difference.symbols().into_iter().max_by_key(|s| (hint(s), s.clone()));
                    largest.and_then(|s| Some((s.clone(), difference.solved_for(&s)?)))
                }
            };
            if let Some((symbol, value)) = pair {
                inner.replace(symbol, value);
            }
        }
        inner.narrow(left, relation, right);
    }

    /// Every symbol made so far, with what is known of it.
    pub fn symbols(&self) -> Vec<(Symbol, SymbolInfo)> {
        self.0.borrow().symbols.iter().map(|(s, i)| (s.clone(), i.clone())).collect()
    }

    /// Symbols in the order in which they were made.
    pub fn created(&self) -> Vec<Symbol> {
        self.0.borrow().created.clone()
    }

    /// Symbols that are something else by now, with what they are.
    pub fn replacements(&self) -> Vec<(Symbol, Expr)> {
        self.0.borrow().replacements.iter().map(|(s, e)| (s.clone(), e.clone())).collect()
    }

    /// Every guard installed so far, in order.
    pub fn guards(&self) -> Vec<ShapeGuard> {
        self.0.borrow().guards.clone()
    }
}
