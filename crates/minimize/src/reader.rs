//! Reads a script's syntax tree, once, and notes what there is to take away.

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal, walk_body};
use ruff_python_ast::{AnyNodeRef, Arguments, ExceptHandler, Expr, InterpolatedStringElement, Number, Parameters, Stmt};
use ruff_python_parser::parse_module;
use ruff_text_size::{Ranged, TextRange};

use crate::edits::Span;
use crate::facts::{Assignment, Call, Compound, Facts, Function, List, Parameter};

/// What `source` is made of, where it is a script.
pub(crate) fn facts(source: &str) -> Option<Facts> {
    let parsed = parse_module(source).ok()?;
    let mut facts = Facts::default();
    let mut starts = Vec::new();
    for token in parsed.tokens() {
        match token.kind() {
            TokenKind::Comment => facts.comments.push(span(token.range())),
            TokenKind::String => facts.strings.push(span(token.range())),
            TokenKind::FStringStart => starts.push(span(token.range()).start),
            TokenKind::FStringEnd => facts.strings.extend(starts.pop().map(|start| start..span(token.range()).end)),
            _ => {}
        }
    }
    let suite = parsed.suite();
    facts.blocks.push(block(suite));
    let mut reader = Reader { source, facts, classes: Vec::new() };
    walk_body(&mut reader, suite);
    Some(reader.facts)
}

/// Whether it is a script.
pub(crate) fn parses(source: &str) -> bool {
    parse_module(source).is_ok()
}

fn span(range: TextRange) -> Span {
    range.start().to_usize()..range.end().to_usize()
}

fn of(node: &impl Ranged) -> Span {
    span(node.range())
}

fn block(statements: &[Stmt]) -> Vec<Span> {
    statements.iter().map(of).collect()
}

struct Reader<'a> {
    source: &'a str,
    facts: Facts,
    /// The classes whose bodies are being read, and nothing for functions.
    classes: Vec<Option<(String, Span)>>,
}

impl<'a> SourceOrderVisitor<'a> for Reader<'a> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        if node.is_statement() {
            self.facts.statements += 1;
        }
        self.statement(node);
        self.expression(node);
        TraversalSignal::Traverse
    }

    fn leave_node(&mut self, node: AnyNodeRef<'a>) {
        if matches!(node, AnyNodeRef::StmtFunctionDef(_) | AnyNodeRef::StmtClassDef(_)) {
            self.classes.pop();
        }
    }
}

impl<'a> Reader<'a> {
    /// Blocks of a statement that are not empty, and what may stand in its place: each of them.
    fn compound(&mut self, statement: Span, blocks: &[&'a [Stmt]], first: Vec<(Option<String>, Vec<Span>)>) {
        let blocks: Vec<_> = blocks.iter().filter(|statements| !statements.is_empty()).map(|statements| block(statements)).collect();
        self.facts.blocks.extend(blocks.iter().cloned());
        let bodies = blocks.into_iter().map(|block| (None, block)).chain(first).collect();
        self.facts.compounds.push(Compound { span: statement, bodies });
    }

    /// A clause goes with all between it and what stands before it.
    fn clause(&mut self, before: &Span, clause: &Span) {
        self.facts.optional.push(before.end..clause.end);
    }

    fn clause_of(&mut self, before: &[Stmt], clause: &[Stmt]) {
        if let (Some(before), Some(last)) = (before.last(), clause.last()) {
            self.clause(&of(before), &of(last));
        }
    }

    fn text(&self, node: &impl Ranged) -> &'a str {
        &self.source[of(node)]
    }

    fn decorators(&mut self, decorators: &[ruff_python_ast::Decorator], end: usize) {
        for (at, decorator) in decorators.iter().enumerate() {
            let start = of(decorator).start;
            let next = decorators.get(at + 1).map_or_else(
                || {
                    let rest = self.source.get(of(decorator).end..end).unwrap_or_default();
                    let words = ["\ndef ", "\nclass ", "\nasync ", " def ", " class ", " async ", "\tdef ", "\tclass "];
                    words.iter().filter_map(|word| rest.find(word)).min().map(|found| of(decorator).end + found + 1)
                },
                |next| Some(of(next).start),
            );
            self.facts.optional.extend(next.map(|next| start..next));
        }
    }

