//! Traces values through a program: literals, decoded text, and where data comes from and goes to.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::calls::Call;
use super::library::{CallEffect, call_effect, is_client, method_effect};
use super::{Arg, Expr, Step};
use crate::decode::Encoding;
use crate::excerpt::slice;
use crate::hosts::{HostClass, Remote, UNKNOWN};
use crate::op::{Action, OpCollector};
use crate::value::{Taint, Value};

/// A call of a function in another file: module, function, arguments.
type CrossFileCall = (String, String, Vec<(Option<String>, Value)>);

/// The values and functions that one file exports to the others.
#[derive(Debug, Default, Clone)]
struct Exports {
    values: HashMap<String, Value>,
    parameters: HashMap<String, Vec<String>>,
    returns: HashMap<String, Value>,
}

/// What the files of a skill share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    exports: HashMap<String, Arc<Exports>>,
    /// Calls of functions in other files.
    calls: Vec<CrossFileCall>,
    siblings: Arc<HashMap<String, String>>,
}

impl Shared {
    pub(crate) fn new(siblings: &Arc<HashMap<String, String>>) -> Self {
        Self { siblings: Arc::clone(siblings), ..Self::default() }
    }

    /// Adds the exports and calls of a program.
    pub(crate) fn add(&mut self, program: Program) {
        let Program { module, values, parameters, returns, calls, .. } = program;
        self.exports.insert(module, Arc::new(Exports { values, parameters, returns }));
        self.calls.extend(calls);
    }
}

/// The state of a program while it is traced.
#[derive(Default)]
pub(crate) struct Program {
    module: String,
    exports: HashMap<String, Arc<Exports>>,
    calls: Vec<CrossFileCall>,
    pub(super) siblings: Arc<HashMap<String, String>>,
    pub(super) values: HashMap<String, Value>,
    imports: HashMap<String, String>,
    parameters: HashMap<String, Vec<String>>,
    returns: HashMap<String, Value>,
    /// The addresses of open connections, by variable.
    pub(super) connections: HashMap<String, Remote>,
    /// The content of files that the program wrote.
    pub(super) files: BTreeMap<String, Value>,
    pub(super) redirected: usize,
    budget: usize,
    kept: usize,
    decoded: usize,
    is_truncated: bool,
}

/// Methods that store their arguments in the object.
const MUTATING: [&str; 14] = [
    "add_text",
    "add_itxt",
    "append",
    "add",
    "update",
    "extend",
    "insert",
    "set",
    "push",
    "setdefault",
    "writestr",
    "write",
    "add_header",
    "addfile",
];

/// Functions that take addresses but open no connection.
const QUIET: [&str; 44] = [
    "print",
    "log",
    "info",
    "warning",
    "warn",
    "error",
    "debug",
    "exception",
    "append",
    "add",
    "startswith",
    "endswith",
    "replace",
    "format",
    "join",
    "urljoin",
    "urlparse",
    "URL",
    "split",
    "push",
    "includes",
    "startsWith",
    "add_argument",
    "write",
    "writeFileSync",
    "setdefault",
    "get",
    "Error",
    "ValueError",
    "RuntimeError",
    "Exception",
    "compile",
    "match",
    "search",
    "sub",
    "test",
    "echo",
    "input",
    "Namespace",
    "link",
    "add_hyperlink",
    "field",
    "Field",
    "describe",
];

/// Returns the host that a call contacts: a whole address as its first argument, or as the base of an API client.
fn contacted(name: &str, args: &[(Option<String>, Value)]) -> Option<Remote> {
    const BASES: [&str; 7] =
        ["base_url", "baseURL", "baseUrl", "api_base", "endpoint", "server_url", "azure_endpoint"];
    let short = name.rsplit('.').next().unwrap_or(name);
    let is_base = |name: &Option<String>| name.as_deref().is_some_and(|name| BASES.contains(&name));
    let base = args.iter().find(|(name, _)| is_base(name)).map(|(_, value)| value);
    let first = args.first().filter(|(name, _)| name.is_none()).map(|(_, value)| value);
    let first = first.filter(|_| !QUIET.contains(&short) && name != "{}");
    let address = base
        .or(first)
        .filter(|value| value.text.starts_with("http") && value.text.contains("://"))?;
    address.remote().filter(|remote| remote.class != HostClass::Local)
}

