//! The command line: runs a script as the page does, and shows what became known of it.

mod interrupt;
mod minimize_command;
mod module_files;
mod tries;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use aot_playground::bundle::Bundle;
use aot_playground::catalogue;
use aot_playground::export;
use aot_playground::minimizing::Keep;
use aot_playground::python::{Counted, Interpreter, ModulePath, RunOptions, supervised};
use aot_playground::report::protocol::GraphFormat;
use aot_playground::report::sentences::{self, Sentence};
use aot_playground::report::{Answer, Check, Event, PYTORCH_VERSION, Question, Report};
use aot_playground::trace;

/// Compiling makes many small objects, which the system's allocator takes a third of the time for.
#[global_allocator]
static ALLOCATOR: Counted<mimalloc::MiMalloc> = Counted(mimalloc::MiMalloc);

const HELP: &str = r#"Runs a PyTorch script and shows what AOTAutograd makes of it.

Usage: aot-playground run SCRIPT.py [--backend NAME] [--check] [--pretend-cuda] [--explain] [--emit WHAT] [--trace FOLDER] [--module-path PATH] [LIMITS]
       aot-playground minimize SCRIPT.py --keep WHAT [-o FILE] [--backend NAME] [--pretend-cuda] [--module-path PATH] [LIMITS]
       aot-playground operators [--markdown | --json]
       aot-playground ask SCRIPT.py QUESTION [--compilation N] [--backend NAME] [--module-path PATH] [LIMITS]
       aot-playground read FILE... [--json]
       aot-playground explain FILE...
       aot-playground diff A B [--json]
       aot-playground --help | --version

  SCRIPT.py             a file, or - for standard input
  --backend NAME        what a plain torch.compile stands for: aot_eager (the default),
                        aot_eager_default_partitioner, eager or inductor
  --check               compare what every call of a compiled function gives (outputs, inputs that it writes
                        to, gradients) with what eager mode gives, and say at the end what differs and at
                        which node. The exit status is then 1 where something does
  --pretend-cuda        there is a CUDA device, cuda:0, that is not there: tensors say so, graphs are those that PyTorch
                        traces for one without a GPU (FakeTensorMode), and values are computed on the CPU
  --module-path PATH    a folder of Python files, or a wheel or zip of them (no native code), that the script may
                        import from: an entry of sys.path. It may be given again; nothing else can be imported
                        or read
  --explain             say at the end, on standard error, where the peak of memory is and of what, what is kept for
                        the backward and what eager mode keeps, why frames were compiled again, and where graphs
                        broke, with PyTorch's hints
  --emit WHAT           print this instead of what the script prints: json (one report), logs (every
                        graph, as TORCH_LOGS shows them), or of one graph python (a file that runs
                        by itself), dot (for Graphviz), table
  --json                the same as --emit json
  --graph STAGE         which graph: captured, functionalized, joint, forward (the default),
                        backward, inference or frozen
  --trace FOLDER        write what was compiled into a file of this folder, as TORCH_TRACE=FOLDER has PyTorch
                        write it
  --time-limit SECONDS  end the script after so long
  --memory-limit MB     how much memory (of 1024 * 1024 bytes) the script may use at a time: an allocation
                        beyond it is a RuntimeError
  --keep WHAT           what minimize keeps while it takes all else away: exception (the exception that ends the script,
                        by class and message), text:TEXT (in what it prints), operator:NAME (in a graph, such as
                        operator:aten.mm), differs:eager (what it computes or prints is not what eager mode does)
  -o FILE               write the smallest script there; it is printed otherwise
  QUESTION              about a compilation's partition, as JSON; the answer is JSON, too:
                        {"ask": "partition", "query": {"budget": 0.5}}, {"ask": "curve"},
                        {"ask": "counterfactual", "name": "relu"}, {"ask": "network"}, {"ask": "eager"}
  --compilation N       which compilation, counted from 0 (the default)

minimize removes statements, blocks, arguments, elements and parts of expressions, and makes sizes smaller, as long as the
script still has what is kept, and gives the smallest one. Ctrl-C ends it: the smallest so far is given.

