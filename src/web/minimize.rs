//! Scripts made smaller in a worker. One that is tried may never end: its number is told first, so that whoever ends the worker can start
//! another, with the smallest script so far, that does not try it again.

use std::cell::RefCell;
use std::rc::Rc;

use super::interpreter::FILENAME;
use crate::minimizing::{self, Keep, Smallest};
use crate::python::{Interpreter, RunOptions};
use crate::report::protocol::FromInterpreter;
use crate::report::{Event, Report};

/// Makes a script smaller; everything there is to say goes to `post` at once.
pub(super) fn minimize(
    interpreter: &Interpreter,
    ask: u32,
    program: &str,
    options: &RunOptions,
    keep: &str,
    lost: &[u64],
    post: &dyn Fn(FromInterpreter),
) {
    let mut run = |text: &str, options: &RunOptions| {
        post(FromInterpreter::Trying { ask, number: minimizing::number(text) });
        let report = Rc::new(RefCell::new(Report::default()));
        let fold = report.clone();
        let sink = move |event| {
            if !matches!(event, Event::Runnable { .. }) {
                fold.borrow_mut().fold(event);
            }
        };
        interpreter.run(text, FILENAME, options, Rc::new(sink));
        Some(report.take())
    };
    let tell = |Smallest { text, statements, tries }: Smallest, is_last| {
        post(FromInterpreter::Shrunk { ask, text, statements: statements as u32, tries, is_last });
    };
    let keep = Keep::named(keep).ok_or_else(|| format!("cannot keep '{keep}'"));
    let mut shrunk = |smallest: &Smallest| tell(smallest.clone(), false);
    match keep.and_then(|keep| minimizing::minimize(program, &keep, options, lost, &mut run, &mut shrunk)) {
        Ok(smallest) => tell(smallest, true),
        Err(message) => post(FromInterpreter::Unanswered { ask, message }),
    }
}