/// A second pass uses values from the first: functions can be defined after their calls.
const PASSES: usize = 2;
/// The maximum number of expressions to evaluate.
const MAX_EXPRESSIONS: usize = 500_000;
/// The maximum bytes of text in all variables together.
const MAX_KEPT_BYTES: usize = 16 << 20;

impl Program {
    /// Returns a program that sees the exports of the skill's other files.
    pub(crate) fn new(module: &str, shared: &Shared) -> Self {
        let mut program = Self {
            module: module.to_owned(),
            exports: shared.exports.clone(),
            siblings: Arc::clone(&shared.siblings),
            ..Self::default()
        };
        let own = shared
            .exports
            .get(module)
            .map(|exports| exports.parameters.clone())
            .unwrap_or_default();
        for (_, function, args) in shared.calls.iter().filter(|(called, ..)| called == module) {
            if let Some(parameters) = own.get(function) {
                for (at, (named, value)) in args.iter().enumerate() {
                    if let Some(parameter) = named.clone().or_else(|| parameters.get(at).cloned()) {
                        program.assign(&parameter, value.clone());
                    }
                }
            }
        }
        program
    }

    /// Splits a full name into a module of the skill and its member.
    fn sibling(&self, name: &str) -> Option<(String, String)> {
        let (module, what) = name.rsplit_once('.')?;
        let module = module.rsplit(['.', '/']).next().unwrap_or(module).trim_start_matches("./");
        self.exports.contains_key(module).then(|| (module.to_owned(), what.to_owned()))
    }

    /// Traces a program.
    pub(crate) fn run(&mut self, steps: &[Step], collector: &mut OpCollector) {
        let kept = collector.ops.len();
        for _ in 0..PASSES {
            collector.ops.truncate(kept);
            self.budget = MAX_EXPRESSIONS;
            self.redirected = 0;
            self.calls.clear();
            (self.kept, self.decoded) = (0, 0);
            for step in steps {
                self.step(step, collector);
            }
            collector.is_truncated |= self.is_truncated;
        }
    }

    fn step(&mut self, step: &Step, collector: &mut OpCollector) {
        match step {
            Step::Assign { to, value } => {
                let value = self.value(value, collector);
                match to.as_slice() {
                    [one] => self.assign(one, value),
                    // Each name gets its item, if the items are known.
                    several => {
                        for (at, name) in several.iter().enumerate() {
                            let item = value.items.get(at).cloned();
                            self.assign(name, item.unwrap_or_else(|| value.without_text()));
                        }
                    }
                }
            }
            Step::Function { name, parameters } => {
                if !name.is_empty() {
                    self.parameters.insert(name.clone(), parameters.clone());
                }
            }
            Step::Return { function, value } => {
                let value = self.value(value, collector);
                let all = self.returns.entry(function.clone()).or_default();
                let taints = value.taints.clone();
                if all.text.is_empty() {
                    *all = value;
                }
                all.taints.extend(taints);
            }
            Step::Import { name, means } => {
                self.imports.insert(name.clone(), means.clone());
            }
            Step::Do(value) => {
                self.value(value, collector);
            }
        }
    }

    fn assign(&mut self, name: &str, value: Value) {
        let before = self.values.get(name);
        let mut value = value;
        // A variable keeps its earlier taints, since branches and loops are not distinguished.
        if let Some(before) = before {
            value.taints.extend(before.taints.iter().cloned());
        }
        self.kept += value.text.len();
        if self.kept > MAX_KEPT_BYTES {
            self.is_truncated = true;
            value = value.without_text();
        }
        self.values.insert(name.to_owned(), value);
    }

