//! Translation validation: whether the guards of a cache entry imply what its trace asked for. The report says it of every entry with symbolic
//! sizes; under `torch.fx.experimental._config.translation_validation` a counterexample is PyTorch's exception.

use rustpython_vm::PyObjectRef;
use rustpython_vm::vm::thread::with_current_vm;
use validator::{Asked, Formula, Values, Verdict, validate};

use crate::dynamo::cache::CacheEntry;
use crate::dynamo::dynamic_shapes::{SETTINGS, Witness};
use crate::dynamo::settings::switch_of;
use crate::error::{Error, Result};
use crate::python::current::emit;
use crate::python::native::calls::imported;
use crate::python::native::tensor::raised;
use crate::report::{Event, Guard, NarrowedSymbol, Validation, ValidationSize, ValidationVerdict};
use crate::shape::{Expr, ShapeGuard, Symbol};

/// Validates the guards of an entry; nothing where no size is a symbol.
///
/// # Errors
/// `ValidationException` and `BisectValidationException` of `torch.fx.experimental.validator`, where a script turned validation on.
pub fn validated(entry: &CacheEntry) -> Result<Option<Validation>> {
    let env = &entry.captured.env;
    let Some(found) = validate(env) else { return Ok(None) };
    let mut validation = Validation {
        verdict: match &found.verdict {
            Verdict::Proved => ValidationVerdict::Proved,
            Verdict::Counterexample(..) => ValidationVerdict::Counterexample,
            Verdict::NotDecided => ValidationVerdict::NotDecided,
        },
        asked: found.source.iter().filter(|asked| asked.guard.is_some()).count() as u32,
        ..Validation::default()
    };
    let is_on = switch_of(SETTINGS, "translation_validation").unwrap_or(false);
    if is_on && found.verdict == Verdict::NotDecided {
        emit(Event::Stderr { text: "translation validation: could not validate: not decided\n".to_owned() });
    }
    if let Verdict::Counterexample(values, at) = &found.verdict {
        if is_on {
            return Err(failed(entry, values, &found.target, &found.source[*at]));
        }
        let sizes = values.iter().map(|(name, value)| ValidationSize { name: name.to_string(), value: value.to_string() });
        validation.sizes = sizes.collect();
        let asked = &found.source[*at];
        let written = || Guard { text: asked.formula.to_string(), span: None };
        validation.condition = Some(asked.guard.as_ref().map_or_else(written, |guard| entry.on_sizes(guard)));
    }
    let guards = env.guards();
    let said = |at: &Vec<usize>| at.iter().filter_map(|i| Some(entry.on_sizes(guards.get(*i)?))).collect();
    let symbol = |narrowed: validator::Narrowed| {
        let info = env.info(&narrowed.symbol)?;
        let (only, leave_one) = narrowed.only.unzip();
        Some(NarrowedSymbol {
            name: narrowed.symbol.0.to_string(),
            source: info.origin,
            lower: Some(info.lower).filter(|n| *n != i64::MIN),
            upper: Some(info.upper).filter(|n| *n != i64::MAX),
            guards: said(&narrowed.guards),
            only,
            leave_one: leave_one.as_ref().map(said).unwrap_or_default(),
            ..NarrowedSymbol::default()
        })
    };
    validation.symbols = found.narrowed.into_iter().filter_map(symbol).collect();
    Ok(Some(validation.told()))
}

/// PyTorch's exception: the sizes, what is known of them, the guards, and the condition that does not follow. Where bisection is on, it says
/// which condition that is.
fn failed(entry: &CacheEntry, values: &Values, target: &[Formula], asked: &Asked) -> Error {
    let env = &entry.captured.env;
    let origin = |s: &Symbol| env.info(s).map(|info| info.origin);
    let named = |name: &str| origin(&Symbol(name.into())).unwrap_or_else(|| name.to_owned());
    // Every symbol is read somewhere: PyTorch has a variable for that, too.
    let read: Vec<&Witness> = entry.captured.witnesses.iter().collect();
    let equal = |w: &&Witness| Some(format!("(== |{}| {})", origin(&w.symbol)?, w.symbol.0));
    let least = |w: &&Witness| env.is_size(&w.symbol).then(|| format!("(> {} 1)", w.symbol.0));
    let assertions: Vec<String> = read.iter().filter_map(equal).chain(read.iter().filter_map(least)).collect();
    let positive = read.iter().filter(|w| env.is_size(&w.symbol)).map(|w| format!("(> {} 0)", w.symbol.0));
    let targets: Vec<String> = read.iter().filter_map(equal).chain(positive).chain(target.iter().map(ToString::to_string)).collect();
    let model: Vec<(String, i128)> = values.iter().flat_map(|(name, value)| [(name.to_string(), *value), (named(name), *value)]).collect();
    let (condition, place, source) = match &asked.guard {
        Some(guard) => {
            (condition(guard), guard.source.as_ref().map(|s| format!("{}:{} in {}", s.file, s.line(), s.function)), in_sources(env, guard))
        }
        None => (asked.formula.to_string(), None, asked.formula.to_string()),
    };
    let bisects = !switch_of(SETTINGS, "translation_validation_no_bisect").unwrap_or(false);
    let exception = with_current_vm(|vm| {
        let strings =
            |all: &[String]| -> PyObjectRef { vm.ctx.new_list(all.iter().map(|s| vm.ctx.new_str(s.as_str()).into()).collect()).into() };
        let pair = |(name, value): &(String, i128)| -> PyObjectRef {
            vm.ctx.new_tuple(vec![vm.ctx.new_str(name.as_str()).into(), vm.ctx.new_str(value.to_string()).into()]).into()
        };
        let text = |text: Option<String>| text.map_or_else(|| vm.ctx.none(), |text| vm.ctx.new_str(text).into());
        let model = vm.ctx.new_list(model.iter().map(pair).collect());
        let bisected = bisects.then_some(condition);
        let made = imported("torch.fx.experimental.validator", vm).and_then(|module| {
            let arguments = (model, strings(&assertions), strings(&targets), strings(&[source]), text(bisected), text(place));
            module.get_attr("_failed", vm)?.call(arguments, vm)
        });
        made.map(|made| made.downcast())
    });
    match exception {
        Ok(Ok(exception)) | Err(exception) => raised(exception),
        Ok(Err(_)) => Error::runtime("translation validation failed."),
    }
}

/// As PyTorch prints it: `Eq(s17, 2*s77)`.
fn condition(guard: &ShapeGuard) -> String {
    guard.relation.condition(&guard.left, &guard.right)
}

/// Symbols written as the script finds them.
fn in_sources(env: &crate::shape::ShapeEnv, guard: &ShapeGuard) -> String {
    let named = |e: &Expr| e.substitute(&|s| Some(Expr::symbol(Symbol(env.info(s)?.origin.as_str().into()))));
    validator::comparison(&named(&guard.left), guard.relation, &named(&guard.right)).to_string()
}
