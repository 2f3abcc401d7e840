//! What loggers, launchers and people put before the lines of a log.

use super::model::CompileId;

/// A line without what stands before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Prefixed<'a> {
    /// Which process, where a launcher says it: `[rank0]:`.
    pub(crate) rank: Option<u32>,
    /// `[0/1]`
    pub(crate) id: Option<CompileId>,
    /// The attempt: `[0/1_1]`.
    pub(crate) attempt: u32,
    /// The artifact's name: `aot_graphs`.
    pub(crate) tag: Option<&'a str>,
    /// The process's number, where the logger says it.
    pub(crate) process: Option<&'a str>,
    /// Whether a logger's prefix was found.
    pub(crate) is_logged: bool,
    /// What is left.
    pub(crate) rest: &'a str,
}

/// Takes a line apart.
pub(crate) fn prefixed(line: &str) -> Prefixed<'_> {
    let mut out = Prefixed::default();
    let mut rest = line;
    // Quotes in a mail or an issue; most lines have neither them nor a rank.
    while let Some(quoted) = rest.strip_prefix('>') {
        rest = quoted.strip_prefix(' ').unwrap_or(quoted);
    }
    while let Some((rank, after)) = launcher(rest) {
        out.rank = rank.or(out.rank);
        rest = after.strip_prefix(' ').filter(|next| !next.starts_with(' ')).unwrap_or(after);
    }
    out.process = glog(rest).and_then(|_| rest.split_ascii_whitespace().nth(2));
    let after = glog(rest).or_else(|| dated(rest)).or_else(|| short(rest)).or_else(|| cut(rest));
    if let Some((tag, after)) = after {
        out.is_logged = true;
        out.tag = tag;
        rest = after;
    }
    // Compile ids and the artifact's name, in brackets.
    loop {
        let trimmed = if out.is_logged { rest } else { rest.trim_start() };
        let Some(inside) = trimmed.strip_prefix('[').or_else(|| trimmed.strip_prefix(" [")) else { break };
        let Some((inside, after)) = inside.split_once(']') else { break };
        if let Some((id, attempt)) = compile_id(inside) {
            (out.id, out.attempt) = (Some(id), attempt);
        } else if let Some(tag) = inside.strip_prefix("__") {
            out.tag = Some(tag);
        } else {
            break;
        }
        out.is_logged = true;
        rest = after;
    }
    // 2.1 has its logger's name behind the compile id.
    if out.is_logged
        && out.tag.is_none()
        && let Some((tag, after)) = logger(rest.trim_start())
    {
        (out.tag, rest) = (Some(tag), after);
    }
    if out.is_logged {
        rest = rest.strip_prefix(' ').unwrap_or(rest);
    }
    out.rest = rest;
    out
}

/// `[rank0]:`, `[default1]:`, `0: `
fn launcher(text: &str) -> Option<(Option<u32>, &str)> {
    let inside = text.strip_prefix('[')?;
    let (inside, after) = inside.split_once("]:")?;
    if let Some(rank) = inside.strip_prefix("rank") {
        return Some((Some(rank.parse().ok()?), after));
    }
    inside.strip_prefix("default").and_then(|n| n.parse::<u32>().ok()).map(|_| (None, after))
}

/// `V1126 00:24:08.222000 30281 torch/_dynamo/output_graph.py:2987]`
fn glog(text: &str) -> Option<(Option<&str>, &str)> {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || !b"VDIWEC".contains(&bytes[0]) || !bytes[1..5].iter().all(u8::is_ascii_digit) || bytes[5] != b' ' {
        return None;
    }
    let end = memchr::memchr(b']', &bytes[..bytes.len().min(512)])?;
    Some((None, &text[end + 1..]))
}

/// `[2023-04-10 12:28:09,922]`, then an id or the logger's name
fn dated(text: &str) -> Option<(Option<&str>, &str)> {
    let inside = text.strip_prefix('[')?;
    let (date, after) = inside.split_once(']')?;
    let shape = date.len() >= 19 && date.as_bytes()[4] == b'-' && date.as_bytes()[13] == b':' && date.is_ascii();
    if !shape {
        return None;
    }
    match logger(after.trim_start()) {
        Some((tag, after)) => Some((Some(tag), after)),
        None => Some((None, after)),
    }
}

/// `torch._functorch.aot_autograd.__aot_graphs: [INFO]`: the artifact's name.
fn logger(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.split_once(": [")?;
    if !name.starts_with("torch") || name.contains(' ') {
        return None;
    }
    let (level, after) = after.split_once(']')?;
    if level.is_empty() || !level.bytes().all(|b| b.is_ascii_uppercase()) {
        return None;
    }
    let tag = name.rsplit('.').next().unwrap_or(name);
    Some((tag.strip_prefix("__").unwrap_or(tag), after))
}