operators lists what is supported: every operator, and whether it has a derivative and runs on the GPU.

read, explain and diff open what PyTorch writes: TORCH_TRACE logs, tlparse's folders, TORCH_LOGS text, files
of torch_compile_debug and of the minifier, one graph alone, or an archive (.zip, .gz) of them; of one process
or of several ranks. read says what is there, with --json as one report; explain says what is saved for the
backward, why graphs broke and why they were compiled again; diff compares two.

The exit status is the script's own; the traceback of an exception goes to standard error. Of minimize it is 0, or 1
where the script itself does not have what is to be kept, 3 where it can't be read. Of read, explain and diff it is 0 where the files were read or are the same, 1 where they differ, 2 where the command line
makes no sense, 3 where a file can't be read.
"#;

/// Backends that a plain `torch.compile` can stand for.
const BACKENDS: &[&str] = &["aot_eager", "aot_eager_default_partitioner", "eager", "inductor"];
/// Stages of a compilation, by the names that `--graph` takes.
const STAGES: &[&str] = &["captured", "functionalized", "joint", "forward", "backward", "inference", "frozen"];
/// The memory budget whose peak is said beside the run's.
const COMPARED_BUDGET: f64 = 0.5;
/// Exit status for a command line that makes no sense, as Python has it.
const USAGE: u8 = 2;
/// Exit status for logs, or a script to be made smaller, that can't be read.
const UNREADABLE: u8 = 3;

enum Command {
    Help,
    Version,
    Operators {
        json: bool,
    },
    Run {
        script: OsString,
        options: RunOptions,
        emit: Option<Emit>,
        explains: bool,
        trace: Option<OsString>,
    },
    Ask {
        script: OsString,
        options: RunOptions,
        compilation: u32,
        question: Question,
    },
    Minimize {
        script: OsString,
        options: RunOptions,
        keep: Keep,
        file: Option<OsString>,
    },
    /// Run the scripts that a search for the smallest one tries.
    Tries {
        script: OsString,
        options: RunOptions,
    },
    Logs(Logs),
}

/// What is asked of logs.
enum Logs {
    Read { files: Vec<OsString>, json: bool },
    Explain { files: Vec<OsString> },
    Diff { first: OsString, second: OsString, json: bool },
}

/// What is printed instead of what the script prints.
enum Emit {
    Report,
    Logs,
    Graph { format: GraphFormat, stage: Option<String>, compilation: u32 },
}

