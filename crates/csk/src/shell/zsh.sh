# csk: adds a project's skill commands to PATH while you are in the project.
# Add to ~/.zshrc:  eval "$(csk shell-init zsh)"
# Set CSK_AUTO_ENV=0 to disable it. It starts no processes.

_csk_home='@HOME@'
# 1: skill commands come before your own programs on PATH; 0: after them.
_csk_first='@FIRST@'
typeset -g _csk_active='' _csk_ours='' _csk_path='' _csk_name=''

# Removes csk's entries from PATH.
_csk_clear() {
    emulate -L zsh
    local entry
    local -a kept
    for entry in "$path[@]"; do
        case $entry in
            "$_csk_home"/commands/* | "$_csk_home/global/.agents/bin" | "${CSK_PROJECT_ROOT:-/}/.agents/bin") ;;
            *) kept+=("$entry") ;;
        esac
    done
    path=("$kept[@]")
}

# Returns 0 if csk has installed into the folder $1, and sets _csk_name to its command link folder. The links are in
# csk's home, so nothing in a checkout ever ends up on PATH.
_csk_known() {
    emulate -L zsh
    local line root
    [[ -r $_csk_home/hook/projects ]] || return 1
    # Trailing spaces are part of a path.
    while IFS= read -r line; do
        root=${line#* }
        [[ $1 -ef $root ]] || continue
        _csk_name=${line%% *}
        return 0
    done < $_csk_home/hook/projects
    return 1
}

_csk_hook() {
    local csk_status=$?
    emulate -L zsh
    local folder=$PWD wanted='' global=$_csk_home/global/.agents/bin
    local -a ours
    if [[ ${CSK_AUTO_ENV-1} == 0 ]]; then
        folder=''
        global=''
    fi
    while [[ -n $folder ]]; do
        if [[ -f $folder/.agents/env.sh ]] && _csk_known $folder; then
            wanted=$folder
            [[ -d $_csk_home/commands/$_csk_name ]] && ours=($_csk_home/commands/$_csk_name)
            break
        fi
        folder=${folder%/*}
    done
    # The project's commands come before the global ones.
    [[ -n $global && -d $global ]] && ours+=($global)
    # Something else may have changed PATH since the last prompt.
    if [[ $wanted != $_csk_active || "$ours" != "$_csk_ours" || ${PATH-} != $_csk_path ]]; then
        _csk_clear
        if [[ $_csk_first == 1 ]]; then
            path=("$ours[@]" "$path[@]")
        else
            path=("$path[@]" "$ours[@]")
        fi
        [[ -n $_csk_active && ${CSK_PROJECT_ROOT-} == $_csk_active ]] && unset CSK_PROJECT_ROOT
        [[ -n $wanted ]] && export CSK_PROJECT_ROOT=$wanted
        _csk_active=$wanted
        _csk_ours="$ours"
        _csk_path=$PATH
    fi
    return $csk_status
}

# A shell started inside a project, or after its env.sh was sourced, adopts the entries already on PATH.
_csk_active=${CSK_PROJECT_ROOT-}
export CSK_SHELL_HOOK=1
autoload -Uz add-zsh-hook
add-zsh-hook precmd _csk_hook
add-zsh-hook chpwd _csk_hook
_csk_hook
