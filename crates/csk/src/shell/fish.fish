# csk: puts the commands of a project's skills on PATH while you are in the project.
# Put into ~/.config/fish/config.fish:  csk shell-init fish | source
# CSK_AUTO_ENV=0 turns it off. It starts no process.

set -g _csk_home '@HOME@'
set -g _csk_active ''
# A shell that was started in a project, or after its env.sh was read, takes over what is on PATH already.
set -q CSK_PROJECT_ROOT; and contains -- "$CSK_PROJECT_ROOT/.agents/bin" $PATH; and set -g _csk_active $CSK_PROJECT_ROOT

# Takes the first entry $argv[1] out of PATH.
function _csk_remove
    set -l spot (contains -i -- $argv[1] $PATH); and set -e PATH[$spot]
    return 0
end

# Returns 0 if csk has installed into the folder, and nobody has changed its commands since: what a stranger's
# checkout brings is never put on PATH.
function _csk_known
    test -r "$_csk_home/hook/projects"; or return 1
    while read -l name root
        test "$argv[1]" -ef "$root"; or continue
        if _csk_changed "$argv[1]" "$_csk_home/hook/$name"
            if test "$_csk_told" != "$argv[1]"
                echo "csk: $argv[1]/.agents/bin was changed and is not on PATH; run `csk install` there" >&2
                set -g _csk_told $argv[1]
            end
            return 1
        end
        return 0
    end < "$_csk_home/hook/projects"
    return 1
end

# Returns 0 if the commands of the folder are not as csk left them: its stamp has the time they had then.
function _csk_changed
    test -L "$argv[1]/.agents"; or test -L "$argv[1]/.agents/bin"; or not test -e "$argv[2]"; and return 0
    test -e "$argv[1]/.agents/bin"; or return 1
    test "$argv[1]/.agents/bin" -nt "$argv[2]"; or test "$argv[1]/.agents/bin" -ot "$argv[2]"
end

function _csk_hook --on-event fish_prompt --on-variable PWD
    set -l folder $PWD
    set -l wanted ''
    set -l global "$_csk_home/global/.agents/bin"
    if test "$CSK_AUTO_ENV" = 0
        set folder ''
        set global ''
    end
    # Somebody may have set PATH anew.
    test -n "$_csk_active"; and not contains -- "$_csk_active/.agents/bin" $PATH; and set -g _csk_active ''
    while test -n "$folder"
        if test -f "$folder/.agents/env.sh"; and _csk_known "$folder"
            set wanted $folder
            break
        end
        set folder (string replace -r '/[^/]*$' '' -- $folder)
    end
    if test -n "$global" -a -d "$global"; and not contains -- $global $PATH
        # The project's commands stay in front of the user's own.
        test -n "$_csk_active"; and _csk_remove "$_csk_active/.agents/bin"
        set -gx PATH $global $PATH
        test -n "$_csk_active"; and set -gx PATH "$_csk_active/.agents/bin" $PATH
    end
    if test "$wanted" != "$_csk_active"
        if test -n "$_csk_active"
            _csk_remove "$_csk_active/.agents/bin"
            test "$CSK_PROJECT_ROOT" = "$_csk_active"; and set -e CSK_PROJECT_ROOT
        end
        if test -n "$wanted"
            _csk_remove "$wanted/.agents/bin"
            set -gx PATH "$wanted/.agents/bin" $PATH
            set -gx CSK_PROJECT_ROOT $wanted
        end
        set -g _csk_active $wanted
    end
    test "$CSK_AUTO_ENV" = 0; and _csk_remove "$_csk_home/global/.agents/bin"
    return 0
end

set -gx CSK_SHELL_HOOK 1
_csk_hook
