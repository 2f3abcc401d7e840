//! Runs a case through the command line: `aot-playground run SCRIPT --json`.

use crate::observed::{Observed, observed};
use crate::run::TIME_LIMIT;
use crate::topics::Case;
use aot_playground::report::Report;
use libtest_mimic::Failed;
use std::process::Command;

/// Runs a case.
///
/// # Errors
///
/// Where the command prints no report.
pub fn run(case: &Case, backend: Option<&str>) -> Result<Observed, Failed> {
    let folder = case.script.parent().unwrap_or(&case.script);
    let mut command = Command::new(env!("CARGO_BIN_EXE_aot-playground"));
    command.current_dir(folder).arg("run").arg(case.script.file_name().unwrap_or_default());
    command.args(["--json", "--time-limit", &TIME_LIMIT.as_secs().to_string()]);
    command.args(case.modules().iter().flat_map(|folder| ["--module-path".as_ref(), folder.as_os_str()]));
    command.args(backend.map(|name| ["--backend", name]).iter().flatten());
    let output = command.output()?;
    let report: Report =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("no report: {e}\n{}", String::from_utf8_lossy(&output.stderr)))?;
    Ok(observed(&report, output.status.code().unwrap_or(-1), &format!("{}/", folder.display())))
}
