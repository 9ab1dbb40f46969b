//! The config files of MCP clients: where they are, and how to add or remove this server. Nothing else in a file
//! changes, including comments.

mod json;
mod toml;

use openskills_runtime::Places;
use skill_fs::AbsPath;

use self::json::{EntryFormat, Field};

/// An MCP client whose config file can be edited.
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

/// Which config file of a client is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigScope {
    /// The user's file, for all projects.
    User,
    /// The project's file, for everyone who works on the project.
    Project,
}

/// The command with which a client starts the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerCommand {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
}

/// Why there is no config file to edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoConfigFile {
    /// The client does not read a file in projects.
    NotInProjects,
    /// The home folder is not known.
    NoHome,
    /// The environment variable with this name does not contain an absolute path.
    RelativePath(&'static str),
}

impl ClientKind {
    /// Returns the name of the client on the command line.
    pub(crate) fn name(self) -> String {
        let value = clap::ValueEnum::to_possible_value(&self);
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns the files that the client reads. The first one is created if none exists. `variable` reads the
    /// environment.
    pub(crate) fn files(
        self,
        scope: ConfigScope,
        places: &Places,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<AbsPath>, NoConfigFile> {
        if scope == ConfigScope::Project {
            let names: &[&str] = match self {
                Self::ClaudeCode => &[".mcp.json"],
                Self::Codex => &[".codex/config.toml"],
                // It also reads .mcp.json, but that is Claude Code's file.
                Self::CopilotCli => &[".github/mcp.json"],
                Self::Cursor => &[".cursor/mcp.json"],
                Self::Gemini => &[".gemini/settings.json"],
                Self::OpenCode => &["opencode.json", "opencode.jsonc"],
                Self::VsCode => &[".vscode/mcp.json"],
                Self::Zed => &[".zed/settings.json"],
                Self::ClaudeDesktop | Self::Windsurf => return Err(NoConfigFile::NotInProjects),
            };
            return Ok(names.iter().map(|name| places.cwd.join(name)).collect());
        }
        let home = || places.home.clone().ok_or(NoConfigFile::NoHome);
        // The folder in the client's own variable, or else a folder in the home folder.
        let client_folder = |name: &'static str, folder: &str| match variable(name) {
            Some(path) if !path.is_empty() => {
                AbsPath::new(path).map_err(|_| NoConfigFile::RelativePath(name))
            }
            _ => Ok(home()?.join(folder)),
        };
        // The XDG specification says that relative paths must be ignored.
        let xdg = || match variable("XDG_CONFIG_HOME").map(AbsPath::new) {
            Some(Ok(folder)) => Ok(folder),
            Some(Err(_)) | None => Ok(home()?.join(".config")),
        };
        let is_mac = cfg!(target_os = "macos");
        let desktop_config =
            || if is_mac { Ok(home()?.join("Library/Application Support")) } else { xdg() };
        Ok(vec![match self {
            Self::ClaudeCode => client_folder("CLAUDE_CONFIG_DIR", "")?.join(".claude.json"),
            Self::ClaudeDesktop => desktop_config()?.join("Claude/claude_desktop_config.json"),
            Self::Codex => client_folder("CODEX_HOME", ".codex")?.join("config.toml"),
            Self::CopilotCli => client_folder("COPILOT_HOME", ".copilot")?.join("mcp-config.json"),
            Self::Cursor => home()?.join(".cursor/mcp.json"),
            Self::Gemini => client_folder("GEMINI_CLI_HOME", "")?.join(".gemini/settings.json"),
            Self::OpenCode => {
                let folder = xdg()?.join("opencode");
                return Ok(vec![folder.join("opencode.json"), folder.join("opencode.jsonc")]);
            }
            Self::VsCode => desktop_config()?.join("Code/User/mcp.json"),
            Self::Windsurf => home()?.join(".codeium/windsurf/mcp_config.json"),
            Self::Zed if is_mac => home()?.join(".config/zed/settings.json"),
            Self::Zed => xdg()?.join("zed/settings.json"),
        }])
    }

    /// Returns true if the client needs the full path of the program. A desktop app is not started by a shell, so it
    /// may not have the user's PATH.
    pub(crate) fn needs_path(self) -> bool {
        self == Self::ClaudeDesktop
    }

    /// Returns the text of the client's file with this server, or without it if `command` is `None`. A `text` of `None`
    /// means that the file does not exist.
    pub(crate) fn edit(
        self,
        text: Option<&str>,
        name: &str,
        command: Option<&ServerCommand>,
    ) -> Result<String, String> {
        let text = text.unwrap_or_default();
        // Some editors write a byte order mark.
        let (mark, text) = match text.strip_prefix('\u{feff}') {
            Some(rest) => ("\u{feff}", rest),
            None => ("", text),
        };
        let edited = if self == Self::Codex {
            toml::edit(text, name, command)
        } else {
            let format = self.entry_format(text, command);
            match command {
                Some(_) => json::add(text, &format, name),
                None => json::remove(text, &format, name),
            }
        };
        edited.map(|edited| format!("{mark}{edited}"))
    }

    /// Returns the format of a server's entry in the client's JSON file.
    fn entry_format(self, text: &str, command: Option<&ServerCommand>) -> EntryFormat {
        let (program, args) = command.map_or_else(Default::default, |command| {
            (command.program.clone(), command.args.clone())
        });
        let kind = |kind: &str| ("type", Field::Text(kind.to_owned()));
        let command_line = std::iter::once(program.clone()).chain(args.clone()).collect();
        let untyped = [("command", Field::Text(program)), ("args", Field::Texts(args))];
        let typed = |name: &str| std::iter::once(kind(name)).chain(untyped.clone()).collect();
        let (keys, fields, defaults): (&[&str], Vec<_>, Vec<_>) = match self {
            Self::VsCode => (&["servers"], typed("stdio"), vec![]),
            Self::Zed => (&["context_servers"], untyped.to_vec(), vec![]),
            Self::OpenCode => {
                let fields = vec![kind("local"), ("command", Field::Texts(command_line))];
                // Version 2 has a separate object for servers, and also reads files of version 1.
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
                (&["mcpServers"], untyped.to_vec(), vec![])
            }
            Self::ClaudeCode | Self::Cursor | Self::Codex => {
                (&["mcpServers"], typed("stdio"), vec![])
            }
        };
        EntryFormat { keys, fields, defaults }
    }
}

/// Fails if an entry does not start openskills: it belongs to another server with the same name.
fn check_is_own(command_line: &[&str], name: &str) -> Result<(), String> {
    let program = command_line.first();
    let program = program.map(|path| path.rsplit(['/', '\\']).next().unwrap_or(path));
    let is_own = program.is_some_and(|program| program.starts_with("openskills"))
        && command_line.get(1) == Some(&"mcp");
    if is_own {
        return Ok(());
    }
    Err(format!("it has another server named `{name}`; choose a different name with --name"))
}

#[cfg(test)]
mod tests;
