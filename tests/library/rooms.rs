//! A room imports only rooms below it. Of rooms that are crates, Cargo sees to that; here are those of the root crate.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms, lowest first. Rooms in one row do not know each other. The first row are crates, under the names that `lib.rs` gives them.
const ROWS: &[&[&str]] = &[
    &[
        "autograd",
        "bundle",
        "decompositions",
        "dispatch",
        "error",
        "graph",
        "graph_view",
        "ops",
        "partition",
        "report",
        "shape",
        "span",
        "tensor",
        "trace",
        "transforms",
    ],
    &["export"],
    // Crates, too; what is compiled knows no backend.
    &["backend", "aot"],
    &["describe", "catalogue", "logs"],
    &["dynamo"],
    &["python"],
    &["minimizing"],
    &["web"],
];
/// Dynamo evaluates the frames that the interpreter runs: it reads them, and they ask it.
const PEERS: (&str, &str) = ("dynamo", "python");
/// What is no room: where rooms are put together, the command line, and macros.
const OUTSIDE: &[&str] = &["aten", "t", "lib", "main", "module_files", "interrupt", "minimize_command", "tries"];

fn row(room: &str) -> Option<usize> {
    ROWS.iter().position(|rooms| rooms.contains(&room))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Names that follow `crate::` in a source file.
fn imports(text: &str) -> BTreeSet<String> {
    text.match_indices("crate::")
        .filter(|(at, _)| !text[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        .map(|(at, found)| text[at + found.len()..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect::<String>())
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn imports_go_down() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&source, &mut files);
    let mut wrong = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&source).unwrap();
        let room = relative.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned();
        if OUTSIDE.contains(&room.as_str()) {
            continue;
        }
        let own = row(&room).unwrap_or_else(|| panic!("{room} is in no row"));
        for used in imports(&fs::read_to_string(&file).unwrap()) {
            if used == room || OUTSIDE.contains(&used.as_str()) || (room.as_str(), used.as_str()) == PEERS {
                continue;
            }
            // A room's dependants and neighbours are not its business.
            if row(&used).is_none_or(|r| r >= own) {
                wrong.push(format!("{} imports {used}", relative.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A crate whose manifest says `test = false` has its tests in `tests/`: one that stood in its `src/` would never run.
#[test]
fn no_test_stands_where_none_runs() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let mut untested = 0;
    for folder in fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap().path();
        if !fs::read_to_string(folder.join("Cargo.toml")).unwrap().contains("\ntest = false\n") {
            continue;
        }
        untested += 1;
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        for file in files {
            assert!(!fs::read_to_string(&file).unwrap().contains("#[test]"), "{}: its crate's tests stand in tests/", file.display());
        }
    }
    assert!(untested > 0);
}

/// The most files that may import each other in a circle.
const LARGEST_CYCLE: usize = 6;

#[test]
fn cycles_are_small() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut told = Vec::new();
    for source in crates(root) {
        let house = House::read(&source);
        let edges = house.edges();
        let large = components(house.files.len(), &edges).into_iter().filter(|cycle| cycle.len() > LARGEST_CYCLE);
        told.extend(large.map(|cycle| house.describe(&cycle, &edges)));
    }
    assert!(told.is_empty(), "{} cycles of more than {LARGEST_CYCLE} files\n\n{}", told.len(), told.join("\n\n"));
}

/// Files are read in one sitting.
#[test]
fn files_are_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    crates(root).iter().for_each(|source| sources(source, &mut files));
    sources(&root.join("tests"), &mut files);
    let long = files.iter().map(|file| (fs::read_to_string(file).unwrap().lines().count(), file)).filter(|(lines, _)| *lines > 725);
    let long: Vec<String> = long.map(|(lines, file)| format!("{}: {lines} lines", file.display())).collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// The source folder of every crate that has a library.
fn crates(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.join("src")];
    let below = fs::read_dir(root.join("crates")).into_iter().flatten();
    found.extend(below.map(|entry| entry.unwrap().path().join("src")).filter(|source| source.join("lib.rs").exists()));
    found.sort();
    found
}

/// The parts of a program that say what it imports.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Token {
    Name(String),
    /// `::`
    Colons,
    Mark(char),
}

/// A text without comments, strings, numbers and lifetimes.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let (mut found, mut i) = (Vec::new(), 0);
    while i < chars.len() {
        let c = chars[i];
        // A raw string: any number of marks around it.
        let raw = match c {
            'r' => Some(i + 1),
            'b' if at(i + 1) == 'r' => Some(i + 2),
            _ => None,
        };
        if let Some(start) = raw {
            let marks = (start..).take_while(|j| at(*j) == '#').count();
            if at(start + marks) == '"' {
                i = start + marks + 1;
                while i < chars.len() && !(chars[i] == '"' && (1..=marks).all(|k| at(i + k) == '#')) {
                    i += 1;
                }
                i += marks + 1;
                continue;
            }
        }
        match c {
            '/' if at(i + 1) == '/' => i = (i..chars.len()).find(|j| chars[*j] == '\n').unwrap_or(chars.len()),
            '/' if at(i + 1) == '*' => {
                let mut depth = 1;
                i += 2;
                while i < chars.len() && depth > 0 {
                    match (chars[i], at(i + 1)) {
                        ('/', '*') => (depth, i) = (depth + 1, i + 2),
                        ('*', '/') => (depth, i) = (depth - 1, i + 2),
                        _ => i += 1,
                    }
                }
            }
            '"' => {
                i += 1;
                while i < chars.len() && chars[i] != '"' {
                    i += if chars[i] == '\\' { 2 } else { 1 };
                }
                i += 1;
            }
            // A character, or the name of a lifetime.
            '\'' if at(i + 1) == '\\' => i = (i + 3..chars.len()).find(|j| chars[*j] == '\'').unwrap_or(chars.len()) + 1,
            '\'' if at(i + 2) == '\'' => i += 3,
            '\'' => i = (i + 1..).find(|j| !at(*j).is_alphanumeric() && at(*j) != '_').unwrap_or(chars.len()),
            ':' if at(i + 1) == ':' => {
                found.push(Token::Colons);
                i += 2;
            }
            c if c.is_alphabetic() || c == '_' => {
                let end = (i..).find(|j| !at(*j).is_alphanumeric() && at(*j) != '_').unwrap_or(chars.len());
                found.push(Token::Name(chars[i..end].iter().collect()));
                i = end;
            }
            c if c.is_ascii_digit() => i = (i..).find(|j| !at(*j).is_alphanumeric() && at(*j) != '_').unwrap_or(chars.len()),
            c if c.is_whitespace() => i += 1,
            c => {
                found.push(Token::Mark(c));
                i += 1;
            }
        }
    }
    found
}

type Names = Vec<String>;

/// A module, and what it says of others.
#[derive(Default)]
struct Module {
    file: usize,
    parent: usize,
    children: HashMap<String, usize>,
    /// Items that it defines.
    defined: HashSet<String>,
    /// What it imports under which name, and whether it only hands it on.
    imported: Vec<(String, Names, bool)>,
    /// Modules of which it imports everything.
    globs: Vec<(Names, bool)>,
    /// Paths of more than one name in its code.
    paths: HashSet<Names>,
    /// Names that stand alone in its code.
    alone: HashSet<String>,
}

/// What a path leads to.
enum Found {
    Module(usize),
    /// The file of an item.
    Item(usize),
}

/// The modules of a crate; the first is its root.
struct House {
    source: PathBuf,
    files: Vec<PathBuf>,
    modules: Vec<Module>,
}

impl House {
    fn read(source: &Path) -> House {
        let mut house = House { source: source.to_owned(), files: Vec::new(), modules: Vec::new() };
        house.file(&source.join("lib.rs"), source, 0);
        house
    }

    /// Reads a file as a module whose children lie in a folder.
    fn file(&mut self, path: &Path, folder: &Path, parent: usize) -> usize {
        let all = tokens(&fs::read_to_string(path).unwrap());
        self.files.push(path.to_owned());
        let own = self.module(self.files.len() - 1, parent);
        self.block(&all, 0, own, folder);
        own
    }

    fn module(&mut self, file: usize, parent: usize) -> usize {
        self.modules.push(Module { file, parent, ..Module::default() });
        self.modules.len() - 1
    }

    /// Reads a module's code from a token on; gives the place after its closing brace.
    fn block(&mut self, all: &[Token], start: usize, own: usize, folder: &Path) -> usize {
        let name = |i: usize| if let Some(Token::Name(name)) = all.get(i) { name.as_str() } else { "" };
        let mark = |i: usize, c: char| all.get(i) == Some(&Token::Mark(c));
        let (mut depth, mut i, mut is_test) = (0, start, false);
        while i < all.len() {
            match &all[i] {
                Token::Mark('{') => depth += 1,
                Token::Mark('}') if depth == 0 => return i + 1,
                Token::Mark('}') => depth -= 1,
                Token::Name(word) => match word.as_str() {
                    "cfg" if mark(i + 1, '(') && name(i + 2) == "test" && mark(i + 3, ')') => is_test = true,
                    "mod" if mark(i + 2, '{') => {
                        let child = self.module(self.modules[own].file, own);
                        let end = self.block(all, i + 3, child, &folder.join(name(i + 1)));
                        if std::mem::take(&mut is_test) {
                            // Tests see everything: their imports are not the file's.
                            (self.modules[child].imported, self.modules[child].globs) = Default::default();
                            (self.modules[child].paths, self.modules[child].alone) = Default::default();
                        }
                        self.modules[own].children.insert(name(i + 1).to_owned(), child);
                        i = end;
                        continue;
                    }
                    "mod" if mark(i + 2, ';') => {
                        let (child, below) = (name(i + 1).to_owned(), folder.join(name(i + 1)));
                        let flat = folder.join(format!("{child}.rs"));
                        let path = if flat.exists() { flat } else { below.join("mod.rs") };
                        if path.exists() && !std::mem::take(&mut is_test) {
                            let module = self.file(&path, &below, own);
                            self.modules[own].children.insert(child, module);
                        }
                        i += 2;
                    }
                    // `pub(in crate::room)` imports nothing.
                    "in" if i > 1 && mark(i - 1, '(') && name(i - 2) == "pub" => {
                        while !mark(i, ')') {
                            i += 1;
                        }
                    }
                    "use" => {
                        let hands_on = name(i - usize::from(i > 0)) == "pub" || mark(i - usize::from(i > 0), ')');
                        i = self.import(all, i + 1, &mut Vec::new(), own, hands_on);
                    }
                    "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" if depth == 0 => {
                        let at = if name(i + 1) == "fn" || name(i + 1) == "mut" { i + 2 } else { i + 1 };
                        self.modules[own].defined.insert(name(at).to_owned());
                    }
                    // What a macro writes is imported where it is called.
                    "macro_rules" => {
                        self.modules[own].defined.insert(name(i + 2).to_owned());
                        let mut open = 0;
                        while i < all.len() {
                            open += isize::from(mark(i, '{')) - isize::from(mark(i, '}'));
                            if open == 0 && mark(i, '}') {
                                break;
                            }
                            i += 1;
                        }
                    }
                    _ => {
                        let mut path = vec![word.clone()];
                        let follows = i > 0 && matches!(all[i - 1], Token::Colons | Token::Mark('.'));
                        while all.get(i + 1) == Some(&Token::Colons) && !name(i + 2).is_empty() {
                            path.push(name(i + 2).to_owned());
                            i += 2;
                        }
                        if path.len() > 1 {
                            self.modules[own].paths.insert(path);
                        } else if !follows {
                            self.modules[own].alone.insert(word.clone());
                        }
                    }
                },
                _ => {}
            }
            i += 1;
        }
        i
    }

    /// Reads what follows `use`, below a path; gives the place of the token that ends it.
    fn import(&mut self, all: &[Token], mut i: usize, path: &mut Names, own: usize, hands_on: bool) -> usize {
        let length = path.len();
        loop {
            match all.get(i) {
                Some(Token::Name(word)) if word == "as" => {
                    let Some(Token::Name(alias)) = all.get(i + 1) else { return i };
                    self.modules[own].imported.push((alias.clone(), path.clone(), hands_on));
                    path.truncate(length);
                    i += 2;
                    return i;
                }
                Some(Token::Name(word)) => path.push(word.clone()),
                Some(Token::Colons) => {}
                Some(Token::Mark('*')) => {
                    self.modules[own].globs.push((path.clone(), hands_on));
                    path.truncate(length);
                    return i + 1;
                }
                Some(Token::Mark('{')) => {
                    i += 1;
                    while all.get(i) != Some(&Token::Mark('}')) {
                        i = self.import(all, i, path, own, hands_on);
                        i += usize::from(all.get(i) == Some(&Token::Mark(',')));
                    }
                    path.truncate(length);
                    return i + 1;
                }
                _ => {
                    if path.last().is_some_and(|last| last == "self") {
                        path.pop();
                    }
                    if let Some(last) = path.last().cloned() {
                        self.modules[own].imported.push((last, path.clone(), hands_on));
                    }
                    path.truncate(length);
                    return i;
                }
            }
            i += 1;
        }
    }

    /// Where a path that stands in a module leads; `None` where it leads out of the crate.
    fn resolve(&self, own: usize, path: &[String], seen: &mut Vec<(usize, String)>) -> Option<Found> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.walk(0, rest, seen),
            "self" => self.walk(own, rest, seen),
            "super" => self.walk(self.modules[own].parent, rest, seen),
            name => self.knows(own, name).then(|| self.walk(own, path, seen)).flatten(),
        }
    }

    /// Whether a name means something in a module.
    fn knows(&self, own: usize, name: &str) -> bool {
        let module = &self.modules[own];
        module.children.contains_key(name) || module.defined.contains(name) || module.imported.iter().any(|(known, ..)| known == name)
    }

    fn walk(&self, own: usize, path: &[String], seen: &mut Vec<(usize, String)>) -> Option<Found> {
        let Some((first, rest)) = path.split_first() else { return Some(Found::Module(own)) };
        let module = &self.modules[own];
        if first == "super" {
            return self.walk(module.parent, rest, seen);
        }
        if let Some(child) = module.children.get(first) {
            return self.walk(*child, rest, seen);
        }
        if module.defined.contains(first) {
            return Some(Found::Item(module.file));
        }
        // A name can stand for itself: `use x::x`.
        if seen.contains(&(own, first.clone())) {
            return None;
        }
        seen.push((own, first.clone()));
        for (_, origin, _) in module.imported.iter().filter(|(name, ..)| name == first) {
            match self.resolve(own, origin, seen) {
                Some(Found::Module(found)) => return self.walk(found, rest, seen),
                Some(item) => return Some(item),
                None => {}
            }
        }
        for (origin, _) in &module.globs {
            if let Some(Found::Module(found)) = self.resolve(own, origin, &mut Vec::new())
                && found != own
                && (self.knows(found, first) || !self.modules[found].globs.is_empty())
                && let Some(item) = self.walk(found, path, seen)
            {
                return Some(item);
            }
        }
        // What leads nowhere is of another crate; else a macro may have made it.
        let is_foreign = module.imported.iter().any(|(name, ..)| name == first);
        (!is_foreign).then_some(Found::Item(module.file))
    }

    /// The room of a file: a folder or file of the root crate, else the whole crate.
    fn room(&self, file: usize) -> PathBuf {
        let relative = self.files[file].strip_prefix(&self.source).unwrap();
        let is_root_crate = self.source.parent().unwrap().join("crates").exists();
        if is_root_crate { relative.components().next().unwrap().as_os_str().into() } else { PathBuf::new() }
    }

    /// Which file imports which of its room.
    fn edges(&self) -> BTreeSet<(usize, usize)> {
        let mut edges = BTreeSet::new();
        for (own, module) in self.modules.iter().enumerate() {
            let mut add = |path: &[String]| {
                if let Some(Found::Item(file)) = self.resolve(own, path, &mut Vec::new())
                    && file != module.file
                    && self.room(file) == self.room(module.file)
                {
                    edges.insert((module.file, file));
                }
            };
            // A module that is imported counts where something of it is used.
            let used = module.imported.iter().filter(|(name, _, hands_on)| !hands_on || module.alone.contains(name));
            used.for_each(|(_, path, _)| add(path));
            module.paths.iter().for_each(|path| add(path));
            for (path, _) in &module.globs {
                let Some(Found::Module(of)) = self.resolve(own, path, &mut Vec::new()) else { continue };
                let there = &self.modules[of];
                let offered = there.defined.iter().chain(there.imported.iter().map(|(name, ..)| name)).chain(there.children.keys());
                let firsts: HashSet<&String> = module.alone.iter().chain(module.paths.iter().map(|path| &path[0])).collect();
                for name in offered.filter(|name| firsts.contains(name)) {
                    add(&[&path[..], std::slice::from_ref(name)].concat());
                }
            }
        }
        edges
    }

    fn describe(&self, cycle: &[usize], edges: &BTreeSet<(usize, usize)>) -> String {
        let name = |file: usize| self.files[file].strip_prefix(self.source.parent().unwrap()).unwrap().display().to_string();
        let mut told = format!("{} files of {}:", cycle.len(), self.source.display());
        for file in cycle {
            let imports = edges.iter().filter(|(from, to)| from == file && cycle.contains(to));
            told += &format!("\n  {} imports {}", name(*file), imports.map(|(_, to)| name(*to)).collect::<Vec<_>>().join(", "));
        }
        told
    }
}

/// The strongly connected components of a graph: files that lead to each other.
fn components(count: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<Vec<usize>> {
    fn reached(from: usize, next: &[Vec<usize>], seen: &mut HashSet<usize>, left: &mut Vec<usize>) {
        if seen.insert(from) {
            next[from].iter().for_each(|to| reached(*to, next, seen, left));
            left.push(from);
        }
    }
    let mut ahead = vec![Vec::new(); count];
    let mut back = vec![Vec::new(); count];
    for (from, to) in edges {
        ahead[*from].push(*to);
        back[*to].push(*from);
    }
    let (mut seen, mut order) = (HashSet::new(), Vec::new());
    (0..count).for_each(|file| reached(file, &ahead, &mut seen, &mut order));
    seen.clear();
    let mut found = Vec::new();
    for file in order.into_iter().rev() {
        let mut component = Vec::new();
        reached(file, &back, &mut seen, &mut component);
        if !component.is_empty() {
            component.sort_unstable();
            found.push(component);
        }
    }
    found
}