    fn list(&mut self, items: Vec<Span>, is_sizes: bool, is_tuple: bool) {
        if !items.is_empty() {
            self.facts.lists.push(List { items, is_sizes, is_tuple });
        }
    }

    fn arguments(&mut self, arguments: &Arguments) -> Vec<Span> {
        let items: Vec<Span> = arguments.iter_source_order().map(|argument| of(&argument)).collect();
        let is_sizes = arguments.args.iter().all(is_integer) && arguments.args.len() > 1;
        // Sizes stand before keywords: only they are counted.
        let (sizes, others) = if is_sizes { items.split_at(arguments.args.len()) } else { items.split_at(0) };
        if !others.is_empty() && is_sizes {
            self.list(items.clone(), false, false);
        }
        let items_of_list = if is_sizes { sizes.to_vec() } else { items.clone() };
        self.list(items_of_list, is_sizes, false);
        items
    }

    fn parameters(&mut self, parameters: &Parameters) -> Vec<Parameter> {
        let mut found = Vec::new();
        for parameter in parameters.iter() {
            let default = parameter.default().map(of);
            let bare = parameter.as_parameter();
            found.push(Parameter { name: bare.name.to_string(), span: of(&parameter), default: default.clone() });
            let annotation = bare.annotation.as_deref().map(of);
            self.facts.optional.extend(annotation.map(|annotation| of(&bare.name).end..annotation.end));
            self.facts.optional.extend(default.map(|default| of(bare).end..default.end));
        }
        found
    }

