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

/// Returns `env.sh`, for sh, bash and zsh, also under `set -u`. `root` stands in where the shell does not tell
/// which file it reads; `up` leads from the file's folder to the root.
pub fn env_sh(root: &AbsPath, up: &str, scope: Scope) -> String {
    let quoted = root.as_str().replace('\'', r"'\''");
    let export = match scope {
        Scope::Project => "CSK_PROJECT_ROOT=$_csk_root\nexport CSK_PROJECT_ROOT\n",
        Scope::Global => "",
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
    *) PATH=$_csk_root/.agents/bin${{PATH:+:$PATH}}; export PATH ;;
esac
unset _csk_root _csk_file
"#
    )
}

/// Returns `env.ps1`. `up` leads from the file's folder to the root, with slashes.
pub fn env_ps1(up: &str, scope: Scope) -> String {
    let export = match scope {
        Scope::Project => "$env:CSK_PROJECT_ROOT = $cskRoot\r\n",
        Scope::Global => "",
    };
    format!(
        "{FIRST_LINE}\r\n\
         # Dot-source it to have the commands of the installed skills on PATH.\r\n\
         $cskRoot = (Resolve-Path -LiteralPath (Join-Path $PSScriptRoot '{up}')).Path\r\n\
         {export}\
         $cskBin = Join-Path (Join-Path $cskRoot '.agents') 'bin'\r\n\
         if (-not (($env:PATH -split [IO.Path]::PathSeparator) -contains $cskBin)) {{\r\n    \
         $env:PATH = $cskBin + [IO.Path]::PathSeparator + $env:PATH\r\n\
         }}\r\n\
         Remove-Variable cskRoot, cskBin\r\n"
    )
}