/// `INFO:torch._functorch._aot_autograd.graph_compile.__aot_graphs:`
fn short(text: &str) -> Option<(Option<&str>, &str)> {
    let (level, after) = text.split_once(":torch")?;
    if !matches!(level, "DEBUG" | "INFO" | "WARNING" | "ERROR" | "CRITICAL") {
        return None;
    }
    let (name, rest) = after.split_once(':')?;
    let tag = name.rsplit('.').next().unwrap_or(name);
    // What follows has no blank of its own before it.
    Some((Some(tag.strip_prefix("__").unwrap_or(tag)), rest))
}

/// `graph_compile.py:605]`, where people cut a prefix short
fn cut(text: &str) -> Option<(Option<&str>, &str)> {
    let head = &text.as_bytes()[..text.len().min(200)];
    let end = memchr::memmem::find(head, b"] [")?;
    let (place, after) = (&text[..end], &text[end + 1..]);
    let (_, line) = place.rsplit_once(".py:")?;
    let is_number = !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit());
    (is_number && !place.trim_start().contains("  ")).then_some((None, after))
}

/// `0/1`, `0/1_2`, `!0/1/0`, `!0`, `-/-`
fn compile_id(text: &str) -> Option<(CompileId, u32)> {
    let (text, attempt) = match text.rsplit_once('_') {
        Some((id, attempt)) => (id, attempt.parse().ok()?),
        None => (text, 0),
    };
    let (tape, text) = match text.strip_prefix('!') {
        Some(rest) => match rest.split_once('/') {
            Some((tape, rest)) => (Some(tape.parse().ok()?), rest),
            None => (Some(rest.parse().ok()?), ""),
        },
        None => (None, text),
    };
    if text.is_empty() {
        return tape.map(|tape| (CompileId { compiled_autograd: Some(tape), frame: None }, attempt));
    }
    let (frame, compile) = text.split_once('/')?;
    Some((CompileId { compiled_autograd: tape, frame: Some((frame.parse().ok()?, compile.parse().ok()?)) }, attempt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_cut() {
        let cases = [
            "V1126 00:24:08.222000 30281 torch/_dynamo/output_graph.py:2987] [0/0] [__graph_code]     return (gt, y)",
            "[rank1]:V1126 00:24:08.222000 30281 torch/_dynamo/output_graph.py:2987] [2/1_1] [__graph_code]  ===== x =====",
            "> graph_compile.py:605] [0/0] [__aot_graphs]  ===== Forward graph 0 =====",
            "[0/0] [__aot_graphs] TRACED GRAPH",
            "[2026-11-26 03:11:32,950] [0/0] torch._dynamo.output_graph.__graph_code: [DEBUG]     def forward(self):",
            "[2023-04-10 12:28:09,922] torch._functorch.aot_autograd.__aot_graphs: [INFO] TRACED GRAPH",
            "INFO:torch._functorch._aot_autograd.graph_compile.__aot_graphs:TRACED GRAPH",
            "[default0]:[rank0]:I1126 00:24:08.222000 30281 a.py:1] [!0/1/0] [__aot_graphs] x",
            "        add: f32[3] = torch.ops.aten.add.Tensor(arg0_1, arg1_1)",
            "    x = y[0] # a.py:5 [1/2]",
        ];
        let show = |line: &&str| {
            let p = prefixed(line);
            let id = p.id.map_or_else(|| "-".to_owned(), |id| id.to_string());
            format!("{:?} {id} {} {:?} {} |{}", p.rank, p.attempt, p.tag.unwrap_or("-"), p.is_logged, p.rest)
        };
        let got: Vec<String> = cases.iter().map(show).collect();
        let want = [
            "None [0/0] 0 graph_code true |    return (gt, y)",
            "Some(1) [2/1] 1 graph_code true | ===== x =====",
            "None [0/0] 0 aot_graphs true | ===== Forward graph 0 =====",
            "None [0/0] 0 aot_graphs true |TRACED GRAPH",
            "None [0/0] 0 graph_code true |    def forward(self):",
            "None - 0 aot_graphs true |TRACED GRAPH",
            "None - 0 aot_graphs true |TRACED GRAPH",
            "Some(0) [!0/1/0] 0 aot_graphs true |x",
            "None - 0 - false |        add: f32[3] = torch.ops.aten.add.Tensor(arg0_1, arg1_1)",
            "None - 0 - false |    x = y[0] # a.py:5 [1/2]",
        ];
        assert_eq!(got.iter().map(|l| l.replacen("\"", "", 2)).collect::<Vec<_>>(), want);
    }
}