fn main() -> ExitCode {
    // A panic that becomes an exception of the script's is told as that.
    let show = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !aot_playground::dispatch::is_contained() {
            show(panic);
        }
    }));
    let status = match parse(lexopt::Parser::from_env()) {
        Ok(Command::Help) => print(HELP),
        Ok(Command::Version) => print(&format!("aot-playground {} (PyTorch {PYTORCH_VERSION})\n", env!("CARGO_PKG_VERSION"))),
        Ok(Command::Operators { json: false }) => print(&catalogue::markdown()),
        Ok(Command::Operators { json: true }) => catalogue::json().map_err(|e| e.to_string()).and_then(|text| print(&text)),
        Ok(Command::Run { script, options, emit, explains, trace }) => run(&script, &options, emit.as_ref(), explains, trace.as_ref()),
        Ok(Command::Ask { script, options, compilation, question }) => ask(&script, &options, compilation, &question),
        Ok(Command::Minimize { script, options, keep, file }) => minimize_command::run(&script, &options, &keep, file.as_ref()),
        Ok(Command::Tries { script, options }) => tries::serve(&filename(&script), &options),
        Ok(Command::Logs(asked)) => logs(&asked),
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
    let mut emit = None;
    let mut stage = None;
    let mut question = None;
    let mut compilation = None;
    let mut trace = None;
    let mut more = Vec::new();
    let mut explains = false;
    let mut keep = None;
    let mut file = None;
    let mut serves_tries = false;
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
            Long("check") => options.check = true,
            Long("module-path") => add_modules(Arc::make_mut(&mut options.modules), &parser.value()?)?,
            Long("pretend-cuda") => options.pretend_cuda = true,
            Long("explain") if verb.as_ref().is_none_or(|verb| verb == "run") => explains = true,
            Long("json") => emit = Some("json".to_owned()),
            Long("emit") => emit = Some(parser.value()?.string()?),
            Long("graph") => {
                let name = parser.value()?.string()?;
                if !STAGES.contains(&name.as_str()) {
                    return Err(format!("unknown graph '{name}'; there are {}", STAGES.join(", ")).into());
                }
                stage = Some(name);
            }
            Long("keep") if verb.as_ref().is_some_and(|verb| verb == "minimize") => {
                let words = parser.value()?.string()?;
                let unknown = || format!("cannot keep '{words}'; there are exception, text:TEXT, operator:NAME and differs:eager");
                keep = Some(Keep::named(&words).ok_or_else(unknown)?);
            }
            Long(name) if name == tries::SERVE => serves_tries = true,
            Short('o') if verb.as_ref().is_some_and(|verb| verb == "minimize") => file = Some(parser.value()?),
            Long("trace") => trace = Some(parser.value()?),
            Long("compilation") => compilation = Some(parser.value()?.parse()?),
            Long("time-limit") => {
                let text = parser.value()?.string()?;
                let limit =
                    text.parse().ok().filter(|&seconds| seconds > 0.0).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                options.time_limit = Some(limit.ok_or_else(|| format!("'{text}' is no number of seconds"))?);
            }
            Long("memory-limit") => {
                let text = parser.value()?.string()?;
                let bytes = text.parse().ok().and_then(|mb: usize| mb.checked_mul(1 << 20)).filter(|&bytes| bytes > 0);
                options.memory_limit = Some(bytes.ok_or_else(|| format!("'{text}' is no number of megabytes"))?);
            }
            Long("markdown") if verb.as_ref().is_some_and(|verb| verb == "operators") => emit = None,
            Value(value) if script.is_none() => script = Some(value),
            Value(value) if question.is_none() && verb.as_ref().is_some_and(|v| v == "ask") => {
                let asked = serde_json::from_str(&value.string()?).map_err(|error| format!("that is no question: {error}"))?;
                question = Some(asked);
            }
            Value(value) if verb.as_ref().is_some_and(|v| v == "read" || v == "explain" || v == "diff") => more.push(value),
            _ => return Err(argument.unexpected()),
        }
    }
    let files = || script.iter().cloned().chain(more.iter().cloned()).collect::<Vec<_>>();
    match (verb, script.clone()) {
        (Some(verb), Some(_)) if verb == "read" => Ok(Command::Logs(Logs::Read { files: files(), json: wants_json(emit.as_deref())? })),
        (Some(verb), Some(_)) if verb == "explain" => Ok(Command::Logs(Logs::Explain { files: files() })),
        (Some(verb), Some(first)) if verb == "diff" => match more.as_slice() {
            [second] => Ok(Command::Logs(Logs::Diff { first, second: second.clone(), json: wants_json(emit.as_deref())? })),
            _ => Err("diff compares two files".into()),
        },
        (Some(verb), None) if verb == "read" || verb == "explain" || verb == "diff" => Err("no file given".into()),
        (Some(verb), None) if verb == "operators" => Ok(Command::Operators { json: emit.is_some() }),
        (Some(verb), Some(script)) if verb == "run" => {
            let emit = what_to_emit(emit.as_deref(), stage, compilation)?;
            Ok(Command::Run { script, options, emit, explains, trace })
        }
        (Some(verb), Some(script)) if verb == "ask" => {
            let question = question.ok_or("no question given")?;
            Ok(Command::Ask { script, options, compilation: compilation.unwrap_or(0), question })
        }
        (Some(verb), Some(script)) if verb == "minimize" && serves_tries => Ok(Command::Tries { script, options }),
        (Some(verb), Some(script)) if verb == "minimize" => {
            let keep = keep.ok_or("no --keep given: what is the script to keep?")?;
            Ok(Command::Minimize { script, options, keep, file })
        }
        (Some(verb), None) if verb == "run" || verb == "ask" || verb == "minimize" => Err("no script given".into()),
        (Some(verb), _) => Err(format!("unknown command '{}'", verb.to_string_lossy()).into()),
        (None, _) => Err("no command given".into()),
    }
}