    /// Counts decoded bytes against the limit. Returns false once the limit is exceeded.
    pub(super) fn may_decode(&mut self, bytes: usize) -> bool {
        self.decoded += bytes;
        self.is_truncated |= self.decoded > MAX_KEPT_BYTES;
        self.decoded <= MAX_KEPT_BYTES
    }

    /// Returns the full name of a function, with imports and aliases resolved.
    fn name(&mut self, function: &Expr, collector: &mut OpCollector) -> Option<String> {
        match function {
            Expr::Name(name) => Some(match self.imports.get(name) {
                Some(means) => means.clone(),
                // An alias: `f = os.system`.
                None => match self.values.get(name).and_then(|value| value.made_by.clone()) {
                    Some(made_by) if made_by.starts_with('=') => slice(&made_by, 1..).to_owned(),
                    _ => name.clone(),
                },
            }),
            Expr::Member(object, member) => {
                let object = self.name(object, collector)?;
                Some(format!("{object}.{member}"))
            }
            Expr::Index(object, index) => {
                let index = self.value(index, collector);
                let object = self.name(object, collector)?;
                let is_word = index.is_known() && !index.text.is_empty();
                is_word.then(|| format!("{object}.{}", index.text))
            }
            Expr::Call { function, args, range } => {
                let name = self.name(function, collector)?;
                let first = args.first().map(|arg| self.value(&arg.value, collector));
                match (name.as_str(), first) {
                    ("getattr", Some(_)) => {
                        let object =
                            args.first().and_then(|arg| self.name(&arg.value, collector))?;
                        let member = args.get(1).map(|arg| self.value(&arg.value, collector))?;
                        let whole = format!("{object}.{}", member.text);
                        let is_plain =
                            args.get(1).is_some_and(|arg| matches!(arg.value, Expr::Text(_)));
                        let runs = matches!(
                            call_effect(&whole),
                            Some(CallEffect::Shell | CallEffect::Start | CallEffect::Evaluate)
                        );
                        if runs && (!is_plain || !member.taints.is_empty()) {
                            collector.add(range, Action::Disguise { what: whole.clone() });
                        }
                        member.is_known().then_some(whole)
                    }
                    ("__import__" | "importlib.import_module" | "require", Some(module)) => {
                        module.is_known().then_some(module.text)
                    }
                    ("globals" | "locals" | "vars", _) => Some("builtins".to_owned()),
                    _ => None,
                }
            }
            _ => None,
        }
        .map(|name| name.strip_prefix("builtins.").map(str::to_owned).unwrap_or(name))
    }

    pub(super) fn value(&mut self, expr: &Expr, collector: &mut OpCollector) -> Value {
        self.budget = match self.budget.checked_sub(1) {
            Some(left) => left,
            None => {
                collector.is_truncated = true;
                return Value::unknown();
            }
        };
        match expr {
            Expr::Text(text) => Value::plain(text.clone()),
            Expr::Number(number) => Value::plain(number.to_string()),
            Expr::Name(name) => self.named(name),
            Expr::Member(object, member) => self.member(expr, object, member, collector),
            Expr::Index(object, index) => self.index(object, index, collector),
            Expr::Join(parts) => {
                let mut whole = Value::default();
                for part in parts {
                    let value = self.value(part, collector);
                    whole.push(&value);
                }
                whole
            }
            Expr::List(items) => {
                let items: Vec<Value> =
                    items.iter().map(|item| self.value(item, collector)).collect();
                Value::list(items)
            }
            Expr::Many(parts) => {
                let mut all = Value::unknown();
                for part in parts {
                    let value = self.value(part, collector);
                    all.absorb(&value);
                }
                all
            }
            Expr::Call { function, args, range } => self.call(function, args, range, collector),
        }
    }

