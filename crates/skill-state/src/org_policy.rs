//! The organization's policy: a file of the machine's administrator, which users can only tighten.

use skill::capabilities::{Host, Reach};
use skill::json::{self as reader, Object, UnknownKeys};
use skill::{AllowedTools, Code, Digest, ToolRule};
use skill_fs::{AbsPath, FsError, read_text};

use crate::origin::{Pattern, origin_key};
use crate::{SkillSource, StateError};

/// The properties of a skill that the policy checks.
#[derive(Debug, Clone, Copy)]
pub struct PolicySubject<'a> {
    /// All its names and IDs.
    pub names: &'a [String],
    /// Its proven origin.
    pub origin: &'a str,
    /// The origins it claims.
    pub claimed: &'a [String],
    /// Its trust level.
    pub source: SkillSource,
}

/// The minimum trust levels of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequiredTrust {
    /// Required to activate, list and read it.
    pub activate: SkillSource,
    /// Required to run its scripts.
    pub run: SkillSource,
}

/// The restrictions of the organization. The default has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgPolicy {
    /// Names or IDs of skills that may not be used.
    pub denied_skills: Vec<Pattern>,
    /// Origins whose skills may not be used, as returned by [`origin_key`].
    pub denied_origins: Vec<Pattern>,
    /// Digests of skills that may not be used.
    pub denied_digests: Vec<Digest>,
    /// Hosts that no skill may contact.
    pub denied_hosts: Vec<Host>,
    /// Tools that no skill may call.
    pub denied_tools: Vec<ToolRule>,
    /// The only origins whose skills may be used, besides builtin skills and the organization's own; `None` means any.
    pub allowed_origins: Option<Vec<Pattern>>,
    /// The only hosts that skills may contact.
    pub allowed_hosts: Reach<Host>,
    /// The minimum trust levels of a skill.
    pub required: RequiredTrust,
    /// Whether one-time approvals, which are not stored, are allowed.
    pub may_approve_once: bool,
    /// Maximum lifetime of an approval in days.
    pub max_approval_days: Option<u32>,
    /// Whether `allowed-tools` lists are enforced, whatever the user's settings are.
    pub tools_are_allowlists: bool,
}

impl Default for OrgPolicy {
    fn default() -> Self {
        Self {
            denied_skills: Vec::new(),
            denied_origins: Vec::new(),
            denied_digests: Vec::new(),
            denied_hosts: Vec::new(),
            denied_tools: Vec::new(),
            allowed_origins: None,
            allowed_hosts: Reach::Everything,
            required: RequiredTrust {
                activate: SkillSource::ThirdParty,
                run: SkillSource::ThirdParty,
            },
            may_approve_once: true,
            max_approval_days: None,
            tools_are_allowlists: false,
        }
    }
}

impl OrgPolicy {
    /// Reads the policy. A missing file means no policy; an unreadable or malformed one is an error, and nothing runs.
    pub fn load(path: &AbsPath) -> Result<Self, StateError> {
        // A broken link, or a file in place of its folder, must not count as a missing policy.
        for path_or_parent in std::iter::successors(Some(path.clone()), AbsPath::parent).take(2) {
            let is_link = path_or_parent.as_path().is_symlink();
            let is_wrong = (is_link && !path_or_parent.as_path().exists())
                || (path_or_parent != *path
                    && path_or_parent.as_path().exists()
                    && !path_or_parent.as_path().is_dir());
            if is_wrong {
                let path = path_or_parent.to_string();
                let error = if is_link {
                    FsError::NotRegular { path, kind: "a broken symlink" }
                } else {
                    FsError::NotAFolder { path }
                };
                return Err(error.into());
            }
        }
        let Some(text) = read_text(path)? else { return Ok(Self::default()) };
        let (policy, diagnostics) = reader::read(path.as_str(), &text, |object| {
            // An unknown key could be a rule, so it must not be ignored.
            object.unknown_keys(UnknownKeys::Refused);
            crate::schema_version(object)?;
            read_policy(object)
        });
        policy.ok_or_else(|| StateError::Malformed { file: path.to_string(), diagnostics })
    }

    /// Returns the reason why a skill may not be used, if there is one. A claimed origin is enough to deny a skill, but
    /// only a proven one allows it. Builtin skills and the organization's own need not be listed as origins, because they
    /// come from the administrator.
    pub fn refuses_use(&self, subject: &PolicySubject<'_>) -> Option<String> {
        let PolicySubject { names, origin, claimed, source } = subject;
        let (origin, source) = (origin_key(origin), *source);
        let named = self
            .denied_skills
            .iter()
            .find(|rule| names.iter().any(|name| rule.matches_any_case(name)));
        if let Some(rule) = named {
            return Some(format!("the organization denies the skill `{}`", rule.as_str()));
        }
        let origins: Vec<String> =
            claimed.iter().map(|claimed| origin_key(claimed)).chain([origin.clone()]).collect();
        let is_denied =
            |rule: &&Pattern| origins.iter().any(|origin| rule.matches_any_case(origin));
        if let Some(rule) = self.denied_origins.iter().find(is_denied) {
            return Some(format!("the organization denies skills from `{}`", rule.as_str()));
        }
        let is_allowed = |rules: &Vec<Pattern>| rules.iter().any(|rule| rule.matches(&origin));
        if source > SkillSource::Org
            && self.allowed_origins.as_ref().is_some_and(|rules| !is_allowed(rules))
        {
            return Some(format!("the organization does not allow skills from `{origin}`"));
        }
        (source > self.required.activate).then(|| {
            let (required, actual) = (self.required.activate.as_str(), source.as_str());
            format!(
                "the organization requires trust level `{required}` or higher; this skill has `{actual}`"
            )
        })
    }

