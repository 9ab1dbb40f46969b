//! Follows values through a program: what is written out, what is decoded, what comes from where and goes where.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::calls::Call;
use super::library::{Meaning, meaning, method};
use super::{Arg, Expr, Step};
use crate::decode::Encoding;
use crate::hosts::UNKNOWN;
use crate::op::{Action, OpCollector};
use crate::value::{Carry, Value};

/// A call of a function in another file: module, function, arguments.
type Outward = (String, String, Vec<(Option<String>, Value)>);

/// What one file of a skill has for the others.
#[derive(Debug, Default, Clone)]
struct Exports {
    values: HashMap<String, Value>,
    parameters: HashMap<String, Vec<String>>,
    returns: HashMap<String, Value>,
}

/// What the files of a skill know of each other.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    exports: HashMap<String, Arc<Exports>>,
    /// What functions of other files are called with.
    calls: Vec<Outward>,
    siblings: Arc<HashMap<String, String>>,
}

impl Shared {
    pub(crate) fn new(siblings: &Arc<HashMap<String, String>>) -> Self {
        Self { siblings: Arc::clone(siblings), ..Self::default() }
    }

    /// Takes what a program has for others.
    pub(crate) fn learn(&mut self, program: Program) {
        let Program { module, values, parameters, returns, calls, .. } = program;
        self.exports.insert(module, Arc::new(Exports { values, parameters, returns }));
        self.calls.extend(calls);
    }
}

/// What is known of a program while it is followed.
#[derive(Default)]
pub(crate) struct Program {
    module: String,
    exports: HashMap<String, Arc<Exports>>,
    calls: Vec<Outward>,
    pub(super) siblings: Arc<HashMap<String, String>>,
    pub(super) values: HashMap<String, Value>,
    imports: HashMap<String, String>,
    parameters: HashMap<String, Vec<String>>,
    returns: HashMap<String, Value>,
    /// Addresses of connections, by the name that holds one.
    pub(super) connections: HashMap<String, crate::hosts::Remote>,
    /// What was written to files.
    pub(super) files: BTreeMap<String, Value>,
    pub(super) redirected: usize,
    budget: usize,
    kept: usize,
    decoded: usize,
    is_cut: bool,
}

/// Values that are known after a first look are used in a second: functions stand after what calls them.
const LOOKS: usize = 2;
/// The most expressions that are followed.
const MOST: usize = 500_000;
/// The most bytes of text that names of a program hold together.
const MOST_KEPT: usize = 16 << 20;

impl Program {
    /// Returns a program beside others of the same skill.
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

    /// Returns a module of the skill and what is meant of it, for a full name.
    fn sibling(&self, name: &str) -> Option<(String, String)> {
        let (module, what) = name.rsplit_once('.')?;
        let module = module.rsplit(['.', '/']).next().unwrap_or(module).trim_start_matches("./");
        self.exports.contains_key(module).then(|| (module.to_owned(), what.to_owned()))
    }

    /// Follows a program that consists of one text.
    pub(crate) fn run(&mut self, steps: &[Step], scene: &mut OpCollector) {
        let kept = scene.ops.len();
        for _ in 0..LOOKS {
            scene.ops.truncate(kept);
            self.budget = MOST;
            self.redirected = 0;
            self.calls.clear();
            (self.kept, self.decoded) = (0, 0);
            for step in steps {
                self.step(step, scene);
            }
            scene.is_cut |= self.is_cut;
        }
    }