    fn named(&mut self, name: &str) -> Value {
        if let Some(value) = self.values.get(name) {
            return value.clone();
        }
        match self.imports.get(name) {
            Some(means) => {
                let known = self
                    .sibling(means)
                    .and_then(|(module, what)| self.exports[&module].values.get(&what));
                known.cloned().unwrap_or_else(|| Value {
                    made_by: Some(format!("={means}")),
                    ..Value::unknown()
                })
            }
            None if matches!(name, "eval" | "exec" | "Function" | "atob" | "fetch" | "open") => {
                Value { made_by: Some(format!("={name}")), ..Value::unknown() }
            }
            None => Value::unknown(),
        }
    }

    fn member(
        &mut self,
        whole: &Expr,
        object: &Expr,
        member: &str,
        collector: &mut OpCollector,
    ) -> Value {
        if let Some(name) = self.name(whole, collector) {
            match name.as_str() {
                "os.environ" | "process.env" | "Deno.env" => {
                    collector.add(&(0..0), Action::Variable(None));
                    return Value::unknown().with(Taint::Environment);
                }
                _ => {
                    let variable = ["process.env.", "os.environ."]
                        .iter()
                        .find_map(|start| name.strip_prefix(start));
                    if let Some(variable) = variable.filter(|variable| !variable.contains('.')) {
                        collector.add(&(0..0), Action::Variable(Some(variable.to_owned())));
                        return Value::unknown().with(Taint::Variable(variable.to_owned()));
                    }
                    if let Some(value) = self.values.get(&name) {
                        return value.clone();
                    }
                    if let Some((module, what)) = self.sibling(&name)
                        && let Some(value) = self.exports[&module].values.get(&what)
                    {
                        return value.clone();
                    }
                    if call_effect(&name).is_some() {
                        return Value { made_by: Some(format!("={name}")), ..Value::unknown() };
                    }
                }
            }
        }
        let value = self.value(object, collector);
        match member {
            "text" | "content" | "stdout" | "data" | "body" | "parent" | "name" => {
                Value { text: UNKNOWN.to_string(), ..value }
            }
            _ => value.without_text(),
        }
    }

    fn index(&mut self, object: &Expr, index: &Expr, collector: &mut OpCollector) -> Value {
        if let Expr::Name(slice) = index
            && let Some(slice) = slice.strip_prefix("slice:")
        {
            let value = self.value(object, collector);
            if slice == "::-1" && value.is_known() {
                let text = value.text.chars().rev().collect();
                return Value { text, ..value }.with(Taint::Decoded(Encoding::Reversed));
            }
            return value.without_text();
        }
        let at = self.value(index, collector);
        let is_environment =
            matches!(self.name(object, collector).as_deref(), Some("os.environ" | "process.env"));
        if is_environment && !at.items.is_empty() {
            let mut value = Value::unknown();
            for name in at.items.iter().filter(|name| name.is_known()) {
                collector.add(&(0..0), Action::Variable(Some(name.text.clone())));
                value.taints.insert(Taint::Variable(name.text.clone()));
            }
            return value;
        }
        if is_environment {
            let name = at.is_known().then(|| at.text.clone());
            collector.add(&(0..0), Action::Variable(name.clone()));
            return Value::unknown().with(name.map_or(Taint::Environment, Taint::Variable));
        }
        let list = self.value(object, collector);
        match at.text.parse::<usize>().ok().and_then(|at| list.items.get(at)) {
            Some(item) => item.clone(),
            None => list.without_text(),
        }
    }

