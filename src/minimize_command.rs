//! `aot-playground minimize`: runs smaller and smaller scripts until none keeps what is to be kept, or until Ctrl-C.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use aot_playground::minimizing::{self, Keep};
use aot_playground::python::RunOptions;

use crate::tries::Tries;
use crate::{UNREADABLE, failed, interrupt, print, source};

/// How much longer than the whole script a smaller one may run.
const TIMES_AS_LONG: u32 = 3;
const AT_LEAST: Duration = Duration::from_secs(1);

/// Makes a script smaller, and gives the smallest.
///
/// # Errors
///
/// Where it cannot be written.
pub fn run(script: &OsString, options: &RunOptions, keep: &Keep, file: Option<&OsString>) -> Result<u8, String> {
    let (program, _) = match source(script) {
        Ok(source) => source,
        Err(message) => return Ok(failed(&message, UNREADABLE)),
    };
    interrupt::watch();
    let began = Instant::now();
    let mut tries = Tries::new()?;
    // The script itself may run as long as it is allowed to; smaller ones not much longer than it did.
    let mut limit = options.time_limit;
    let mut took = None;
    let mut run = |program: &str, options: &RunOptions| {
        let began = Instant::now();
        let report = tries.run(program, &RunOptions { time_limit: limit, ..options.clone() });
        if took.is_none() {
            let most = began.elapsed() * TIMES_AS_LONG + AT_LEAST;
            took = Some(most);
            limit = Some(limit.map_or(most, |limit| limit.min(most)));
        }
        report
    };
    let is_shown = std::io::stderr().is_terminal();
    let mut whole = None;
    let mut shrunk = |smallest: &minimizing::Smallest| {
        let statements = smallest.statements;
        whole.get_or_insert(statements);
        if is_shown {
            eprint!("\r{statements} statements, {} tries ", smallest.tries);
        }
    };
    let smallest = match minimizing::minimize(&program, keep, options, &[], &mut run, &mut shrunk) {
        Ok(smallest) => smallest,
        Err(message) => return Ok(failed(&message, 1)),
    };
    let tries = smallest.tries;
    let seconds = began.elapsed().as_secs_f64();
    let so_far = if interrupt::came() { " (interrupted)" } else { "" };
    let start = if is_shown { "\r" } else { "" };
    eprintln!("{start}{} statements of {}, {tries} tries, {seconds:.1} s{so_far}", smallest.statements, whole.unwrap_or_default());
    match file {
        Some(file) => {
            std::fs::write(file, smallest.text).map(|()| 0).map_err(|error| format!("can't write '{}': {error}", file.to_string_lossy()))
        }
        None => print(&smallest.text),
    }
}
