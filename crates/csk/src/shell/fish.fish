# csk: adds a project's skill commands to PATH while you are in the project.
# Add to ~/.config/fish/config.fish:  csk shell-init fish | source
# Set CSK_AUTO_ENV=0 to disable it. It starts no processes.

set -g _csk_home '@HOME@'
# 1: skill commands come before your own programs on PATH; 0: after them.
set -g _csk_first '@FIRST@'
set -g _csk_ours
set -g _csk_path
set -g _csk_name ''
# A shell started inside a project, or after its env.sh was sourced, adopts the entries already on PATH.
set -g _csk_active "$CSK_PROJECT_ROOT"

# Returns 0 if csk added this PATH entry.
function _csk_is_ours
    test "$argv[1]" = "$_csk_home/global/.agents/bin"; and return 0
    test -n "$CSK_PROJECT_ROOT" -a "$argv[1]" = "$CSK_PROJECT_ROOT/.agents/bin"; and return 0
    set -l start "$_csk_home/commands/"
    test (string sub -l (string length -- $start) -- $argv[1]) = "$start"
end

# Returns 0 if csk has installed into the folder, and sets _csk_name to its command link folder. The links are in
# csk's home, so nothing in a checkout ever ends up on PATH.
function _csk_known
    test -r "$_csk_home/hook/projects"; or return 1
    while read -l name root
        test "$argv[1]" -ef "$root"; or continue
        set -g _csk_name $name
        return 0
    end < "$_csk_home/hook/projects"
    return 1
end

function _csk_hook --on-event fish_prompt --on-variable PWD
    set -l folder $PWD
    set -l wanted ''
    set -l ours
    set -l global "$_csk_home/global/.agents/bin"
    if test "$CSK_AUTO_ENV" = 0
        set folder ''
        set global ''
    end
    while test -n "$folder"
        if test -f "$folder/.agents/env.sh"; and _csk_known "$folder"
            set wanted $folder
            test -d "$_csk_home/commands/$_csk_name"; and set ours "$_csk_home/commands/$_csk_name"
            break
        end
        set folder (string replace -r '/[^/]*$' '' -- $folder)
    end
    # The project's commands come before the global ones.
    test -n "$global" -a -d "$global"; and set -a ours $global
    # Something else may have changed PATH since the last prompt.
    if test "$wanted" != "$_csk_active" -o "$ours" != "$_csk_ours" -o "$PATH" != "$_csk_path"
        set -l kept
        for entry in $PATH
            _csk_is_ours $entry; or set -a kept $entry
        end
        if test "$_csk_first" = 1
            set -gx PATH $ours $kept
        else
            set -gx PATH $kept $ours
        end
        test -n "$_csk_active" -a "$CSK_PROJECT_ROOT" = "$_csk_active"; and set -e CSK_PROJECT_ROOT
        test -n "$wanted"; and set -gx CSK_PROJECT_ROOT $wanted
        set -g _csk_active $wanted
        set -g _csk_ours $ours
        set -g _csk_path $PATH
    end
    return 0
end

set -gx CSK_SHELL_HOOK 1
_csk_hook