    fn call(
        &mut self,
        function: &Expr,
        args: &[Arg],
        range: &Range<usize>,
        collector: &mut OpCollector,
    ) -> Value {
        let name = self.name(function, collector);
        let values: Vec<(Option<String>, Value)> =
            args.iter().map(|arg| (arg.name.clone(), self.value(&arg.value, collector))).collect();
        let receiver = match function {
            Expr::Member(object, member) => {
                Some((self.value(object, collector), member.as_str(), object.as_ref()))
            }
            _ => None,
        };
        if let Some(name) = &name {
            if let Some(known) = call_effect(name) {
                let mut value =
                    self.apply_effect(known, &Call { name, args: &values, range }, collector);
                value.made_by = value.made_by.or_else(|| Some(name.clone()));
                return value;
            }
            if is_client(name) {
                let base = values
                    .iter()
                    .find(|(name, _)| matches!(name.as_deref(), Some("base_url" | "baseURL")));
                let base =
                    base.map(|(_, value)| value).or_else(|| values.first().map(|(_, value)| value));
                let address =
                    base.filter(|value| value.remote().is_some()).map(|value| value.text.clone());
                let mut value = Value {
                    text: address.unwrap_or_else(|| UNKNOWN.to_string()),
                    ..Value::default()
                };
                values.iter().for_each(|(_, arg)| value.absorb(arg));
                value.made_by = Some(name.clone());
                return value;
            }
            if let Some((module, what)) = self.sibling(name) {
                let value = self.exports[&module]
                    .returns
                    .get(&what)
                    .cloned()
                    .unwrap_or_else(Value::unknown);
                self.calls.push((module, what, values));
                return value;
            }
            if let Some(value) = self.own_function(name, &values) {
                return value;
            }
        }
        if let Some((object, member, expr)) = receiver {
            let made_by = object.made_by.clone().unwrap_or_default();
            if let Some(known) = method_effect(&made_by, member) {
                let at = self.name(expr, collector).unwrap_or_else(|| made_by.clone());
                let call = Call { name: &at, args: &values, range };
                return self.apply_method(known, &object, &call, collector);
            }
            self.taint_files(&values);
            // `meta.add_text("k", secret)` puts the secret into `meta`.
            if let Expr::Name(name) = expr
                && MUTATING.contains(&member)
                && let Some(known) = self.values.get_mut(name)
            {
                values.iter().for_each(|(_, arg)| known.absorb(arg));
            }
            if let Some(to) = contacted(member, &values) {
                collector.add(range, Action::Fetch(to));
            }
            return self.method(&object, &Call { name: member, args: &values, range }, collector);
        }
        if let Some(to) = contacted(name.as_deref().unwrap_or_default(), &values) {
            collector.add(range, Action::Fetch(to));
        }
        self.taint_files(&values);
        let mut value = Value { made_by: name, ..Value::unknown() };
        for (_, arg) in &values {
            value.absorb(arg);
        }
        value
    }

    /// An unknown function may write the secrets among its arguments into the files among them.
    fn taint_files(&mut self, args: &[(Option<String>, Value)]) {
        let mut all = Value::default();
        args.iter().for_each(|(_, value)| all.absorb(value));
        if all.secrets().is_empty() {
            return;
        }
        let is_file = |value: &&Value| {
            value.is_known()
                && value.text.len() < 200
                && value.text.contains('.')
                && !value.text.contains([' ', '\n', ':'])
        };
        for file in args.iter().map(|(_, value)| value).filter(is_file) {
            self.files.entry(file.text.clone()).or_insert_with(|| all.without_text());
        }
    }

    /// Calls a function of the program itself: its parameters take the values of the arguments.
    fn own_function(&mut self, name: &str, args: &[(Option<String>, Value)]) -> Option<Value> {
        let short = name.rsplit('.').next().unwrap_or(name);
        let parameters = self.parameters.get(short)?.clone();
        let skip = usize::from(parameters.first().is_some_and(|first| first == "self"));
        for (at, (named, value)) in args.iter().enumerate() {
            let parameter = named.clone().or_else(|| parameters.get(at + skip).cloned());
            if let Some(parameter) = parameter {
                self.assign(&parameter, value.clone());
            }
        }
        Some(self.returns.get(short).cloned().unwrap_or_else(Value::unknown))
    }
}