    fn step(&mut self, step: &Step, scene: &mut OpCollector) {
        match step {
            Step::Assign { to, value } => {
                let value = self.value(value, scene);
                match to.as_slice() {
                    [one] => self.assign(one, value),
                    // Each name gets its item, if they are written out.
                    several => {
                        for (at, name) in several.iter().enumerate() {
                            let item = value.items.get(at).cloned();
                            self.assign(name, item.unwrap_or_else(|| value.only_carried()));
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
                let value = self.value(value, scene);
                let all = self.returns.entry(function.clone()).or_default();
                let carries = value.carries.clone();
                if all.text.is_empty() {
                    *all = value;
                }
                all.carries.extend(carries);
            }
            Step::Import { name, means } => {
                self.imports.insert(name.clone(), means.clone());
            }
            Step::Do(value) => {
                self.value(value, scene);
            }
        }
    }

    fn assign(&mut self, name: &str, value: Value) {
        let before = self.values.get(name);
        let mut value = value;
        // What a name once carried it may still carry: branches and loops are not told apart.
        if let Some(before) = before {
            value.carries.extend(before.carries.iter().cloned());
        }
        self.kept += value.text.len();
        if self.kept > MOST_KEPT {
            self.is_cut = true;
            value = value.only_carried();
        }
        self.values.insert(name.to_owned(), value);
    }

    /// Counts the work of decoding; false when it is too much.
    pub(super) fn may_decode(&mut self, bytes: usize) -> bool {
        self.decoded += bytes;
        self.is_cut |= self.decoded > MOST_KEPT;
        self.decoded <= MOST_KEPT
    }

    /// Returns the full name of a function: imports and what made a value are resolved.
    fn name(&mut self, function: &Expr, scene: &mut OpCollector) -> Option<String> {
        match function {
            Expr::Name(name) => Some(match self.imports.get(name) {
                Some(means) => means.clone(),
                // A function under another name: `f = os.system`.
                None => match self.values.get(name).and_then(|value| value.made_by.clone()) {
                    Some(made_by) if made_by.starts_with('=') => made_by[1..].to_owned(),
                    _ => name.clone(),
                },
            }),
            Expr::Member(object, member) => {
                let object = self.name(object, scene)?;
                Some(format!("{object}.{member}"))
            }
            Expr::Index(object, index) => {
                let index = self.value(index, scene);
                let object = self.name(object, scene)?;
                let is_word = index.is_known() && !index.text.is_empty();
                is_word.then(|| format!("{object}.{}", index.text))
            }
            Expr::Call { function, args, range } => {
                let name = self.name(function, scene)?;
                let first = args.first().map(|arg| self.value(&arg.value, scene));
                match (name.as_str(), first) {
                    ("getattr", Some(_)) => {
                        let object = args.first().and_then(|arg| self.name(&arg.value, scene))?;
                        let member = args.get(1).map(|arg| self.value(&arg.value, scene))?;
                        let whole = format!("{object}.{}", member.text);
                        let is_plain =
                            args.get(1).is_some_and(|arg| matches!(arg.value, Expr::Text(_)));
                        let runs = matches!(
                            meaning(&whole),
                            Some(Meaning::Shell | Meaning::Start | Meaning::Evaluate)
                        );
                        if runs && (!is_plain || !member.carries.is_empty()) {
                            scene.add(range, Action::Disguise { what: whole.clone() });
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

    pub(super) fn value(&mut self, expr: &Expr, scene: &mut OpCollector) -> Value {
        self.budget = match self.budget.checked_sub(1) {
            Some(left) => left,
            None => {
                scene.is_cut = true;
                return Value::unknown();
            }
        };
        match expr {
            Expr::Text(text) => Value::plain(text.clone()),
            Expr::Number(number) => Value::plain(number.to_string()),
            Expr::Name(name) => self.named(name),
            Expr::Member(object, member) => self.member(expr, object, member, scene),
            Expr::Index(object, index) => self.index(object, index, scene),
            Expr::Join(parts) => {
                let mut whole = Value::default();
                for part in parts {
                    let value = self.value(part, scene);
                    whole.push(&value);
                }
                whole
            }
            Expr::List(items) => {
                let items: Vec<Value> = items.iter().map(|item| self.value(item, scene)).collect();
                Value::list(items)
            }
            Expr::Many(parts) => {
                let mut all = Value::unknown();
                for part in parts {
                    let value = self.value(part, scene);
                    all.absorb(&value);
                }
                // A condition between known values is one of them; the first is as good as any.
                all
            }
            Expr::Call { function, args, range } => self.call(function, args, range, scene),
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
        scene: &mut OpCollector,
    ) -> Value {
        if let Some(name) = self.name(whole, scene) {
            match name.as_str() {
                "os.environ" | "process.env" | "Deno.env" => {
                    scene.add(&(0..0), Action::Variable(None));
                    return Value::unknown().with(Carry::Environment);
                }
                _ => {
                    let variable = ["process.env.", "os.environ."]
                        .iter()
                        .find_map(|start| name.strip_prefix(start));
                    if let Some(variable) = variable.filter(|variable| !variable.contains('.')) {
                        scene.add(&(0..0), Action::Variable(Some(variable.to_owned())));
                        return Value::unknown().with(Carry::Variable(variable.to_owned()));
                    }
                    if let Some(value) = self.values.get(&name) {
                        return value.clone();
                    }
                    if let Some((module, what)) = self.sibling(&name)
                        && let Some(value) = self.exports[&module].values.get(&what)
                    {
                        return value.clone();
                    }
                    if meaning(&name).is_some() {
                        return Value { made_by: Some(format!("={name}")), ..Value::unknown() };
                    }
                }
            }
        }
        let value = self.value(object, scene);
        match member {
            "text" | "content" | "stdout" | "data" | "body" | "parent" | "name" => {
                Value { text: UNKNOWN.to_string(), ..value }
            }
            _ => value.only_carried(),
        }
    }

    fn index(&mut self, object: &Expr, index: &Expr, scene: &mut OpCollector) -> Value {
        if let Expr::Name(slice) = index
            && let Some(slice) = slice.strip_prefix("slice:")
        {
            let value = self.value(object, scene);
            if slice == "::-1" && value.is_known() {
                let text = value.text.chars().rev().collect();
                return Value { text, ..value }.with(Carry::Decoded(Encoding::Reversed));
            }
            return value.only_carried();
        }
        let at = self.value(index, scene);
        let is_environment =
            matches!(self.name(object, scene).as_deref(), Some("os.environ" | "process.env"));
        if is_environment {
            let name = at.is_known().then(|| at.text.clone());
            scene.add(&(0..0), Action::Variable(name.clone()));
            return Value::unknown().with(name.map_or(Carry::Environment, Carry::Variable));
        }
        let list = self.value(object, scene);
        match at.text.parse::<usize>().ok().and_then(|at| list.items.get(at)) {
            Some(item) => item.clone(),
            None => list.only_carried(),
        }
    }

    fn call(
        &mut self,
        function: &Expr,
        args: &[Arg],
        range: &Range<usize>,
        scene: &mut OpCollector,
    ) -> Value {
        let name = self.name(function, scene);
        let values: Vec<(Option<String>, Value)> =
            args.iter().map(|arg| (arg.name.clone(), self.value(&arg.value, scene))).collect();
        let receiver = match function {
            Expr::Member(object, member) => {
                Some((self.value(object, scene), member.as_str(), object.as_ref()))
            }
            _ => None,
        };
        if let Some(name) = &name {
            if let Some(known) = meaning(name) {
                let mut value = self.act(known, &Call { name, args: &values, range }, scene);
                value.made_by = value.made_by.or_else(|| Some(name.clone()));
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
            if let Some(known) = method(&made_by, member) {
                let at = if let Expr::Name(name) = expr { name.clone() } else { made_by.clone() };
                return self.act_on(known, &Call { name: &at, args: &values, range }, scene);
            }
            return self.method(&object, &Call { name: member, args: &values, range }, scene);
        }
        let mut value = Value { made_by: name, ..Value::unknown() };
        for (_, arg) in &values {
            value.absorb(arg);
        }
        value
    }

    /// A function of the program itself: its parameters carry what it is called with.
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
