//! The files that put a project's commands on PATH: `env.sh` for shells, `env.ps1` for PowerShell.

use skill_fs::AbsPath;

/// The first line of each; a file without it is the user's.
pub(crate) const FIRST_LINE: &str =
    "# Written by csk, which writes it anew when it differs: changes are lost.";

/// For which scope a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One project.
    Project,
    /// The user's own commands, in every folder.
    Global,
}

/// Where the commands of skills stand on PATH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOrder {
    /// After the user's own entries: a skill's command never takes the place of a program. The project's come before
    /// the global ones.
    Last,
    /// Before them.
    First,
}

/// Returns `env.sh`, for sh, bash and zsh, also under `set -u`. `root` stands in where the shell does not tell
/// which file it reads; `up` leads from the file's folder to the root.
pub fn env_sh(root: &AbsPath, up: &str, scope: Scope, order: CommandOrder) -> String {
    let quoted = root.as_str().replace('\'', r"'\''");
    let export = match scope {
        Scope::Project => "CSK_PROJECT_ROOT=$_csk_root\nexport CSK_PROJECT_ROOT\n",
        Scope::Global => "CSK_GLOBAL_BIN=$_csk_root/.agents/bin\nexport CSK_GLOBAL_BIN\n",
    };
    // The project's commands come before the global ones, which may be there already.
    let before_global = match (scope, order) {
        (Scope::Project, CommandOrder::Last) => {
            r#"    *":${CSK_GLOBAL_BIN:-/}:"*)
        _csk_path=:$PATH:
        _csk_path=${_csk_path%%":$CSK_GLOBAL_BIN:"*}:$_csk_root/.agents/bin:$CSK_GLOBAL_BIN:${_csk_path#*":$CSK_GLOBAL_BIN:"}
        _csk_path=${_csk_path#:}
        PATH=${_csk_path%:}
        export PATH
        unset _csk_path
        ;;
"#
        }
        (Scope::Global, _) | (_, CommandOrder::First) => "",
    };
    let path = match order {
        CommandOrder::Last => "${PATH:+$PATH:}$_csk_root/.agents/bin",
        CommandOrder::First => "$_csk_root/.agents/bin${PATH:+:$PATH}",
    };
    format!(
        r#"{FIRST_LINE}
# Source it to have the commands of the installed skills on PATH.
_csk_root='{quoted}'
_csk_file=
if [ -n "${{BASH_VERSION-}}" ]; then
    eval '_csk_file=${{BASH_SOURCE[0]-}}'
elif [ -n "${{ZSH_VERSION-}}" ]; then
    eval '_csk_file=${{(%):-%x}}'
fi
case $_csk_file in
    */*) _csk_root=$(CDPATH= cd -- "${{_csk_file%/*}}/{up}" > /dev/null && pwd) ;;
    ?*) _csk_root=$(CDPATH= cd -- "./{up}" > /dev/null && pwd) ;;
esac
{export}case :${{PATH-}}: in
    *":$_csk_root/.agents/bin:"*) ;;
    # With a colon in it the path would be two entries.
    *) case $_csk_root in *:*) _csk_root= ;; esac ;;
esac
if [ -n "$_csk_root" ]; then case :${{PATH-}}: in
    *":$_csk_root/.agents/bin:"*) ;;
{before_global}    *) PATH={path}; export PATH ;;
esac; fi
unset _csk_root _csk_file
"#
    )
}

/// Returns `env.ps1`. `up` leads from the file's folder to the root, with slashes.
pub fn env_ps1(up: &str, scope: Scope, order: CommandOrder) -> String {
    let export = match scope {
        Scope::Project => "$env:CSK_PROJECT_ROOT = $cskRoot\r\n",
        Scope::Global => "",
    };
    let global = match scope {
        Scope::Project => "",
        Scope::Global => "$env:CSK_GLOBAL_BIN = $cskBin\r\n",
    };
    let entries = match order {
        CommandOrder::First => "@($cskBin) + $cskPath",
        // The project's commands come before the global ones, which may be there already.
        CommandOrder::Last => {
            "@($cskPath | Where-Object { $_ -ne $env:CSK_GLOBAL_BIN }) + $cskBin + @($cskPath | Where-Object { $_ -eq $env:CSK_GLOBAL_BIN })"
        }
    };
    format!(
        "{FIRST_LINE}\r\n\
         # Dot-source it to have the commands of the installed skills on PATH.\r\n\
         $cskRoot = (Resolve-Path -LiteralPath (Join-Path $PSScriptRoot '{up}')).Path\r\n\
         {export}\
         $cskBin = Join-Path (Join-Path $cskRoot '.agents') 'bin'\r\n\
         {global}\
         $cskPath = @($env:PATH -split [IO.Path]::PathSeparator)\r\n\
         if (-not ($cskPath -contains $cskBin)) {{\r\n    \
         $env:PATH = ({entries}) -join [IO.Path]::PathSeparator\r\n\
         }}\r\n\
         Remove-Variable cskRoot, cskBin, cskPath\r\n"
    )
}