    /// Returns the reason why a skill with one of these digests may not be used, if there is one.
    pub fn refuses_digests(&self, digests: &[Digest]) -> Option<String> {
        let digest = digests.iter().find(|digest| self.denied_digests.contains(digest))?;
        Some(format!("the organization denies the content digest `{digest}`"))
    }

    /// Returns the reason why scripts of a skill may not run, if there is one.
    pub fn refuses_run(&self, source: SkillSource) -> Option<String> {
        (source > self.required.run).then(|| {
            let (required, actual) = (self.required.run.as_str(), source.as_str());
            format!("the organization requires trust level `{required}` or higher to run scripts; this skill has `{actual}`")
        })
    }

    /// Returns the hosts in `network` that the organization allows; an error if that cannot be determined.
    pub fn hosts(&self, network: &Reach<Host>) -> Result<Reach<Host>, String> {
        use skill::capabilities::Cover;

        let network = network.meet(&self.allowed_hosts);
        if self.denied_hosts.is_empty() {
            return Ok(network);
        }
        match network {
            Reach::Everything => {
                Err("the organization denies some hosts; list the hosts that the skill needs"
                    .to_owned())
            }
            Reach::Only(hosts) => {
                // A wildcard that includes a denied host is dropped too.
                let is_denied = |host: &Host| {
                    self.denied_hosts
                        .iter()
                        .any(|denied| denied.covers(host) || host.covers(denied))
                };
                Ok(Reach::only(hosts.into_iter().filter(|host| !is_denied(host))))
            }
        }
    }
}

fn read_policy(object: &mut Object<'_, '_, '_>) -> Option<OrgPolicy> {
    let mut policy = OrgPolicy::default();
    let mut is_complete = true;
    object.object("deny", |deny| {
        deny.unknown_keys(UnknownKeys::Refused);
        let skills = deny.texts("skills").into_iter();
        policy.denied_skills = skills.map(|text| Pattern::new(text.value)).collect();
        policy.denied_origins = origins(deny, "origins");
        for text in deny.texts("digests") {
            match text.value.parse() {
                Ok(digest) => policy.denied_digests.push(digest),
                Err(error) => wrong(deny, &text, &format!("{error}"), &mut is_complete),
            }
        }
        policy.denied_hosts = hosts(deny, "hosts", &mut is_complete);
        let rules = deny.texts("tools");
        policy.denied_tools =
            AllowedTools::from_items(rules.iter().map(|text| text.value.as_str())).rules;
    });
    let is_present = object.has("allowed_origins");
    let allowed = origins(object, "allowed_origins");
    policy.allowed_origins = is_present.then_some(allowed);
    let is_present = object.has("allowed_hosts");
    let allowed = hosts(object, "allowed_hosts", &mut is_complete);
    if is_present {
        policy.allowed_hosts = Reach::only(allowed);
    }
    // The former name of the key. A file with both is rejected, because the old one then counts as unknown.
    let required = if object.has("required_trust") { "required_trust" } else { "required_tier" };
    object.object(required, |required| {
        required.unknown_keys(UnknownKeys::Refused);
        for (key, level) in
            [("activate", &mut policy.required.activate), ("run", &mut policy.required.run)]
        {
            let Some(text) = required.text(key) else { continue };
            match SkillSource::configured(&text.value) {
                Some(source) => *level = source,
                None => {
                    let expected = "expected `org`, `user` or `third_party`";
                    let message = format!("`{key}` is `{}`; {expected}", text.value);
                    wrong(required, &text, &message, &mut is_complete);
                }
            }
        }
    });
    if let Some(may) = object.boolean("allow_approve_once") {
        policy.may_approve_once = may;
    }
    if let Some(days) = object.number("max_approval_days") {
        policy.max_approval_days = Some(u32::try_from(days).unwrap_or(u32::MAX));
    }
    if let Some(text) = object.text("allowed_tools") {
        policy.tools_are_allowlists = text.value == "allowlist";
        if !policy.tools_are_allowlists {
            let message = format!("`allowed_tools` is `{}`; expected `allowlist`", text.value);
            wrong(object, &text, &message, &mut is_complete);
        }
    }
    is_complete.then_some(policy)
}

fn origins(object: &mut Object<'_, '_, '_>, key: &'static str) -> Vec<Pattern> {
    object.texts(key).into_iter().map(|text| Pattern::new(origin_key(&text.value))).collect()
}

fn hosts(object: &mut Object<'_, '_, '_>, key: &'static str, is_complete: &mut bool) -> Vec<Host> {
    let mut hosts = Vec::new();
    for text in object.texts(key) {
        match Host::parse(&text.value) {
            Some(host) => hosts.push(host),
            None => wrong(object, &text, &format!("`{}` is not a host", text.value), is_complete),
        }
    }
    hosts
}

fn wrong(
    object: &mut Object<'_, '_, '_>,
    text: &reader::Text,
    message: &str,
    is_complete: &mut bool,
) {
    *is_complete = false;
    object.problem(Code::BadValue, text.range.clone(), message);
}