/// Whether a report is asked for instead of words.
fn wants_json(emit: Option<&str>) -> Result<bool, String> {
    match emit {
        None => Ok(false),
        Some("json") => Ok(true),
        Some(other) => Err(format!("cannot emit '{other}' of a log; there is json")),
    }
}

/// Adds what can be imported from a folder or an archive.
fn add_modules(modules: &mut ModulePath, path: &OsString) -> Result<(), String> {
    let shown = path.to_string_lossy();
    let files = module_files::read(std::path::Path::new(path)).map_err(|error| format!("--module-path {shown}: {error}"))?;
    // Python shows modules by their whole path.
    let entry = std::path::absolute(path).map_or_else(|_| shown.clone().into_owned(), |path| path.to_string_lossy().into_owned());
    modules.add(&entry, files);
    Ok(())
}

/// What is at a path: a file, or all files of a folder.
fn given(path: &std::path::Path, name: String, out: &mut Vec<trace::Given>) -> std::io::Result<()> {
    if path.is_dir() {
        let mut entries: Vec<_> = std::fs::read_dir(path)?.collect::<Result<_, _>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        // A link to a folder above would never end.
        for entry in entries.iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir())) {
            given(&entry.path(), format!("{name}/{}", entry.file_name().to_string_lossy()), out)?;
        }
        return Ok(());
    }
    out.push(trace::Given { name, bytes: std::fs::read(path)? });
    Ok(())
}

fn opened(paths: &[&OsString]) -> Result<trace::Log, String> {
    let mut files = Vec::new();
    for path in paths {
        let name = path.to_string_lossy().into_owned();
        let read = match *path == "-" {
            true => {
                let mut bytes = Vec::new();
                let read = std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes).map(drop);
                files.push(trace::Given { name: "standard input".to_owned(), bytes });
                read
            }
            false => given(std::path::Path::new(path), name.clone(), &mut files),
        };
        read.map_err(|error| format!("can't open '{name}': {error}"))?;
    }
    trace::open(files)
}

/// Reads logs and says what is in them.
fn logs(asked: &Logs) -> Result<u8, String> {
    aot_playground::logs::prepare();
    let unreadable = |message: String| Ok(failed(&message, UNREADABLE));
    match asked {
        Logs::Read { files, json } => match opened(&files.iter().collect::<Vec<_>>()) {
            Ok(log) if *json => {
                let mut out = std::io::BufWriter::new(std::io::stdout().lock());
                trace::report::write(&log, &mut out).and_then(|()| out.flush()).map_err(|error| error.to_string())?;
                Ok(0)
            }
            Ok(log) => print(&trace::explain::overview(&log)),
            Err(message) => unreadable(message),
        },
        Logs::Explain { files } => match opened(&files.iter().collect::<Vec<_>>()) {
            Ok(log) => print(&trace::explain::explain(&log)),
            Err(message) => unreadable(message),
        },
        Logs::Diff { first, second, json } => match (opened(&[first]), opened(&[second])) {
            (Ok(a), Ok(b)) => {
                let found = trace::diff::diff(&a, &b);
                match json {
                    true => print(&(serde_json::to_string(&found).map_err(|error| error.to_string())? + "\n"))?,
                    false => print(&trace::diff::words(&found))?,
                };
                Ok(u8::from(!found.same))
            }
            (Err(message), _) | (_, Err(message)) => unreadable(message),
        },
    }
}

fn what_to_emit(what: Option<&str>, stage: Option<String>, compilation: Option<u32>) -> Result<Option<Emit>, String> {
    match what {
        None if stage.is_some() || compilation.is_some() => Err("--graph and --compilation choose what --emit prints".to_owned()),
        None => Ok(None),
        Some("json") => Ok(Some(Emit::Report)),
        Some("logs") => Ok(Some(Emit::Logs)),
        Some(name) => match GraphFormat::named(name) {
            Some(format) => Ok(Some(Emit::Graph { format, stage, compilation: compilation.unwrap_or(0) })),
            None => Err(format!("cannot emit '{name}'; there are json, logs, python, dot and table")),
        },
    }
}

