//! Scripts made of other scripts: one of the cases with a few edits, each of a kind that people make (another number, another method,
//! a line left out or brought over from elsewhere) or that an attacker does.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::parse_module;
use ruff_text_size::Ranged;
use std::ops::Range;

/// Draws numbers: SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
    pub fn of<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

/// A script with its parts.
pub struct Source {
    /// `TOPIC/NAME`
    pub name: String,
    pub text: String,
    tokens: Vec<(TokenKind, Range<usize>)>,
    /// Lines that are statements by themselves.
    statements: Vec<Range<usize>>,
}

impl Source {
    /// Nothing where it is no Python.
    pub fn new(name: String, text: String) -> Option<Self> {
        let parsed = parse_module(&text).ok()?;
        let tokens: Vec<(TokenKind, Range<usize>)> =
            parsed.tokens().iter().map(|t| (t.kind(), t.range().start().to_usize()..t.range().end().to_usize())).collect();
        let mut statements = Vec::new();
        let mut first = None;
        for (i, (kind, range)) in tokens.iter().enumerate() {
            match kind {
                TokenKind::Newline => {
                    if let Some(start) = first.take()
                        && !matches!(tokens[i - 1].0, TokenKind::Colon)
                    {
                        let word = text[start..].split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                        if !matches!(
                            word,
                            "" | "def" | "class" | "if" | "for" | "while" | "with" | "try" | "else" | "elif" | "except" | "import" | "from"
                        ) {
                            statements.push(start..range.start);
                        }
                    }
                }
                TokenKind::Indent | TokenKind::Dedent | TokenKind::NonLogicalNewline | TokenKind::Comment => {}
                _ => first = first.or(Some(range.start)),
            }
        }
        Some(Source { name, text, tokens, statements })
    }

    fn places(&self, kinds: &[TokenKind]) -> Vec<Range<usize>> {
        self.tokens.iter().filter(|(kind, _)| kinds.contains(kind)).map(|(_, range)| range.clone()).collect()
    }

    /// Names after a dot.
    fn attributes(&self) -> impl Iterator<Item = Range<usize>> {
        let after_dot = |pair: &&[(TokenKind, Range<usize>)]| pair[0].0 == TokenKind::Dot && pair[1].0 == TokenKind::Name;
        self.tokens.windows(2).filter(after_dot).map(|pair| pair[1].1.clone())
    }

    /// Indices of the tokens that end a call's arguments.
    fn calls(&self) -> Vec<usize> {
        let mut open = Vec::new();
        let mut calls = Vec::new();
        for (i, (kind, _)) in self.tokens.iter().enumerate() {
            match kind {
                TokenKind::Lpar => open.push(i),
                TokenKind::Rpar => {
                    if let Some(start) = open.pop()
                        && start > 1
                        && self.tokens[start - 1].0 == TokenKind::Name
                        && self.tokens[start - 2].0 != TokenKind::Def
                    {
                        calls.push(i);
                    }
                }
                _ => {}
            }
        }
        calls
    }

    /// Arguments of calls, elements of lists: what stands between commas, with the comma after it.
    fn arguments(&self) -> Vec<Range<usize>> {
        use TokenKind::{Comma, Lpar, Lsqb, Rpar, Rsqb};
        let mut found = Vec::new();
        let mut starts = Vec::new();
        for (kind, range) in &self.tokens {
            match kind {
                Lpar | Lsqb => starts.push(range.end),
                Comma => {
                    if let Some(start) = starts.last_mut() {
                        found.push(*start..range.end);
                        *start = range.end;
                    }
                }
                Rpar | Rsqb => {
                    if let Some(start) = starts.pop()
                        && start < range.start
                    {
                        found.push(start..range.start);
                    }
                }
                _ => {}
            }
        }
        found
    }
}

