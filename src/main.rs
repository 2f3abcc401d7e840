//! The command line: runs a script as the page does, and shows what became known of it.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use aot_playground::python::{Interpreter, RunOptions, Sink, on_large_stack};
use aot_playground::report::{Event, PYTORCH_VERSION, Report};

const HELP: &str = "\
Runs a PyTorch script and shows what AOTAutograd makes of it.

Usage: aot-playground run SCRIPT.py [--backend NAME] [--json] [--time-limit SECONDS]
       aot-playground --help | --version

  SCRIPT.py             a file, or - for standard input
  --backend NAME        what a plain torch.compile stands for: aot_eager (the default),
                        aot_eager_default_partitioner or inductor
  --json                print one report, as JSON, instead of what the script prints
  --time-limit SECONDS  end the script after so long

The exit status is the script's own; the traceback of an exception goes to standard error.
";

/// Backends that a plain `torch.compile` can stand for.
const BACKENDS: &[&str] = &["aot_eager", "aot_eager_default_partitioner", "inductor"];
/// Exit status for a command line that makes no sense, as Python has it.
const USAGE: u8 = 2;

enum Command {
    Help,
    Version,
    Run { script: OsString, options: RunOptions, json: bool },
}

fn main() -> ExitCode {
    let status = match parse(lexopt::Parser::from_env()) {
        Ok(Command::Help) => print(HELP),
        Ok(Command::Version) => print(&format!("aot-playground {} (PyTorch {PYTORCH_VERSION})\n", env!("CARGO_PKG_VERSION"))),
        Ok(Command::Run { script, options, json }) => run(&script, &options, json),
        Err(error) => Err(format!("{error}\nTry 'aot-playground --help'.")),
    };
    match status {
        Ok(status) => ExitCode::from(status),
        Err(message) => {
            eprintln!("aot-playground: {message}");
            ExitCode::from(USAGE)
        }
    }
}

fn parse(mut parser: lexopt::Parser) -> Result<Command, lexopt::Error> {
    use lexopt::prelude::*;
    let mut verb = None;
    let mut script = None;
    let mut options = RunOptions::default();
    let mut json = false;
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Short('V') | Long("version") => return Ok(Command::Version),
            Value(value) if verb.is_none() => verb = Some(value),
            Long("backend") => {
                let name = parser.value()?.string()?;
                if !BACKENDS.contains(&name.as_str()) {
                    return Err(format!("unknown backend '{name}'; there are {}", BACKENDS.join(", ")).into());
                }
                options.backend = name;
            }
            Long("json") => json = true,
            Long("time-limit") => {
                let text = parser.value()?.string()?;
                let limit =
                    text.parse().ok().filter(|&seconds| seconds > 0.0).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                options.time_limit = Some(limit.ok_or_else(|| format!("'{text}' is no number of seconds"))?);
            }
            Value(value) if script.is_none() => script = Some(value),
            _ => return Err(argument.unexpected()),
        }
    }
    match (verb, script) {
        (Some(verb), Some(script)) if verb == "run" => Ok(Command::Run { script, options, json }),
        (Some(verb), None) if verb == "run" => Err("no script given".into()),
        (Some(verb), _) => Err(format!("unknown command '{}'", verb.to_string_lossy()).into()),
        (None, _) => Err("no command given".into()),
    }
}

fn run(script: &OsString, options: &RunOptions, json: bool) -> Result<u8, String> {
    let shown = script.to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("can't open file '{shown}': {error}");
    let (program, filename) = if script == "-" {
        (std::io::read_to_string(std::io::stdin()).map_err(failed)?, "<stdin>".to_owned())
    } else {
        let program = String::from_utf8(std::fs::read(script).map_err(failed)?).map_err(|_| format!("'{shown}' is not UTF-8"))?;
        // Python shows a script by its whole path.
        let path = std::path::absolute(script).map_or_else(|_| shown.clone(), |path| path.to_string_lossy().into_owned());
        (program, path)
    };
    let (status, report) = on_large_stack(|| {
        let report = Rc::new(RefCell::new(json.then(Report::default)));
        let status = Interpreter::new().run(&program, &filename, options, sink(&report));
        (status, report.take())
    })
    .map_err(|error| error.to_string())?;
    if let Some(report) = report {
        let text = serde_json::to_string(&report).map_err(|error| error.to_string())?;
        print(&format!("{text}\n"))?;
    }
    Ok(u8::try_from(status).unwrap_or(1))
}

/// Shows events as they come, or keeps them for the report. The script's standard error and its traceback are shown anyway.
fn sink(report: &Rc<RefCell<Option<Report>>>) -> Sink {
    let report = report.clone();
    Rc::new(move |event| {
        match &event {
            Event::Stderr { text } => eprint!("{text}"),
            Event::Finished { exception: Some(exception), .. } => eprint!("{}", exception.traceback),
            _ => {}
        }
        match (&mut *report.borrow_mut(), event) {
            (Some(report), event) => report.fold(event),
            // Nobody reads any more: there is nothing left to do with the text.
            (None, Event::Stdout { text }) => drop(print(&text)),
            (None, _) => {}
        }
    })
}

fn print(text: &str) -> Result<u8, String> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| error.to_string())?;
    Ok(0)
}