fn run(script: &OsString, options: &RunOptions, emit: Option<&Emit>, explains: bool, trace: Option<&OsString>) -> Result<u8, String> {
    let (program, filename) = source(script)?;
    let wants_report = emit.is_some() || options.check || explains || trace.is_some();
    let mut known = wants_report.then(|| Known { shows_output: emit.is_none(), ..Known::default() });
    let tell = |event| take(&mut known, event);
    let memory = move |interpreter: &Interpreter| if explains { interpreter.memory(COMPARED_BUDGET) } else { Vec::new() };
    let ended = supervised(program, filename.clone(), options.clone(), tell, move |interpreter, status| (status, memory(interpreter)));
    // Without one, a limit was passed.
    let (status, memory) = ended.map_err(|error| error.to_string())?.unwrap_or((1, Vec::new()));
    let mut differs = false;
    if let Some(known) = known {
        if let Some(emit) = emit {
            print(&emitted(emit, &known)?)?;
        }
        if let Some(folder) = trace {
            write_trace(folder, &filename, &known.report)?;
        }
        differs = known.report.checks.iter().any(|check| !check.differences.is_empty());
        drop(std::io::stderr().write_all(checks(&known.report).as_bytes()));
        if explains {
            drop(std::io::stderr().write_all(explanation(&known.report, &memory).as_bytes()));
        }
    }
    Ok(if differs && status == 0 { 1 } else { u8::try_from(status).unwrap_or(1) })
}

/// Writes what was compiled as PyTorch's log of it.
fn write_trace(folder: &OsString, script: &str, report: &Report) -> Result<(), String> {
    let folder = std::path::Path::new(folder);
    let stem = std::path::Path::new(script).file_stem().map_or_else(|| "script".into(), std::ffi::OsStr::to_string_lossy);
    let path = folder.join(format!("dedicated_log_torch_trace_{}.log", stem.trim_matches(['<', '>'])));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, trace::write::write(report, script)));
    written.map_err(|error| format!("can't write '{}': {error}", path.display()))
}

/// What became known of a run.
#[derive(Default)]
struct Known {
    report: Report,
    /// By compilation.
    bundles: HashMap<u32, Bundle>,
    /// Whether what the script prints is printed.
    shows_output: bool,
}

/// A compilation, for a person: `compilation 0 (f)`.
fn called(report: &Report, compilation: u32) -> String {
    let region = report.compilations.iter().find(|c| c.id == compilation).and_then(|c| c.region);
    let function = report.regions.iter().find(|r| Some(r.id) == region).map(|r| format!(" ({})", r.function));
    format!("compilation {compilation}{}", function.unwrap_or_default())
}

/// What the comparison with eager mode found, a line each.
fn checks(report: &Report) -> String {
    let of_one = |check: &Check| {
        let whose = called(report, check.compilation);
        check.sentences.iter().map(|line| format!("check: {whose}: {line}\n")).collect::<String>()
    };
    report.checks.iter().map(of_one).collect()
}

/// What the run came to, a line each.
fn explanation(report: &Report, memory: &[(u32, Sentence)]) -> String {
    let of_one = |(compilation, sentence): &(u32, Sentence)| format!("{}: {}\n", called(report, *compilation), sentence.text());
    let lines = sentences::lines(&report.misses, &report.break_places).into_iter().map(|line| line + "\n");
    let validated = report.regions.iter().filter_map(|r| Some((r, r.validation.as_ref()?)));
    let validations =
        validated.flat_map(|(r, v)| v.lines(&format!("guards of {} (captured graph {})", r.function, r.id))).map(|line| line + "\n");
    memory.iter().map(of_one).chain(lines).chain(validations).collect()
}

