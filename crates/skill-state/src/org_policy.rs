//! The policy of the organisation: a file of the machine's administrator that users can only tighten.

use skill::capabilities::{Host, Reach};
use skill::json::{self as reader, Object, Unknown};
use skill::{AllowedTools, Code, Digest, ToolRule};
use skill_fs::{AbsPath, FsError, read_text};

use crate::origin::{Pattern, origin_key};
use crate::{SkillSource, StateError};

/// A skill, as the policy sees it.
#[derive(Debug, Clone, Copy)]
pub struct Used<'a> {
    /// Every name and id that it goes by.
    pub names: &'a [String],
    /// Where it comes from, as far as that is proven.
    pub origin: &'a str,
    /// Where it says that it comes from.
    pub claimed: &'a [String],
    /// Who vouches for it.
    pub source: SkillSource,
}

/// The trust levels that a skill must at least have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequiredTrust {
    /// To be activated, listed and read.
    pub activate: SkillSource,
    /// To have its scripts run.
    pub run: SkillSource,
}

/// What the organisation forbids. The default forbids nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgPolicy {
    /// Names or ids of skills that may not be used.
    pub denied_skills: Vec<Pattern>,
    /// Origins whose skills may not be used, as [`origin_key`] writes them.
    pub denied_origins: Vec<Pattern>,
    /// Contents that may not be used.
    pub denied_digests: Vec<Digest>,
    /// Hosts that no skill may reach.
    pub denied_hosts: Vec<Host>,
    /// Tools that no skill may call.
    pub denied_tools: Vec<ToolRule>,
    /// The only origins whose skills may be used, besides builtin and the organisation's own; absent means any.
    pub allowed_origins: Option<Vec<Pattern>>,
    /// The only hosts that skills may reach.
    pub allowed_hosts: Reach<Host>,
    /// The trust levels that a skill must at least have.
    pub required: RequiredTrust,
    /// Whether a run may be approved for once, without a record that stays.
    pub may_approve_once: bool,
    /// How many days an approval lasts at most.
    pub max_approval_days: Option<u32>,
    /// Whether lists of allowed tools are held to, whatever the user's settings say.
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
    /// Reads the policy. No file means no policy; one that cannot be read or understood is an error, and nothing runs.
    pub fn load(path: &AbsPath) -> Result<Self, StateError> {
        // A link to nothing, or a file where its folder should be, is not the absence of a policy.
        for place in std::iter::successors(Some(path.clone()), AbsPath::parent).take(2) {
            let is_link = place.as_path().is_symlink();
            let is_wrong = (is_link && !place.as_path().exists())
                || (place != *path && place.as_path().exists() && !place.as_path().is_dir());
            if is_wrong {
                let kind = if is_link { "a link to nothing" } else { "a file" };
                return Err(FsError::NotRegular { path: place.to_string(), kind }.into());
            }
        }
        let Some(text) = read_text(path)? else { return Ok(Self::default()) };
        let (policy, diagnostics) = reader::read(path.as_str(), &text, |object| {
            // A key that is not known could be a rule.
            object.unknown_keys(Unknown::Refused);
            crate::schema_version(object)?;
            read_policy(object)
        });
        policy.ok_or_else(|| StateError::Malformed { file: path.to_string(), diagnostics })
    }

    /// Returns why a skill may not be used, if so. What it claims of its origin is enough to deny it; only what is proven allows it.
    /// Builtin skills and the organisation's own come from the administrator, who need not list them as origins.
    pub fn refuses_use(&self, used: &Used<'_>) -> Option<String> {
        let Used { names, origin, claimed, source } = used;
        let (origin, source) = (origin_key(origin), *source);
        let named = self
            .denied_skills
            .iter()
            .find(|rule| names.iter().any(|name| rule.matches_any_case(name)));
        if let Some(rule) = named {
            return Some(format!("the organisation denies the skill `{}`", rule.as_str()));
        }
        let origins: Vec<String> =
            claimed.iter().map(|claimed| origin_key(claimed)).chain([origin.clone()]).collect();
        let is_denied =
            |rule: &&Pattern| origins.iter().any(|origin| rule.matches_any_case(origin));
        if let Some(rule) = self.denied_origins.iter().find(is_denied) {
            return Some(format!("the organisation denies skills from `{}`", rule.as_str()));
        }
        let is_known = |rules: &Vec<Pattern>| rules.iter().any(|rule| rule.matches(&origin));
        if source > SkillSource::Org
            && self.allowed_origins.as_ref().is_some_and(|rules| !is_known(rules))
        {
            return Some(format!("the organisation does not allow skills from `{origin}`"));
        }
        (source > self.required.activate).then(|| {
            let (least, is) = (self.required.activate.as_str(), source.as_str());
            format!(
                "the organisation asks for skills of the trust level `{least}` at least; this is `{is}`"
            )
        })
    }

    /// Returns why a content may not be used, if so.
    pub fn refuses_digests(&self, digests: &[Digest]) -> Option<String> {
        let digest = digests.iter().find(|digest| self.denied_digests.contains(digest))?;
        Some(format!("the organisation denies this very content, {digest}"))
    }

    /// Returns why scripts of a skill may not run, if so.
    pub fn refuses_run(&self, source: SkillSource) -> Option<String> {
        (source > self.required.run).then(|| {
            let (least, is) = (self.required.run.as_str(), source.as_str());
            format!("the organisation runs scripts of the trust level `{least}` at least; this is `{is}`")
        })
    }

    /// Returns the hosts of `network` that the organisation lets be reached; an error where that cannot be said.
    pub fn hosts(&self, network: &Reach<Host>) -> Result<Reach<Host>, String> {
        use skill::capabilities::Cover;

        let network = network.meet(&self.allowed_hosts);
        if self.denied_hosts.is_empty() {
            return Ok(network);
        }
        match network {
            Reach::Everything => {
                Err("the organisation denies hosts, so those that are needed must be named"
                    .to_owned())
            }
            Reach::Only(hosts) => {
                // What holds a denied host as one of many goes as well.
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
    let mut is_whole = true;
    object.object("deny", |deny| {
        deny.unknown_keys(Unknown::Refused);
        let skills = deny.texts("skills").into_iter();
        policy.denied_skills = skills.map(|text| Pattern::new(text.value)).collect();
        policy.denied_origins = origins(deny, "origins");
        for text in deny.texts("digests") {
            match text.value.parse() {
                Ok(digest) => policy.denied_digests.push(digest),
                Err(error) => wrong(deny, &text, &format!("{error}"), &mut is_whole),
            }
        }
        policy.denied_hosts = hosts(deny, "hosts", &mut is_whole);
        let rules = deny.texts("tools");
        policy.denied_tools =
            AllowedTools::from_items(rules.iter().map(|text| text.value.as_str())).rules;
    });
    let is_there = object.has("allowed_origins");
    let allowed = origins(object, "allowed_origins");
    policy.allowed_origins = is_there.then_some(allowed);
    let is_there = object.has("allowed_hosts");
    let allowed = hosts(object, "allowed_hosts", &mut is_whole);
    if is_there {
        policy.allowed_hosts = Reach::only(allowed);
    }
    // As it was called before; a file with both is refused, since the older one stays unread.
    let required = if object.has("required_trust") { "required_trust" } else { "required_tier" };
    object.object(required, |required| {
        required.unknown_keys(Unknown::Refused);
        for (key, place) in
            [("activate", &mut policy.required.activate), ("run", &mut policy.required.run)]
        {
            let Some(text) = required.text(key) else { continue };
            match SkillSource::configured(&text.value) {
                Some(source) => *place = source,
                None => {
                    let expected = "expected `org`, `user` or `third_party`";
                    let message = format!("`{key}` is `{}`; {expected}", text.value);
                    wrong(required, &text, &message, &mut is_whole);
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
            wrong(object, &text, &message, &mut is_whole);
        }
    }
    is_whole.then_some(policy)
}

fn origins(object: &mut Object<'_, '_, '_>, key: &'static str) -> Vec<Pattern> {
    object.texts(key).into_iter().map(|text| Pattern::new(origin_key(&text.value))).collect()
}

fn hosts(object: &mut Object<'_, '_, '_>, key: &'static str, is_whole: &mut bool) -> Vec<Host> {
    let mut hosts = Vec::new();
    for text in object.texts(key) {
        match Host::parse(&text.value) {
            Some(host) => hosts.push(host),
            None => wrong(object, &text, &format!("`{}` is not a host", text.value), is_whole),
        }
    }
    hosts
}

fn wrong(object: &mut Object<'_, '_, '_>, text: &reader::Text, message: &str, is_whole: &mut bool) {
    *is_whole = false;
    object.problem(Code::BadValue, text.range.clone(), message);
}
