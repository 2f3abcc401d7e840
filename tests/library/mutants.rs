//! Mutated scripts: whatever a script says, it ends in what Python or PyTorch would say of it. Run eagerly, compiled by `aot_eager` and
//! compiled by `inductor`, none panics, ends its process or goes on beyond its limits.
//!
//! `MUTANTS=number` runs so many instead of a few, `SEED=number` begins at that seed instead of one of the clock's (it is printed),
//! `MUTANT=seed` prints one as a script, `MUTANTS_SCRIPTS` names a folder for all of them, which then are not run, `MUTANTS_FOLDER` names a folder for those that fail. `DIFFERENCES=1` also lists those that print
//! something else compiled than eagerly: most do so under PyTorch, too, so that each is to be held against it. Other processes run
//! them: one that crashes or hangs fails alone.

use crate::numbers::alike;
use aot_playground::python::{Interpreter, RunOptions, exhausted, on_large_stack};
use mutate::{Corpus, Source};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[path = "mutants/mutate.rs"]
mod mutate;

/// How many are run where nobody says.
const FEW: u64 = 300;
/// What a run may take.
const TIME: Duration = Duration::from_secs(10);
const MEMORY: usize = 1 << 30;
/// How much longer an instruction of the interpreter's may take, on a busy machine, before the process is ended from outside: as the
/// command line and the page end it.
const HUNG: Duration = Duration::from_secs(10);
/// A process is replaced after so many.
const BATCH: u64 = 2000;
/// How a script is run: the name, what is put before its first line, the backend of a plain `torch.compile`.
const WAYS: [(&str, &str, &str); 3] = [
    ("eager", "import torch; torch.compiler.set_stance('force_eager'); ", "aot_eager"),
    ("aot_eager", "", "aot_eager"),
    ("inductor", "", "inductor"),
];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The scripts of all cases.
fn corpus() -> Corpus {
    let mut files = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "py") {
                files.push(path);
            }
        }
    }
    files.sort();
    let sources = files.iter().filter_map(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        let folder = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let name = format!("{folder}/{}", file.file_stem().unwrap_or_default().to_string_lossy());
        Source::new(name, text)
    });
    Corpus::new(sources.collect())
}

/// Runs a process of this test's own on seeds and tells of each way: `seed way`, then `seed way verdict`.
struct Process {
    child: Child,
    lines: Receiver<String>,
}

impl Process {
    fn start(first: u64, count: u64) -> std::io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--exact", "mutants::serve", "--ignored", "--nocapture", "--test-threads=1"])
            .env("MUTANTS_FIRST", first.to_string())
            .env("MUTANTS_COUNT", count.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let out = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if let Some(line) = line.split_once("MUTANT ").map(|(_, line)| line.to_owned())
                    && sender.send(line).is_err()
                {
                    return;
                }
            }
        });
        Ok(Process { child, lines })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Runs the seeds from `first`; gives what went wrong, seed by seed.
fn run_all(first: u64, end: u64, next: &AtomicU64, found: &Mutex<Vec<(u64, String)>>) {
    loop {
        let begin = next.fetch_add(BATCH, Relaxed);
        if begin >= end {
            return;
        }
        let mut seed = begin;
        let batch_end = (begin + BATCH).min(end);
        while seed < batch_end {
            let process = Process::start(seed, batch_end - seed).unwrap();
            let mut way = "starting".to_owned();
            // The first answer also waits for the corpus and the interpreter.
            let mut patience = TIME + Duration::from_secs(60);
            loop {
                match process.lines.recv_timeout(patience) {
                    Ok(line) => {
                        patience = TIME + HUNG;
                        let mut parts = line.splitn(3, ' ');
                        seed = parts.next().and_then(|s| s.parse().ok()).unwrap_or(seed);
                        way = parts.next().unwrap_or_default().to_owned();
                        if let Some(verdict) = parts.next() {
                            found.lock().unwrap().push((seed, format!("{way}: {verdict}")));
                        }
                        if way == "exhausted" {
                            // Its memory limit ended it, as it should.
                            seed += 1;
                            break;
                        }
                        if way == "done" {
                            seed += 1;
                            if seed.is_multiple_of(1000) {
                                eprintln!("{} of {}", seed - first, end - first);
                            }
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        found.lock().unwrap().push((seed, format!("{way}: passed its limit and did not end")));
                        seed += 1;
                        break;
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        if seed < batch_end {
                            found.lock().unwrap().push((seed, format!("{way}: the process died")));
                            seed += 1;
                        }
                        break;
                    }
                }
            }
        }
    }
}

#[test]
fn mutated_scripts_neither_crash_nor_hang() {
    if let Some(seed) = number("MUTANT") {
        let corpus = corpus();
        let (source, text) = corpus.mutant(seed);
        println!("# {} of {}\n{text}", seed, source.name);
        return;
    }
    // The few of every run are the same ones everywhere; a longer run goes where none was.
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() << 20);
    let begin = || number("MUTANTS").map_or(1, |_: u64| clock());
    let first = number("SEED").unwrap_or_else(begin);
    let end = first + number("MUTANTS").unwrap_or(FEW);
    println!("SEED={first}");
    if let Ok(folder) = std::env::var("MUTANTS_SCRIPTS") {
        let corpus = corpus();
        for seed in first..end {
            std::fs::write(format!("{folder}/{seed}.py"), corpus.mutant(seed).1).unwrap();
        }
        return;
    }
    let next = AtomicU64::new(first);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| run_all(first, end, &next, &found));
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort();
    if let Ok(folder) = std::env::var("MUTANTS_FOLDER") {
        let corpus = corpus();
        for (seed, what) in &found {
            let (source, text) = corpus.mutant(*seed);
            std::fs::write(format!("{folder}/{seed}.py"), &text).unwrap();
            std::fs::write(format!("{folder}/{seed}.txt"), format!("{}\n{what}\n", source.name)).unwrap();
        }
    }
    let all: String = found.iter().map(|(seed, what)| format!("MUTANT={seed}: {what}\n")).collect();
    assert!(found.is_empty(), "{} of {} scripts from SEED={first}:\n{all}", found.len(), end - first);
}

