//! The text of an `.expected` file, as tests/recorders/expected.py writes it: sections that begin with `=== ITEM` or, where backends
//! differ, `=== ITEM: BACKEND, BACKEND`. In a section's body, a `\` stands before lines that begin with `=== ` or `\`; a last line
//! `\ no newline` says that the text ends without one.

use std::collections::BTreeMap;

/// What was recorded of one run: an item's name (`stdout`, `joint 0`, ...) and its text.
pub type Items = BTreeMap<String, String>;

/// What was recorded of a case.
pub struct Expected {
    backends: Vec<String>,
    /// In the order of `backends`; one where there are none.
    runs: Vec<Items>,
}

impl Expected {
    /// Reads a file's text.
    ///
    /// # Errors
    ///
    /// Where a line belongs to no section, or a section names a backend that the first section does not.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut sections: Vec<(&str, String)> = Vec::new();
        for line in text.lines() {
            match (line.strip_prefix("=== "), sections.last_mut()) {
                (Some(head), _) => sections.push((head, String::new())),
                (None, None) => return Err(format!("`{line}` stands before the first section")),
                (None, Some((_, body))) if line == "\\ no newline" => drop(body.pop()),
                (None, Some((_, body))) => {
                    body.push_str(line.strip_prefix('\\').unwrap_or(line));
                    body.push('\n');
                }
            }
        }
        let names = |list: &str| list.split(", ").map(str::to_owned).collect::<Vec<_>>();
        let backends = match sections.first().and_then(|(head, _)| head.strip_prefix("backends: ")) {
            Some(list) => names(list),
            None => Vec::new(),
        };
        let mut runs = vec![Items::new(); backends.len().max(1)];
        for (head, body) in sections.into_iter().skip(usize::from(!backends.is_empty())) {
            let (item, of) = head.split_once(": ").map_or((head, None), |(item, list)| (item, Some(names(list))));
            for backend in of.iter().flatten() {
                let place = backends.iter().position(|b| b == backend).ok_or(format!("no backend {backend}"))?;
                runs[place].insert(item.to_owned(), body.clone());
            }
            if of.is_none() {
                runs.iter_mut().for_each(|run| drop(run.insert(item.to_owned(), body.clone())));
            }
        }
        Ok(Expected { backends, runs })
    }

    /// The backends recorded.
    pub fn backends(&self) -> &[String] {
        &self.backends
    }

    /// What was recorded with a backend.
    pub fn items(&self, backend: Option<&str>) -> &Items {
        &self.runs[backend.and_then(|name| self.backends.iter().position(|b| b == name)).unwrap_or(0)]
    }

    /// How many graphs that is.
    pub fn graphs(&self, backend: Option<&str>) -> usize {
        let is_graph = |item: &&String| ["joint ", "inference ", "forward ", "backward "].iter().any(|kind| item.starts_with(kind));
        self.items(backend).keys().filter(is_graph).count()
    }
}
