//! Where MCP clients keep their servers, and how this one is written down there: nothing else in a file changes, comments included.

mod json;
mod toml;

use openskills_runtime::Places;
use skill_fs::AbsPath;

use self::json::{Field, Shape};

/// A client that can be told of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ClientKind {
    /// Claude Code
    ClaudeCode,
    /// Claude Desktop
    ClaudeDesktop,
    /// Codex
    Codex,
    /// GitHub Copilot CLI
    CopilotCli,
    /// Cursor
    Cursor,
    /// Gemini CLI
    Gemini,
    /// opencode
    #[value(name = "opencode")]
    OpenCode,
    /// VS Code
    #[value(name = "vscode")]
    VsCode,
    /// Windsurf
    Windsurf,
    /// Zed
    Zed,
}

/// Whose file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The user's own: for every project.
    User,
    /// The project's: for everybody who works on it.
    Project,
}

/// How a client starts the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

/// Why a client has no file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoFile {
    /// It reads none in a project.
    InProject,
    /// Nobody knows where the user's files are.
    Homeless,
    /// The variable that says where its files are is no absolute path.
    Variable(&'static str),
}

impl ClientKind {
    /// Returns the word that it is named by.
    pub(crate) fn word(self) -> String {
        let value = clap::ValueEnum::to_possible_value(&self);
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns the files that it reads, the one that is made if there is none first. `variable` reads the environment.
    pub(crate) fn files(
        self,
        reach: Reach,
        places: &Places,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<AbsPath>, NoFile> {
        if reach == Reach::Project {
            let names: &[&str] = match self {
                Self::ClaudeCode => &[".mcp.json"],
                Self::Codex => &[".codex/config.toml"],
                // It reads .mcp.json as well, which is Claude Code's.
                Self::CopilotCli => &[".github/mcp.json"],
                Self::Cursor => &[".cursor/mcp.json"],
                Self::Gemini => &[".gemini/settings.json"],
                Self::OpenCode => &["opencode.json", "opencode.jsonc"],
                Self::VsCode => &[".vscode/mcp.json"],
                Self::Zed => &[".zed/settings.json"],
                Self::ClaudeDesktop | Self::Windsurf => return Err(NoFile::InProject),
            };
            return Ok(names.iter().map(|name| places.cwd.join(name)).collect());
        }
        let home = || places.home.clone().ok_or(NoFile::Homeless);
        // The folder that a variable of the client's own names, else one in the home.
        let own = |name: &'static str, folder: &str| match variable(name) {
            Some(path) if !path.is_empty() => {
                AbsPath::new(path).map_err(|_| NoFile::Variable(name))
            }
            _ => Ok(home()?.join(folder)),
        };
        // By the specification a path that is not absolute does not count.
        let xdg = || match variable("XDG_CONFIG_HOME").map(AbsPath::new) {
            Some(Ok(folder)) => Ok(folder),
            Some(Err(_)) | None => Ok(home()?.join(".config")),
        };
        let is_mac = cfg!(target_os = "macos");
        let desktop =
            || if is_mac { Ok(home()?.join("Library/Application Support")) } else { xdg() };
        Ok(vec![match self {
            Self::ClaudeCode => own("CLAUDE_CONFIG_DIR", "")?.join(".claude.json"),
            Self::ClaudeDesktop => desktop()?.join("Claude/claude_desktop_config.json"),
            Self::Codex => own("CODEX_HOME", ".codex")?.join("config.toml"),
            Self::CopilotCli => own("COPILOT_HOME", ".copilot")?.join("mcp-config.json"),
            Self::Cursor => home()?.join(".cursor/mcp.json"),
            Self::Gemini => own("GEMINI_CLI_HOME", "")?.join(".gemini/settings.json"),
            Self::OpenCode => {
                let folder = xdg()?.join("opencode");
                return Ok(vec![folder.join("opencode.json"), folder.join("opencode.jsonc")]);
            }
            Self::VsCode => desktop()?.join("Code/User/mcp.json"),
            Self::Windsurf => home()?.join(".codeium/windsurf/mcp_config.json"),
            Self::Zed if is_mac => home()?.join(".config/zed/settings.json"),
            Self::Zed => xdg()?.join("zed/settings.json"),
        }])
    }

    /// Returns whether it must be told where the program is: a program with windows is not started by a shell, and may not have the user's PATH.
    pub(crate) fn needs_path(self) -> bool {
        self == Self::ClaudeDesktop
    }

    /// Returns the text of its file with the server in it; without it, if there is no entry. `None` stands for a file that is not there.
    pub(crate) fn edited(
        self,
        text: Option<&str>,
        name: &str,
        entry: Option<&Entry>,
    ) -> Result<String, String> {
        let text = text.unwrap_or_default();
        // Some editors begin a file with it.
        let (mark, text) = match text.strip_prefix('\u{feff}') {
            Some(rest) => ("\u{feff}", rest),
            None => ("", text),
        };
        let edited = if self == Self::Codex {
            toml::edited(text, name, entry)
        } else {
            let shape = self.shape(text, entry);
            match entry {
                Some(_) => json::with(text, &shape, name),
                None => json::without(text, &shape, name),
            }
        };
        edited.map(|edited| format!("{mark}{edited}"))
    }

    /// Returns how its file of JSON names servers.
    fn shape(self, text: &str, entry: Option<&Entry>) -> Shape {
        let (command, args) = entry
            .map_or_else(Default::default, |entry| (entry.command.clone(), entry.args.clone()));
        let kind = |kind: &str| ("type", Field::Text(kind.to_owned()));
        let all = std::iter::once(command.clone()).chain(args.clone()).collect();
        let program = [("command", Field::Text(command)), ("args", Field::Texts(args))];
        let typed = |word: &str| std::iter::once(kind(word)).chain(program.clone()).collect();
        let (keys, fields, defaults): (&[&str], Vec<_>, Vec<_>) = match self {
            Self::VsCode => (&["servers"], typed("stdio"), vec![]),
            Self::Zed => (&["context_servers"], program.to_vec(), vec![]),
            Self::OpenCode => {
                let fields = vec![kind("local"), ("command", Field::Texts(all))];
                // Version 2 has an object of its own for servers, and reads files of version 1 as well.
                if json::has_servers(text, &["mcp", "servers"]) {
                    (&["mcp", "servers"], fields, vec![])
                } else {
                    (&["mcp"], fields, vec![("enabled", Field::True)])
                }
            }
            Self::CopilotCli => {
                let tools = ("tools", Field::Texts(vec!["*".to_owned()]));
                (&["mcpServers"], typed("local"), vec![tools])
            }
            Self::Gemini | Self::Windsurf | Self::ClaudeDesktop => {
                (&["mcpServers"], program.to_vec(), vec![])
            }
            Self::ClaudeCode | Self::Cursor | Self::Codex => {
                (&["mcpServers"], typed("stdio"), vec![])
            }
        };
        Shape { keys, fields, defaults }
    }
}

/// Refuses an entry that starts something else: it is another server's, which only has the name.
fn check_own(words: &[&str], name: &str) -> Result<(), String> {
    let program = words.first().map(|word| word.rsplit(['/', '\\']).next().unwrap_or(word));
    let is_own = program.is_some_and(|program| program.starts_with("openskills"))
        && words.get(1) == Some(&"mcp");
    if is_own {
        return Ok(());
    }
    Err(format!("`{name}` is the name of another server; choose a different one with --name"))
}

#[cfg(test)]
mod tests;