/// What a run came to.
struct Outcome {
    stdout: String,
    exception: Option<String>,
}

/// A process of the test above.
#[test]
#[ignore = "the test above starts it"]
fn serve() {
    let (Some(first), Some(count)) = (number("MUTANTS_FIRST"), number("MUTANTS_COUNT")) else { return };
    let panics = Arc::new(Mutex::new(Vec::new()));
    let seen = panics.clone();
    std::panic::set_hook(Box::new(move |panic| seen.lock().unwrap().push(panic.to_string().replace('\n', " "))));
    let corpus = corpus();
    let say = |seed: u64, way: &str, verdict: &str| {
        let mut out = std::io::stdout().lock();
        drop(writeln!(out, "MUTANT {seed} {way}{}{verdict}", if verdict.is_empty() { "" } else { " " }));
        drop(out.flush());
    };
    let under_way = Arc::new(AtomicU64::new(first));
    let watched = under_way.clone();
    std::thread::spawn(move || {
        while exhausted().is_none() {
            std::thread::sleep(Duration::from_millis(50));
        }
        say(watched.load(Relaxed), "exhausted", "");
        std::process::exit(0);
    });
    on_large_stack(|| {
        let interpreter = Interpreter::new();
        for seed in first..first + count {
            under_way.store(seed, Relaxed);
            let (_, text) = corpus.mutant(seed);
            let outcomes: Vec<Outcome> = WAYS
                .iter()
                .map(|(way, before, backend)| {
                    say(seed, way, "");
                    let options = RunOptions {
                        backend: backend.to_string(),
                        check: false,
                        pretend_cuda: false,
                        modules: Default::default(),
                        time_limit: Some(TIME),
                        memory_limit: Some(MEMORY),
                    };
                    let run = crate::script::run_in(&interpreter, &format!("{before}{text}"), &options);
                    for panic in panics.lock().unwrap().drain(..) {
                        say(seed, way, &panic);
                    }
                    Outcome { stdout: run.report.stdout, exception: run.report.exception.map(|e| format!("{}: {}", e.kind, e.message)) }
                })
                .collect();
            let listed = if number("DIFFERENCES").is_some() { WAYS.len() } else { 0 };
            for (i, (way, ..)) in WAYS.iter().enumerate().take(listed).skip(1) {
                let (plain, compiled) = (&outcomes[i - 1], &outcomes[i]);
                if plain.exception.is_none() && compiled.exception.is_none() && !alike(&compiled.stdout, &plain.stdout) {
                    say(seed, way, "prints something else");
                } else if plain.exception.is_some() != compiled.exception.is_some() {
                    let shown =
                        |o: &Outcome| o.exception.as_deref().unwrap_or("no exception").lines().next().unwrap_or_default().to_owned();
                    say(seed, way, &format!("ends otherwise: {} | {}", shown(plain), shown(compiled)));
                }
            }
            say(seed, "done", "");
        }
    })
    .unwrap();
}