/// What scripts are made of.
pub struct Corpus {
    pub sources: Vec<Source>,
    attributes: Vec<String>,
    numbers: Vec<String>,
}

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "-3",
    "0.0",
    "-0.0",
    "1e-8",
    "1e30",
    "float('inf')",
    "float('nan')",
    "2**31",
    "2**40",
    "2**63",
    "-2**63",
    "2**64",
    "True",
    "None",
    "(2, 3)",
    "[0]",
    "'a'",
    "1j",
    "torch.tensor(2)",
    "torch.tensor([1.0, 2.0])",
    "65536",
    "10**6",
];
const DTYPES: &[&str] =
    &["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "int8", "bool", "complex64", "complex128"];
const AFTER: &[&str] = &[
    ".detach()",
    ".t()",
    "[None]",
    "[..., :1]",
    "[::2]",
    ".item()",
    ".tolist()",
    ".clone()",
    ".contiguous()",
    ".requires_grad_()",
    ".double()",
    ".half()",
    ".sum()",
    ".T",
    ".shape",
    ".expand(2, -1, -1)",
    ".flatten()",
    ".unsqueeze(0)",
    ".to(torch.bfloat16)",
    ".numpy()",
    ".data",
    ".grad",
    ".add_(1)",
    ".mul_(2)",
    ".view(-1)",
    ".squeeze()",
    ".abs()",
    ".real",
    ".backward()",
    ".bool()",
    ".transpose(0, -1)",
    ".long()",
    ".reshape(-1, 1)",
    ".to('meta')",
];
const LINES: &[&str] = &[
    "torch._dynamo.graph_break()",
    "print('here')",
    "torch.manual_seed(3)",
    "torch._dynamo.reset()",
    "torch.set_grad_enabled(False)",
    "torch.set_default_dtype(torch.float64)",
    "x = torch.ones(2, 3, requires_grad=True)",
    "raise ValueError('no')",
    "pass",
    "return",
    "del x",
    "x = y",
    "import gc; gc.collect()",
    "for _ in range(3): pass",
    "torch._dynamo.config.cache_size_limit = 1",
    "torch._functorch.config.activation_memory_budget = 0.3",
    "x.add_(1)",
    "break",
    "yield 1",
    "assert x.sum() > 0",
];
const KEYWORDS: &[&str] = &[
    "requires_grad=True",
    "dtype=torch.float16",
    "dtype=torch.int64",
    "dim=-1",
    "dim=7",
    "dim=None",
    "keepdim=True",
    "out=torch.empty(0)",
    "inplace=True",
    "fullgraph=True",
    "dynamic=True",
    "dynamic=False",
    "device='meta'",
    "retain_graph=True",
    "create_graph=True",
    "size=(2, 3)",
    "p=0.0",
    "bias=False",
    "reduction='none'",
    "unknown=1",
];
const TEXTS: &[&str] = &[
    "''",
    "'\\n'",
    "'a\\nb = 1'",
    "'é'",
    "'x' * 1000",
    "'\\0'",
    "'mean'",
    "'sum'",
    "'none'",
    "'eager'",
    "'inductor'",
    "'aot_eager'",
    "'cpu'",
    "'__class__'",
];
const OPERATORS: &[&str] = &["+", "-", "*", "/", "@", "**", "//", "%", "==", "<", ">=", "&", "|", "<<", ",", " and ", " is "];

impl Corpus {
    pub fn new(sources: Vec<Source>) -> Self {
        let mut attributes = Vec::new();
        let mut numbers: Vec<String> = NUMBERS.iter().map(ToString::to_string).collect();
        for source in &sources {
            attributes.extend(source.attributes().map(|range| source.text[range].to_owned()));
            numbers
                .extend(source.places(&[TokenKind::Int, TokenKind::Float]).into_iter().take(1).map(|range| source.text[range].to_owned()));
        }
        Corpus { sources, attributes, numbers }
    }

    /// The script that a seed stands for, and what it was made of.
    pub fn mutant(&self, seed: u64) -> (&Source, String) {
        let mut draw = Draw(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let source = &self.sources[draw.below(self.sources.len())];
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        let wanted = 1 + [0, 0, 1, 1, 2, 4][draw.below(6)];
        for _ in 0..wanted {
            if let Some((range, text)) = self.edit(source, &mut draw)
                && edits.iter().all(|(other, _)| range.end <= other.start || other.end <= range.start)
            {
                edits.push((range, text));
            }
        }
        edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        let mut text = source.text.clone();
        for (range, new) in edits {
            text.replace_range(range, &new);
        }
        (source, text)
    }

    fn edit(&self, source: &Source, draw: &mut Draw) -> Option<(Range<usize>, String)> {
        use TokenKind::{Float, Int, Name, Rpar, Rsqb};
        let some = |list: &[&str], draw: &mut Draw| draw.of(list).map(ToString::to_string);
        let own = |range: Range<usize>| source.text[range].to_owned();
        Some(match draw.below(24) {
            0..4 => (draw.of(&source.places(&[Int, Float]))?.clone(), draw.of(&self.numbers)?.clone()),
            4..7 => (draw.of(&source.attributes().collect::<Vec<_>>())?.clone(), draw.of(&self.attributes)?.clone()),
            7 => (draw.of(&source.statements)?.clone(), "pass".to_owned()),
            8 => {
                let range = draw.of(&source.statements)?.clone();
                let twice = format!("{}; {}", own(range.clone()), own(range.clone()));
                (range, twice)
            }
            9 | 10 => {
                let range = draw.of(&source.statements)?.clone();
                let from = &self.sources[draw.below(self.sources.len())];
                let brought = from.text[draw.of(&from.statements)?.clone()].to_owned();
                (range.clone(), format!("{brought}; {}", own(range)))
            }
            11 => {
                let range = draw.of(&source.statements)?.clone();
                (range.clone(), format!("{}; {}", own(range), draw.of(LINES)?))
            }
            12 => {
                let range = draw.of(&source.statements)?.clone();
                (range, own(draw.of(&source.statements)?.clone()))
            }
            13 => {
                let kinds = [
                    TokenKind::Plus,
                    TokenKind::Minus,
                    TokenKind::Star,
                    TokenKind::Slash,
                    TokenKind::At,
                    TokenKind::DoubleStar,
                    TokenKind::EqEqual,
                ];
                (draw.of(&source.places(&kinds))?.clone(), some(OPERATORS, draw)?)
            }
            14 | 15 => (draw.of(&source.arguments())?.clone(), String::new()),
            16 => {
                let range = draw.of(&source.arguments())?.clone();
                let other = own(draw.of(&source.arguments())?.clone());
                let comma = if own(range.clone()).ends_with(',') { "," } else { "" };
                (range, format!("{}{comma}", other.trim_end_matches(',')))
            }
            17 => {
                let end = *draw.of(&source.calls())?;
                let at = source.tokens[end].1.start;
                let comma = if matches!(source.tokens[end - 1].0, TokenKind::Lpar | TokenKind::Comma) { "" } else { ", " };
                (at..at, format!("{comma}{}", draw.of(KEYWORDS)?))
            }
            18 => {
                let all: Vec<_> = source.attributes().filter(|range| DTYPES.contains(&&source.text[range.clone()])).collect();
                (draw.of(&all)?.clone(), some(DTYPES, draw)?)
            }
            19..22 => {
                let at = draw.of(&source.places(&[Name, Rpar, Rsqb]))?.end;
                (at..at, some(AFTER, draw)?)
            }
            22 => (draw.of(&source.places(&[TokenKind::String]))?.clone(), some(TEXTS, draw)?),
            _ => (draw.of(&source.places(&[Name]))?.clone(), own(draw.of(&source.places(&[Name]))?.clone())),
        })
    }
}