    fn statement(&mut self, node: AnyNodeRef<'a>) {
        match node {
            AnyNodeRef::StmtFunctionDef(function) => {
                let whole = of(function);
                self.decorators(&function.decorator_list, of(&function.name).start);
                let parameters = self.parameters(&function.parameters);
                if let Some(returns) = &function.returns {
                    self.facts.optional.push(of(&*function.parameters).end..of(&**returns).end);
                }
                let body = block(&function.body);
                self.facts.blocks.push(body.clone());
                let class = self.classes.last().cloned().flatten();
                let values = match &*function.body {
                    [Stmt::Return(only)] => only.value.iter().map(|value| of(&**value)).collect(),
                    body if function.name.as_str() == "__init__" => body.iter().filter_map(attribute_value).collect(),
                    _ => Vec::new(),
                };
                let decorators = function.decorator_list.iter().map(|decorator| of(&decorator.expression)).collect();
                let result = match &*function.body {
                    [Stmt::Return(only)] => only.value.as_deref().map(of),
                    [Stmt::Expr(only)] => Some(of(&*only.value)),
                    _ => None,
                };
                self.facts.functions.push(Function {
                    span: whole,
                    decorators,
                    result,
                    name: function.name.to_string(),
                    class,
                    parameters,
                    body,
                    values,
                });
                self.classes.push(None);
            }
            AnyNodeRef::StmtClassDef(class) => {
                self.decorators(&class.decorator_list, of(&class.name).start);
                if let Some(arguments) = &class.arguments {
                    self.arguments(arguments);
                    self.facts.optional.push(of(&**arguments));
                }
                self.facts.blocks.push(block(&class.body));
                self.classes.push(Some((class.name.to_string(), of(class))));
            }
            AnyNodeRef::StmtReturn(statement) => {
                if statement.value.is_some() {
                    let whole = of(statement);
                    self.facts.optional.push(whole.start + "return".len()..whole.end);
                }
            }
            AnyNodeRef::StmtAssign(assign) => {
                if let [Expr::Name(name)] = &*assign.targets {
                    let (span, value) = (of(assign), of(&*assign.value));
                    self.facts.assignments.push(Assignment { span, name: name.id.to_string(), value });
                }
                if let [Expr::Tuple(names)] = &*assign.targets {
                    let names = names.elts.iter().map(of).collect();
                    self.facts.unpacked.push((of(assign), names, of(&*assign.value)));
                }
                if let ([Expr::Tuple(names)], Expr::Tuple(values)) = (&*assign.targets, &*assign.value)
                    && names.elts.len() == values.elts.len()
                {
                    self.facts.pairs.push([&names.elts, &values.elts].map(|elements| elements.iter().map(of).collect()));
                }
            }
            AnyNodeRef::StmtAnnAssign(assign) => {
                self.facts.optional.push(of(&*assign.target).end..of(&*assign.annotation).end);
            }
            AnyNodeRef::StmtFor(statement) => {
                self.clause_of(&statement.body, &statement.orelse);
                let once = format!("{} = next(iter({}))", self.text(&*statement.target), self.text(&*statement.iter));
                let number = |number: u8| format!("{} = {number}", self.text(&*statement.target));
                let items: &[Expr] = match &*statement.iter {
                    Expr::Tuple(tuple) => &tuple.elts,
                    Expr::List(list) => &list.elts,
                    _ => &[],
                };
                let item = |item: &Expr| format!("{} = {}", self.text(&*statement.target), self.text(item));
                let lines = items.iter().map(item).chain([number(1), number(0), once]);
                let first = lines.map(|line| (Some(line), block(&statement.body))).collect();
                self.compound(of(statement), &[&statement.body, &statement.orelse], first);
            }
            AnyNodeRef::StmtWhile(statement) => {
                self.clause_of(&statement.body, &statement.orelse);
                self.compound(of(statement), &[&statement.body, &statement.orelse], Vec::new());
            }
            AnyNodeRef::StmtIf(statement) => {
                let mut before = statement.body.last().map(of);
                let mut blocks: Vec<&[Stmt]> = vec![&statement.body];
                for clause in &statement.elif_else_clauses {
                    if let Some(before) = before {
                        self.clause(&before, &of(clause));
                    }
                    before = clause.body.last().map(of);
                    blocks.push(&clause.body);
                }
                self.compound(of(statement), &blocks, Vec::new());
            }
            AnyNodeRef::StmtWith(statement) => {
                self.list(statement.items.iter().map(of).collect(), false, false);
                let assigned = |item: &ruff_python_ast::WithItem| {
                    let name = item.optional_vars.as_deref()?;
                    Some(format!("{} = {}", self.text(name), self.text(&item.context_expr)))
                };
                let lines: Vec<String> = statement.items.iter().filter_map(assigned).collect();
                let first = lines.into_iter().map(|line| (Some(line), block(&statement.body))).collect();
                for item in &statement.items {
                    if let Some(name) = &item.optional_vars {
                        self.facts.optional.push(of(&item.context_expr).end..of(&**name).end);
                    }
                }
                self.compound(of(statement), &[&statement.body], first);
            }
            AnyNodeRef::StmtTry(statement) => {
                let mut before = statement.body.last().map(of);
                let mut blocks: Vec<&[Stmt]> = vec![&statement.body];
                for ExceptHandler::ExceptHandler(handler) in &statement.handlers {
                    if let Some(before) = before {
                        self.clause(&before, &of(handler));
                    }
                    before = Some(of(handler));
                    blocks.push(&handler.body);
                }
                for clause in [&statement.orelse, &statement.finalbody] {
                    if let (Some(at), Some(last)) = (&before, clause.last()) {
                        let last = of(last);
                        self.clause(at, &last);
                        before = Some(last);
                    }
                    blocks.push(clause);
                }
                self.compound(of(statement), &blocks, Vec::new());
            }
            AnyNodeRef::StmtMatch(statement) => {
                let blocks: Vec<&[Stmt]> = statement.cases.iter().map(|case| &*case.body).collect();
                self.compound(of(statement), &blocks, Vec::new());
            }
            AnyNodeRef::StmtAssert(statement) => {
                if let Some(message) = &statement.msg {
                    self.facts.optional.push(of(&*statement.test).end..of(&**message).end);
                }
            }
            AnyNodeRef::StmtRaise(statement) => {
                if let (Some(exception), Some(cause)) = (&statement.exc, &statement.cause) {
                    self.facts.optional.push(of(&**exception).end..of(&**cause).end);
                }
            }
            AnyNodeRef::StmtImport(statement) => {
                self.list(statement.names.iter().map(of).collect(), false, false);
                if let [alias] = &*statement.names
                    && let Some(name) = &alias.asname
                {
                    self.facts.imports.push((of(statement), name.to_string(), alias.name.to_string()));
                }
            }
            AnyNodeRef::StmtImportFrom(statement) => {
                self.list(statement.names.iter().map(of).collect(), false, false);
                if let ([alias], Some(module)) = (&*statement.names, &statement.module) {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
                    self.facts.imports.push((of(statement), name, format!("{}.{}", module, alias.name)));
                }
            }
            AnyNodeRef::StmtGlobal(statement) => self.list(statement.names.iter().map(of).collect(), false, false),
            AnyNodeRef::StmtNonlocal(statement) => self.list(statement.names.iter().map(of).collect(), false, false),
            AnyNodeRef::StmtDelete(statement) => self.list(statement.targets.iter().map(of).collect(), false, false),
            AnyNodeRef::StmtExpr(statement) => {
                if let Expr::Call(call) = &*statement.value {
                    self.call(call, true);
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, call: &ruff_python_ast::ExprCall, is_statement: bool) {
        let (name, is_open) = match &*call.func {
            Expr::Name(name) => (name.id.to_string(), true),
            Expr::Attribute(attribute) => {
                (attribute.attr.to_string(), matches!(&*attribute.value, Expr::Name(name) if name.id.as_str() == "self"))
            }
            Expr::Call(_) => (String::new(), true),
            _ => (String::new(), false),
        };
        let arguments = call.arguments.args.iter().map(of).chain(call.arguments.keywords.iter().map(of)).collect();
        let keywords = call.arguments.keywords.iter().map(|keyword| keyword.arg.as_deref().unwrap_or_default().to_owned()).collect();
        // A statement is met before its expression.
        if is_statement || self.facts.calls.last().is_none_or(|last| last.span != of(call)) {
            let positional = call.arguments.args.len();
            self.facts.calls.push(Call { span: of(call), name, is_open, arguments, positional, keywords, is_statement });
        }
    }

    fn parts(&mut self, whole: Span, parts: Vec<Span>) {
        self.facts.expressions.push((whole, parts));
    }

    fn expression(&mut self, node: AnyNodeRef<'a>) {
        let all = |of_these: &[Expr]| of_these.iter().map(of).collect::<Vec<_>>();
        match node {
            AnyNodeRef::ExprBoolOp(e) => self.parts(of(e), all(&e.values)),
            AnyNodeRef::ExprNamed(e) => self.parts(of(e), vec![of(&*e.value)]),
            AnyNodeRef::ExprBinOp(e) => self.parts(of(e), vec![of(&*e.left), of(&*e.right)]),
            AnyNodeRef::ExprUnaryOp(e) => self.parts(of(e), vec![of(&*e.operand)]),
            AnyNodeRef::ExprIf(e) => self.parts(of(e), vec![of(&*e.body), of(&*e.orelse), of(&*e.test)]),
            AnyNodeRef::ExprCompare(e) => self.parts(of(e), [of(&*e.left)].into_iter().chain(all(&e.comparators)).collect()),
            // What is assigned to or deleted has no other in its place.
            AnyNodeRef::ExprAttribute(e) if e.ctx.is_load() => self.parts(of(e), vec![of(&*e.value)]),
            AnyNodeRef::ExprSubscript(e) if e.ctx.is_load() => self.parts(of(e), vec![of(&*e.value)]),
            AnyNodeRef::ExprStarred(e) if e.ctx.is_load() => self.parts(of(e), vec![of(&*e.value)]),
            AnyNodeRef::ExprListComp(e) => self.comprehension(of(e), Some(&e.elt), &e.generators, true),
            AnyNodeRef::ExprGenerator(e) => self.comprehension(of(e), Some(&e.elt), &e.generators, false),
            AnyNodeRef::ExprSetComp(e) => self.comprehension(of(e), Some(&e.elt), &e.generators, false),
            AnyNodeRef::ExprDictComp(e) => self.comprehension(of(e), None, &e.generators, false),
            AnyNodeRef::ExprLambda(e) => {
                if let Some(parameters) = &e.parameters {
                    let parameters = self.parameters(parameters);
                    self.list(parameters.into_iter().map(|parameter| parameter.span).collect(), false, false);
                }
            }
            AnyNodeRef::ExprCall(e) => {
                let function = match &*e.func {
                    Expr::Attribute(attribute) => Some(of(&*attribute.value)),
                    Expr::Call(call) => Some(of(call)),
                    Expr::Lambda(function) => Some(of(&*function.body)),
                    _ => None,
                };
                let values = e.arguments.keywords.iter().map(|keyword| of(&keyword.value));
                self.parts(of(e), function.into_iter().chain(e.arguments.args.iter().map(of)).chain(values).collect());
                self.arguments(&e.arguments);
                self.call(e, false);
            }
            AnyNodeRef::ExprTuple(e) => {
                if e.ctx.is_load() {
                    self.parts(of(e), all(&e.elts));
                }
                self.list(all(&e.elts), e.elts.iter().all(is_integer), true);
            }
            AnyNodeRef::ExprList(e) => {
                if e.ctx.is_load() {
                    self.parts(of(e), all(&e.elts));
                }
                self.list(all(&e.elts), e.elts.iter().all(is_integer), false);
            }
            AnyNodeRef::ExprSet(e) => self.list(all(&e.elts), false, false),
            AnyNodeRef::ExprDict(e) => {
                let item = |item: &ruff_python_ast::DictItem| Some(of(item.key.as_ref()?).start..of(&item.value).end);
                self.list(e.items.iter().map_while(item).collect(), false, false);
            }
            AnyNodeRef::ExprFString(e) => {
                let held = |element: &InterpolatedStringElement| match element {
                    InterpolatedStringElement::Interpolation(inner) => Some(of(&*inner.expression)),
                    InterpolatedStringElement::Literal(_) => None,
                };
                self.parts(of(e), e.value.elements().filter_map(held).collect());
                self.facts.texts.push(of(e));
            }
            AnyNodeRef::ExprStringLiteral(e) => self.facts.texts.push(of(e)),
            AnyNodeRef::ExprNumberLiteral(e) => match &e.value {
                Number::Int(value) => self.facts.integers.extend(value.as_u64().map(|value| (of(e), value))),
                _ => self.facts.floats.push(of(e)),
            },
            AnyNodeRef::ExprName(e) => self.facts.names.push((of(e), e.id.to_string())),
            _ => {}
        }
    }

    fn comprehension(&mut self, whole: Span, element: Option<&Expr>, generators: &[ruff_python_ast::Comprehension], is_list: bool) {
        // The element stands in the comprehension's place where it is a list of one, too.
        let iterated = generators.iter().map(|generator| of(&generator.iter));
        let element = element.map(of);
        if let (true, Some(element)) = (is_list, &element) {
            self.facts.optional.push(element.end..whole.end - 1);
        }
        self.parts(whole, iterated.chain(element).collect());
        for generator in generators {
            let mut before = of(&generator.iter).end;
            for condition in &generator.ifs {
                self.facts.optional.push(before..of(condition).end);
                before = of(condition).end;
            }
        }
    }
}

/// The value of `self.name = value`.
fn attribute_value(statement: &Stmt) -> Option<Span> {
    match statement {
        Stmt::Assign(assign) if matches!(&*assign.targets, [Expr::Attribute(_)]) => Some(of(&*assign.value)),
        _ => None,
    }
}

fn is_integer(expression: &Expr) -> bool {
    matches!(expression, Expr::NumberLiteral(number) if matches!(number.value, Number::Int(_)))
}