fn emitted(emit: &Emit, known: &Known) -> Result<String, String> {
    let (format, stage, id) = match emit {
        Emit::Report => return serde_json::to_string(&known.report).map(|text| format!("{text}\n")).map_err(|error| error.to_string()),
        Emit::Logs => return Ok(export::logs(&known.report)),
        Emit::Graph { format, stage, compilation } => (*format, stage.as_deref(), *compilation),
    };
    let compilation = known.report.compilations.iter().find(|c| c.id == id);
    let compilation = compilation.ok_or_else(|| format!("there is no compilation {id}: {} were made", known.report.compilations.len()))?;
    let stage = stage.unwrap_or(if compilation.forward.is_some() { "forward" } else { "inference" });
    let graph = match stage {
        "captured" => known.report.regions.iter().find(|region| Some(region.id) == compilation.region).map(|region| &region.graph),
        "functionalized" => compilation.functionalized.as_ref(),
        "joint" => compilation.joint.as_ref(),
        "forward" => compilation.forward.as_ref(),
        "backward" => compilation.backward.as_ref(),
        "frozen" => compilation.frozen.as_ref(),
        _ => compilation.inference.as_ref(),
    };
    let graph = graph.ok_or_else(|| format!("compilation {id} has no {stage} graph"))?;
    export::graph(graph, format, &export::about(stage, id), known.bundles.get(&id)).map_err(|error| error.to_string())
}

/// Runs a script, asks about one of its compilations and prints the answer instead of what the script prints.
fn ask(script: &OsString, options: &RunOptions, compilation: u32, question: &Question) -> Result<u8, String> {
    let (program, filename) = source(script)?;
    let question = question.clone();
    let mut known = Some(Known::default());
    let tell = |event| take(&mut known, event);
    let answer = supervised(program, filename, options.clone(), tell, move |interpreter, _| interpreter.ask(compilation, &question));
    let Some(answer) = answer.map_err(|error| error.to_string())? else { return Ok(1) };
    let text = serde_json::to_string(&answer).map_err(|error| error.to_string())?;
    print(&format!("{text}\n"))?;
    Ok(u8::from(matches!(answer, Answer::Failed { .. })))
}

/// Says why something was not done.
fn failed(message: &str, status: u8) -> u8 {
    eprintln!("aot-playground: {message}");
    status
}

/// A script's text, and what it is called in tracebacks.
fn source(script: &OsString) -> Result<(String, String), String> {
    let shown = script.to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("can't open file '{shown}': {error}");
    let program = if script == "-" {
        std::io::read_to_string(std::io::stdin()).map_err(failed)?
    } else {
        String::from_utf8(std::fs::read(script).map_err(failed)?).map_err(|_| format!("'{shown}' is not UTF-8"))?
    };
    Ok((program, filename(script)))
}

/// What a script is called in tracebacks: by its whole path, as under Python.
fn filename(script: &OsString) -> String {
    let whole =
        || std::path::absolute(script).map_or_else(|_| script.to_string_lossy().into_owned(), |path| path.to_string_lossy().into_owned());
    if script == "-" { "<stdin>".to_owned() } else { whole() }
}

/// Shows an event, or keeps what it says. The script's standard error and its traceback are shown anyway.
fn take(known: &mut Option<Known>, event: Event) {
    // Nobody may read any more: there is nothing left to do with the text.
    let mut stderr = std::io::stderr();
    match &event {
        Event::Stderr { text } => drop(stderr.write_all(text.as_bytes())),
        Event::Finished { exception: Some(exception), .. } => drop(stderr.write_all(exception.traceback.as_bytes())),
        _ => {}
    }
    match (known, event) {
        (Some(known), Event::Runnable { bundle }) => drop(known.bundles.insert(bundle.compilation, bundle)),
        (Some(known), event) => {
            if let (true, Event::Stdout { text }) = (known.shows_output, &event) {
                drop(print(text));
            }
            known.report.fold(event);
        }
        (None, Event::Stdout { text }) => drop(print(&text)),
        (None, _) => {}
    }
}

fn print(text: &str) -> Result<u8, String> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| error.to_string())?;
    Ok(0)
}
